"""Daemons that kill themselves at their n-th step: a line taken, about to be written, written.

    python crashing_daemon.py SOCKET

For each number on standard input one daemon is forked, which costs no start of an interpreter; of
0 it never dies. It prints READY when it listens. Tests go through all steps, and so through every
stage of a request.
"""

import itertools
import os
import signal
import sys
from pathlib import Path

from symposium.bus.connect import DaemonOptions
from symposium.bus.envelope import Envelope
from symposium.daemon import process, server
from symposium.daemon.connection import Lines
from symposium.daemon.connection_table import ConnectionTable

_steps = itertools.count(1)
last = 0
"""The step that kills."""


def step() -> None:
    """One more; the last kills."""
    if next(_steps) == last:
        os.kill(os.getpid(), signal.SIGKILL)


class MortalSwitchboard(ConnectionTable):
    """Dies before a line is looked at, before one is written, or after it."""

    def route(self, name: str, message: Lines | Envelope) -> None:
        """Take lines, or a message from inside the daemon."""
        step()
        super().route(name, message)

    def _write(self, to: tuple[str, ...], lines: list[bytes]) -> None:
        step()
        super()._write(to, lines)
        step()


def say(word: bytes) -> None:
    """Tell the test."""
    os.write(1, word + b"\n")


if __name__ == "__main__":
    server.ConnectionTable = MortalSwitchboard
    process.part_specs = list
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            last = int(line)
            process.serve(DaemonOptions(Path(sys.argv[1])), say)
            os._exit(0)
