"""Sequence diagrams of run mode, message by message (seed 003)."""

import re
from pathlib import Path

import pytest
from tests.support.run_mode_harness import CONFIG, HOST_CAPABILITIES, MENU, run_mode_harness

COMMANDS = [
    "symposium:config",
    "symposium:status",
    "symposium:agents",
    "symposium:mods",
    "symposium:retry",
    "symposium:recap",
    "symposium:recommendations",
    "symposium:help",
]


@pytest.mark.requirement("run-mode.initialize-config", "run-mode.new-session-flow")
async def test_new_session_goes_to_the_chain_of_the_config(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.editor.ask(0, "initialize", {"protocolVersion": 1, "clientCapabilities": {"x": 1}})
        agent = await it.chain()
        initialize = await agent.read()
        capabilities = {"x": 1, **HOST_CAPABILITIES}
        assert initialize["params"] == {"protocolVersion": 1, "clientCapabilities": capabilities}
        promised = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True, "new": 1}}
        agent.answer(initialize, promised)
        result = (await it.editor.read())["result"]
        notice = result["agentCapabilities"].pop("_meta")["symposium"]
        assert result == promised
        assert (notice["proxy"], notice["details"]["chain"]) == (True, [])

        it.editor.ask(1, "session/new", {"cwd": "/w", "mcpServers": [], "unknown": 1})
        request = await agent.read()
        assert request["params"] == {"cwd": "/w", "mcpServers": [], "unknown": 1}
        agent.answer(request, {"sessionId": "s", "modes": {}})
        answer, update = await it.editor.reads(2)
        assert (answer["id"], answer["result"]) == (1, {"sessionId": "s", "modes": {}})
        offered = update["params"]["update"]
        assert update["params"]["sessionId"] == "s"
        assert offered["sessionUpdate"] == "available_commands_update"
        assert [each["name"] for each in offered["availableCommands"]] == COMMANDS
        assert offered["availableCommands"][0]["description"] == "Configure Symposium settings"


@pytest.mark.requirement("run-mode.prompt-flow")
async def test_prompt_and_its_answers_pass_in_order(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(7, "session/prompt", {"sessionId": "s", "prompt": []})
        prompt = await agent.read()
        agent.tell("session/update", {"sessionId": "s", "update": {"sessionUpdate": "plan"}})
        agent.ask("p", "session/request_permission", {"sessionId": "s", "options": []})
        update, permission = await it.editor.reads(2)
        assert update["params"]["update"] == {"sessionUpdate": "plan"}
        it.editor.answer(permission, {"outcome": {"outcome": "cancelled"}})
        assert (await agent.read())["result"] == {"outcome": {"outcome": "cancelled"}}
        agent.tell("session/update", {"sessionId": "s", "update": {"sessionUpdate": "plan"}})
        agent.answer(prompt, {"stopReason": "end_turn"})
        last, answer = await it.editor.reads(2)
        assert last["method"] == "session/update"
        assert (answer["id"], answer["result"]) == (7, {"stopReason": "end_turn"})


@pytest.mark.requirement("run-mode.config-entry", "run-mode.config-save", "run-mode.pause-session")
async def test_config_mode_is_entered_and_left_with_save(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert await it.say("/symposium:config") == [MENU]
        agent.tell("session/update", {"sessionId": "s", "update": {"sessionUpdate": "plan"}})
        assert await it.say("2") == ["Mod `ferris` is now enabled.\n\n", MENU.replace("[ ]", "[x]")]
        texts = await it.say("SAVE")
        assert texts[-1] == "Configuration saved. Returning to your session.\n\n"
        assert (await it.editor.read())["params"]["update"] == {"sessionUpdate": "plan"}
        assert '"name": "ferris", "enabled": true' in " ".join(it.config.read_text().split())

        it.prompt("continue")
        assert (await agent.read())["params"]["prompt"][0]["text"] == "continue"


@pytest.mark.requirement("run-mode.menu-save-tells")
async def test_saved_agent_is_for_new_sessions_and_the_chat_reports_it(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, {**CONFIG, "agent": {"builtin": "claude"}}) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("A")
        await it.say("2")
        diff, notice, saved = await it.say("SAVE")
        assert diff == "```diff\n- agent Claude Code\n+ agent Other\n```\n\n"
        assert notice == (
            "New sessions use Other; this session continues with Claude Code. "
            "To use Other, open a new thread or session.\n\n"
        )
        assert saved == "Configuration saved. Returning to your session.\n\n"

        await it.say("/symposium:config")
        assert await it.say("SAVE") == [notice, saved]  # nothing has changed since


@pytest.mark.requirement("run-mode.menu-save-tells")
async def test_saved_mods_are_for_new_sessions_and_the_chat_reports_it(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("2")
        _, notice, saved = await it.say("SAVE")
        assert notice.startswith("New sessions use these mods; this session keeps its mods. ")

        await it.say("/symposium:config")
        await it.say("2")
        diff, again = await it.say("SAVE")  # the mods of this session: no notice
        assert (diff[:7], again) == ("```diff", saved)


WELCOME = "Welcome to Symposium!\n\nNo configuration found. Let's set up your AI agent.\n"
TABLE = (
    "# Select Agent\n\n"
    "| # | Agent | Description |\n"
    "|---|-------|-------------|\n"
    "| 1 | Claude Code | AI coding assistant |\n"
    "| 2 | Other | Another one |\n\n"
    "Enter a number to select, or `cancel` to leave.\n"
    "You can also enter a name.\n"
)


@pytest.mark.requirement("run-mode.setup-flow")
async def test_first_time_setup_continues_the_same_session(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        (tmp_path / "pyproject.toml").touch()
        it.editor.ask("new", "session/new", params := {"cwd": str(tmp_path), "mcpServers": []})
        answer, *notice = await it.editor.reads(3)
        session = answer["result"]["sessionId"]
        assert [each["params"]["update"]["content"]["text"] for each in notice] == [WELCOME, TABLE]
        chosen, mods, menu = await it.say("1", session)
        assert chosen == "Agent set to `Claude Code`.\n\n"
        assert re.search(r"- `ferris`: .*About \d+ tokens per session\.", mods)
        assert menu == MENU.replace("[ ]", "[x]")

        saved = it.prompt("SAVE", session)
        agent = await it.initialized_agent()
        request = await agent.read()
        assert request["params"] == params
        agent.answer(request, {"sessionId": "inner"})
        commands = await it.editor.read()
        assert commands["params"]["update"]["availableCommands"][0]["name"] == "symposium:config"
        texts, answer = await it.said(saved)
        assert texts == ["Configuration saved. Starting your session.\n\n"]
        assert answer["result"] == {"stopReason": "end_turn"}

        asked = it.prompt("hello", session)
        prompt = await agent.read()
        assert prompt["params"]["sessionId"] == "inner"
        said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
        agent.tell("session/update", {"sessionId": "inner", "update": said})
        agent.answer(prompt, {"stopReason": "end_turn"})
        update = await it.editor.read()
        assert update["params"] == {"sessionId": session, "update": said}
        assert (await it.editor.read())["id"] == asked
