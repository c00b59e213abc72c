"""Table of session states and events of run mode, cell by cell (acp-host §4.4)."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.support.run_mode_harness import CONFIG, MENU, RunModeHarness, run_mode_harness

from peerwire.errors import INVALID_REQUEST, METHOD_NOT_FOUND
from symposium.chain.restart_policy import RUN_MODE
from symposium.run_mode import sessions
from symposium.run_mode.failure_text import MESSAGE_NOT_SAVED, MESSAGE_SAVED

PLAN: dict[str, Any] = {"sessionUpdate": "plan", "entries": []}
CANCELLED = "Configuration cancelled. Returning to your session.\n\n"
NO_RESTARTS = {"restart_policy": structs.replace(RUN_MODE, max_failures=1)}


async def in_setup(it: RunModeHarness) -> str:
    """Open a session in setup, after its first message; return its id."""
    await it.open()
    it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
    answer, *_ = await it.editor.reads(3)
    return answer["result"]["sessionId"]


async def error_of(it: RunModeHarness, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the error to a request."""
    it.editor.ask("refused", method, params)
    answer = await it.editor.read()
    assert answer["id"] == "refused"
    return answer["error"]


# -- an unknown session


@pytest.mark.requirement("run-mode.table-unknown-prompt")
@pytest.mark.parametrize("text", ["/symposium:config", "hello"])
async def test_prompt_in_an_unknown_session_is_refused(tmp_path: Path, text: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        prompt = [{"type": "text", "text": text}]
        error = await error_of(it, "session/prompt", {"sessionId": "unknown", "prompt": prompt})
        assert (error["code"], error["message"]) == (INVALID_REQUEST, "Unknown session")
        assert error["data"] == {"sessionId": "unknown"}


@pytest.mark.requirement("run-mode.table-unknown-notification")
@pytest.mark.parametrize("method", ["session/cancel", "session/other"])
async def test_notification_of_an_unknown_session_is_dropped(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.tell(method, {"sessionId": "unknown"})
        it.prompt("next")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.table-unknown-request")
@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option", "_x/y"])
async def test_request_of_an_unknown_session_is_refused(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        error = await error_of(it, method, {"sessionId": "unknown"})
        assert (error["code"], error["message"]) == (INVALID_REQUEST, "Unknown session")


@pytest.mark.requirement("run-mode.table-unknown-default")
@pytest.mark.parametrize("method", ["session/close", "session/delete", "session/resume"])
async def test_list_and_load_without_a_known_session_go_to_the_current_chain(
    tmp_path: Path, method: str
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(5, method, {"sessionId": "of yesterday"})
        request = await agent.read()
        assert (request["method"], request["params"]) == (method, {"sessionId": "of yesterday"})
        agent.answer(request, {})
        assert (await it.editor.read())["id"] == 5


@pytest.mark.requirement("run-mode.table-unknown-agent")
async def test_message_of_an_agent_for_an_unknown_session_passes(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        agent.tell("session/update", {"sessionId": "its own", "update": PLAN})
        assert (await it.editor.read())["params"]["sessionId"] == "its own"


# -- a session in setup


@pytest.mark.requirement("run-mode.table-setup-prompt")
@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("/symposium:config", "Unknown input: `/symposium:config`. Enter a number or `cancel`."),
        ("hello", MESSAGE_SAVED),
    ],
)
async def test_every_prompt_of_a_setup_is_for_the_dialog(
    tmp_path: Path, text: str, notice: str
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        first, table = await it.say(text, session)
        assert first == f"{notice}\n\n"
        assert table.startswith("# Select Agent\n")


@pytest.mark.requirement("run-mode.table-setup-cancel", "run-mode.setup-cancel-again")
async def test_canceled_setup_writes_nothing_and_the_next_message_opens_it_again(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        it.editor.tell("session/cancel", {"sessionId": session})
        farewell = await it.editor.read()
        text = (
            "Configuration cancelled. Nothing was changed. "
            "Send any message to start the setup again.\n\n"
        )
        assert farewell["params"]["update"]["content"]["text"] == text
        assert not it.config.exists()
        error = await error_of(it, "session/set_mode", {"sessionId": session})
        assert "has no agent yet" in error["message"]

        first = await it.say("Fix the login.", session)
        assert "No configuration found." in first[0]
        await it.say("1", session)
        saved = it.prompt("SAVE", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        prompt = await agent.read()
        assert prompt["params"]["prompt"] == [{"type": "text", "text": "Fix the login."}]
        agent.answer(prompt, {"stopReason": "end_turn"})
        _, answer = await it.said(saved)
        assert answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.kept-bound")
async def test_message_above_the_limit_opens_a_canceled_setup_but_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT", 200)
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        await it.say("cancel", session)
        first = await it.say("x" * 200, session)
        assert first[0] == f"{MESSAGE_NOT_SAVED}\n\n"
        assert "No configuration found." in first[1]


@pytest.mark.requirement("run-mode.setup-cancel-again")
async def test_canceled_setup_uses_a_config_that_was_written_meanwhile(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        await it.say("cancel", session)
        it.write_config(CONFIG)
        turn = it.prompt("Fix the login.", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        prompt = await agent.read()
        assert prompt["params"]["prompt"] == [{"type": "text", "text": "Fix the login."}]
        agent.answer(prompt, {"stopReason": "end_turn"})
        assert (await it.said(turn))[1]["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.setup-cancel-again")
async def test_canceled_setup_reports_a_broken_config_that_was_written_meanwhile(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        await it.say("cancel", session)
        it.write_config("{")
        turn = it.prompt("/symposium:config", session)
        commands, answer = await it.editor.reads(2)
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        assert (answer["id"], answer["result"]) == (turn, {"stopReason": "end_turn"})
        notice = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert notice.startswith("**This session has no agent yet.** The config file cannot be")
        assert it.config.read_text() == "{"


@pytest.mark.requirement("run-mode.setup-cancel-again")
async def test_session_with_a_canceled_setup_can_be_closed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        await it.say("cancel", session)
        it.editor.ask("end", "session/close", {"sessionId": session})
        assert (await it.editor.read())["result"] == {}


@pytest.mark.requirement("run-mode.table-setup-request")
@pytest.mark.parametrize("method", ["session/set_mode", "session/close"])
async def test_setup_refuses_other_requests(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path) as it:
        error = await error_of(it, method, {"sessionId": await in_setup(it)})
        refusal = f"Method not supported in config mode: {method}"
        assert (error["code"], error["message"]) == (METHOD_NOT_FOUND, refusal)


@pytest.mark.requirement("run-mode.table-setup-notification")
async def test_setup_drops_other_notifications(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await in_setup(it)
        it.editor.tell("session/other", {"sessionId": session})
        assert len(await it.say("1", session)) == 3


@pytest.mark.requirement("run-mode.table-setup-eof")
async def test_setup_writes_nothing_when_the_editor_disconnects(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.say("1", await in_setup(it))
        assert await it.over() == 0
        assert not it.config.exists()


# -- a session of a chain


@pytest.mark.requirement("run-mode.table-delegating-forward")
async def test_session_of_a_chain_passes_everything_both_ways(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.tell("session/cancel", {"sessionId": "s"})
        it.editor.tell("session/other", {"sessionId": "s", "more": [1.50]})
        it.editor.ask(9, "session/set_mode", {"sessionId": "s", "modeId": "m"})
        cancel, other, request = await agent.reads(3)
        assert (cancel["method"], other["params"]) == (
            "session/cancel",
            {"sessionId": "s", "more": [1.5]},
        )
        agent.answer(request, {"done": True})
        assert (await it.editor.read())["result"] == {"done": True}
        agent.ask(1, "fs/read_text_file", {"sessionId": "s", "path": "/x"})
        asked = await it.editor.read()
        it.editor.answer(asked, {"content": "y"})
        assert (await agent.read())["result"] == {"content": "y"}


@pytest.mark.requirement("run-mode.table-delegating-death", "run-mode.evict")
async def test_crash_ends_the_turn_with_its_reason_and_the_next_session_works(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings=NO_RESTARTS) as it:
        agent = await it.begin()
        turn = it.prompt("hello")
        await agent.read()
        await agent.hang_up()
        texts, answer = await it.said(turn)
        assert "not restarted" in "".join(texts)
        error = answer["error"]
        assert (error["code"], error["data"]["reason"]) == (-32603, "component_exited")
        assert error["data"]["component"] == "claude"

        _, answer = await it.said(it.prompt("hello"))
        assert answer["error"]["data"]["reason"] == "agent_not_running"

        it.editor.ask(3, "session/new", {"cwd": "/"})
        second = await it.initialized_agent(2)
        second.answer(await second.read(), {"sessionId": "t"})
        assert (await it.editor.read())["result"] == {"sessionId": "t"}


@pytest.mark.requirement("run-mode.table-delegating-eof")
async def test_agents_end_when_the_editor_disconnects(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert await it.over() == 0
        await agent.ended()


# -- a session in config mode


@pytest.mark.requirement("run-mode.table-config-prompt")
@pytest.mark.parametrize("text", ["/symposium:config", "hello"])
async def test_every_prompt_in_config_mode_is_for_the_menu(tmp_path: Path, text: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert await it.say("/symposium:config") == [MENU]
        assert (await it.say(text))[0] == f"Unknown command: `{text}`\n\n"
        assert not agent.unread


@pytest.mark.requirement("run-mode.table-config-cancel")
async def test_cancel_in_config_mode_returns_to_the_session(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        before = it.config.read_bytes()
        await it.say("symposium:config")
        it.editor.tell("session/cancel", {"sessionId": "s"})
        farewell = await it.editor.read()
        assert farewell["params"]["update"]["content"]["text"] == CANCELLED
        it.prompt("continue")
        assert (await agent.read())["method"] == "session/prompt"
        assert it.config.read_bytes() == before


@pytest.mark.requirement("run-mode.table-config-request")
@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option"])
async def test_config_mode_refuses_to_change_the_session(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        error = await error_of(it, method, {"sessionId": "s"})
        refusal = f"Method not supported in config mode: {method}"
        assert (error["code"], error["message"]) == (METHOD_NOT_FOUND, refusal)


@pytest.mark.requirement("run-mode.table-config-close")
@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_close_leaves_config_mode_first(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.say("/symposium:config")
        agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        it.editor.ask(4, method, {"sessionId": "s"})
        request = await agent.read()
        assert request["method"] == method
        agent.answer(request, {})
        held, answer = await it.editor.reads(2)
        assert (held["params"]["update"], answer["id"]) == (PLAN, 4)
        gone = await error_of(it, "session/prompt", {"sessionId": "s", "prompt": []})
        assert gone["message"] == "Unknown session"


@pytest.mark.requirement("run-mode.table-config-close", "run-mode.input-order")
async def test_input_left_over_by_the_menu_of_a_closed_session_is_refused(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask("end", "session/close", {"sessionId": "s"})
        request = await agent.read()
        it.directory.gate.clear()
        opened, left, more = (it.prompt(text) for text in ("/symposium:config", "cancel", "hello"))
        agent.answer(request, {})
        it.directory.gate.set()
        answers: dict[Any, Any] = {}
        while more not in answers:
            message = await it.editor.read()
            answers.update({message["id"]: message} if "id" in message else {})
        assert list(answers) == [opened, left, "end", more]
        assert answers[left]["result"] == {"stopReason": "end_turn"}
        error = answers[more]["error"]
        assert (error["code"], error["message"]) == (INVALID_REQUEST, "Unknown session")
        assert error["data"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.table-config-notification")
async def test_config_mode_drops_other_notifications(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.say("/symposium:config")
        it.editor.tell("session/other", {"sessionId": "s"})
        await it.say("cancel")
        it.prompt("next")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.table-config-agent")
async def test_messages_of_the_agent_wait_for_the_end_of_the_menu(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.say("/symposium:config")
        agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        agent.ask("p", "session/request_permission", {"sessionId": "s"})
        agent.tell("session/update", {"sessionId": "s", "update": {**PLAN, "last": 1}})
        # Messages of no session are not held.
        agent.write({"jsonrpc": "2.0", "method": "_vendor/a", "params": [1]})
        agent.write({"jsonrpc": "2.0", "method": "_vendor/b"})
        assert [each.get("params") for each in await it.editor.reads(2)] == [[1], None]
        assert (await it.say("what"))[0] == "Unknown command: `what`\n\n"
        assert await it.say("cancel") == [CANCELLED]
        first, asked, last = await it.editor.reads(3)
        assert first["params"]["update"] == PLAN
        assert asked["method"] == "session/request_permission"
        assert last["params"]["update"] == {**PLAN, "last": 1}
        it.editor.answer(asked, {"outcome": {"outcome": "cancelled"}})
        assert (await agent.read())["id"] == "p"


@pytest.mark.requirement("run-mode.table-config-answered")
async def test_request_from_before_is_answered_by_the_editor_in_config_mode_too(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        agent.ask("p", "session/request_permission", {"sessionId": "s"})
        asked = await it.editor.read()
        await it.say("/symposium:config")
        it.editor.answer(asked, {"outcome": {"outcome": "cancelled"}})
        assert (await agent.read())["id"] == "p"


@pytest.mark.requirement("run-mode.table-config-deleted")
async def test_config_mode_without_a_file_is_the_setup_and_returns(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.config.unlink()
        welcome, _ = await it.say("/symposium:config")
        assert welcome.startswith("Welcome to Symposium!")
        await it.say("2")
        saved = await it.say("save")
        assert saved[-1] == "Configuration saved. Returning to your session.\n\n"
        it.prompt("continue")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.table-config-invalid")
async def test_broken_file_is_reported_in_the_chat_and_the_session_continues(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        broken = '{\n  "agent": "claude",\n  "proxies": [}\n}\n'
        it.write_config(broken)
        notice = "".join(await it.say("/symposium:config"))
        assert f"{it.config}:3:15" in notice
        it.prompt("continue")
        assert (await agent.read())["method"] == "session/prompt"
        assert it.config.read_text() == broken


@pytest.mark.requirement("run-mode.table-config-death")
@pytest.mark.parametrize(("word", "done"), [("save", "saved"), ("cancel", "cancelled")])
async def test_crash_leaves_the_menu_open_until_it_is_left(
    tmp_path: Path, word: str, done: str
) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings=NO_RESTARTS) as it:
        agent = await it.begin()
        await it.say("/symposium:config")
        agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        await agent.hang_up()
        assert (await it.editor.read())["params"]["update"] == PLAN
        notice = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "not restarted" in notice
        assert (await it.say("1"))[0] == "Mod `sparkle` is now disabled.\n\n"
        assert (await it.say(word))[-1] == (
            f"Configuration {done}. The agent of this session is not running; "
            "`/symposium:retry` starts it.\n\n"
        )
        _, answer = await it.said(it.prompt("hello"))
        assert answer["error"]["data"]["reason"] == "agent_not_running"


@pytest.mark.requirement("run-mode.table-config-eof")
async def test_menu_writes_nothing_and_the_agent_ends_when_the_editor_disconnects(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        before = it.config.read_bytes()
        await it.say("/symposium:config")
        await it.say("1")
        assert await it.over() == 0
        await agent.ended()
        assert it.config.read_bytes() == before


@pytest.mark.requirement("run-mode.table-config-invalid")
async def test_the_menu_reports_a_broken_file_and_the_session_continues(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.write_config("{")
        told = "".join(await it.say("/symposium:config"))
        assert told.startswith("The config file cannot be used:\n\n")
        assert str(it.config) in told
        assert told.rstrip().endswith("Your session continues unchanged.")
        it.prompt("next")
        assert (await agent.read())["method"] == "session/prompt"
