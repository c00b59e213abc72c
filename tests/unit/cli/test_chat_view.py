"""Lines of a chat whose output is no terminal."""

from pathlib import Path
from typing import Any

import pytest

from symposium.cli.chat_view import ChatStatus, ChatView
from symposium.cli.output import Output
from symposium.client.events import ToolCall
from symposium.client.permissions import ChosenOption, Declined, Option, Permission


@pytest.fixture
def view() -> ChatView:
    return ChatView(Output(on_broken=str), "eliza")


def text(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}}


def call(status: str | None, output: str = "", **members: Any) -> dict[str, Any]:
    blocks = [{"type": "content", "content": {"type": "text", "text": output}}] if output else []
    fields = {"status": status, "content": blocks or None, **members}
    given = {name: value for name, value in fields.items() if value is not None}
    return {"sessionUpdate": "tool_call_update", "toolCallId": "1", **given}


def show(view: ChatView, *updates: dict[str, Any]) -> None:
    for each in updates:
        view.update({"update": each})


@pytest.mark.requirement("cli.chat-plan")
def test_plan_is_shown_when_it_changes_and_again_in_the_next_turn(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    def plan(status: str) -> dict[str, Any]:
        entries = [{"content": "look", "priority": "high", "status": status}]
        return {"sessionUpdate": "plan", "entries": entries}

    show(view, plan("in_progress"), plan("in_progress"), plan("completed"), plan("pending"))
    first = capsys.readouterr().out
    view.turn_over("end_turn")
    show(view, plan("pending"))

    assert first.splitlines() == [
        *("[plan]", "  ▸ look: in_progress"),
        *("[plan]", "  ✔ look: completed"),
        *("[plan]", "  · look: pending"),
    ]
    assert capsys.readouterr().out == "[plan]\n  · look: pending\n"


@pytest.mark.requirement("cli.chat-tool-calls")
def test_tool_call_is_shown_when_it_changes_with_the_start_of_its_output(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "\n".join(f"line {number}" for number in range(8))
    show(
        view,
        text("I look."),
        call("pending", title="look"),
        call("pending"),
        call("in_progress", "so far"),
        call("failed", lines),
    )

    assert capsys.readouterr().out.splitlines() == [
        *("I look.", "· look: pending", "▸ look: in_progress", "✘ look: failed"),
        *(f"    line {number}" for number in range(6)),
    ]


@pytest.mark.requirement("cli.chat-tool-calls")
def test_tool_call_that_was_not_announced_is_named_by_its_id(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    show(view, call(None))

    assert capsys.readouterr().out == "· call 1: pending\n"


@pytest.mark.requirement("cli.chat-status")
def test_mode_is_shown_only_when_it_changes(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}

    def change(mode: str) -> dict[str, Any]:
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    option = {"id": "m", "category": "mode", "currentValue": "plan", "options": [{"value": "plan"}]}
    show(view, {"sessionUpdate": "config_option_update", "configOptions": [option]})
    assert (capsys.readouterr().out, view.status.line(80)) == ("", "eliza · plan")
    view.status = ChatStatus("eliza")
    view.status.settings.opened({"modes": modes})
    show(view, change("ask"), change("code"), change("code"))
    show(view, {"sessionUpdate": "usage_update", "used": 10, "size": 100})

    assert capsys.readouterr().out == "[mode] code\n"
    assert view.status.line(80) == "eliza · code · 10 of 100 tokens (10 %)"


@pytest.mark.requirement("cli.chat-status")
def test_directory_in_the_home_is_shown_with_a_tilde_and_a_long_one_by_its_end(
    view: ChatView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shown: list[str] = []
    for place in (tmp_path / "work", tmp_path, Path("/" + "x" * 60)):
        view.status.directory = place
        shown.append(view.status.line(200).removeprefix("eliza · "))

    assert shown[0] == "~/work"
    assert shown[1].endswith(str(tmp_path)[-30:])
    assert shown[2] == "…" + "x" * 39


@pytest.mark.requirement("cli.chat-unknown-updates")
def test_unknown_update_is_named_and_an_echo_of_the_user_is_not_shown(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    show(view, text("hello", "user_message_chunk"), {"sessionUpdate": "dance"})
    view.update(None)
    shown = capsys.readouterr().out

    assert shown.startswith("[dance]")
    assert "hello" not in shown


@pytest.mark.requirement("cli.chat-slash-commands")
def test_latest_list_of_commands_counts(view: ChatView) -> None:
    for name in ("old", "new"):
        listed = [{"name": name, "description": "d"}]
        show(view, {"sessionUpdate": "available_commands_update", "availableCommands": listed})

    assert [each.name for each in view.commands] == ["new"]


@pytest.mark.requirement("cli.chat-permission")
def test_decision_is_shown_by_the_name_of_the_option(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    option = Option("a", "Allow once", "allow_once")
    asked = Permission(ToolCall("1", "go\x1b there", "pending", "other"), (option,))
    long = Permission(ToolCall("1", "x" * 200, "pending", "other"), (option,))
    view.decided(asked, ChosenOption(option))
    view.decided(asked, Declined())
    view.decided(long, Declined())

    assert capsys.readouterr().out.splitlines() == [
        "[permission] do this: go␛ there: Allow once",
        "[permission] do this: go␛ there: no answer",
        f"[permission] do this: {'x' * 60}…: no answer",
    ]


@pytest.mark.requirement("cli.chat-terminal-text")
def test_text_of_the_agent_and_thoughts_are_kept_apart_and_unusual_ends_shown(
    view: ChatView, capsys: pytest.CaptureFixture[str]
) -> None:
    show(view, text("hm", "agent_thought_chunk"), text("do\x1b[2Jne"))
    view.turn_over("end_turn")
    view.turn_over("max\x1b_tokens\n")

    assert capsys.readouterr().out == "[thinking] hm\ndo␛[2Jne\n[stopped: max␛_tokens ]\n"
