"""`NO_COLOR`: commands write no color to a terminal (users A-15)."""

import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.process.conftest import PROGRAM

ESCAPE: Final = b"\x1b["
INITIALIZE: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
)


def on_a_terminal(words: list[str], environment: dict[str, str]) -> bytes:
    """Return the output of a command whose standard output is a terminal."""
    terminal, theirs = pty.openpty()
    with subprocess.Popen([PROGRAM, *words], stdout=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(terminal, 65536):
                written += piece
        except OSError:
            # The kernel reports the closed other end of a terminal in this way.
            pass
        os.close(terminal)
    assert process.returncode == 0
    return written


@pytest.mark.requirement("cli.no-color-terminal")
@pytest.mark.parametrize("command", ["walkthrough", "trace"])
def test_no_color_is_written_to_a_terminal_when_no_color_is_set(
    command: str,
    tmp_path: Path,
    environment: dict[str, str],
    symposium: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    environment.pop("NO_COLOR", None)
    file = tmp_path / "walkthrough.md"
    file.write_text("# Title\n\nHello **you**.\n", encoding="utf-8")
    if command == "trace":
        traces = tmp_path / "traces"
        symposium("run-with", "--agent", "eliza", "--trace-dir", str(traces), stdin=INITIALIZE)
        (file,) = traces.iterdir()
    words = [command, "show", str(file)]

    colored = on_a_terminal(words, environment)
    plain = on_a_terminal(words, {**environment, "NO_COLOR": "1"})

    assert ESCAPE in colored
    assert ESCAPE not in plain
    assert plain
