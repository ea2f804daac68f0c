"""The exception of this package, and where its warnings point to."""

import sys


class Error(RuntimeError):
    """What went wrong, where in the input, and what to do about it."""

    def __init__(self, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self):
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text


def outside() -> tuple:
    """The user's line, as warnings.warn_explicit takes it: that of the first caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "hone":
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    return frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", ""), registry
