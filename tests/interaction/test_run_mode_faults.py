"""Run mode when a part of it fails, and what the user sees of slow and late results."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.run_mode_harness import (
    CONFIG,
    FixedDirectory,
    RunModeHarness,
    run_mode_harness,
)

from symposium.chain.mod import Mod
from symposium.config.user_config import Config
from symposium.run_mode.failure_text import CHOICES, MESSAGE_SAVED
from symposium.run_mode.menu import slow_start
from symposium.run_mode.menu.slow_start import STARTING
from symposium.run_mode.menu_ports import AgentChoices
from symposium.run_mode.settings import Composition

END = {"stopReason": "end_turn"}
OPTIONS: Any = {"configOptions": [{"id": "mode", "name": "Mode", "type": "select"}]}


class BrokenDirectory(FixedDirectory):
    """Fails like a part with a defect."""

    def __init__(self, text: str = "defect") -> None:
        super().__init__()
        self.text = text

    async def choices(self) -> AgentChoices:
        raise ValueError(self.text)


async def broken_compose(config: Config) -> Composition:
    raise ValueError(f"defect with {config.agent}")


def texts_of(messages: list[Any]) -> list[str]:
    return [each["params"]["update"]["content"]["text"] for each in messages]


async def without_agent(it: RunModeHarness) -> str:
    it.write_config({"agent": "missing"})
    await it.initialize_editor()
    return (await it.without_agent())[0]


@pytest.mark.requirement("run-mode.menu-fault")
async def test_menu_that_fails_says_so_and_the_session_continues(tmp_path: Path) -> None:
    settings = {"directory": BrokenDirectory()}
    async with run_mode_harness(tmp_path, CONFIG, settings=settings) as it:
        agent = await it.begin()
        assert await it.say("/symposium:config") == [
            "The menu failed: defect. `/symposium:config` shows the current configuration.\n\n"
        ]
        it.prompt("continue")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.menu-fault")
@pytest.mark.parametrize(("text", "fault"), [("defect", "defect"), ("", "ValueError")])
async def test_command_that_fails_is_an_error_of_that_prompt_only(
    tmp_path: Path, text: str, fault: str
) -> None:
    settings = {"directory": BrokenDirectory(text)}
    async with run_mode_harness(tmp_path, CONFIG, settings=settings) as it:
        agent = await it.begin()
        _, answer = await it.said(it.prompt("/symposium:agents"))
        assert (answer["error"]["code"], answer["error"]["data"]) == (
            -32603,
            {"reason": "run_mode_failed", "fault": fault},
        )
        it.prompt("continue")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.menu-fault")
async def test_defect_while_an_agent_starts_is_the_reason_that_it_does_not(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, settings={"compose": broken_compose}) as it:
        await it.initialize_editor()
        it.write_config(CONFIG)
        _, text = await it.without_agent()
        assert text == (
            "**This session has no agent yet.** The agent `claude` did not start: "
            f"Internal error: defect with claude\n\nThe config file is `{it.config}`.\n\n{CHOICES}"
        )


@pytest.mark.requirement("run-mode.slow-start")
async def test_slow_start_after_a_repair_is_announced_and_its_options_and_notes_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_start, "NOTICE_DELAY", 0.0)
    async with run_mode_harness(tmp_path) as it:
        session = await without_agent(it)
        it.workshop.notes = ["_A setting is ignored._\n\n"]
        it.write_config(CONFIG)
        turn = it.prompt("hello", session)
        assert texts_of(await it.editor.reads(1)) == [f"{STARTING}\n\n"]
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner", **OPTIONS})
        commands, options, note = await it.editor.reads(3)
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        assert options["params"] == {
            "sessionId": session,
            "update": {"sessionUpdate": "config_option_update", **OPTIONS},
        }
        assert texts_of([note]) == list(it.workshop.notes)
        agent.answer(await agent.read(), END)
        assert await it.said(turn) == ([], {"jsonrpc": "2.0", "id": turn, "result": END})


@pytest.mark.requirement("run-mode.mending-retry")
async def test_config_that_was_removed_meanwhile_is_named_as_the_reason(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await without_agent(it)
        it.config.unlink()
        assert await it.say("hello", session) == [
            (
                "**This session has no agent yet.** The config file no longer exists; "
                f"`/symposium:config` sets up a new one.\n\n{CHOICES}"
            ),
            f"{MESSAGE_SAVED}\n\n",
        ]
        assert "No configuration found." in (await it.say("/symposium:config", session))[0]


@pytest.mark.requirement("run-mode.mending-menu")
async def test_menu_left_during_a_start_returns_to_the_reason(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        session = await without_agent(it)
        it.write_config(CONFIG)
        turn = it.prompt("hello", session)
        agent = await it.chain()
        await agent.read()
        opened = it.prompt("/symposium:config", session)
        assert await it.said(turn) == ([], {"jsonrpc": "2.0", "id": turn, "result": END})
        assert (await it.said(opened))[0][0].startswith("## Current Configuration")
        texts = await it.say("cancel", session)
        assert texts == ["Configuration cancelled. Nothing was changed.\n\n", CHOICES]


@pytest.mark.requirement("run-mode.names-kept")
async def test_session_opens_though_its_name_cannot_be_stored(tmp_path: Path) -> None:
    names = tmp_path / "file"
    names.write_text("")
    async with run_mode_harness(tmp_path, settings={"names": names}) as it:
        session = await without_agent(it)
        it.write_config(CONFIG)
        turn = it.prompt("hello", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        agent.answer(await agent.read(), END)
        assert (await it.said(turn))[1]["result"] == END


@pytest.mark.requirement("run-mode.status-report")
async def test_chains_of_a_run_are_reported_with_their_agent_mods_and_sessions(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.workshop.mods["sparkle"] = Mod
        agent = await it.begin()
        await it.session(agent, "t")
        it.write_config({"agent": "other"})
        it.editor.ask("new", "session/new", {"cwd": "/x", "mcpServers": []})
        other = await it.initialized_agent(2)
        other.answer(await other.read(), {"sessionId": "s"})
        outer = (await it.editor.read())["result"]["sessionId"]
        assert it.agent.reports() == [
            {
                "agent": "claude",
                "mods": [{"name": "sparkle", "latencyMs": None}],
                "sessions": [{"id": name, "cwd": "/", "mcp": []} for name in ("s", "t")],
            },
            {
                "agent": "other",
                "mods": [],
                "sessions": [{"id": outer, "cwd": "/x", "mcp": []}],
            },
        ]
        assert outer != "s"
