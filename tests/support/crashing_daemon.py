"""Daemons that kill themselves at their n-th step: a line received, before or after a write.

    python crashing_daemon.py SOCKET

For each number on standard input it forks one daemon, which is faster than starting an interpreter.
With 0 the daemon never crashes. It prints READY when it listens. Tests run all steps, and so every
stage of a request.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.envelope import Envelope
from symposium.daemon import process, server
from symposium.daemon.connection import Lines
from symposium.daemon.connection_table import ConnectionTable

_steps = itertools.count(1)
last = 0
"""The step at which the daemon kills itself."""


def step() -> None:
    """Count a step; kill the process at the last one."""
    if next(_steps) == last:
        os.kill(os.getpid(), signal.SIGKILL)


class CrashingSwitchboard(ConnectionTable):
    """Crashes before a line is read, before one is written, or after it."""

    def route(self, name: str, message: Lines | Envelope) -> None:
        step()
        super().route(name, message)

    def _write(self, to: tuple[str, ...], lines: list[bytes]) -> None:
        step()
        super()._write(to, lines)
        step()


def say(word: bytes) -> None:
    """Print a word for the test."""
    os.write(1, word + b"\n")


if __name__ == "__main__":
    server.ConnectionTable = CrashingSwitchboard
    process.part_specs = list
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            last = int(line)
            process.serve(DaemonOptions(Path(sys.argv[1])), say)
            os._exit(0)
