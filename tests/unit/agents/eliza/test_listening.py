"""Splitting a remark into clauses of words, and swapping first and second person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.agents.eliza.engine import MAX_CLAUSE, MAX_TEXT, clauses, with_swapped_pronouns


def clause_texts(text: str) -> list[str]:
    return [" ".join(clause.words) for clause in clauses(text, {"i'm": "I am"})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("...?!", []),
        ("Hello, world!", ["Hello", "world"]),
        ("one but two", ["one", "two"]),
        ("But why", ["why"]),
        ("Cargo.toml is long. Why?", ["Cargo.toml is long", "Why"]),
        ("in 3.11 it works", ["in 3.11 it works"]),
        ("'quoted' - and -- dashed-word", ["quoted and dashed-word"]),
        ("I\N{RIGHT SINGLE QUOTATION MARK}m here", ["I am here"]),
        ("i'm", ["I am"]),
        ("async/await in C++", ["async await in C++"]),
        ("naïve façade हिन्दी 日本", ["naïve façade हिन्दी 日本"]),
        ("a\x00b\x1b[31mred\ud800z", ["a b", "31mred z"]),
        ("no\rreturn\nline", ["no", "return", "line"]),
    ],
)
@pytest.mark.requirement("eliza.any-text")
def test_remark_is_split_into_clauses_of_printable_words(text: str, expected: list[str]) -> None:
    assert clause_texts(text) == expected


@given(st.text(st.characters(exclude_categories=[])))
@pytest.mark.requirement("eliza.any-text")
def test_every_word_can_be_printed(text: str) -> None:
    for clause in clauses(text, {}):
        assert clause.words
        assert len(clause.words) == len(clause.keys)
        for word in clause.words:
            assert word.isprintable()
            assert not word.isspace()
            assert word.encode()


@pytest.mark.requirement("eliza.bounded-work")
def test_endless_clause_and_text_are_truncated() -> None:
    words = [len(clause.words) for clause in clauses("a " * MAX_TEXT, {})]

    assert max(words) == MAX_CLAUSE
    assert sum(words) == MAX_TEXT / 2


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("I am tired", "you are tired"),
        ("am I right", "are you right"),
        ("I was there", "you were there"),
        ("you are late", "I am late"),
        ("are you late", "am I late"),
        ("you were late", "I was late"),
        ("were you late", "was I late"),
        ("was I late", "were you late"),
        ("me and my dog", "you and your dog"),
        ("it is mine not yours", "it is yours not mine"),
        ("myself or yourself", "yourself or myself"),
        ("your dog hates you", "my dog hates me"),
        ("you hate your dog", "I hate my dog"),
        ("I know that you know me", "you know that I know you"),
        ("to you", "to me"),
        ("I think of you", "you think of me"),
        ("My Words Keep Case", "your Words Keep Case"),
        ("", ""),
    ],
)
@pytest.mark.requirement("cli.eliza-reflections", "cli.eliza-pronoun-reflection")
def test_first_and_second_person_are_swapped(theirs: str, ours: str) -> None:
    assert with_swapped_pronouns(theirs.split()) == ours
