"""Choice of the suggestions for a config."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.errors import SymposiumError
from symposium.planning.mod_advisor import AnswerMemory, RecommendationAnswers, applied, compare
from symposium.planning.recommendations import (
    ALWAYS,
    ORIGIN,
    FileExists,
    Predicate,
    Recommendation,
    WorkspaceFacts,
    identity,
)

HERE = WorkspaceFacts(frozenset({"x"}))
NOWHERE = WorkspaceFacts()


def recommended(name: str, when: Predicate = ALWAYS) -> Recommendation:
    return Recommendation(ModEntry(name, origin=ORIGIN), when, "user")


def ours(name: str) -> ModEntry:
    return ModEntry(name, origin=ORIGIN)


def of(*names: str) -> frozenset[str]:
    return frozenset(identity(ModEntry(name)) for name in names)


@pytest.mark.requirement("recommendations.diff", "recommendations.explained")
def test_missing_mod_that_suits_is_suggested_with_its_reason() -> None:
    listed = [
        recommended("a", FileExists("x")),
        recommended("b", FileExists("y")),
        recommended("c"),
    ]
    changes = compare([ModEntry("c")], listed, HERE, RecommendationAnswers())
    assert [each.recommendation.mod.name for each in changes.additions] == ["a"]
    assert changes.additions[0].because == "because `x` exists"
    assert changes.removals == ()


@pytest.mark.requirement("recommendations.diff")
def test_what_is_disabled_or_called_the_same_is_known() -> None:
    own = ModEntry("b", source=ComponentSource("local", {"command": "own"}))
    mods = [ModEntry("a", enabled=False), own]
    assert not compare(mods, [recommended("a"), recommended("b")], HERE, RecommendationAnswers())


@pytest.mark.requirement("recommendations.answers-kept")
def test_what_was_declined_is_not_offered() -> None:
    assert not compare([], [recommended("a")], HERE, RecommendationAnswers(declined=of("a")))


@pytest.mark.requirement("recommendations.removes-only-its-own", "recommendations.explained")
def test_only_what_was_brought_here_is_offered_to_be_taken_away() -> None:
    listed = [recommended(name, FileExists("x")) for name in ("brought", "elsewhere", "by-hand")]
    mods = [ours("brought"), ours("elsewhere"), ModEntry("by-hand")]
    answers = RecommendationAnswers(added_here=of("brought", "by-hand"))
    (removal,) = compare(mods, listed, NOWHERE, answers).removals
    assert removal.mod == ours("brought")
    assert removal.because == "`x` no longer exists"
    assert not compare(
        mods, listed, NOWHERE, RecommendationAnswers(added_here=of("brought"), kept=of("brought"))
    )


@pytest.mark.requirement("recommendations.removes-only-its-own", "recommendations.explained")
def test_mod_without_a_recommendation_is_suggested_for_removal() -> None:
    (removal,) = compare([ours("a")], [], HERE, RecommendationAnswers(added_here=of("a"))).removals
    assert removal.because == "it is no longer recommended"


NAMES = st.sampled_from(["a", "b", "c", "d"])
MODS = st.lists(st.builds(ModEntry, NAMES, st.booleans(), origin=st.sampled_from([None, ORIGIN])))
LISTED = st.lists(st.builds(recommended, NAMES, st.just(FileExists("x")) | st.just(ALWAYS)))
SETS = st.frozensets(NAMES).map(lambda names: of(*names))


@given(
    MODS,
    LISTED,
    st.sampled_from([HERE, NOWHERE]),
    st.builds(RecommendationAnswers, SETS, SETS, SETS),
)
@pytest.mark.requirement("recommendations.removes-only-its-own", "recommendations.diff")
def test_whatever_is_offered_nothing_of_the_users_goes_and_nothing_comes_twice(
    mods: list[ModEntry],
    listed: list[Recommendation],
    facts: WorkspaceFacts,
    answers: RecommendationAnswers,
) -> None:
    changes = compare(mods, listed, facts, answers)
    config = Config("agent", tuple(mods))
    after = applied(
        config,
        [each.recommendation.mod for each in changes.additions],
        [each.mod for each in changes.removals],
    )
    by_hand = [mod for mod in mods if mod.origin is None]
    assert [mod for mod in after.mods if mod.origin is None] == by_hand
    assert not {each.recommendation.mod.name for each in changes.additions} & {m.name for m in mods}
    again = compare(after.mods, listed, facts, answers)
    assert not again.additions
    assert not again.removals


@pytest.mark.requirement("recommendations.answers-kept")
def test_answers_last_and_are_forgotten_when_asked(tmp_path: Path) -> None:
    memory = AnswerMemory(tmp_path)
    memory.decline(["a"])
    memory.keep(["k"])
    memory.added(Path("/w"), ["b"])
    memory.added(Path("/w"), ["c"])
    memory.added(Path("/v"), ["c"])
    assert AnswerMemory(tmp_path).answers(Path("/w")) == RecommendationAnswers(
        frozenset("a"), frozenset("b"), frozenset("k")
    )
    assert memory.forget() == 2
    assert AnswerMemory(tmp_path).answers(Path("/w")) == RecommendationAnswers(
        added_here=frozenset("b")
    )
    assert next(tmp_path.glob("*.json")).stat().st_mode & 0o077 == 0


@pytest.mark.requirement("recommendations.diff")
def test_a_mod_of_the_user_stays_though_the_same_is_taken_away() -> None:
    users = ModEntry("a")

    assert applied(Config("x", (users, ours("a"))), [], [ours("a")]).mods == (users,)


@pytest.mark.requirement("recommendations.answers-kept")
def test_a_memory_that_is_no_file_counts_as_empty_and_is_named(tmp_path: Path) -> None:
    file = tmp_path / "recommendation-answers.json"
    file.mkdir()
    memory = AnswerMemory(tmp_path)

    assert memory.answers(Path("/w")) == RecommendationAnswers()
    assert str(memory.problem).startswith(f"{file} cannot be read (")
    with pytest.raises(SymposiumError, match=f"^{file} cannot be written: .*Is a directory"):
        memory.decline(["a"])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"declined": 3}'])
@pytest.mark.requirement("recommendations.answers-kept")
def test_damaged_memory_counts_as_empty_and_is_replaced(tmp_path: Path, text: str) -> None:
    memory = AnswerMemory(tmp_path)
    memory.decline(["a"])
    (file,) = tmp_path.glob("*.json")
    file.write_text(text)
    assert memory.answers(Path("/w")) == RecommendationAnswers()
    assert memory.problem is not None
    memory.decline(["b"])
    assert memory.answers(Path("/w")).declined == {"b"}
    assert memory.problem is None
