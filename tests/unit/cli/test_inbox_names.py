"""Names of inbox items and of answers on the command line."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.cli.inbox_names import (
    TERMINALS,
    check_seen,
    find_answer,
    find_item,
    last_shown,
    remember,
    short_ids,
)
from symposium.config.paths import paths
from symposium.errors import NotFoundError, SymposiumError

ONE = "8c56e6df-5af7-4cfa-a011-fcd5fcbab167"
TWO = "8c56e6df-0000-4cfa-a011-fcd5fcbab167"
THREE = "11111111-0000-4cfa-a011-fcd5fcbab167"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))


def item(kind: str, task: str, name: str = "", *choices: tuple[str, str]) -> InboxItem:
    id_ = "question:3" if kind == "question" else f"{kind}:{task}:1"
    return InboxItem(id_, kind, task, name, "", "", tuple(InboxChoice(*each) for each in choices))


ITEMS = [
    item("permission", ONE, "french"),
    item("permission", THREE, "german"),
    item("failed", THREE, "german"),
    item("question", TWO, "italian"),
]


AMBIGUOUS = dict(
    zip(
        (each.id for each in ITEMS),
        (("perm", "8c56e6df"), ("perm", "german"), ("german",), ("8c56e6df",)),
        strict=True,
    )
)
"""The ambiguous names that match each item."""


@pytest.mark.requirement("approvals.typed-ids")
@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("permission:8c56e6df:1", 0),
        (f"permission:{ONE}:1", 0),
        ("perm", None),
        ("permission:1", 1),
        ("FAIL", 2),
        ("failed:11111111:1", 2),
        ("french", 0),
        ("german", None),
        ("italian", 3),
        (ONE, 0),
        ("8c56e6df-5", 0),
        ("8c56e6df", None),
        ("question:3", 3),
    ],
)
def test_item_is_found_by_short_id_prefix_or_task(named: str, found: int | None) -> None:
    if found is None:
        found_ids = ", ".join(short_ids([each for each in ITEMS if named in AMBIGUOUS[each.id]]))
        with pytest.raises(NotFoundError) as caught:
            find_item(named, ITEMS, [])
        assert caught.value.message == f"{named!r} matches several items: {found_ids}"
        assert caught.value.hint == "give one in full"
    else:
        assert find_item(named, ITEMS, []) == ITEMS[found].id


@pytest.mark.requirement("approvals.typed-ids")
@pytest.mark.parametrize("named", ["permission:removed:1", "per"])
def test_unknown_id_is_passed_to_the_daemon(named: str) -> None:
    assert find_item(named, ITEMS, []) == named


@pytest.mark.requirement("approvals.typed-ids")
def test_number_refers_to_the_list_as_shown() -> None:
    remember(ITEMS, "here")
    remember([], "there")
    shown = last_shown("here")

    assert find_item("2", [ITEMS[3], *ITEMS], shown) == ITEMS[1].id
    assert find_item("1", [], shown) == ITEMS[0].id
    for unknown in ("0", "5"):
        with pytest.raises(NotFoundError, match=f"^no item {unknown} in the last list"):
            find_item(unknown, ITEMS, shown)


@pytest.mark.requirement("approvals.typed-ids")
def test_number_is_unknown_on_a_terminal_without_a_list() -> None:
    remember(ITEMS, "here")

    with pytest.raises(NotFoundError) as refused:
        find_item("1", ITEMS, last_shown("there"))
    assert refused.value.message == "no item 1 in the last list on this terminal"
    assert refused.value.hint == "run `symposium inbox` and use its numbers"


@pytest.mark.requirement("approvals.typed-ids")
def test_ambiguous_short_id_is_shown_in_full() -> None:
    twins = [item("permission", ONE), item("permission", TWO), item("failed", ONE)]

    assert short_ids(twins) == [twins[0].id, twins[1].id, "failed:8c56e6df:1"]


@pytest.mark.requirement("approvals.typed-ids")
def test_answer_is_an_id_a_name_or_a_unique_prefix_of_a_choice() -> None:
    asked = item(
        "permission", ONE, "", ("p1", "Allow once"), ("p2", "Allow always"), ("no", "Reject")
    )

    assert [find_answer(said, asked) for said in ("P1", "allow always", "rej", "maybe")] == [
        *("p1", "p2", "no", "maybe"),
    ]
    with pytest.raises(NotFoundError) as caught:
        find_answer("allow", asked)
    assert str(caught.value) == "'allow' matches several choices: p1, p2; give one in full"


@pytest.mark.requirement("approvals.typed-ids")
def test_full_name_is_an_answer_when_it_is_a_prefix_of_another() -> None:
    asked = item("permission", ONE, "", ("p1", "Allow"), ("p2", "Allow always"))

    assert find_answer("allow", asked) == "p1"


@pytest.mark.requirement("approvals.typed-ids")
def test_answer_to_a_question_is_not_matched_as_a_prefix() -> None:
    asked = item("question", TWO, "", ("seen", "I have seen it"))

    assert find_answer("se", asked) == "se"
    assert find_answer("se", None) == "se"


@pytest.mark.requirement("approvals.typed-ids")
def test_name_of_a_choice_answers_a_question_or_a_budget() -> None:
    asked = item("question", TWO, "", ("seen", "I have seen it"))
    budget = item("budget", TWO, "", ("more", "The same amount again"))

    assert find_answer("i have seen it", asked) == "seen"
    assert find_answer("The same amount again", budget) == "more"
    assert find_answer("2usd", budget) == "2usd"


@pytest.mark.requirement("approvals.usual-words")
@pytest.mark.parametrize(
    ("said", "meant"),
    [("yes", "p1"), ("Once", "p1"), ("always", "p2"), ("no", "p3"), ("reject", "p3")],
)
def test_permission_is_answered_with_a_usual_word(said: str, meant: str) -> None:
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    choices = [
        InboxChoice(f"p{number}", f"Option {number}", kind) for number, kind in enumerate(kinds, 1)
    ]
    asked = replace(item("permission", ONE), choices=tuple(choices))

    assert find_answer(said, asked) == meant


@pytest.mark.requirement("approvals.usual-words")
def test_usual_word_never_allows_more_than_it_says() -> None:
    only_always = replace(
        item("permission", ONE), choices=(InboxChoice("p2", "Option", "allow_always"),)
    )
    delete = item("delete", ONE, "", ("archive", "Delete it"), ("keep", "Keep it"))

    assert find_answer("yes", only_always) == "yes"
    assert find_answer("yes", delete) == "yes"


@pytest.mark.requirement("approvals.typed-ids")
def test_latest_list_of_the_last_twenty_terminals_is_stored() -> None:
    remember(ITEMS, "0")
    for number in range(1, TERMINALS):
        remember([], str(number))
    remember(ITEMS[:1], "0")
    remember([], "new")

    assert last_shown("0") == [ITEMS[0].id]
    remembered = json.loads((paths().home / "inbox-shown.json").read_text(encoding="utf-8"))
    assert list(remembered) == [*map(str, range(2, TERMINALS)), "0", "new"]


@pytest.mark.requirement("approvals.typed-ids")
def test_answer_to_a_budget_is_passed_unchanged() -> None:
    asked = item("budget", ONE, "", ("more", "Twice as much"))

    assert find_answer("mo", asked) == "mo"
    assert find_answer("2usd,10min", asked) == "2usd,10min"


@pytest.mark.requirement("approvals.typed-ids")
@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("trust", "commands of the setup"),
        ("landing", "change to land"),
        ("permission", None),
    ],
)
def test_unseen_item_needs_its_full_id(kind: str, shown: str | None) -> None:
    asked = item(kind, ONE, "french")

    check_seen("1", asked.id, [asked], [asked.id])
    check_seen(asked.id, asked.id, [asked], [])
    if shown is None:
        check_seen("french", asked.id, [asked], [])
        return
    with pytest.raises(SymposiumError) as caught:
        check_seen("french", asked.id, [asked], [ITEMS[0].id])
    assert caught.value.message == f"this terminal has not shown the current {shown}"
    assert caught.value.hint == "run `symposium inbox`, then answer"


@pytest.mark.requirement("approvals.typed-ids")
def test_id_prefix_needs_four_characters() -> None:
    assert find_item("8c56", ITEMS[:2], []) == ITEMS[0].id
    assert find_item("8c5", ITEMS[:2], []) == "8c5"
