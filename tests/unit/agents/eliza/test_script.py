"""Notation of scripts, and validity of the built-in script."""

import pytest

from symposium.agents.eliza.doctor import DOCTOR
from symposium.agents.eliza.script import (
    ElizaScript,
    Gap,
    Keyword,
    NextKeyword,
    OneOf,
    RuleLink,
    Say,
    ScriptError,
    compile_rules,
    parse_keywords,
    parse_pattern,
    parse_reassembly,
)

CLASSES = {"pet": "cat dog"}


def script_of(
    keywords: str, *, memory: str = "*\n    later", remembered: str = "my"
) -> ElizaScript:
    return ElizaScript(
        keywords=parse_keywords(keywords),
        classes=CLASSES,
        contractions={},
        remembered=remembered,
        memory=memory,
        fallbacks=("nothing fits",),
        silence=("nothing said",),
    )


def word(*words: str) -> OneOf:
    return OneOf(frozenset(words))


@pytest.mark.requirement("cli.eliza-pattern-elements")
def test_a_pattern_is_gaps_words_alternatives_and_classes() -> None:
    assert parse_pattern("* my big|small @pet +", CLASSES) == (
        Gap(0),
        word("my"),
        word("big", "small"),
        word("cat", "dog"),
        Gap(1),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("", "at least one element"), ("a * + b", "side by side"), ("* @bird", "no class is called")],
)
@pytest.mark.requirement("cli.eliza-pattern-elements")
def test_invalid_pattern_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(ScriptError, match=complaint):
        parse_pattern(text, CLASSES)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I see.", ("I see.",)),
        ("Why $2?", ("Why ", 2, "?")),
        ("$1 and $12", (1, " and ", 12)),
        ("$3$4", (3, 4)),
        ("", ()),
    ],
)
@pytest.mark.requirement("cli.eliza-reassembly")
def test_a_reassembly_is_texts_and_numbered_places(text: str, parts: tuple[str | int, ...]) -> None:
    assert parse_reassembly(text) == Say(parts)


@pytest.mark.requirement("cli.eliza-reassembly")
def test_a_reassembly_may_link_to_a_keyword_or_give_up() -> None:
    assert parse_reassembly("=what") == RuleLink("what")
    assert parse_reassembly("!next") == NextKeyword()


@pytest.mark.parametrize("text", ["$", "costs $ 5", "$x"])
@pytest.mark.requirement("cli.eliza-reassembly")
def test_placeholder_without_a_number_is_rejected(text: str) -> None:
    with pytest.raises(ScriptError, match="without the number"):
        parse_reassembly(text)


@pytest.mark.requirement("eliza.blocks")
def test_every_word_at_the_head_of_a_block_calls_its_keyword_up() -> None:
    keywords = parse_keywords("3: cat tomcat\n*\n    Meow.\n\n0: dog\n*\n    Woof.\n", "7: cow\n*")

    assert keywords == {
        "cat": Keyword("cat", 3, "*\n    Meow."),
        "tomcat": Keyword("cat", 3, "*\n    Meow."),
        "dog": Keyword("dog", 0, "*\n    Woof."),
        "cow": Keyword("cow", 7, "*"),
    }


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cat\n*\n    Meow.", "RANK"),
        ("-1: cat", "RANK"),
        ("1: ", "RANK"),
        ("1: cat\n*\n    a\n\n2: dog cat\n*\n    b", "'cat' calls up two"),
    ],
)
@pytest.mark.requirement("eliza.blocks")
def test_invalid_block_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(ScriptError, match=complaint):
        parse_keywords(text)


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("", "without an answer"),
        ("*", "without an answer"),
        ("*\n    fine\n* a", "without an answer"),
        ("    an answer to nothing", "without an answer"),
        ("* cat\n    $3", "no element 3"),
        ("* cat\n    $0", "no element 0"),
        ("*\n    =dog", "'dog', which is no keyword"),
    ],
)
@pytest.mark.requirement("eliza.blocks")
def test_invalid_rule_is_rejected(rules: str, complaint: str) -> None:
    with pytest.raises(ScriptError, match=complaint):
        compile_rules(rules, script_of("0: cat\n*\n    Meow."))


@pytest.mark.parametrize("name", sorted({keyword.name for keyword in DOCTOR.keywords.values()}))
@pytest.mark.requirement("cli.eliza-script-loads")
def test_the_rules_of_the_built_in_script_are_well_formed(name: str) -> None:
    keyword = DOCTOR.keywords[name]

    assert keyword.name == name
    assert compile_rules(keyword.rules, DOCTOR)


@pytest.mark.requirement("cli.eliza-script-loads")
def test_built_in_script_is_complete() -> None:
    assert DOCTOR.remembered in DOCTOR.keywords
    assert compile_rules(DOCTOR.memory, DOCTOR)
    assert DOCTOR.fallbacks
    assert DOCTOR.silence
    # A contraction is replaced before keywords are looked for, so it would never be found.
    assert not DOCTOR.keywords.keys() & DOCTOR.contractions.keys()
    assert len(DOCTOR.keywords) > 100
