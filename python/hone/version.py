"""The version of this package, that of the program `hone` too."""

__version__ = "0.2.0"
