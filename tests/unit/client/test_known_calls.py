"""The cache of unfinished tool calls."""

import pytest

from symposium.client.answers import MAX_CALLS, ToolCallCache


def call(number: int, **members: str) -> dict[str, object]:
    update = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}", **members}
    return {"sessionId": "s", "update": update}


def title(known: ToolCallCache, number: int) -> object:
    question = {"sessionId": "s", "toolCall": {"toolCallId": f"c{number}"}}
    return known.completed(question)["toolCall"].get("title")


@pytest.mark.requirement("cli.questions-known-calls")
def test_permission_request_gets_the_cached_members_of_its_call() -> None:
    known = ToolCallCache()
    known.record_update(call(1, title="Edit a"))
    known.record_update(call(1, title="", kind="edit"))
    assert title(known, 1) == "Edit a"
    known.record_update({"sessionId": "other", "update": call(1, status="completed")["update"]})
    assert title(known, 1) == "Edit a"

    for status in ("completed", "failed"):
        known.record_update(call(1, title="Edit a"))
        known.record_update(call(1, status=status))
        assert title(known, 1) is None


@pytest.mark.requirement("cli.questions-known-calls")
def test_oldest_call_is_dropped_when_the_cache_is_full() -> None:
    known = ToolCallCache()
    for number in range(MAX_CALLS):
        known.record_update(call(number, title="T"))
    assert title(known, 0) == "T"

    known.record_update(call(MAX_CALLS, title="T"))

    assert [title(known, number) for number in (0, 1, MAX_CALLS)] == [None, "T", "T"]


@pytest.mark.requirement("cli.questions-known-calls")
def test_update_without_a_member_keeps_it() -> None:
    known = ToolCallCache()
    known.record_update(call(1, title="Edit a"))
    known.record_update(call(1, title="", status="in_progress"))
    empty = {"sessionId": "s", "toolCall": {"toolCallId": "c1", "title": None, "content": ""}}

    assert known.completed(empty)["toolCall"] == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c1",
        "title": "Edit a",
        "status": "in_progress",
    }


@pytest.mark.requirement("cli.questions-known-calls")
def test_other_updates_are_not_cached() -> None:
    known = ToolCallCache()
    known.record_update(call(1, title="Edit a"))
    known.record_update(call(1, sessionUpdate="plan", title="Read b"))
    known.record_update(call(1, sessionUpdate="plan", status="completed"))
    known.record_update(None)

    assert title(known, 1) == "Edit a"
