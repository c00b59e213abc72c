"""A daemon that stops at a stage until it is told to go on, and clients to be killed meanwhile.

    python pausing_daemon.py FOLDER

One JSON value a line on standard input: `{"daemon": STAGE}` forks a daemon that stops there, once
the file FOLDER/armed is there; `{"client": [WORD, …]}` forks a `symposium` with these words. What
is forked costs no start of an interpreter. It prints READY when a daemon listens, AT when one has
stopped, `CLIENT pid` and `ENDED code`. Whoever opens FOLDER/go for writing lets the daemon go on.

The stages are told by the hook that the engine's tests give it: no daemon of anybody's has it.
"""

import json
import os
import signal
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from symposium.__main__ import main
from symposium.bus.connect import DaemonOptions
from symposium.daemon import process
from symposium.daemon.parts import taskspaces

FOLDER = Path(sys.argv[1])
PRELOADED = ("symposium.cli.commands.inbox", "symposium.cli.commands.task")
"""What the commands would load when they begin."""


def say(word: bytes) -> None:
    """Tell the test."""
    os.write(1, word + b"\n")


def pause(wanted: str, passed: str) -> None:
    """Stop the whole daemon at this stage, once, and go on when somebody says so."""
    armed = FOLDER / "armed"
    if passed == wanted and armed.exists():
        armed.unlink()
        say(b"AT")
        (FOLDER / "go").read_bytes()


def be_daemon(stage: str) -> None:
    """Live as a daemon."""
    taskspaces.EngineContext = partial(taskspaces.EngineContext, passed=partial(pause, stage))
    process.serve(DaemonOptions(idle_timeout=0), say)


def be_client(words: list[str]) -> None:
    """Live as a command."""
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
    """Become what is wanted, in a process of its own; that one's id."""
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
