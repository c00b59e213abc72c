"""Exit codes of commands, and the report of a failure to users and programs."""

import os
import signal
import sys
from enum import IntEnum
from typing import Any, Final

import click
from msgspec import Struct

from localio.text import plain_text
from symposium.cli.stderr_log import log_stderr

DOCS: Final = "docs/reference/exit-codes.md"


class ExitCode(IntEnum):
    """Exit codes of commands (users §8.4); for a signal, 128 and its number."""

    OK = 0
    RUNTIME = 1
    USAGE = 2
    TIMEOUT = 3
    NOT_FOUND = 4
    DENIED = 5
    WAITING = 10
    HUNG_UP = 128 + signal.SIGHUP
    INTERRUPTED = 128 + signal.SIGINT
    READER_GONE = 128 + signal.SIGPIPE
    TERMINATED = 128 + signal.SIGTERM


MEANINGS: Final = {
    ExitCode.OK: "Success.",
    ExitCode.RUNTIME: "The agent answered with an error or reached a limit; a component crashed.",
    ExitCode.USAGE: "The command line, or a SPEC in it, is wrong.",
    ExitCode.TIMEOUT: "A request timed out.",
    ExitCode.NOT_FOUND: "A file, directory, session, or program does not exist.",
    ExitCode.DENIED: "The agent refused, requires a login, or was denied a permission.",
    ExitCode.WAITING: "Something waits for your answer.",
    ExitCode.HUNG_UP: "SIGHUP: the terminal was closed.",
    ExitCode.INTERRUPTED: "Ctrl-C, or the turn was canceled.",
    ExitCode.READER_GONE: "The reader closed the pipe, as in `| head`.",
    ExitCode.TERMINATED: "SIGTERM.",
}


class ReportedFailure(Struct, frozen=True):
    """A failure, for users and for programs (users §8.4).

    Attributes:
        code: the exit code.
        detail_code: the kind of failure, stable across releases.
        message: the failure and its place.
        hint: advice for a fix; may be empty.
        origin: place of the failure: `cli`, `host`, `component` or `agent`.
        is_retryable: whether the same command may succeed next time.
    """

    code: ExitCode
    detail_code: str
    message: str
    hint: str
    origin: str = "host"
    is_retryable: bool = False

    def body(self) -> dict[str, Any]:
        """Format the error object of `--json`."""
        return {
            "code": self.code.name,
            "detailCode": self.detail_code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.is_retryable,
            "origin": self.origin,
            "docs": DOCS,
        }

    def text(self) -> str:
        """Format a few lines for the user."""
        hint = log_stderr.not_yet_shown(self.hint.splitlines())
        lines = [f"symposium: {self.message}", *hint]
        return plain_text("\n  ".join(lines))


def report_failure(failure: ReportedFailure) -> ExitCode:
    """Print the failure to stderr and return its exit code."""
    click.echo(failure.text(), err=True)
    return failure.code


def ended_by_reader() -> ExitCode:
    """Discard further output, also that of the interpreter's exit: the reader closed the pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return ExitCode.READER_GONE
