"""Conversations: answers and their order."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.agents.eliza.doctor import DOCTOR
from symposium.agents.eliza.engine import DETERMINISTIC_SEED, MAX_TEXT, MEMORY_SIZE, Eliza
from symposium.agents.eliza.script import ElizaScript, parse_keywords

HOW_DO_YOU_DO = "How do you do. Please state your problem."


def answer_to(text: str) -> str:
    return Eliza(DETERMINISTIC_SEED).reply(text)


def eliza_with(keywords: str, *, remembered: str = "my") -> Eliza:
    script = ElizaScript(
        keywords=parse_keywords(keywords),
        classes={},
        contractions={},
        remembered=remembered,
        memory="* my +\n    Back to your $3.",
        fallbacks=("first", "second"),
        silence=("nothing said",),
    )
    return Eliza(DETERMINISTIC_SEED, script=script)


@pytest.mark.requirement("cli.eliza-hello")
@pytest.mark.parametrize("seed", [DETERMINISTIC_SEED, 1, -7, 10**30])
def test_hello_is_answered_by_asking_for_the_problem(seed: int) -> None:
    eliza = Eliza(seed)

    assert eliza.reply("Hello") == HOW_DO_YOU_DO
    assert eliza.reply("HELLO!!") == HOW_DO_YOU_DO


@pytest.mark.requirement("cli.eliza-greeting")
@pytest.mark.parametrize("text", ["hi", "Hey there.", "Good morning", "howdy", "good evening!"])
def test_a_greeting_is_answered_with_a_greeting(text: str) -> None:
    assert answer_to(text) == HOW_DO_YOU_DO


@pytest.mark.requirement("cli.eliza-greeting")
def test_morning_alone_is_not_a_greeting() -> None:
    assert answer_to("in the morning I am tired") != HOW_DO_YOU_DO


@pytest.mark.requirement("cli.eliza-sorry")
def test_an_apology_is_waved_away() -> None:
    assert answer_to("Sorry, I broke the build") == "Nothing to forgive. Carry on."


@pytest.mark.requirement("cli.eliza-family")
@pytest.mark.parametrize("text", ["my mother hates my code", "My big sister called", "my Dad"])
def test_a_word_of_the_family_is_asked_about(text: str) -> None:
    assert "What kind of person is your " in answer_to(text)


@pytest.mark.requirement("cli.eliza-family")
def test_a_family_in_general_is_asked_about_too() -> None:
    assert answer_to("mother knows best") == "What is your family like?"


@pytest.mark.requirement("cli.eliza-remember")
def test_memory_returns_as_a_question() -> None:
    answer = answer_to("I remember the smell of my first computer lab")

    # A computer outranks a memory, as the script means it to.
    assert "computers" in answer
    assert answer_to("I remember my first program") == (
        "So you remember your first program. Who else does?"
    )


@pytest.mark.requirement("cli.eliza-computer")
@pytest.mark.parametrize("text", ["computers", "my sister is a Machine", "I love my laptop"])
def test_a_word_of_machines_is_answered_by_the_rule_for_it(text: str) -> None:
    assert answer_to(text) == "Is it computers that worry you?"


@pytest.mark.requirement("cli.eliza-how-are-you")
@pytest.mark.parametrize("text", ["How are you?", "and how are you today", "Well, how are you"])
def test_how_are_you_is_asked_back(text: str) -> None:
    assert answer_to(text) == "I am fine, thank you. But how are you?"


@pytest.mark.requirement("cli.eliza-pronoun-reflection")
def test_mine_is_yours_in_the_answer() -> None:
    assert answer_to("My cat ignores me") == "Your cat ignores you: since when?"
    assert answer_to("I feel small beside your wit") == (
        "Where does it come from that you feel small beside my wit?"
    )


@pytest.mark.requirement("cli.eliza-rotation")
def test_repeated_remark_cycles_through_the_answers_of_its_rule() -> None:
    eliza = Eliza(DETERMINISTIC_SEED)

    said = [eliza.reply("sorry") for _ in range(6)]

    assert len({*said[:3]}) == 3
    assert said[3:] == said[:3]


@pytest.mark.requirement("cli.eliza-fallback")
def test_a_remark_that_no_rule_fits_gets_a_general_answer() -> None:
    eliza = Eliza(DETERMINISTIC_SEED)

    assert [eliza.reply("xyzzy plugh") for _ in DOCTOR.fallbacks] == [*DOCTOR.fallbacks]


@pytest.mark.requirement("cli.eliza-fallback")
@pytest.mark.parametrize("text", ["", "   ", "?!", "\x00\x07", "\ud800"])
def test_empty_remark_is_answered(text: str) -> None:
    assert answer_to(text) == DOCTOR.silence[0]


@pytest.mark.requirement("cli.eliza-topic-rules")
@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("What is the borrow checker?", "borrow checker"),
        ("I fight the borrow checker all day", "borrow checker"),
        ("lifetimes confuse me", "lifetime"),
        ("Do I need lifetime annotations here?", "lifetime annotations"),
        ("cargo", "cargo"),
        ("I run clippy", "Clippy"),
        ("who is Ferris?", "Ferris"),
        ("async functions", "async"),
        ("tokio", "async"),
        ("Rust", "Rust"),
        ("I love Rust", "Rust"),
        ("asyncio", "task"),
        ("python", "Python"),
    ],
)
def test_topic_has_its_own_answers(text: str, topic: str) -> None:
    answer = answer_to(text)

    assert topic in answer
    assert answer not in DOCTOR.fallbacks


@pytest.mark.requirement("cli.eliza-topic-context")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The borrow checker rejects my struct", "rejects your struct"),
        ("what is the lifetime of my buffer?", "lifetime of your buffer"),
        ("cargo build is slow", "cargo build"),
        ("clippy says my loop is ugly", "says your loop is ugly"),
        ("Rust is too strict for me", "Rust is too strict for you"),
        ("Python has its ways", "Python has its ways"),
    ],
)
def test_answer_of_a_topic_reuses_words_of_the_remark(text: str, words: str) -> None:
    assert words in answer_to(text)


@pytest.mark.requirement("eliza.rank")
def test_keyword_of_the_highest_rank_answers_at_any_position() -> None:
    keywords = "1: low\n*\n    low\n\n9: high\n*\n    high\n\n5: middle\n*\n    middle\n"

    assert eliza_with(keywords).reply("low middle high low") == "High"
    assert eliza_with(keywords).reply("high middle") == "High"
    assert eliza_with(keywords).reply("nothing low") == "Low"


@pytest.mark.requirement("eliza.rank")
def test_next_keyword_answers_when_one_gives_up() -> None:
    keywords = "9: high\n*\n    !next\n\n5: none\n* here\n    here\n\n1: low\n*\n    low\n"

    assert eliza_with(keywords).reply("high none low") == "Low"
    assert eliza_with(keywords).reply("high none here") == "Here"
    assert eliza_with(keywords).reply("high") == "first"


@pytest.mark.requirement("eliza.rank")
def test_a_link_answers_with_the_rules_of_another_keyword() -> None:
    keywords = "0: cat\n*\n    =pet\n\n0: pet\n*\n    I like pets.\n    More pets!\n"
    eliza = eliza_with(keywords)

    assert eliza.reply("cat") == "I like pets."
    assert eliza.reply("pet") == "More pets!"


@pytest.mark.requirement("eliza.rank")
def test_links_in_a_circle_end_in_a_general_answer() -> None:
    assert eliza_with("0: a\n*\n    =b\n\n0: b\n*\n    =a\n").reply("a") == "first"


@pytest.mark.requirement("eliza.clause")
def test_only_the_first_clause_with_a_keyword_counts() -> None:
    keywords = "1: low\n* low *\n    low $3\n\n9: high\n*\n    high\n"

    assert eliza_with(keywords).reply("So, low it is, but high") == "Low it is"


@pytest.mark.requirement("eliza.memory")
def test_memory_is_used_when_no_rule_fits() -> None:
    eliza = eliza_with("0: my\n*\n    I see.\n")

    assert eliza.reply("my cat sleeps") == "I see."
    assert eliza.reply("my dog barks at me") == "I see."
    assert eliza.reply("hm") == "Back to your cat sleeps."
    assert eliza.reply("hm") == "Back to your dog barks at you."
    assert eliza.reply("hm") == "first"


@pytest.mark.requirement("eliza.memory")
def test_remark_answered_by_another_keyword_is_not_remembered() -> None:
    eliza = eliza_with("0: my\n*\n    I see.\n\n5: cat\n*\n    Meow.\n")

    assert eliza.reply("my cat sleeps") == "Meow."
    assert eliza.reply("hm") == "first"


@pytest.mark.requirement("eliza.memory")
def test_oldest_memory_is_dropped() -> None:
    eliza = eliza_with("0: my\n*\n    I see.\n")
    for number in range(MEMORY_SIZE + 1):
        eliza.reply(f"my n{number}")

    assert eliza.reply("hm") == "Back to your n1."


@pytest.mark.requirement("cli.eliza-deterministic")
@given(seed=st.integers(), remarks=st.lists(st.text(max_size=40), max_size=8))
def test_the_same_seed_and_remarks_give_the_same_answers(seed: int, remarks: list[str]) -> None:
    one, other = Eliza(seed), Eliza(seed)

    assert [one.reply(text) for text in remarks] == [other.reply(text) for text in remarks]


@pytest.mark.requirement("cli.eliza-deterministic")
def test_another_seed_begins_elsewhere() -> None:
    first = {Eliza(seed).reply("sorry") for seed in range(10)}

    assert len(first) == 3


@pytest.mark.requirement("cli.eliza-deterministic")
def test_without_a_seed_conversations_begin_in_many_ways() -> None:
    begun = {tuple(Eliza().reply(text) for text in ("sorry", "yes", "no")) for _ in range(60)}

    assert len(begun) > 1


words_of_the_script = st.sampled_from(sorted({*DOCTOR.keywords, *DOCTOR.contractions}))
chatter = st.lists(
    st.one_of(words_of_the_script, st.sampled_from([",", ".", "\n", "but", "xyzzy", "build"]))
).map(" ".join)
any_text = st.text(st.characters(exclude_categories=[]))


@given(st.lists(st.one_of(any_text, chatter), min_size=1, max_size=5))
@pytest.mark.requirement("eliza.any-text")
def test_every_remark_gets_a_printable_answer(remarks: list[str]) -> None:
    eliza = Eliza(DETERMINISTIC_SEED)
    for text in remarks:
        answer = eliza.reply(text)
        assert answer.strip()
        assert answer.isprintable()
        assert answer.encode()
        assert "$" not in answer


@pytest.mark.requirement("eliza.any-text", "eliza.bounded-work")
@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "i " * 50_000,
        "my your i you are am " * 5_000,
        "borrow checker says " * 5_000,
        "but " * 25_000,
        "." * 100_000,
        "\ud800" * 100_000,
        " ".join(DOCTOR.keywords) * 100,
    ],
    ids=lambda text: str(text)[:8].encode("ascii", "replace").decode(),
)
def test_a_remark_of_a_hundred_kilobytes_is_answered(text: str) -> None:
    answer = answer_to(text)

    assert answer
    assert len(answer) <= MAX_TEXT + 200


@pytest.mark.requirement("eliza.light-start")
def test_engine_imports_only_modules_that_the_wire_needs() -> None:
    code = (
        "import sys, symposium.chain.mod, typing, itertools; before = {*sys.modules};"
        "import symposium.agents.eliza.engine; print(*{*sys.modules} - before)"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert {name.split(".")[0] for name in loaded.stdout.split()} == {"symposium"}
