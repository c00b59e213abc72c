"""Sessions whose agent does not start: their messages, and ways to get an agent."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from peerwire.errors import INVALID_PARAMS
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode import sessions
from symposium.run_mode.failure_text import CHOICES, MESSAGE_NOT_SAVED, MESSAGE_SAVED, STILL

MISSING = {**CONFIG, "agent": "missing"}
BROKEN = '{\n  "agent": "claude",\n  "proxies": [}\n}\n'
TEXT: dict[str, Any] = {"type": "text"}


async def opened(it: RunModeHarness, config: Any = MISSING) -> tuple[str, str]:
    """Open a session without an agent; return its id and its messages."""
    it.write_config(config)
    await it.initialize_editor()
    return await it.without_agent()


async def made(agent: Peer, name: str = "inner") -> None:
    """Answer session/new of the waiting session as the agent."""
    request = await agent.read()
    assert (request["method"], request["params"]) == (
        "session/new",
        {"cwd": "/w", "mcpServers": []},
    )
    agent.answer(request, {"sessionId": name})


async def turn_of(it: RunModeHarness, agent: Peer, turn: Any) -> tuple[list[str], str]:
    """Answer a turn that reaches the agent; return its messages and the prompt."""
    prompt = await agent.read()
    agent.answer(prompt, {"stopReason": "end_turn"})
    texts, answer = await it.said(turn)
    assert answer["result"] == {"stopReason": "end_turn"}
    return texts, "".join(block["text"] for block in prompt["params"]["prompt"])


@pytest.mark.requirement("run-mode.mending-opens")
async def test_session_opens_and_reports_the_problem_its_place_and_the_fix(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        _, notice = await opened(it)
        assert "there is no such agent" in notice
        assert str(it.config) in notice
        assert notice.endswith(CHOICES)


@pytest.mark.requirement("run-mode.mending-opens")
async def test_agent_that_refuses_session_new_is_reported_in_a_session(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "/w"})
        agent.refuse(await agent.read(), -32000, "Authentication required")
        answer, _, notice = await it.editor.reads(3)
        assert answer["result"]["sessionId"]
        text = notice["params"]["update"]["content"]["text"]
        assert "requires a login" in text
        assert text.endswith(CHOICES)


@pytest.mark.requirement("run-mode.mending-editors-fault")
async def test_invalid_request_is_an_error_for_the_editor(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "nowhere"})
        agent.refuse(await agent.read(), INVALID_PARAMS, "no such directory")
        assert (await it.editor.read())["error"]["code"] == INVALID_PARAMS


@pytest.mark.requirement("run-mode.mending-menu", "run-mode.mending-kept")
async def test_good_choice_continues_the_session_with_the_waiting_prompt(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, notice = await opened(it)
        assert await it.say("what is 2+2?", session) == [notice, f"{MESSAGE_SAVED}\n\n"]
        assert "## Current Configuration" in (await it.say("/symposium:config", session))[0]
        await it.say("a", session)
        await it.say("2", session)
        turn = it.prompt("save", session)
        agent = await it.initialized_agent()
        await made(agent)
        texts, asked = await turn_of(it, agent, turn)
        assert texts == ["Configuration saved. Starting your session.\n\n"]
        assert asked == "what is 2+2?"
        assert json.loads(it.config.read_text())["agent"] == "other"
        # A later menu does not send the prompt again.
        await it.say("/symposium:config", session)
        await it.say("cancel", session)
        it.prompt("more", session)
        assert (await agent.read())["params"]["sessionId"] == "inner"


@pytest.mark.requirement("run-mode.mending-first-turn")
async def test_first_answer_repeats_the_problem_and_later_answers_do_not(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, notice = await opened(it)
        assert await it.say("retry", session) == [notice]
        assert await it.say("retry", session) == [f"{STILL}\n\n", CHOICES]


@pytest.mark.requirement("run-mode.mending-retry")
async def test_message_starts_the_agent_again_and_is_answered(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        it.write_config(CONFIG)
        turn = it.prompt("hello", session)
        agent = await it.initialized_agent()
        await made(agent)
        assert await turn_of(it, agent, turn) == ([], "hello")


@pytest.mark.requirement("run-mode.mending-retry")
async def test_another_reason_is_reported_like_the_first(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        it.write_config(BROKEN)
        notice, kept = await it.say("hello", session)
        assert f"{it.config}:3:15" in notice
        assert notice.endswith(CHOICES)
        assert kept == f"{MESSAGE_SAVED}\n\n"


@pytest.mark.requirement("run-mode.kept-bound")
async def test_message_above_the_limit_starts_the_agent_but_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_KEPT", 200)
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        await it.say("one", session)
        it.write_config(CONFIG)
        turn = it.prompt("x" * 200, session)
        agent = await it.initialized_agent()
        await made(agent)
        assert await turn_of(it, agent, turn) == ([f"{MESSAGE_NOT_SAVED}\n\n"], "one")


@pytest.mark.requirement("run-mode.mending-kept")
async def test_waiting_prompts_are_sent_in_order(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        for text in ("one", "again", "two"):
            await it.say(text, session)
        it.write_config(CONFIG)
        turn = it.prompt("retry", session)
        agent = await it.initialized_agent()
        await made(agent)
        assert (await turn_of(it, agent, turn))[1] == "one\n\ntwo"


@pytest.mark.requirement("run-mode.mending-menu")
async def test_canceled_menu_lists_the_options_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, notice = await opened(it)
        await it.say("/symposium:config", session)
        left = "Configuration cancelled. Nothing was changed.\n\n"
        assert await it.say("cancel", session) == [left, CHOICES]
        it.editor.tell("session/cancel", {"sessionId": session})
        assert (await it.editor.read())["params"]["update"]["content"]["text"] == notice
        assert json.loads(it.config.read_text()) == MISSING


@pytest.mark.requirement("run-mode.mending-broken")
async def test_broken_file_is_replaced_only_by_save_and_saved_beside_it(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, notice = await opened(it, BROKEN)
        assert f"{it.config}:3:15" in notice
        *_, table = await it.say("/symposium:config", session)
        assert table.startswith("# Select Agent")
        await it.say("1", session)
        assert it.config.read_text() == BROKEN
        turn = it.prompt("save", session)
        agent = await it.initialized_agent()
        await made(agent)
        texts, answer = await it.said(turn)
        kept = it.config.with_name("config.jsonc.broken")
        assert str(kept) in texts[0]
        assert answer["result"] == {"stopReason": "end_turn"}
        assert kept.read_text() == BROKEN
        assert '"agent": "claude"' in it.config.read_text()


@pytest.mark.requirement("run-mode.mending-broken")
async def test_broken_file_that_was_fixed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it, BROKEN)
        await it.say("/symposium:config", session)
        await it.say("1", session)
        it.write_config(MISSING)
        assert "has changed since" in (await it.say("save", session))[0]
        assert json.loads(it.config.read_text()) == MISSING


@pytest.mark.requirement("run-mode.mending-commands")
@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("/symposium:help", "## Symposium\n"),
        ("/symposium:status", "This session has no agent"),
        ("/symposium:agents", "## Agents\n"),
        ("/symposium:mods", "## Mods\n"),
    ],
)
async def test_commands_of_symposium_work_without_an_agent(
    tmp_path: Path, command: str, begins: str
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        said = "".join(await it.say(command, session))
        assert said.startswith(begins)
        assert said.endswith(CHOICES)


# -- configs of an older layout


@pytest.mark.requirement("run-mode.import")
@pytest.mark.parametrize("word", ["1", "import", "I", "yes"])
async def test_older_config_is_offered_in_the_setup_and_imported(tmp_path: Path, word: str) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.directory.older_config = Config("other", (ModEntry("ferris"),))
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        answer, _, offer = await it.editor.reads(3)
        session = answer["result"]["sessionId"]
        text = offer["params"]["update"]["content"]["text"]
        assert text.startswith("# Older Configuration\n")
        assert "**Agent:** Other\n" in text
        assert "1. [x] ferris\n" in text
        assert it.directory.asked_for == "/w"
        (menu,) = await it.say(word, session)
        assert "**Agent:** Other\n" in menu
        assert not it.config.exists()
        turn = it.prompt("save", session)
        agent = await it.initialized_agent()
        await made(agent)
        await it.said(turn)
        assert '"agent": "other"' in it.config.read_text()


@pytest.mark.requirement("run-mode.import")
@pytest.mark.parametrize(
    ("word", "begins"),
    [
        ("2", "# Select Agent"),
        ("new", "# Select Agent"),
        ("cancel", "Configuration cancelled."),
        ("5", "Unknown input: `5`."),
        ("hello you", MESSAGE_SAVED),
    ],
)
async def test_older_config_can_be_declined(tmp_path: Path, word: str, begins: str) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.directory.older_config = Config("other")
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        assert (await it.say(word, session))[0].startswith(begins)
        assert not it.config.exists()
