"""Words that each element of a pattern matches."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.agents.eliza.engine import decompose
from symposium.agents.eliza.script import Gap, OneOf, Pattern, parse_pattern

pytestmark = pytest.mark.requirement("eliza.decompose")


def matched(pattern: str, text: str) -> list[str] | None:
    words = text.split()
    spans = decompose(parse_pattern(pattern, {}), words)
    return None if spans is None else [" ".join(words[span]) for span in spans]


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        ("*", "", [""]),
        ("*", "a b", ["a b"]),
        ("+", "", None),
        ("+", "a", ["a"]),
        ("a", "a", ["a"]),
        ("a", "a a", None),
        ("a", "", None),
        ("a b", "a b", ["a", "b"]),
        ("a *", "a", ["a", ""]),
        ("a +", "a", None),
        ("* a", "b a a", ["b a", "a"]),
        ("* a *", "b a c a d", ["b", "a", "c a d"]),
        ("* a + a *", "a a b a", ["", "a", "a b", "a", ""]),
        ("* a b * c", "a b a b c c", ["", "a", "b", "a b c", "c"]),
        ("* a * b", "b a", None),
        ("a|b *", "b c", ["b", "c"]),
        ("a * a", "a", None),
    ],
)
def test_each_element_matches_its_words(pattern: str, text: str, parts: list[str] | None) -> None:
    assert matched(pattern, text) == parts


def any_match(pattern: Pattern, words: Sequence[str]) -> bool:
    """Search exhaustively, unlike the program under test."""
    match pattern:
        case (Gap(minimum), *rest):
            fits = range(minimum, len(words) + 1)
            return any(any_match(tuple(rest), words[count:]) for count in fits)
        case (OneOf(choices), *rest):
            return bool(words) and words[0] in choices and any_match(tuple(rest), words[1:])
        case _:
            return not words


letters = st.sampled_from("ab")
elements = st.one_of(
    st.just("*"), st.just("+"), letters, st.sampled_from(["a|b", "b|c"]), st.sampled_from("c")
)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    drawn = draw(st.lists(elements, min_size=1, max_size=6))
    kept = [
        element
        for before, element in zip(["", *drawn], drawn, strict=False)
        if not (before in ("*", "+") and element in ("*", "+"))
    ]
    return " ".join(kept)


@given(pattern=patterns(), words=st.lists(st.sampled_from("abc"), max_size=8))
def test_match_is_found_exactly_when_one_exists(pattern: str, words: list[str]) -> None:
    parsed = parse_pattern(pattern, {})

    spans = decompose(parsed, words)

    assert (spans is not None) == any_match(parsed, words)
    if spans is not None:
        assert [word for span in spans for word in words[span]] == words
        for element, span in zip(parsed, spans, strict=True):
            match element:
                case Gap(minimum):
                    assert span.stop - span.start >= minimum
                case OneOf(choices):
                    assert words[span.start] in choices
                    assert span.stop == span.start + 1


class Counted(frozenset[str]):
    """A set of words that counts lookups."""

    asked = 0

    def __contains__(self, word: object) -> bool:
        Counted.asked += 1
        return super().__contains__(word)


@pytest.mark.requirement("eliza.bounded-work")
def test_near_miss_costs_one_lookup_per_word_and_element() -> None:
    words = ["a"] * 1_000
    pattern: Pattern = ()
    for _ in range(6):
        pattern = (*pattern, Gap(0), OneOf(Counted({"a"})), OneOf(Counted({"a"})))
    Counted.asked = 0

    assert decompose((*pattern, Gap(0), OneOf(frozenset({"b"}))), words) is None

    assert Counted.asked <= len(pattern) * len(words)
