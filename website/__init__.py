"""The course as a web site: `python -m website` makes Sphinx's sources, then the pages."""
