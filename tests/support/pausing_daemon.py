"""Daemon that pauses at a stage until it is resumed, and clients to kill meanwhile.

    python pausing_daemon.py FOLDER

Standard input has one JSON value a line: `{"daemon": STAGE}` forks a daemon that pauses there once
the file FOLDER/armed exists; `{"client": [WORD, …]}` forks a `symposium` with these words. Forking
is faster than starting an interpreter. It prints READY when a daemon listens, AT when one has
paused, `CLIENT pid`, and `ENDED code`. Opening FOLDER/go for writing resumes the daemon.

The stages come from the hook that the engine's tests use. The hook is never set in production.
"""

import json
import os
import signal
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from symposium.__main__ import main
from symposium.bus.daemon_options import DaemonOptions
from symposium.daemon import process
from symposium.daemon.parts import taskspaces

FOLDER = Path(sys.argv[1])
PRELOADED = ("symposium.cli.commands.inbox", "symposium.cli.commands.task")
"""Modules that the commands load when they start."""


def say(word: bytes) -> None:
    """Print a word for the test."""
    os.write(1, word + b"\n")


def pause(wanted: str, passed: str) -> None:
    """Stop the whole daemon at this stage, once, until the test resumes it."""
    armed = FOLDER / "armed"
    if passed == wanted and armed.exists():
        armed.unlink()
        say(b"AT")
        (FOLDER / "go").read_bytes()


def be_daemon(stage: str) -> None:
    """Run as a daemon."""
    taskspaces.EngineContext = partial(taskspaces.EngineContext, passed=partial(pause, stage))
    process.serve(DaemonOptions(idle_timeout=0), say)


def be_client(words: list[str]) -> None:
    """Run as a command."""
    out = os.open(FOLDER / "client.out", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    said = os.dup(1)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 0
    try:
        main(words, standalone_mode=True)
    except SystemExit as ended:
        code = int(ended.code or 0)
    os.write(said, b"ENDED %d\n" % code)


def forked(wanted: dict[str, list[str] | str]) -> int:
    """Fork the requested process; return its id."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        match wanted:
            case {"daemon": str(stage)}:
                be_daemon(stage)
            case {"client": [*words]}:
                be_client(words)
            case _:
                os._exit(2)
        os._exit(0)
    return child


if __name__ == "__main__":
    for name in PRELOADED:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = forked(asked)
        if "client" in asked:
            say(b"CLIENT %d" % pid)
