"""End of a command: exit codes, one clear message, and the log on stderr."""

import logging
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import click
from msgspec import Struct

from localio.text import plain_text
from symposium.chain.calls import FAULTS

FORM: Final = "symposium %(levelname)s %(name)s: %(message)s"


QUOTE: Final = "| "
"""Prefix of a line that a component has written."""

ABOVE: Final = f"{QUOTE}[… shown above]"
"""Replacement for lines that were already shown."""

REMEMBERED: Final = 100
"""Number of shown lines to remember."""

_FAULT: Final = r"mod \S+ (?:failed on|returned nothing for|intercepts|wants) "
"""Beginning of a problem that the mod library logs; older versions of it write `wants`."""

_log = logging.getLogger(__name__)
_faults = logging.getLogger(FAULTS)


def set_up_logs(level: str) -> None:
    """Log to stderr at this level and above."""
    root = logging.getLogger()
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    root.addHandler(stderr)
    root.setLevel(level.upper())


def hush() -> None:
    """Log only faults of mods, for a command that reports its other errors itself."""
    logging.getLogger().addHandler(logging.NullHandler())
    stderr = logging.StreamHandler()
    stderr.setFormatter(logging.Formatter(FORM))
    faults = logging.getLogger(FAULTS)
    faults.addHandler(stderr)
    faults.propagate = False


class ComponentTalk:
    """Log the stderr of components: as an error if a mod has failed, else as information."""

    def __init__(self) -> None:
        self._in_traceback: set[str] = set()
        self._shown: deque[str] = deque(maxlen=REMEMBERED)

    def __call__(self, component: str, line: bytes) -> None:
        text = plain_text(line.decode(errors="replace"))
        if self._tells_fault(component, text):
            _faults.error("%s! %s", component, text)
            self._shown.append(text.rstrip())
        else:
            _log.info("%s! %s", component, text)
            if _log.isEnabledFor(logging.INFO):
                self._shown.append(text.rstrip())

    def not_yet_shown(self, lines: Sequence[str]) -> list[str]:
        """Remove quoted lines from a message that were already shown.

        Args:
            lines: the message; a quoted line begins with `QUOTE`.
        """
        left: list[str] = []
        for line in lines:
            if not line.startswith(QUOTE) or line.removeprefix(QUOTE).rstrip() not in self._shown:
                left.append(line)
            elif left[-1:] != [ABOVE]:
                left.append(ABOVE)
        return left

    def _tells_fault(self, component: str, text: str) -> bool:
        if text.startswith("Traceback (most recent call last)"):
            self._in_traceback.add(component)
            return True
        if component in self._in_traceback:
            # A traceback ends with its first line without an indent, the exception.
            if not text.startswith((" ", "\t")):
                self._in_traceback.discard(component)
            return True
        return re.match(_FAULT, text) is not None


log_stderr: Final = ComponentTalk()
"""Logs a line of a component's stderr."""


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
