"""Sessions whose agent does not start: what is said there, and how they get one."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from peerwire.errors import INVALID_PARAMS
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.failure_text import CHOICES, KEPT, STILL

NOBODY = {**CONFIG, "agent": "nobody"}
BROKEN = '{\n  "agent": "claude",\n  "proxies": [}\n}\n'
TEXT: dict[str, Any] = {"type": "text"}


async def opened(it: RunModeHarness, config: Any = NOBODY) -> tuple[str, str]:
    """A session that has no agent; its id, and what it says."""
    it.write_config(config)
    await it.editor_greets()
    return await it.without_agent()


async def made(agent: Peer, name: str = "inner") -> None:
    """Have the waiting session made by an agent, as the editor has asked for it."""
    request = await agent.read()
    assert (request["method"], request["params"]) == (
        "session/new",
        {"cwd": "/w", "mcpServers": []},
    )
    agent.answer(request, {"sessionId": name})


async def turn_of(it: RunModeHarness, agent: Peer, turn: Any) -> tuple[list[str], str]:
    """What is said in a turn that reaches the agent, and what that is asked."""
    prompt = await agent.read()
    agent.answer(prompt, {"stopReason": "end_turn"})
    texts, answer = await it.said(turn)
    assert answer["result"] == {"stopReason": "end_turn"}
    return texts, "".join(block["text"] for block in prompt["params"]["prompt"])


@pytest.mark.requirement("run-mode.mending-opens")
async def test_a_session_opens_and_says_what_is_wrong_where_and_what_to_do(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        _, told = await opened(it)
        assert "there is no such agent" in told
        assert str(it.config) in told
        assert told.endswith(CHOICES)


@pytest.mark.requirement("run-mode.mending-opens")
async def test_an_agent_that_makes_no_session_is_told_in_one(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "/w"})
        agent.refuse(await agent.read(), -32000, "Authentication required")
        answer, _, told = await it.editor.reads(3)
        assert answer["result"]["sessionId"]
        text = told["params"]["update"]["content"]["text"]
        assert "requires a login" in text
        assert text.endswith(CHOICES)


@pytest.mark.requirement("run-mode.mending-editors-fault")
async def test_what_is_wrong_with_the_request_is_the_editors_to_hear(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "nowhere"})
        agent.refuse(await agent.read(), INVALID_PARAMS, "no such directory")
        assert (await it.editor.read())["error"]["code"] == INVALID_PARAMS


@pytest.mark.requirement("run-mode.mending-menu", "run-mode.mending-kept")
async def test_a_good_choice_goes_on_in_the_same_session_with_what_was_asked(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, told = await opened(it)
        assert await it.say("what is 2+2?", session) == [told, f"{KEPT}\n\n"]
        assert "## Current Configuration" in (await it.say("/symposium:config", session))[0]
        await it.say("a", session)
        await it.say("2", session)
        turn = it.prompt("save", session)
        agent = await it.greeted()
        await made(agent)
        texts, asked = await turn_of(it, agent, turn)
        assert texts == ["Configuration saved. Starting your session.\n\n"]
        assert asked == "what is 2+2?"
        assert json.loads(it.config.read_text())["agent"] == "other"
        it.prompt("more", session)
        assert (await agent.read())["params"]["sessionId"] == "inner"


@pytest.mark.requirement("run-mode.mending-first-turn")
async def test_the_first_answer_repeats_the_problem_and_later_answers_do_not(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, told = await opened(it)
        assert await it.say("retry", session) == [told]
        assert await it.say("retry", session) == [f"{STILL}\n\n", CHOICES]


@pytest.mark.requirement("run-mode.mending-retry")
async def test_a_message_tries_anew_and_is_answered_if_it_starts_now(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        it.write_config(CONFIG)
        turn = it.prompt("hello", session)
        agent = await it.greeted()
        await made(agent)
        assert await turn_of(it, agent, turn) == ([], "hello")


@pytest.mark.requirement("run-mode.mending-retry")
async def test_another_reason_is_told_as_the_first_was(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        it.write_config(BROKEN)
        told, kept = await it.say("hello", session)
        assert f"{it.config}:3:15" in told
        assert told.endswith(CHOICES)
        assert kept == f"{KEPT}\n\n"


@pytest.mark.requirement("run-mode.mending-kept")
async def test_all_that_was_asked_meanwhile_is_asked_in_order(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        for text in ("one", "again", "two"):
            await it.say(text, session)
        it.write_config(CONFIG)
        turn = it.prompt("retry", session)
        agent = await it.greeted()
        await made(agent)
        assert (await turn_of(it, agent, turn))[1] == "one\n\ntwo"


@pytest.mark.requirement("run-mode.mending-menu")
async def test_who_cancels_the_menu_is_told_what_is_possible_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, told = await opened(it)
        await it.say("/symposium:config", session)
        assert await it.say("cancel", session) == ["Configuration cancelled.\n\n", CHOICES]
        it.editor.tell("session/cancel", {"sessionId": session})
        assert (await it.editor.read())["params"]["update"]["content"]["text"] == told
        assert json.loads(it.config.read_text()) == NOBODY


@pytest.mark.requirement("run-mode.mending-broken")
async def test_a_broken_file_is_replaced_only_by_save_and_kept_beside_it(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, told = await opened(it, BROKEN)
        assert f"{it.config}:3:15" in told
        *_, table = await it.say("/symposium:config", session)
        assert table.startswith("# Select Agent")
        await it.say("1", session)
        assert it.config.read_text() == BROKEN
        turn = it.prompt("save", session)
        agent = await it.greeted()
        await made(agent)
        texts, answer = await it.said(turn)
        kept = it.config.with_name("config.jsonc.broken")
        assert str(kept) in texts[0]
        assert answer["result"] == {"stopReason": "end_turn"}
        assert kept.read_text() == BROKEN
        assert '"agent": "claude"' in it.config.read_text()


@pytest.mark.requirement("run-mode.mending-broken")
async def test_a_broken_file_that_was_mended_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it, BROKEN)
        await it.say("/symposium:config", session)
        await it.say("1", session)
        it.write_config(NOBODY)
        assert "changed on disk" in (await it.say("save", session))[0]
        assert json.loads(it.config.read_text()) == NOBODY


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
async def test_our_commands_answer_there_too(tmp_path: Path, command: str, begins: str) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, _ = await opened(it)
        said = "".join(await it.say(command, session))
        assert said.startswith(begins)
        assert said.endswith(CHOICES)


# -- what an older layout says


@pytest.mark.requirement("run-mode.import")
@pytest.mark.parametrize("word", ["1", "import", "I", "yes"])
async def test_an_older_config_is_offered_in_the_set_up_and_taken_over(
    tmp_path: Path, word: str
) -> None:
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
        agent = await it.greeted()
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
        ("hello you", KEPT),
    ],
)
async def test_an_older_config_is_forced_on_nobody(tmp_path: Path, word: str, begins: str) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.directory.older_config = Config("other")
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        assert (await it.say(word, session))[0].startswith(begins)
        assert not it.config.exists()
