"""Texts of others, shown so that nothing in them is hidden."""

import pytest

from localio.text import exact, pieces


@pytest.mark.requirement("approvals.exact-text")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf x", "rm -rf x"),
        ("a\nb\tc", "a␊b␉c"),
        ("a\u200bb\u00a0c", "a<U+200B>b<U+00A0>c"),
        ("a\u202eb", "a<U+202E>b"),
    ],
)
def test_what_is_decided_on_shows_each_character_that_has_no_sign(text: str, shown: str) -> None:
    assert exact(text) == shown


@pytest.mark.requirement("approvals.exact-text")
def test_a_long_line_is_shown_whole_in_pieces() -> None:
    assert pieces("abcdefgh", width=3) == ["abc", "def", "gh"]
