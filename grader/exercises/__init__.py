"""The specifications, one module a lesson."""
