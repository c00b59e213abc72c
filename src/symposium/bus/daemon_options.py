"""Options of a daemon, such as when it exits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

IDLE_TIMEOUT: Final = 30.0
"""Seconds without clients after which the daemon exits (bus §1.1)."""


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """Options of a daemon; a program that starts one passes all of them (bus §7, row 9).

    Attributes:
        socket: listening socket; None: the default path.
        compat_socket: socket for peers of version 1; None: no such socket.
        idle_timeout: seconds without clients after which it exits; 0: never.
        history: maximum number of messages in the history; 0: none.
        log_level: log level of its log file.
    """

    socket: Path | None = None
    compat_socket: Path | None = None
    idle_timeout: float = IDLE_TIMEOUT
    history: int = 1024
    log_level: str = "info"

    def words(self) -> Sequence[str]:
        """The same as command-line options of `symposium daemon start`."""
        words = ["--idle-timeout", str(self.idle_timeout), "--history", str(self.history)]
        words += ["--log", self.log_level]
        if self.socket is not None:
            words += ["--socket", str(self.socket.absolute())]
        if self.compat_socket is not None:
            words += ["--compat-socket", str(self.compat_socket.absolute())]
        return words
