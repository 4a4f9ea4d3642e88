"""The course as a web site: `python -m website` makes Sphinx's sources from lessons, solutions and docs, then the pages."""
