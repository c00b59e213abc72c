"""Bodies of `session/update` for each command."""

import base64
from collections import Counter
from typing import Any

import msgspec
import pytest

from symposium.agents.testy.scenario import (
    Callbacks,
    CallTool,
    CancelStatus,
    Command,
    Content,
    Echo,
    Elicitations,
    Full,
    Greet,
    ListTools,
    SessionUpdates,
    ToolCalls,
    WaitForCancel,
)
from symposium.agents.testy.updates import (
    GREETING,
    WAITING,
    Update,
    config_options,
    message,
    modes,
    terminal_call,
    updates_for,
)

KINDS = {
    *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
    *("tool_call", "tool_call_update", "plan", "available_commands_update"),
    *("current_mode_update", "config_option_update", "session_info_update", "usage_update"),
}
CALL_STATUSES = {"pending", "in_progress", "completed", "failed"}


def ids_in(updates: tuple[Update, ...]) -> set[str]:
    return {
        update[key] for update in updates for key in ("messageId", "toolCallId") & update.keys()
    }


@pytest.mark.requirement("cli.testy-commands")
@pytest.mark.parametrize(
    ("command", "text"), [(Greet(), GREETING), (Echo("hi"), "hi"), (WaitForCancel(), WAITING)]
)
def test_text_command_sends_one_chunk(command: Command, text: str) -> None:
    assert updates_for(command, 3) == (message(text, 3),)
    assert message(text, 3) == {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "message-3",
        "content": {"type": "text", "text": text},
    }


@pytest.mark.requirement("cli.testy-commands")
@pytest.mark.parametrize(
    "command",
    [ListTools("s"), CallTool("s", "t", {}), Callbacks(), Elicitations(), CancelStatus()],
)
def test_command_with_requests_sends_no_updates_before(command: Command) -> None:
    assert updates_for(command, 1) == ()


@pytest.mark.requirement("cli.testy-updates")
def test_session_updates_sends_one_update_of_every_kind() -> None:
    kinds = Counter(update["sessionUpdate"] for update in updates_for(SessionUpdates(), 1))

    assert kinds == dict.fromkeys(KINDS, 1)


@pytest.mark.requirement("cli.testy-updates")
def test_updates_refer_to_existing_modes_and_options() -> None:
    by_kind = {update["sessionUpdate"]: update for update in updates_for(SessionUpdates(), 1)}
    mode, option = by_kind["current_mode_update"], by_kind["config_option_update"]

    assert mode["currentModeId"] in [known["id"] for known in modes("chat")["availableModes"]]
    assert option["configOptions"] == config_options("verbose")
    (select,) = config_options("brief")
    assert select["currentValue"] in [choice["value"] for choice in select["options"]]
    assert by_kind["tool_call"]["toolCallId"] == by_kind["tool_call_update"]["toolCallId"]


@pytest.mark.requirement("testy.content-kinds")
def test_content_sends_a_block_of_every_kind_in_one_message() -> None:
    updates = updates_for(Content(), 1)
    blocks: list[dict[str, Any]] = [update["content"] for update in updates]

    kinds = [block["type"] for block in blocks]
    assert kinds == ["text", "image", "audio", "resource_link", "resource", "resource"]
    assert [block["resource"].keys() & {"text", "blob"} for block in blocks[4:]] == [
        {"text"},
        {"blob"},
    ]
    assert ids_in(updates) == {"content-1"}
    assert base64.b64decode(blocks[1]["data"]).startswith(b"\x89PNG")
    assert base64.b64decode(blocks[2]["data"]).startswith(b"RIFF")


@pytest.mark.requirement("testy.tool-calls")
@pytest.mark.parametrize("command", [ToolCalls(), SessionUpdates(), Full()])
def test_every_tool_call_starts_before_it_changes_and_ends_once(command: Command) -> None:
    story: dict[str, list[str]] = {}
    for update in updates_for(command, 1):
        match update:
            case {"sessionUpdate": "tool_call", "toolCallId": call, "status": status}:
                assert call not in story
                story[call] = [status]
            case {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}:
                story[call].append(status)
            case _:
                pass

    assert story
    for first, *_, last in story.values():
        assert first == "pending"
        assert last in ("completed", "failed")


@pytest.mark.requirement("testy.tool-calls")
def test_tool_calls_show_every_status_and_every_content() -> None:
    updates = (*updates_for(ToolCalls(), 1), *terminal_call("term-1", 1))
    contents = [content for update in updates for content in update.get("content", [])]

    assert {update["status"] for update in updates} == CALL_STATUSES
    assert {content["type"] for content in contents} == {"content", "diff", "terminal"}
    assert any(update.get("locations") for update in updates)
    assert {content.get("terminalId") for content in contents} == {None, "term-1"}


@pytest.mark.requirement("cli.testy-full")
def test_full_sends_the_updates_of_its_parts() -> None:
    parts = (SessionUpdates(), Content(), ToolCalls())

    assert updates_for(Full(), 2) == tuple(u for part in parts for u in updates_for(part, 2))
    assert sum(len(ids_in(updates_for(part, 2))) for part in parts) == len(
        ids_in(updates_for(Full(), 2))
    )


@pytest.mark.requirement("cli.testy-fresh-ids")
@pytest.mark.parametrize(
    "command",
    [Greet(), Echo("a"), WaitForCancel(), SessionUpdates(), Content(), ToolCalls(), Full()],
)
def test_repeated_command_uses_new_ids(command: Command) -> None:
    first, again = updates_for(command, 1), updates_for(command, 2)

    assert ids_in(first)
    assert ids_in(first).isdisjoint(ids_in(again))
    assert ids_in(terminal_call("t", 1)).isdisjoint(ids_in(terminal_call("t", 2)))


@pytest.mark.requirement("cli.testy-commands")
def test_bodies_are_plain_json_and_not_shared() -> None:
    updates = updates_for(Full(), 1)
    before = msgspec.json.encode(updates)

    for update in updates:
        update.clear()

    assert msgspec.json.encode(updates_for(Full(), 1)) == before
