"""Errors with a text for the user: what failed, and what to do.

ExplainedError                    a message and a hint; programs derive their own errors from it
└── LocalIOError                  files, archives, programs, or downloads cannot be used as asked
    └── ProgramNotFoundError      a program is neither on PATH nor in a usual directory
"""


class ExplainedError(Exception):
    """An error with a text for the user.

    Attributes:
        message: what failed, with the value in question.
        hint: what to do; may be empty.
    """

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}" if hint else message)


class LocalIOError(ExplainedError):
    """Files, archives, programs, or downloads cannot be used as asked."""


class ProgramNotFoundError(LocalIOError):
    """A program is neither on PATH nor in a usual directory."""
