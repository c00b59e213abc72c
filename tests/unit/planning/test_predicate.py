"""Conditions, judged on facts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.planning.recommendations import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Ecosystem,
    FileExists,
    Leaf,
    Predicate,
    PredicateError,
    PredicateUses,
    WorkspaceFacts,
    canonical,
    holds,
    leaves,
    read_predicate,
    reason,
    reason_gone,
    words,
)

NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.builds(FileExists, NAMES) | st.builds(
    PredicateUses, st.sampled_from(["crate", "npm"]), NAMES
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple))
    ),
)


def known_as(files: frozenset[str], crates: frozenset[str], npm: frozenset[str]) -> WorkspaceFacts:
    return WorkspaceFacts(files, {"crate": crates, "npm": npm})


SOME = st.frozensets(NAMES)
ANYTHING = st.recursive(
    st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)
FACTS = st.builds(known_as, SOME, SOME, SOME)


def facts(*files: str, **packages: str) -> WorkspaceFacts:
    ecosystems: tuple[Ecosystem, ...] = ("crate", "python", "npm")
    return WorkspaceFacts(
        frozenset(files), {each: frozenset(packages.get(each, "").split()) for each in ecosystems}
    )


HOLD: list[tuple[Any, WorkspaceFacts]] = [
    (None, facts()),
    ({}, facts()),
    ({"file-exists": "Cargo.toml"}, facts("Cargo.toml")),
    ({"files-exist": ["a", "b"]}, facts("a", "b")),
    ({"files-exist": []}, facts()),
    ({"using-crate": "tokio"}, facts(crate="tokio")),
    ({"using-crate": "serde_json"}, facts(crate="serde-json")),
    ({"using-crates": ["a", "b"]}, facts(crate="a b")),
    ({"using-python-package": "Foo.Bar"}, facts(python="foo-bar")),
    ({"using-npm-package": "@a/b"}, facts(npm="@a/b")),
    ({"any": [{"file-exists": "x"}, {"using-crate": "a"}]}, facts(crate="a")),
    ({"all": [{"file-exists": "x"}, {"using-crate": "a"}]}, facts("x", crate="a")),
    ({"file-exists": "x", "using-crate": "a"}, facts("x", crate="a")),
]
DO_NOT: list[tuple[Any, WorkspaceFacts]] = [
    ({"file-exists": "Cargo.toml"}, facts("cargo.toml")),
    ({"files-exist": ["a", "b"]}, facts("a")),
    ({"using-crate": "tokio"}, facts(npm="tokio")),
    ({"using-crates": ["a", "b"]}, facts(crate="a")),
    ({"any": [{"file-exists": "x"}, {"using-crate": "a"}]}, facts(crate="b")),
    ({"any": []}, facts()),
    ({"all": [{"file-exists": "x"}, {"using-crate": "a"}]}, facts("x")),
    ({"file-exists": "x", "using-crate": "a"}, facts("x")),
]


@pytest.mark.parametrize(("when", "known"), HOLD)
@pytest.mark.requirement("recommendations.predicates")
def test_conditions_that_hold(when: Any, known: WorkspaceFacts) -> None:
    assert holds(read_predicate(when), known)


@pytest.mark.parametrize(("when", "known"), DO_NOT)
@pytest.mark.requirement("recommendations.predicates")
def test_conditions_that_do_not_hold(when: Any, known: WorkspaceFacts) -> None:
    assert not holds(read_predicate(when), known)


@given(PREDICATES, FACTS)
@pytest.mark.requirement("recommendations.predicates")
def test_any_is_the_mirror_of_all(predicate: Predicate, known: WorkspaceFacts) -> None:
    """De Morgan's law: any and all exchanged, and known and unknown, invert the answer."""

    def mirrored(one: Predicate) -> Predicate:
        match one:
            case AllOf(parts):
                return AnyOf(tuple(map(mirrored, parts)))
            case AnyOf(parts):
                return AllOf(tuple(map(mirrored, parts)))
            case leaf:
                return leaf

    every = frozenset("abc")
    crates, npm = known.packages["crate"], known.packages["npm"]
    others = known_as(every - known.files, every - crates, every - npm)
    assert holds(predicate, known) is not holds(mirrored(predicate), others)


@given(PREDICATES, FACTS, FACTS)
@pytest.mark.requirement("recommendations.predicates")
def test_to_know_more_never_takes_a_recommendation_away(
    predicate: Predicate, one: WorkspaceFacts, other: WorkspaceFacts
) -> None:
    crates = one.packages["crate"] | other.packages["crate"]
    both = known_as(one.files | other.files, crates, one.packages["npm"] | other.packages["npm"])
    assert not holds(predicate, one) or holds(predicate, both)


@given(PREDICATES, FACTS)
@pytest.mark.requirement("recommendations.explained")
def test_reasons_name_what_holds_and_what_does_not(
    predicate: Predicate, known: WorkspaceFacts
) -> None:
    conditions = list(leaves(predicate))
    told = [text for text in (reason(predicate, known), reason_gone(predicate, known)) if text]
    assert sum(text.count("`") for text in told) == 2 * len(conditions)
    if all(holds(each, known) for each in conditions):
        assert reason_gone(predicate, known) == ""


@pytest.mark.requirement("recommendations.explained")
def test_reasons_are_worded_as_in_the_reference() -> None:
    when = read_predicate({"file-exists": "Cargo.toml", "using-crate": "tokio"})
    assert reason(when, facts("Cargo.toml", crate="tokio")) == (
        "because `Cargo.toml` exists, using crate `tokio`"
    )
    assert (
        reason_gone(when, facts()) == "`Cargo.toml` no longer exists, no longer using crate `tokio`"
    )


def nested(depth: int) -> Any:
    return {"any": [nested(depth - 1)]} if depth else {"file-exists": "x"}


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("x", "not a table"),
        ({"grep": "x"}, r"unknown condition 'grep'; known are file-exists, "),
        ({"file-exists": 3}, "`file-exists` names nothing"),
        ({"file-exists": ""}, "names nothing"),
        ({"file-exists": "/etc/passwd"}, "leaves the workspace"),
        ({"files-exist": ["a/../../b"]}, "leaves the workspace"),
        ({"files-exist": "a"}, "not a list"),
        ({"any": {"file-exists": "x"}}, "not a list"),
        ({"any": ["x"]}, "not a table"),
        (nested(30), "nested deeper"),
    ],
)
@pytest.mark.requirement("recommendations.conditions-checked")
def test_invalid_condition_is_explained(when: Any, words: str) -> None:
    with pytest.raises(PredicateError, match=words):
        read_predicate(when)


@given(ANYTHING)
@pytest.mark.requirement("recommendations.conditions-checked")
def test_whatever_stands_under_when_it_is_a_condition_or_an_error_in_words(value: Any) -> None:
    try:
        found = read_predicate(value)
    except PredicateError:
        return
    assert holds(found, facts()) in {True, False}


@given(st.text(alphabet="aB-_.", min_size=1))
@pytest.mark.requirement("recommendations.using-packages")
def test_a_canonical_name_stays_what_it_is(name: str) -> None:
    ecosystems: tuple[Ecosystem, ...] = ("crate", "python", "npm")
    for each in ecosystems:
        assert canonical(each, canonical(each, name)) == canonical(each, name)


@pytest.mark.requirement("recommendations.conditions-checked")
def test_a_condition_of_the_deepest_nesting_is_read() -> None:
    (leaf,) = leaves(read_predicate(nested(MAX_DEPTH)))

    assert leaf == FileExists("x")
    with pytest.raises(PredicateError, match="nested deeper than 20 levels"):
        read_predicate(nested(MAX_DEPTH + 1))


@pytest.mark.requirement("recommendations.conditions-checked")
@pytest.mark.parametrize("path", ["a\0b", "..", "a/..", "/"])
def test_path_outside_the_workspace_is_refused(path: str) -> None:
    with pytest.raises(PredicateError, match="leaves the workspace"):
        read_predicate({"file-exists": path})


@pytest.mark.requirement("recommendations.explained")
@pytest.mark.parametrize(
    ("leaf", "text"),
    [
        (FileExists("a.toml"), "file-exists a.toml"),
        (PredicateUses("crate", "serde"), "using-crate serde"),
        (PredicateUses("python", "numpy"), "using-python-package numpy"),
        (PredicateUses("npm", "left-pad"), "using-npm-package left-pad"),
    ],
)
def test_condition_is_shown_in_its_source_form(leaf: Leaf, text: str) -> None:
    assert words(leaf) == text
