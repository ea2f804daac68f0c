"""The exception of this package."""


class Error(RuntimeError):
    """What went wrong, where in the input, and what to do about it."""

    def __init__(self, message, where="", hint=""):
        super().__init__(message)
        self.message, self.where, self.hint = message, where, hint

    def __str__(self):
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text
