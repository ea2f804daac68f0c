"""The program `hone` of an installed package, as a console script."""

import os
import sys

from . import files
from .errors import Error


def main() -> None:
    """Replaces this process by `hone` with the same arguments."""
    try:
        program = str(files.find(files.PROGRAM))
    except Error as error:
        sys.exit(f"hone: error: {error}")
    os.execv(program, [program, *sys.argv[1:]])
