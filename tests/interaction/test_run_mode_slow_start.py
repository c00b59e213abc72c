"""Agent with a slow start: other sessions do not wait for it, and the user can leave it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from peerwire.errors import REQUEST_CANCELLED
from symposium.chain.conductor import NOT_ANSWERED_YET
from symposium.run_mode import sessions
from symposium.run_mode.failure_text import (
    MESSAGE_NOT_SAVED,
    MESSAGE_SAVED,
    NOTHING_SAID,
    WAIT_CHOICES,
)
from symposium.run_mode.menu.no_agent import NOT_SENT
from symposium.run_mode.menu.slow_start import LEFT, STARTING
from symposium.run_mode.new_sessions import PROMISED

AT_ONCE: dict[str, Any] = {"start_timeout": 0.0}


@asynccontextmanager
async def slow_start(folder: Path) -> AsyncGenerator[tuple[RunModeHarness, str, Peer, Any], None]:
    """Create a session whose agent has not answered initialize; return id, agent, and request."""
    async with run_mode_harness(folder, CONFIG, settings=AT_ONCE) as it:
        capabilities = (await it.initialize_editor())["agentCapabilities"]
        assert {**capabilities, **PROMISED} == capabilities
        session = await waiting_session(it)
        agent = await it.chain()
        yield it, session, agent, await agent.read()


async def waiting_session(it: RunModeHarness) -> str:
    session, notice = await it.without_agent()
    assert notice == f"{STARTING}\n\n"
    return session


async def made(agent: Peer, initialize: Any) -> None:
    """Answer initialize, and create the waiting session."""
    agent.answer(initialize, VERSION_ONE)
    request = await agent.read()
    assert (request["method"], request["params"]["cwd"]) == ("session/new", "/w")
    agent.answer(request, {"sessionId": "inner"})


async def answered(agent: Peer) -> str:
    """Answer the next prompt of the agent; return its text."""
    prompt = await agent.read()
    assert (prompt["method"], prompt["params"]["sessionId"]) == ("session/prompt", "inner")
    agent.answer(prompt, {"stopReason": "end_turn"})
    text: str = prompt["params"]["prompt"][0]["text"]
    return text


def spoken(*texts: str) -> list[str]:
    """Return texts as the editor gets them: a blank line follows one without a line break."""
    return [text if text.endswith("\n") else f"{text}\n\n" for text in texts]


@pytest.mark.requirement("run-mode.slow-start")
async def test_prompt_sent_meanwhile_is_answered_by_the_agent_in_its_own_turn(
    tmp_path: Path,
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turn = it.prompt("Hello", session)
        assert (await it.editor.read())["params"]["update"]["content"][
            "text"
        ] == f"{MESSAGE_SAVED}\n\n"
        await made(agent, initialize)
        assert await answered(agent) == "Hello"
        _, answer = await it.said(turn)
        assert answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.kept-bound")
async def test_message_above_the_limit_is_not_saved_and_the_user_is_informed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT", 200)
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turns = [it.prompt(text, session) for text in ("Hello", "x" * 200, "World")]
        messages = await it.editor.reads(5)
        reports = [each["params"]["update"]["content"]["text"] for each in messages[::2]]
        assert reports == spoken(MESSAGE_SAVED, MESSAGE_NOT_SAVED, MESSAGE_SAVED)
        assert [each["id"] for each in messages[1::2]] == turns[:2]
        await made(agent, initialize)
        prompt = await agent.read()
        assert [each["text"] for each in prompt["params"]["prompt"]] == ["Hello", "\n\n", "World"]


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_canceled_prompt_leaves_no_turn_in_the_session(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turn = it.prompt("Hello", session)
        assert (await it.editor.read())["method"] == "session/update"
        it.editor.tell("$/cancel_request", {"requestId": turn})
        assert (await it.said(turn))[1]["error"]["code"] == REQUEST_CANCELLED
        await made(agent, initialize)
        assert (await it.editor.read())["method"] == "session/update"
        later = it.prompt("World", session)
        assert await answered(agent) == "World"
        await it.said(later)
        assert (await it.say("/symposium:config", session))[0].startswith("## Current Config")


@pytest.mark.requirement("run-mode.slow-start")
async def test_session_without_a_prompt_exists_once_its_agent_runs(
    tmp_path: Path,
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        await made(agent, initialize)
        commands = await it.editor.read()
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        turn = it.prompt("Hello", session)
        assert await answered(agent) == "Hello"
        assert await it.said(turn) == ([], {"jsonrpc": "2.0", "id": turn, "result": END})


END = {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_cancel_ends_the_turn_and_sends_nothing(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turn = it.prompt("Never mind", session)
        assert (await it.editor.read())["method"] == "session/update"
        it.editor.tell("session/cancel", {"sessionId": session})
        texts, answer = await it.said(turn)
        assert answer["result"] == END
        left = [(await it.editor.read())["params"]["update"]["content"]["text"] for _ in range(2)]
        assert [*texts, *left] == spoken(LEFT, f"{NOT_SENT}{WAIT_CHOICES}")
        later = it.prompt("Hello", session)
        await made(agent, initialize)
        assert await answered(agent) == "Hello"
        await it.said(later)


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_menu_opens_meanwhile_and_another_agent_gets_the_waiting_prompt(
    tmp_path: Path,
) -> None:
    async with slow_start(tmp_path) as (it, session, _, _):
        first = it.prompt("Hello", session)
        assert (await it.editor.read())["method"] == "session/update"
        opened = it.prompt("/symposium:config", session)
        await it.said(first)
        texts, _ = await it.said(opened)
        assert texts[0].startswith("## Current Configuration")
        await it.say("A", session)
        await it.say("2", session)
        saved = it.prompt("SAVE", session)
        other = await it.initialized_agent(2)
        request = await other.read()
        other.answer(request, {"sessionId": "inner"})
        assert await answered(other) == "Hello"
        await it.said(saved)


@pytest.mark.requirement("run-mode.slow-start")
async def test_other_sessions_and_configs_continue_meanwhile(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, _, _):
        assert await waiting_session(it) != session
        it.write_config({"agent": "missing"})
        await waiting_session(it)
        notice = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "there is no such agent" in notice


@pytest.mark.requirement("run-mode.slow-start")
async def test_failed_start_gives_the_reason_and_keeps_the_prompt(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turn = it.prompt("Hello", session)
        assert (await it.editor.read())["method"] == "session/update"
        agent.refuse(initialize, -32603)
        texts, answer = await it.said(turn)
        assert answer["result"] == END
        assert texts[0].startswith("**This session has no agent yet.**")
        assert texts[1] == f"{MESSAGE_SAVED}\n\n"
        it.prompt("again", session)
        assert (await (await it.chain(2)).read())["method"] == "initialize"


@pytest.mark.requirement("run-mode.own-commands-never-kept")
@pytest.mark.parametrize(
    ("command", "notice"),
    [
        ("/symposium:recap", NOTHING_SAID),
        ("/symposium:recommendations", "There is nothing to decide"),
        ("symposium:nonsense", "Unknown command: `symposium:nonsense`"),
        ("/symposium:status", "This session has no agent; "),
    ],
)
async def test_commands_of_symposium_are_not_saved_for_an_agent(
    tmp_path: Path, command: str, notice: str
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, initialize):
        turn = it.prompt(command, session)
        assert (await it.editor.read())["params"]["update"]["content"]["text"].startswith(notice)
        await made(agent, initialize)
        await it.said(turn)
        later = it.prompt("Hello", session)
        assert await answered(agent) == "Hello"
        await it.said(later)


@pytest.mark.requirement("run-mode.own-commands-never-kept")
async def test_commands_are_not_saved_when_the_agent_does_not_start(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, {"agent": "missing"}) as it:
        await it.initialize_editor()
        session, _ = await it.without_agent()
        (notice,) = await it.say("/symposium:recap", session)
        assert notice.startswith(NOTHING_SAID)
        assert (await it.say("/symposium:retry", session))[0] == "The problem is still there.\n\n"
        it.write_config(CONFIG)
        turn = it.prompt("Hello", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        assert await answered(agent) == "Hello"
        await it.said(turn)


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_first_setup_with_a_slow_agent_can_be_canceled(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, settings=AT_ONCE) as it:
        await it.initialize_editor()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        session = (await it.editor.read())["result"]["sessionId"]
        await it.say("1", session)
        saved = it.prompt("SAVE", session)
        agent = await it.chain()
        await agent.read()
        it.editor.tell("session/cancel", {"sessionId": session})
        _, answer = await it.said(saved)
        assert answer["result"] == END
        texts = await it.say("A", session)
        assert texts[-1].startswith("# Select Agent") or "| # | Agent |" in texts[-1]


@pytest.mark.requirement("run-mode.slow-start")
async def test_fast_start_is_awaited(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"start_timeout": 60.0}) as it:
        it.editor.ask("greet", "initialize", VERSION_ONE)
        agent = await it.chain()
        initialize = await agent.read()
        async with asyncio.timeout(45):
            agent.answer(initialize, {**VERSION_ONE, "agentCapabilities": {"loadSession": True}})
            answer = await it.editor.read()
        assert answer["result"]["agentCapabilities"]["loadSession"] is True


@pytest.mark.requirement("run-mode.initialize-order")
async def test_what_is_asked_before_the_answer_to_initialize_is_refused(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"start_timeout": 60.0}) as it:
        it.editor.ask("greet", "initialize", VERSION_ONE)
        agent = await it.chain()
        await agent.read()
        for method in ("initialize", "session/new"):
            it.editor.ask(method, method, {"cwd": "/w", "mcpServers": []})
            refusal = await it.editor.read()
            assert refusal["id"] == method
            assert refusal["error"]["data"] == NOT_ANSWERED_YET.data
