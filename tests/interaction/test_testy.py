"""Scripted test agent behind a mod: every scenario, session method, and way to stop."""

import asyncio
import sys
from functools import partial
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.transports.command import Command
from symposium.agents.testy.scenario import COMMAND_NAMES, parse_command, render_command
from symposium.chain.blueprint import Program
from symposium.testing import FakeEditor, Turn, chain_of

CLIENT_METHODS = {
    "session/request_permission",
    "fs/write_text_file",
    "fs/read_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
}


def returned(result: dict[str, Any], _: Request) -> dict[str, Any]:
    return result


def answer_everything(editor: FakeEditor) -> None:
    """Return an editor that supports everything it declares."""
    results: dict[str, dict[str, Any]] = {
        "fs/write_text_file": {},
        "fs/read_text_file": {"content": "written\n"},
        "terminal/create": {"terminalId": "term-1"},
        "terminal/output": {"output": "testy\n", "truncated": False},
        "terminal/wait_for_exit": {"exitCode": 0},
        "terminal/kill": {},
        "terminal/release": {},
        "elicitation/create": {"action": "accept", "content": {"name": "Testy"}},
    }
    for method, result in results.items():
        editor.answers[method] = partial(returned, result)


def never(editor: FakeEditor, method: str) -> list[str]:
    """Let the editor never answer this method; return the canceled requests."""
    taken_back: list[str] = []

    async def wait(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            taken_back.append(request.method)

    editor.answers[method] = wait
    return taken_back


def ids_in(turn: Turn) -> set[str]:
    ids = [update.get("messageId") or update.get("toolCallId") for update in turn.updates]
    return {each for each in ids if each is not None}


def methods_of(requests: list[Request]) -> list[str]:
    return [request.method for request in requests]


def kinds_of(updates: Any) -> set[str]:
    return {update["sessionUpdate"] for update in updates}


@pytest.mark.requirement("cli.testy-commands")
async def test_testy_initializes_and_echoes() -> None:
    async with chain_of("pass", agent="testy") as editor:
        initialized = await editor.prompt('{"command": "greet"}')
        echoed = await editor.prompt('{"command": "echo", "message": "é\\n2"}')
        talked = await editor.prompt("How are you?")

    assert initialized.text == talked.text == "Hello, world!"
    assert echoed.text == "é\n2"
    assert echoed.stop_reason == "end_turn"


@pytest.mark.requirement("testy.behind-guidance")
async def test_first_prompt_is_obeyed_when_the_guidance_mod_adds_text() -> None:
    async with chain_of("guidance", agent="testy") as editor:
        turn = await editor.prompt('{"command": "echo", "message": "hi"}')

    assert turn.text == "hi"


@pytest.mark.requirement("cli.testy-commands")
async def test_testy_is_a_program_on_standard_input_and_output() -> None:
    program = Program("testy", Command((sys.executable, "-m", "symposium.agents.testy")))
    async with chain_of("arrow", agent=program) as editor:
        answer_everything(editor)
        turn = await editor.prompt('{"command": "full"}')

    assert turn.stop_reason == "end_turn"
    assert ">Text, and one block of every other kind." in turn.text


@pytest.mark.requirement("cli.testy-commands", "testy.wrong-command")
async def test_wrong_command_is_explained_in_the_conversation() -> None:
    async with chain_of(agent="testy") as editor:
        turn = await editor.prompt('{"command": "dance"}')

    assert "dance" in turn.text
    assert all(name in turn.text for name in COMMAND_NAMES)


@pytest.mark.requirement("cli.testy-commands", "cli.testy-full", "cli.testing-fake-editor")
async def test_full_sends_every_kind_and_calls_every_client_method() -> None:
    async with chain_of("arrow", agent="testy") as editor:
        answer_everything(editor)
        turn = await editor.prompt('{"command": "full"}')
        asked = set(methods_of(editor.asked.items))
        notification = editor.notifications.items

    assert turn.stop_reason == "end_turn"
    assert asked == CLIENT_METHODS | {"elicitation/create"}
    assert {method for method, _ in notification} == {"elicitation/complete"}
    assert {"plan", "tool_call", "tool_call_update", "usage_update"} <= kinds_of(turn.updates)
    assert 'session/request_permission: {"outcome":{"outcome":"selected"' in turn.text
    assert 'terminal/output: {"output":"testy\\n"' in turn.text
    assert "error" not in turn.text


@pytest.mark.requirement("cli.testing-fake-editor")
@pytest.mark.parametrize(
    ("scripted", "outcome"),
    [("reject-once", '{"outcome":"selected","optionId":"reject-once"}'), (None, "cancelled")],
)
async def test_editor_answers_permissions_as_configured(scripted: str | None, outcome: str) -> None:
    async with chain_of(agent="testy") as editor:
        editor.permissions.append(scripted)
        turn = await editor.prompt('{"command": "callbacks"}')

    assert outcome in turn.text.splitlines()[0]


@pytest.mark.requirement("cli.testy-commands")
async def test_client_error_is_reported_and_the_rest_continues() -> None:
    async with chain_of(agent="testy") as editor:
        turn = await editor.prompt('{"command": "callbacks"}')

    assert "fs/write_text_file: error -32601" in turn.text
    assert "terminal/create: error -32601" in turn.text
    assert turn.stop_reason == "end_turn"


@pytest.mark.requirement("cli.testy-commands", "testy.client-requests")
async def test_undeclared_client_methods_are_not_called() -> None:
    async with chain_of(agent="testy") as editor:
        await editor.initialize(capabilities={"fs": {"readTextFile": True}})
        turn = await editor.prompt('{"command": "full"}')
        asked = methods_of(editor.asked.items)

    assert asked == ["session/request_permission", "fs/read_text_file"]
    assert "terminal/create: not offered" in turn.text


@pytest.mark.requirement("cli.testy-elicitation")
async def test_elicitations_go_every_way_through_create_and_complete() -> None:
    async with chain_of("pass", agent="testy") as editor:
        answer_everything(editor)
        turn = await editor.prompt('{"command": "elicitations"}')
        asked = [request.params for request in editor.asked.items]
        completed = [params["elicitationId"] for _, params in editor.notifications.items]

    names = ("toolCallId", "requestId", "sessionId")
    scopes = [next(name for name in names if name in params) for params in asked]
    assert [params["mode"] for params in asked] == ["form"] * 3 + ["url"] * 3
    assert scopes == ["sessionId", "toolCallId", "requestId"] * 2
    assert completed == [params["elicitationId"] for params in asked[3:]]
    assert turn.text.count("accept") == 6


@pytest.mark.requirement("cli.testy-elicitation")
@pytest.mark.parametrize(
    "offered", [{}, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}]
)
async def test_elicitations_are_refused_before_anything_is_sent(offered: dict[str, Any]) -> None:
    async with chain_of(agent="testy") as editor:
        await editor.initialize(capabilities=offered)
        with pytest.raises(RpcError, match="the client does not offer elicitation") as caught:
            await editor.prompt('{"command": "elicitations"}')
        asked = editor.asked.items

    assert caught.value.code == INVALID_PARAMS
    assert asked == []


@pytest.mark.requirement("cli.testy-fresh-ids")
async def test_ids_differ_between_turns_and_sessions() -> None:
    async with chain_of(agent="testy") as editor:
        answer_everything(editor)
        sessions = [await editor.new_session() for _ in range(3)]
        turns = [
            await editor.prompt('{"command": "full"}', session_id=session_id)
            for session_id in [*sessions, sessions[0]]
        ]

    ids = [each for turn in turns for each in ids_in(turn)]
    assert len(set(sessions)) == 3
    assert len(set(ids)) == len(ids)


@pytest.mark.requirement("cli.testy-cancel", "conductor.cancel-prompt-and-permission")
@pytest.mark.parametrize(
    ("command", "method"),
    [
        ("full", "session/request_permission"),
        ("full", "terminal/create"),
        ("callbacks", "session/request_permission"),
        ("callbacks", "fs/read_text_file"),
        ("callbacks", "terminal/output"),
        ("elicitations", "elicitation/create"),
    ],
)
async def test_canceled_turn_cancels_its_requests(command: str, method: str) -> None:
    async with chain_of("arrow", agent="testy") as editor:
        answer_everything(editor)
        taken_back = never(editor, method)
        await editor.new_session()

        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(editor.prompt(f'{{"command": "{command}"}}'))
            await editor.asked.until(lambda items: methods_of(items)[-1:] == [method])
            editor.cancel()
        turn = prompt.result()
        after = await editor.prompt('{"command": "cancel_status"}')
        asked = methods_of(editor.asked.items)

    assert turn.stop_reason == "cancelled"
    assert taken_back == [method]
    assert asked.index(method) >= len(asked) - (2 if method == "terminal/output" else 1)
    assert after.text == ">not cancelled"


@pytest.mark.requirement("cli.testy-cancel")
async def test_terminal_is_released_when_the_turn_is_canceled() -> None:
    async with chain_of("pass", agent="testy") as editor:
        answer_everything(editor)
        never(editor, "terminal/wait_for_exit")
        await editor.new_session()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(editor.prompt('{"command": "callbacks"}'))
            await editor.asked.until(lambda items: "terminal/wait_for_exit" in methods_of(items))
            editor.cancel()
        asked = methods_of(await editor.asked.count(len(CLIENT_METHODS) - 1))

    assert asked[-2:] == ["terminal/wait_for_exit", "terminal/release"]


@pytest.mark.requirement("cli.testy-cancel")
async def test_waiting_turn_ends_when_it_is_canceled() -> None:
    async with chain_of("pass", agent="testy") as editor:
        await editor.new_session()
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(editor.prompt("wait for cancel"))
            await editor.until(lambda update: "Waiting" in str(update.get("content")))
            editor.cancel()

    assert prompt.result().stop_reason == "cancelled"


@pytest.mark.requirement("cli.testy-close-delete")
@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_turn_of_an_ended_session_ends_first(method: str) -> None:
    order: list[str] = []
    async with chain_of(agent="testy") as editor:
        session_id = await editor.new_session()
        taken_back = never(editor, "session/request_permission")

        async def prompt() -> None:
            turn = await editor.prompt('{"command": "callbacks"}')
            order.append(turn.stop_reason)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(prompt())
            await editor.asked.count(1)
            await editor.connection.request(method, {"sessionId": session_id})
            order.append(method)
        with pytest.raises(RpcError, match="unknown session"):
            await editor.prompt("greet")

    assert order == ["cancelled", method]
    assert taken_back == ["session/request_permission"]


@pytest.mark.requirement("cli.testy-close-delete")
async def test_loaded_id_is_reserved_and_unknown_after_its_close() -> None:
    setup: dict[str, Any] = {"cwd": "/", "mcpServers": []}
    async with chain_of(agent="testy") as editor:
        await editor.initialize()
        loaded: dict[str, Any] = {"sessionId": "testy-session-1", **setup}
        await editor.connection.request("session/load", loaded)
        made = await editor.new_session()
        await editor.connection.request("session/close", {"sessionId": "testy-session-1"})
        with pytest.raises(RpcError, match="unknown session"):
            await editor.prompt("greet", session_id="testy-session-1")

    assert made != "testy-session-1"


@pytest.mark.requirement("cli.testy-sessions")
async def test_load_replays_the_history_before_its_response_and_resume_does_not() -> None:
    async with chain_of("pass", agent="testy") as editor:
        session_id = await editor.new_session()
        await editor.prompt('{"command": "echo", "message": "one"}')
        setup: dict[str, Any] = {"sessionId": session_id, "cwd": "/elsewhere", "mcpServers": []}
        before = len(editor.updates.items)
        replayed: list[Any] = []
        loaded = await editor.connection.request(
            "session/load",
            setup,
            on_result=lambda _: replayed.extend(editor.updates.items[before:]),
        )
        resumed = await editor.connection.request("session/resume", setup)
        after = len(editor.updates.items)
        listed = await editor.connection.request("session/list", {"cwd": "/elsewhere"})

    said = [(p["update"]["sessionUpdate"], p["update"]["content"]["text"]) for p in replayed]
    assert said == [
        ("user_message_chunk", '{"command": "echo", "message": "one"}'),
        ("agent_message_chunk", "one"),
    ]
    assert loaded == resumed
    assert loaded["modes"]["currentModeId"] == "chat"
    assert after == before + len(replayed)
    assert [session["sessionId"] for session in listed["sessions"]] == [session_id]


@pytest.mark.requirement("cli.testy-sessions")
async def test_fork_is_independent() -> None:
    async with chain_of(agent="testy") as editor:
        first = await editor.new_session()
        await editor.prompt("greet")
        setup: dict[str, Any] = {"sessionId": first, "cwd": "/", "mcpServers": []}
        forked = await editor.connection.request("session/fork", setup)
        fork = forked["sessionId"]
        mode = {"sessionId": fork, "modeId": "plan"}
        await editor.connection.request("session/set_mode", mode)
        option = {"sessionId": fork, "configId": "verbosity", "value": "verbose"}
        changed = await editor.connection.request("session/set_config_option", option)
        again = await editor.connection.request("session/resume", setup)
        turn = await editor.prompt("greet", session_id=fork)
        before = len(editor.updates.items)
        await editor.connection.request("session/load", setup)
        replayed = len(editor.updates.items) - before

    assert fork != first
    assert replayed == 2
    assert changed["configOptions"][0]["currentValue"] == "verbose"
    assert again["modes"]["currentModeId"] == "chat"
    assert again["configOptions"][0]["currentValue"] == "brief"
    assert turn.text == "Hello, world!"


@pytest.mark.requirement("cli.testy-sessions")
async def test_long_list_has_pages() -> None:
    async with chain_of(agent="testy") as editor:
        made = [await editor.new_session() for _ in range(45)]
        listed: list[str] = []
        params: dict[str, Any] = {}
        while params.get("cursor", "") is not None:
            page = await editor.connection.request("session/list", params)
            listed += [session["sessionId"] for session in page["sessions"]]
            params = {"cursor": page.get("nextCursor")}

    assert listed == made


@pytest.mark.requirement("cli.testy-sessions")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {}),
        ("session/new", {"cwd": 7}),
        ("session/load", {"cwd": "/"}),
        ("session/fork", {"sessionId": "missing", "cwd": "/"}),
        ("session/prompt", {"sessionId": "missing", "prompt": []}),
        ("session/prompt", {"sessionId": "testy-session-1"}),
        ("session/prompt", None),
        ("session/set_mode", {"sessionId": "testy-session-1", "modeId": "dance"}),
        (
            "session/set_config_option",
            {"sessionId": "testy-session-1", "configId": "x", "value": "brief"},
        ),
        (
            "session/set_config_option",
            {"sessionId": "testy-session-1", "configId": "verbosity", "value": "x"},
        ),
        ("session/list", {"cursor": "over there"}),
        ("session/close", {"sessionId": "missing"}),
    ],
)
async def test_wrong_params_are_invalid_params(method: str, params: Any) -> None:
    async with chain_of(agent="testy") as editor:
        await editor.new_session()
        with pytest.raises(RpcError) as caught:
            await editor.connection.request(method, params)
        turn = await editor.prompt("greet")

    assert caught.value.code == INVALID_PARAMS
    assert caught.value.data
    assert turn.text == "Hello, world!"


@pytest.mark.requirement("cli.testy-versions")
@pytest.mark.parametrize(("asked", "answered"), [(1, 1), (2, 2), (7, 2)])
async def test_version_two_is_answered_on_request(asked: int, answered: int) -> None:
    async with chain_of("pass", agent="testy") as editor:
        result = await editor.initialize(version=asked)

    assert result["protocolVersion"] == answered
    assert ("capabilities" in result) == (answered == 2)


@pytest.mark.requirement("cli.testy-commands")
async def test_every_command_is_accepted_and_ends() -> None:
    async with chain_of(agent="testy") as editor:
        answer_everything(editor)
        for name in set(COMMAND_NAMES) - {"wait_for_cancel", "list_tools", "call_tool"}:
            text = render_command(parse_command(name.replace("_", " ")))
            turn = await editor.prompt(text)
            assert turn.stop_reason == "end_turn"
            assert turn.updates
