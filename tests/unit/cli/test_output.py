"""Conditions under which the command line uses colors."""

import io
import sys

import pytest
from tests.support.terminals import TerminalText

from symposium.cli.output import wants_color


@pytest.mark.requirement("cli.color-decision")
@pytest.mark.parametrize(
    ("stdout", "no_color", "term", "expected"),
    [
        (TerminalText(), None, "xterm", True),
        (TerminalText(), "", "xterm", True),
        (TerminalText(), "0", "xterm", False),
        (TerminalText(), None, "dumb", False),
        (io.StringIO(), None, "xterm", False),
    ],
)
def test_colors_are_for_terminals_that_allow_them(
    monkeypatch: pytest.MonkeyPatch,
    stdout: io.StringIO,
    no_color: str | None,
    term: str,
    *,
    expected: bool,
) -> None:
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)

    assert wants_color() is expected
