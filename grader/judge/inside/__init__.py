"""What lies in the sandbox in place of this package: stubs, no answers."""
