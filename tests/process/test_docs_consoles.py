"""Console examples of the tutorial, executed."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

BIN: Final = Path(sys.executable).parent
ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ("docs/tutorial/first-chain.md", "docs/tutorial/write-a-mod.md")
SHOWN: Final = re.compile(r"^\$ (\.venv/bin/symposium prompt .*)\n((?:[^`$].*\n)+)", re.MULTILINE)

CONSOLES: Final = [
    pytest.param(command, output, id=command)
    for page in PAGES
    for command, output in SHOWN.findall((ROOT / page).read_text(encoding="utf-8"))
]


@pytest.mark.requirement("cli.prompt-streams", "cli.mod-arrow")
@pytest.mark.parametrize(("command", "output"), CONSOLES)
def test_command_of_the_tutorial_prints_the_output_of_the_tutorial(
    command: str, output: str
) -> None:
    done = subprocess.run(  # noqa: S602 - as a reader types it
        command.replace(".venv/bin", str(BIN)),
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=45,
        check=True,
    )

    assert done.stdout == output


@pytest.mark.requirement("cli.prompt-streams")
def test_tutorial_has_commands() -> None:
    assert len(CONSOLES) >= 5
