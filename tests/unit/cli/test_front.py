"""Lookup of subcommands, and output of texts on a terminal."""

import subprocess
import sys
from typing import Final

import pytest

from localio.text import one_line, plain_text

LISTING: Final = """
import sys
from symposium.__main__ import main
try:
    main(sys.argv[1:], prog_name="symposium")
except SystemExit:
    pass
print(*[name for name in sys.modules if name.startswith("symposium.cli.commands.")])
"""


def imported(*words: str) -> set[str]:
    """Command modules that are loaded after running `words`."""
    command = [sys.executable, "-c", LISTING, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.requirement("cli.commands-lazy", "cli.help")
def test_list_of_commands_imports_no_command() -> None:
    assert imported("--help") == set()


@pytest.mark.requirement("cli.commands-lazy")
def test_command_imports_no_other_command() -> None:
    assert imported("run-with", "--help") == {"run_with"}
    assert imported("no-such-command") == set()


@pytest.mark.requirement("cli.chat-terminal-text")
@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("\x1b[2J\x00\x7f", "␛[2J␀␡"),
        ("\x9b31m\u202eabc\u2066", "<U+009B>31m<U+202E>abc<U+2066>"),
        ("é 日本 👍🏽", "é 日本 👍🏽"),
    ],
)
def test_control_characters_become_symbols_and_other_text_is_kept(text: str, safe: str) -> None:
    assert plain_text(text) == safe


@pytest.mark.requirement("cli.chat-terminal-text")
def test_one_line_is_cut_to_the_width_and_keeps_its_indent() -> None:
    assert one_line("  a\n b\x1b", width=10) == "  a b␛"
    assert one_line("abcdef", width=4) == "abc…"
