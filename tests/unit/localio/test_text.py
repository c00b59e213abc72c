"""Display of untrusted text without hidden characters."""

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
def test_invisible_characters_are_shown(text: str, shown: str) -> None:
    assert exact(text) == shown


@pytest.mark.requirement("approvals.exact-text")
def test_long_line_is_wrapped_completely() -> None:
    assert pieces("abcdefgh", width=3) == ["abc", "def", "gh"]
