"""The screen that asks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.trust.difference import MOST_LINES, difference
from symposium.trust.item import Effect, EffectKind, Item, Link
from symposium.trust.screen import screen
from symposium.trust.store import Question

KINDS: tuple[EffectKind, ...] = ("command", "server", "variable", "text")


def item(*effects: Effect, links: tuple[Link, ...] = ()) -> Item:
    return Item(Path("/w"), "recommendations", "r.toml", b"x", links, effects)


@pytest.mark.requirement("trust.screen-says-all")
def test_every_command_server_variable_and_link_has_its_line() -> None:
    effects = (
        Effect("command", "npx -y x"),
        Effect("server", "https://a"),
        Effect("variable", "A"),
    )
    shown = screen([Question(item(*effects, links=(Link("r.toml", "/etc/x"),)))])
    assert "r.toml (recommendations, new, sha256 2d711642b726)" in shown
    assert "runs: npx -y x" in shown
    assert "reaches: https://a" in shown
    assert "sets: A" in shown
    assert "follows: r.toml -> /etc/x (outside the workspace)" in shown


@given(st.lists(st.builds(Effect, st.sampled_from(KINDS), st.text()), max_size=5))
@pytest.mark.requirement("trust.screen-says-all")
def test_whatever_is_stored_it_has_one_line_for_each_effect(effects: list[Effect]) -> None:
    lines = screen([Question(item(*effects))]).split("\n")
    assert len(lines) == 1 + max(1, len(effects))
    assert all(line.startswith("  ") for line in lines[1:])
    assert not any(character < " " for line in lines for character in line)


@pytest.mark.requirement("trust.screen-says-all")
def test_a_long_or_binary_change_is_said_to_be_cut() -> None:
    new = "\n".join(map(str, range(MOST_LINES * 2))).encode()
    assert f"(and {MOST_LINES + 4} more lines)" in difference(b"", new)
    assert "not text: 1 bytes before, 2 now" in difference(b"x", b"\xff\xff")
    assert "\x1b" not in difference(b"x", b"\x1b[2J")
