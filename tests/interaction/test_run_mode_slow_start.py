"""An agent that takes its time to start: nobody else waits for it, and it can be left."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from symposium.run_mode.failure_text import CHOICES, KEPT, NOTHING_SAID
from symposium.run_mode.menu.no_agent import NOT_SENT
from symposium.run_mode.menu.waiting import LEFT, STARTING
from symposium.run_mode.new_sessions import PROMISED

AT_ONCE: dict[str, Any] = {"start_timeout": 0.0}


@asynccontextmanager
async def slow_start(folder: Path) -> AsyncGenerator[tuple[RunModeHarness, str, Peer, Any], None]:
    """A session whose agent has not answered its greeting: its id, the agent, and the greeting."""
    async with run_mode_harness(folder, CONFIG, settings=AT_ONCE) as it:
        capabilities = (await it.editor_greets())["agentCapabilities"]
        assert {**capabilities, **PROMISED} == capabilities
        session = await waiting_session(it)
        agent = await it.chain()
        yield it, session, agent, await agent.read()


async def waiting_session(it: RunModeHarness) -> str:
    session, told = await it.without_agent()
    assert told == f"{STARTING}\n\n"
    return session


async def made(agent: Peer, greeting: Any) -> None:
    """Have the agent greet, and make the session that waits."""
    agent.answer(greeting, VERSION_ONE)
    request = await agent.read()
    assert (request["method"], request["params"]["cwd"]) == ("session/new", "/w")
    agent.answer(request, {"sessionId": "inner"})


async def answered(agent: Peer) -> str:
    """The text of the prompt that the agent gets and answers."""
    prompt = await agent.read()
    assert (prompt["method"], prompt["params"]["sessionId"]) == ("session/prompt", "inner")
    agent.answer(prompt, {"stopReason": "end_turn"})
    text: str = prompt["params"]["prompt"][0]["text"]
    return text


def spoken(*texts: str) -> list[str]:
    """Texts as the editor gets them: a blank line is added to those that end without a break."""
    return [text if text.endswith("\n") else f"{text}\n\n" for text in texts]


@pytest.mark.requirement("run-mode.slow-start")
async def test_what_is_sent_meanwhile_is_answered_by_the_agent_in_its_own_turn(
    tmp_path: Path,
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, greeting):
        turn = it.prompt("Hello", session)
        assert (await it.editor.read())["params"]["update"]["content"]["text"] == f"{KEPT}\n\n"
        await made(agent, greeting)
        assert await answered(agent) == "Hello"
        _, answer = await it.said(turn)
        assert answer["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.slow-start")
async def test_a_session_that_nobody_has_written_in_is_there_when_its_agent_is(
    tmp_path: Path,
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, greeting):
        await made(agent, greeting)
        commands = await it.editor.read()
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        turn = it.prompt("Hello", session)
        assert await answered(agent) == "Hello"
        assert await it.said(turn) == ([], {"jsonrpc": "2.0", "id": turn, "result": END})


END = {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_cancel_ends_the_turn_and_sends_nothing(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, agent, greeting):
        turn = it.prompt("Never mind", session)
        assert (await it.editor.read())["method"] == "session/update"
        it.editor.tell("session/cancel", {"sessionId": session})
        texts, answer = await it.said(turn)
        assert answer["result"] == END
        left = [(await it.editor.read())["params"]["update"]["content"]["text"] for _ in range(2)]
        assert [*texts, *left] == spoken(LEFT, f"{NOT_SENT}{CHOICES}")
        later = it.prompt("Hello", session)
        await made(agent, greeting)
        assert await answered(agent) == "Hello"
        await it.said(later)


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_the_menu_opens_meanwhile_and_another_agent_takes_what_was_kept(
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
        other = await it.greeted(2)
        request = await other.read()
        other.answer(request, {"sessionId": "inner"})
        assert await answered(other) == "Hello"
        await it.said(saved)


@pytest.mark.requirement("run-mode.slow-start")
async def test_another_session_and_another_config_go_on_meanwhile(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, _, _):
        assert await waiting_session(it) != session
        it.write_config({"agent": "nobody"})
        await waiting_session(it)
        told = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "there is no such agent" in told


@pytest.mark.requirement("run-mode.slow-start")
async def test_a_start_that_fails_says_why_and_keeps_what_was_sent(tmp_path: Path) -> None:
    async with slow_start(tmp_path) as (it, session, agent, greeting):
        turn = it.prompt("Hello", session)
        assert (await it.editor.read())["method"] == "session/update"
        agent.refuse(greeting, -32603)
        texts, answer = await it.said(turn)
        assert answer["result"] == END
        assert texts[0].startswith("**This session has no agent yet.**")
        assert texts[1] == f"{KEPT}\n\n"


@pytest.mark.requirement("run-mode.own-commands-never-kept")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/symposium:recap", NOTHING_SAID),
        ("/symposium:recommendations", "There is nothing to decide"),
        ("symposium:nonsense", "Unknown command: `symposium:nonsense`"),
        ("/symposium:status", "This session has no agent."),
    ],
)
async def test_no_command_of_ours_is_kept_for_an_agent(
    tmp_path: Path, command: str, told: str
) -> None:
    async with slow_start(tmp_path) as (it, session, agent, greeting):
        turn = it.prompt(command, session)
        assert (await it.editor.read())["params"]["update"]["content"]["text"].startswith(told)
        await made(agent, greeting)
        await it.said(turn)
        later = it.prompt("Hello", session)
        assert await answered(agent) == "Hello"
        await it.said(later)


@pytest.mark.requirement("run-mode.own-commands-never-kept")
async def test_nor_where_the_agent_does_not_start(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, {"agent": "nobody"}) as it:
        await it.editor_greets()
        session, _ = await it.without_agent()
        (told,) = await it.say("/symposium:recap", session)
        assert told.startswith(NOTHING_SAID)
        assert (await it.say("/symposium:retry", session))[0] == "The problem is still there.\n\n"
        it.write_config(CONFIG)
        turn = it.prompt("Hello", session)
        agent = await it.greeted()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        assert await answered(agent) == "Hello"
        await it.said(turn)


@pytest.mark.requirement("run-mode.slow-start-left")
async def test_a_first_set_up_whose_agent_takes_its_time_can_be_cancelled(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, settings=AT_ONCE) as it:
        await it.editor_greets()
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
async def test_a_start_that_is_quick_enough_is_waited_for(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"start_timeout": 60.0}) as it:
        it.editor.ask("greet", "initialize", VERSION_ONE)
        agent = await it.chain()
        greeting = await agent.read()
        async with asyncio.timeout(45):
            agent.answer(greeting, {**VERSION_ONE, "agentCapabilities": {"loadSession": True}})
            answer = await it.editor.read()
        assert answer["result"]["agentCapabilities"]["loadSession"] is True
