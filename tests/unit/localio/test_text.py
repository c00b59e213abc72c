"""Display of untrusted text without hidden characters."""

import pytest

from localio.text import clipped, exact, near_names, one_line, pieces, plain_text


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


@pytest.mark.requirement("approvals.exact-text")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("a\rb", "a␍b"),
        ("\x00\x08\x0b\x1b[31m\x1f", "␀␈␋␛[31m␟"),
        ("\x7f", "␡"),
        *((chr(code), f"<U+{code:04X}>") for code in (0x80, 0x9B, 0x9F, 0x061C, 0x200E, 0x200F)),
        *((chr(code), f"<U+{code:04X}>") for code in (0x2028, 0x202E, 0x2066, 0x2069)),
        *((chr(code), f"<U+{code:04X}>") for code in (0xD800, 0xDFFF)),
        *((text, text) for text in ("a b", "é", "\u200d", "\u2027", "\u202f", "🙂", "\ue000")),
    ],
    ids=ascii,
)
def test_text_for_a_terminal_has_no_control_characters(text: str, shown: str) -> None:
    assert plain_text(text) == shown


@pytest.mark.requirement("approvals.exact-text")
def test_line_is_cut_to_its_width() -> None:
    assert one_line("  a \n b\tc  ", width=7) == "  a b c"
    assert one_line("  a \n b\tc  ", width=6) == "  a b…"
    assert clipped("a\tb\nc", width=7) == "a   b c"
    assert clipped("a\tb\nc", width=6) == "a   b…"


@pytest.mark.requirement("house.near-names")
def test_near_names_are_few_and_the_nearest_is_first() -> None:
    known = ["Sparkle", "sparks", "spark", "spark2", "other"]

    assert near_names("SPARK", known) == ["spark", "sparks", "spark2"]
    assert near_names("unlike", known) == []
