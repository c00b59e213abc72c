"""How a command ends: its exit code, and the one clear message where something went wrong."""

import os
import signal
import sys
from enum import IntEnum
from typing import Any, Final

import click
from msgspec import Struct

from localio.text import plain_text
from symposium.cli.logs import log_stderr

DOCS: Final = "docs/reference/exit-codes.md"


class ExitCode(IntEnum):
    """What a command's exit code means (users §8.4); those of signals are 128 and the number."""

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
    ExitCode.OK: "The turn ended well, or our input did.",
    ExitCode.RUNTIME: "The agent answered with an error or reached a limit; a component died.",
    ExitCode.USAGE: "The command line, or a SPEC in it, is wrong.",
    ExitCode.TIMEOUT: "An answer did not come in time.",
    ExitCode.NOT_FOUND: "A file, a directory, a session or a program is not there.",
    ExitCode.DENIED: "The agent refused, wants a login, or was denied what it asked for.",
    ExitCode.WAITING: "Something waits for a person.",
    ExitCode.HUNG_UP: "SIGHUP: the terminal was closed.",
    ExitCode.INTERRUPTED: "Ctrl-C, or the turn was cancelled.",
    ExitCode.READER_GONE: "Nobody reads our output any more, as in `| head`.",
    ExitCode.TERMINATED: "SIGTERM.",
}


class Failure(Struct, frozen=True):
    """What went wrong, for people and for programs (users §8.4).

    Attributes:
        code: which exit code, by its name.
        detail_code: which kind of it, stable across releases.
        message: what failed, and where.
        hint: how to mend it; may be empty.
        origin: whose error it is: `cli`, `host`, `component` or `agent`.
        is_retryable: whether the same command may well succeed next time.
    """

    code: ExitCode
    detail_code: str
    message: str
    hint: str
    origin: str = "host"
    is_retryable: bool = False

    def body(self) -> dict[str, Any]:
        """The error object of `--json`."""
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
        """A few lines for a person."""
        hint = log_stderr.not_yet_shown(self.hint.splitlines())
        lines = [f"symposium: {self.message}", *hint]
        return plain_text("\n  ".join(lines))


def say(failure: Failure) -> ExitCode:
    """Tell a person on stderr; the exit code."""
    click.echo(failure.text(), err=True)
    return failure.code


def ended_by_reader() -> ExitCode:
    """Nobody reads our output any more: say nothing more, at the interpreter's exit either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return ExitCode.READER_GONE
