"""Program in a separate terminal, controlled through tmux."""

import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

TMUX: Final = shutil.which("tmux")
TIMEOUT: Final = 60
"""Seconds after which expected text counts as missing."""


class Terminal:
    """Terminal of the user.

    Args:
        socket: of a tmux server for this terminal alone.
        events: a tmux client that receives every output.
    """

    def __init__(self, socket: Path, events: "subprocess.Popen[bytes]") -> None:
        self._socket = socket
        self._events = events

    def screen(self) -> str:
        """The current screen, without blanks at the ends of lines."""
        shown = self._tmux("capture-pane", "-p")
        return "\n".join(line.rstrip() for line in shown.splitlines()).strip("\n")

    def until(self, is_so: Callable[[str], bool]) -> str:
        """Wait until a condition holds for the screen; return the screen."""
        assert self._events.stdout is not None
        changes = self._events.stdout.fileno()
        until = time.monotonic() + TIMEOUT
        while not is_so(screen := self.screen()):
            left = until - time.monotonic()
            assert left > 0, f"still:\n{screen}"
            assert select.select([changes], [], [], left)[0], f"still:\n{screen}"
            # Read everything at once: tmux pauses a program whose output is not read.
            assert os.read(changes, 1 << 20), f"it has ended:\n{screen}"
        return screen

    def shows(self, *words: str) -> str:
        """Wait until all of the text is shown, with any line breaks; return the screen."""
        return self.until(lambda screen: all(is_shown(screen, each) for each in words))

    def type(self, text: str) -> None:
        """Type a text, letter by letter."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys, by their tmux names."""
        self._tmux("send-keys", *keys)

    def _tmux(self, *words: str) -> str:
        return tmux(self._socket, *words)


def tmux(socket: Path, *words: str) -> str:
    """Run a command of tmux; return its output."""
    assert TMUX is not None
    command = [TMUX, "-S", str(socket), "-f", "/dev/null", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout


@contextmanager
def terminal(
    command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]
) -> Generator[Terminal]:
    """Start a program in a terminal; both end with the block.

    Args:
        command: the program.
        environment: its complete environment.
        size: columns and rows.
    """
    assert TMUX is not None
    columns, rows = map(str, size)
    plain = [f"{name}={value}" for name, value in environment.items()]
    line = shlex.join(["env", "-i", *plain, *command])
    # The path of a socket must be short, unlike the paths of tests.
    with TemporaryDirectory(prefix="toad") as folder:
        socket = Path(folder) / "t"
        tmux(socket, "new-session", "-d", "-x", columns, "-y", rows, line)
        try:
            events = subprocess.Popen(
                [TMUX, "-S", str(socket), "-C", "attach"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            with events:
                yield Terminal(socket, events)
                events.kill()
        finally:
            ended = [TMUX, "-S", str(socket), "kill-server"]
            subprocess.run(ended, check=False, capture_output=True)


def is_shown(screen: str, words: str, *, more_than_in: str = "") -> bool:
    """Whether the words are shown: a frame may separate lines, and a bar may end them."""
    wanted = "".join(words.split())
    return _plain(screen).count(wanted) > _plain(more_than_in).count(wanted)


def _plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isascii() and not letter.isspace())
