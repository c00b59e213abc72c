"""Events that a front end reads from an agent's updates."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.client.events import (
    LARGEST_NUMBER,
    AgentPlan,
    Commands,
    Event,
    Other,
    PlanEntry,
    SlashCommand,
    Text,
    Title,
    TokenUsage,
    ToolCall,
    ToolDiff,
    content_text,
    read_event,
)
from symposium.permissions.audit_entries import POLICY_META
from symposium.permissions.policy_notes import PolicyNote

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=6,
)
KINDS = [
    *("agent_message_chunk", "tool_call", "tool_call_update", "plan"),
    *("available_commands_update", "usage_update"),
]
MEMBERS = ["content", "entries", "availableCommands", "locations", "title", "toolCallId", "status"]


@pytest.mark.requirement("policy.refusal-shown")
def test_update_of_a_rule_is_read_as_a_note() -> None:
    meta = {POLICY_META: {"text": "refused", "rule": "no-push", "effect": "forbid"}}
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "7", "_meta": meta}

    assert read_event(update) == PolicyNote("refused", "no-push", is_refusal=True)
    assert isinstance(read_event(update | {"_meta": {POLICY_META: {"rule": "x"}}}), ToolCall)


@pytest.mark.requirement("cli.chat-tool-calls")
def test_tool_call_is_parsed() -> None:
    update: dict[str, Any] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "7",
        "title": "edit",
        "kind": "edit",
        "status": "completed",
        "locations": [{"path": "/a"}],
        "content": [
            {"type": "content", "content": {"type": "text", "text": "done"}},
            {"type": "diff", "path": "/b", "newText": "x"},
            {"type": "terminal", "terminalId": "1"},
        ],
    }

    assert read_event(update) == ToolCall(
        *("7", "edit", "completed", "edit", "done\n[changes /b]\n[terminal]", ("/a", "/b")),
        changes=(ToolDiff("/b", "", "x"),),
    )


@pytest.mark.requirement("cli.chat-tool-calls")
def test_missing_members_of_an_update_are_unset() -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "7", "status": "failed"}

    assert read_event(update) == ToolCall("7", None, "failed")


@pytest.mark.requirement("cli.chat-plan", "cli.chat-slash-commands")
def test_plans_and_commands_are_parsed() -> None:
    plan = {"sessionUpdate": "plan", "entries": [{"content": "look", "status": "pending"}, 7]}
    listed = [{"name": "go", "description": "d", "input": {"hint": "h"}}, {"name": ""}, None]
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    assert read_event(plan) == AgentPlan((PlanEntry("look", "pending"), PlanEntry("?", "?")))
    assert read_event(commands) == Commands((SlashCommand("go", "d", "h"),))


@pytest.mark.requirement("cli.chat-unknown-updates")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "hi"}, "hi"),
        ({"type": "resource_link", "uri": "file:///a"}, "[link: file:///a]"),
        ({"type": "resource", "resource": {"uri": "u", "text": "t"}}, "t"),
        ({"type": "resource", "resource": {"uri": "u", "blob": "eA=="}}, "[resource: u]"),
        ({"type": "image", "data": "eA=="}, "[image]"),
        ({}, "[content of no kind]"),
        (None, "[content of no kind]"),
    ],
)
def test_content_other_than_text_is_named(content: Any, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": content}

    assert read_event(update) == Text("agent", text)


@pytest.mark.requirement("cli.chat-unknown-updates")
def test_update_of_an_unknown_kind_is_shown_with_its_plain_members() -> None:
    update = {"sessionUpdate": "weather", "sky": "grey", "wind": [1], "_meta": "x"}

    assert read_event(update) == Other("weather", "sky=grey")
    assert read_event(7) == Other("update without a kind")


@pytest.mark.requirement("cli.chat-unknown-updates")
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(MEMBERS), JSON))
def test_any_update_can_be_parsed(kind: str, members: dict[str, Any]) -> None:
    event = read_event({"sessionUpdate": kind, **members})

    assert isinstance(event, Event)


@pytest.mark.requirement("cli.chat-unknown-updates")
@pytest.mark.parametrize(
    ("kind", "speaker"),
    [
        ("agent_message_chunk", "agent"),
        ("agent_thought_chunk", "thought"),
        ("user_message_chunk", "user"),
    ],
)
def test_each_chunk_of_text_names_its_speaker(kind: str, speaker: str) -> None:
    content = {"type": "text", "text": "hi"}

    assert read_event({"sessionUpdate": kind, "content": content}) == Text(speaker, "hi")


@pytest.mark.requirement("cli.chat-status")
@pytest.mark.parametrize(
    ("used", "size", "is_usage"),
    [
        (0, 0, True),
        (LARGEST_NUMBER - 1, 0, True),
        (0, LARGEST_NUMBER - 1, True),
        (LARGEST_NUMBER, 0, False),
        (0, LARGEST_NUMBER, False),
        (-1, 0, False),
        (0, -1, False),
    ],
)
def test_usage_with_invalid_token_counts_is_ignored(
    used: int, size: int, *, is_usage: bool
) -> None:
    update = {"sessionUpdate": "usage_update", "used": used, "size": size}

    assert isinstance(read_event(update), TokenUsage) == is_usage


@pytest.mark.requirement("cli.chat-status")
@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "0.00 USD"),
        (1.5, "1.50 USD"),
        (-0.01, ""),
        (LARGEST_NUMBER, ""),
        (float("nan"), ""),
        ("1", ""),
        (None, ""),
    ],
)
@pytest.mark.parametrize("currency", ["USD", None])
def test_invalid_cost_is_omitted(amount: Any, shown: str, currency: str | None) -> None:
    cost = {"amount": amount, "currency": currency}
    shown = shown if currency else shown.partition(" ")[0]
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost}

    assert read_event(update) == TokenUsage(1, 2, shown)


@pytest.mark.requirement("cli.chat-unknown-updates")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "resource_link", "uri": "file:///a"}, "[link: file:///a]"),
        ({"type": "resource_link"}, "[link: ?]"),
        ({"type": "resource", "resource": {"text": "words", "uri": "file:///a"}}, "words"),
        (
            {"type": "resource", "resource": {"blob": "AA", "uri": "file:///a"}},
            "[resource: file:///a]",
        ),
        ({"type": "resource"}, "[resource: ?]"),
        ({"type": "image", "data": "AA"}, "[image]"),
        ({"text": "words"}, "[content of no kind]"),
        (None, "[content of no kind]"),
    ],
)
def test_each_kind_of_content_has_a_text(content: Any, text: str) -> None:
    assert content_text(content) == text


@pytest.mark.requirement("cli.chat-unknown-updates")
@pytest.mark.parametrize(
    ("kind", "members", "event"),
    [
        (
            "plan",
            {"entries": [{"content": 5, "status": {"a": 1}}]},
            AgentPlan((PlanEntry("?", "?"),)),
        ),
        ("session_info_update", {"title": None}, Title("")),
        ("agent_message_chunk", {"content": {"type": "text", "text": 5}}, Text("agent", "")),
        (
            "available_commands_update",
            {"availableCommands": [{"name": "a", "input": {"hint": 5}}]},
            Commands((SlashCommand("a", "", ""),)),
        ),
    ],
)
def test_member_of_the_wrong_type_is_ignored(
    kind: str, members: dict[str, Any], event: Event
) -> None:
    assert read_event({"sessionUpdate": kind, **members}) == event


@pytest.mark.requirement("cli.chat-unknown-updates")
def test_diff_without_texts_is_empty() -> None:
    item = {"type": "diff", "path": "/b", "oldText": None, "newText": 5}
    found = read_event({"sessionUpdate": "tool_call", "toolCallId": "7", "content": [item]})

    assert isinstance(found, ToolCall)
    assert found.changes == (ToolDiff("/b", "", ""),)
