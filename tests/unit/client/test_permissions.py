"""Answers of the command line's permission options to an agent."""

from typing import Any

import pytest

from symposium.client.permissions import (
    ApproveAll,
    ApproveReads,
    ChosenOption,
    Decider,
    Declined,
    DenyAll,
    Option,
    Permission,
    read_permission,
)

KINDS = ("allow_always", "allow_once", "reject_always", "reject_once")


def question(kind: str | None, *kinds: str) -> Permission:
    options = [{"optionId": each, "name": each, "kind": each} for each in kinds]
    call: dict[str, Any] = {"toolCallId": "1", "kind": kind}
    return read_permission({"toolCall": call, "options": options})


async def chosen(decider: Decider, permission: Permission) -> str | None:
    match await decider.decide(permission):
        case ChosenOption(option):
            return option.id
        case Declined():
            return None


@pytest.mark.requirement("cli.prompt-approve-reads")
@pytest.mark.parametrize(
    ("kind", "is_allowed"),
    [
        *(("read", True), ("search", True), ("think", True)),
        *(("fetch", False), ("edit", False), ("delete", False), ("move", False)),
        *(("execute", False), ("switch_mode", False), ("other", False), ("new", False)),
        (None, False),
    ],
)
async def test_approve_reads_allows_only_kinds_without_changes_or_network(
    kind: str | None, *, is_allowed: bool
) -> None:
    found = await chosen(ApproveReads(DenyAll()), question(kind, *KINDS))

    assert found == ("allow_once" if is_allowed else "reject_once")


@pytest.mark.requirement("cli.prompt-once")
@pytest.mark.parametrize(
    ("decider", "kinds", "answer"),
    [
        (DenyAll(), KINDS, "reject_once"),
        (DenyAll(), KINDS[::-1], "reject_once"),
        (DenyAll(), ("allow_once", "reject_always"), "reject_always"),
        (DenyAll(), ("allow_once", "allow_always"), None),
        (ApproveAll(), KINDS, "allow_once"),
        (ApproveAll(), KINDS[::-1], "allow_once"),
        (ApproveAll(), ("allow_always", "reject_once"), "allow_always"),
        (ApproveAll(), ("reject_once",), None),
    ],
)
async def test_answer_prefers_an_option_for_this_time_only(
    decider: Decider, kinds: tuple[str, ...], answer: str | None
) -> None:
    assert await chosen(decider, question("execute", *kinds)) == answer


@pytest.mark.requirement("cli.prompt-permission-tty")
def test_option_without_an_id_is_dropped_and_without_a_name_is_named_by_id() -> None:
    entries = [{"optionId": "a"}, {"optionId": 7, "name": "Seven"}, {"name": "None"}, "x", None]

    permission = read_permission({"options": entries, "toolCall": None})

    assert permission.options == (Option("a", "a", "?"),)
    assert not permission.options[0].allows
    assert read_permission({"options": None}).options == ()
