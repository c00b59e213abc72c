"""Chains of sessions: shared and separate ones (acp-host §4.5-§4.9)."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, Peer
from tests.support.run_mode_harness import (
    AGENTS,
    CONFIG,
    HOST_CAPABILITIES,
    MENU,
    RunModeHarness,
    run_mode_harness,
)

from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from symposium.chain.monitoring import ONE_IN
from symposium.mods.tag import Tag
from symposium.run_mode.chat import COMMANDS
from symposium.run_mode.failure_text import MESSAGE_SAVED
from symposium.run_mode.menu_ports import AgentChoices

OTHER = {**CONFIG, "agent": "other"}
LISTED_AGENTS = """## Agents

{}| # | Agent | Description |
|---|-------|-------------|
| 1 | Claude Code | AI coding assistant |
| 2 | Other | Another one |

**Agent for new sessions:** {}

To choose another, type `/symposium:config`, then `A`.
"""
LISTED_MODS = """## Mods

**Mods for new sessions:**
1. [x] sparkle
2. [ ] ferris

**More mods:**

| # | Mod | Description |
|---|-----|-------------|
| 1 | tag | Tags everything |

In the menu of `/symposium:config`, `ADD` adds a mod, and a mod's number turns it on or off.
"""
STATUS = """## Status

**Chain:** editor → tag → claude
**MCP servers:** search
**Sessions with this agent and these mods:** 1; other sessions: 0

_left out_

**Latency of each mod:**

- `tag`: {}


**MCP servers of this session:**

- `web` (http): direct, the agent supports http
- `events` (sse): unavailable, the agent lacks sse, and Symposium does not bridge sse
- `files` (stdio): direct, the agent supports programs

"""
PLAN: dict[str, Any] = {"sessionUpdate": "plan", "entries": []}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
TEXT = {"type": "text", "text": "look"}
ACCEPTS_IMAGES = {**VERSION_ONE, "agentCapabilities": {"promptCapabilities": {"image": True}}}
SUPPORTS_HTTP = {**VERSION_ONE, "agentCapabilities": {"mcpCapabilities": {"http": True}}}
REMOTE = (("http", "web"), ("sse", "events"))
LOADS = {**VERSION_ONE, "agentCapabilities": {"loadSession": True}}


async def second_chain(it: RunModeHarness, session: str = "t") -> Peer:
    """Change the config, and create a session with it; return its agent."""
    it.write_config(OTHER)
    it.editor.ask("second", "session/new", {"cwd": "/"})
    agent = await it.initialized_agent(2)
    agent.answer(await agent.read(), {"sessionId": session})
    return agent


# -- at `initialize`


@pytest.mark.requirement("run-mode.initialize-without")
async def test_few_capabilities_and_no_agent_without_a_config(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.editor.ask(0, "initialize", VERSION_ONE)
        result = (await it.editor.read())["result"]
        assert result["protocolVersion"] == 1
        capabilities = result["agentCapabilities"]
        assert capabilities["loadSession"] is False
        assert not any(capabilities["promptCapabilities"].values())
        assert capabilities["_meta"]["symposium"]["version"] == "1.0"
        assert not it.workshop.started.items


@pytest.mark.requirement("run-mode.initialize-failed")
async def test_editor_is_initialized_although_the_chain_does_not_start(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, {"agent": "missing"}) as it:
        await it.initialize_editor()
        _, notice = await it.without_agent()
        assert "there is no such agent" in notice
        it.write_config(CONFIG)
        it.editor.ask(2, "session/new", {"cwd": "/"})
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.initialize-order")
async def test_initialize_is_first_and_once(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.editor.ask(1, "session/new", {"cwd": "/"})
        assert (await it.editor.read())["error"]["code"] == INVALID_REQUEST


@pytest.mark.requirement("run-mode.initialize-order")
async def test_second_initialize_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "initialize", VERSION_ONE)
        assert (await it.editor.read())["error"]["code"] == INVALID_REQUEST
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.initialize-again")
async def test_editor_without_a_version_may_initialize_again(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.editor.ask(0, "initialize", {})
        assert (await it.editor.read())["error"]["code"] == -32602
        await it.open()


@pytest.mark.requirement("run-mode.later-greeting")
async def test_later_chain_is_initialized_with_the_editors_own_request(tmp_path: Path) -> None:
    own = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}, "odd": [1]}
    async with run_mode_harness(tmp_path) as it:
        it.editor.ask(0, "initialize", own)
        await it.editor.read()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/"})
        agent = await it.chain()
        fs = {"fs": {"readTextFile": True}}
        asked = (await agent.read())["params"]
        assert asked == {**own, "clientCapabilities": {**fs, **HOST_CAPABILITIES}}


@pytest.mark.requirement("run-mode.adapt-images")
async def test_image_that_a_later_agent_does_not_accept_is_left_out_with_a_notice(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.open(ACCEPTS_IMAGES)
        agent = await second_chain(it)
        await it.editor.reads(2)
        prompt = [TEXT, IMAGE, {"type": "resource_link", "uri": "x", "name": "x"}]
        it.editor.ask(1, "session/prompt", {"sessionId": "t", "prompt": prompt})
        assert (await agent.read())["params"]["prompt"] == [prompt[0], prompt[2]]
        note = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "does not support image content: 1 block was removed" in note


@pytest.mark.requirement("run-mode.adapt-load")
async def test_later_agent_without_session_load_is_not_asked_to_load(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.open(LOADS)
        await second_chain(it)
        await it.editor.reads(2)
        it.editor.ask(1, "session/load", {"sessionId": "old", "cwd": "/", "mcpServers": []})
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.requirement("run-mode.adapt-load", "run-mode.table-unknown-default")
async def test_load_that_no_agent_has_promised_is_left_to_the_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask(1, "session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []})
        request = await agent.read()
        assert request["method"] == "session/load"
        agent.refuse(request, METHOD_NOT_FOUND, "its own words")
        error = (await it.editor.read())["error"]
        assert (error["code"], error["data"]) == (METHOD_NOT_FOUND, "its own words")


@pytest.mark.requirement("run-mode.load")
async def test_session_is_loaded_with_its_history_before_the_response(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open(LOADS)
        assert agent is not None
        it.editor.ask(1, "session/load", {"sessionId": "old", "cwd": "/", "mcpServers": []})
        request = await agent.read()
        agent.tell("session/update", {"sessionId": "old", "update": PLAN})
        agent.answer(request, {"modes": None})
        history, answer, commands = await it.editor.reads(3)
        assert history["params"] == {"sessionId": "old", "update": PLAN}
        assert (answer["id"], answer["result"]) == (1, {"modes": None})
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        it.prompt("continue", "old")
        assert (await agent.read())["params"]["sessionId"] == "old"


@pytest.mark.requirement("run-mode.default-chain")
@pytest.mark.parametrize("method", ["authenticate", "logout", "session/list", "_vendor/any"])
async def test_request_without_a_session_goes_to_the_current_chain(
    tmp_path: Path, method: str
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask(1, method, {"x": 1})
        request = await agent.read()
        assert (request["method"], request["params"]) == (method, {"x": 1})
        agent.answer(request, {"sessions": []})
        assert (await it.editor.read())["result"] == {"sessions": []}


@pytest.mark.requirement("run-mode.default-chain-none")
async def test_request_without_a_session_is_refused_without_a_config(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.editor.ask(1, "authenticate", {"methodId": "m"})
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.requirement("run-mode.every-chain")
async def test_notification_without_a_session_reaches_every_chain(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        it.editor.tell("_vendor/note", {"x": 1})
        assert (await first.read())["params"] == {"x": 1}
        assert (await second.read())["params"] == {"x": 1}


# -- one chain for each config


@pytest.mark.requirement("run-mode.shared-chain")
async def test_sessions_of_one_config_share_an_agent_in_any_notation(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.write_config(
            '{ // other words\n "proxies": [{"enabled": true, "name": "sparkle"},'
            ' {"name": "ferris", "enabled": false},], "agent": "claude", "mine": 1 }'
        )
        await it.session(agent, "t")
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.config-next-session")
async def test_changed_config_applies_to_new_sessions_only(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        await it.editor.reads(2)
        it.prompt("to the old one", "s")
        it.prompt("to the new one", "t")
        assert (await first.read())["params"]["prompt"][0]["text"] == "to the old one"
        assert (await second.read())["params"]["prompt"][0]["text"] == "to the new one"


@pytest.mark.requirement("run-mode.key-is-whole")
@pytest.mark.parametrize(
    "proxies",
    [
        [{"name": "sparkle", "enabled": True}],
        [{"name": "ferris", "enabled": False}, {"name": "sparkle", "enabled": True}],
        [{"name": "sparkle", "enabled": True}, {"name": "ferris", "enabled": True}],
    ],
)
async def test_order_names_and_flags_distinguish_configs(tmp_path: Path, proxies: Any) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        it.write_config({**CONFIG, "proxies": proxies})
        it.editor.ask(1, "session/new", {"cwd": "/"})
        await it.initialized_agent(2)


@pytest.mark.requirement("run-mode.single-flight")
async def test_simultaneous_new_sessions_start_one_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/1"})
        it.editor.ask(2, "session/new", {"cwd": "/2"})
        agent = await it.initialized_agent()
        one, two = await agent.reads(2)
        assert (one["params"]["cwd"], two["params"]["cwd"]) == ("/1", "/2")
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.single-flight")
async def test_canceled_wait_for_a_start_does_not_stop_it_for_others(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/1"})
        it.editor.ask(2, "session/new", {"cwd": "/2"})
        it.editor.tell("$/cancel_request", {"requestId": 1})
        assert (await it.editor.read())["error"]["code"] == -32800
        agent = await it.initialized_agent()
        request = await agent.read()
        assert request["params"] == {"cwd": "/2"}
        agent.answer(request, {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.failed-start")
async def test_failed_start_is_reported_to_all_waiting_sessions_and_not_remembered(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/"})
        it.editor.ask(2, "session/new", {"cwd": "/"})
        agent = await it.chain()
        agent.refuse(await agent.read(), -32000, "log in first")
        said = await it.editor.reads(6)
        assert {each["id"] for each in said if "id" in each} == {1, 2}
        assert str(said).count("requires a login") == 2
        it.editor.ask(3, "session/new", {"cwd": "/"})
        again = await it.initialized_agent(2)
        again.answer(await again.read(), {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.start-death")
async def test_agent_that_crashes_during_initialize_is_a_failed_start(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/"})
        agent = await it.chain()
        await agent.read()
        await agent.hang_up()
        _, _, notice = await it.editor.reads(3)
        assert "closed the connection" in notice["params"]["update"]["content"]["text"]


@pytest.mark.requirement("run-mode.death-is-alone")
async def test_crash_leaves_the_sessions_of_other_chains_unchanged(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        await it.editor.reads(2)
        turn = it.prompt("hello", "t")
        prompt = await second.read()
        await first.hang_up()
        second.answer(prompt, {"stopReason": "end_turn"})
        assert (await it.editor.read())["id"] == turn


@pytest.mark.requirement("run-mode.broken-config")
async def test_broken_file_is_reported_to_new_sessions_with_its_place_and_stays_unchanged(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.write_config('{ "agent": 1,\n  oops }')
        _, notice = await it.without_agent()
        assert f"{it.config}:2:3" in notice
        assert it.config.read_text() == '{ "agent": 1,\n  oops }'
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.idle")
async def test_chain_ends_after_its_last_session_is_closed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"idle_timeout": 0}) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        for number, session in enumerate("st"):
            it.editor.ask(number, "session/close", {"sessionId": session})
            request = await agent.read()
            assert request["method"] == "session/close"
            agent.answer(request, {})
            assert (await it.editor.read())["id"] == number
        await agent.ended()
        it.editor.ask(9, "session/new", {"cwd": "/"})
        await it.initialized_agent(2)


@pytest.mark.requirement("run-mode.idle-busy")
async def test_chain_without_sessions_stays_while_a_request_is_open(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"idle_timeout": 0}) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/close", {"sessionId": "s"})
        close = await agent.read()
        it.editor.ask(2, "session/new", {"cwd": "/", "mcpServers": []})
        new = await agent.read()
        assert (close["method"], new["method"]) == ("session/close", "session/new")

        agent.answer(close, {})
        assert (await it.editor.read())["id"] == 1
        agent.answer(new, {"sessionId": "t"})

        assert (await it.editor.read())["result"]["sessionId"] == "t"
        it.prompt("still there?", "t")
        assert (await agent.read())["params"]["sessionId"] == "t"


@pytest.mark.requirement("run-mode.idle-kept")
async def test_session_that_its_agent_does_not_close_stays(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"idle_timeout": 0}) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/close", {"sessionId": "s"})
        agent.refuse(await agent.read(), METHOD_NOT_FOUND)
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


# -- session ids


@pytest.mark.requirement("run-mode.id-collision")
async def test_duplicate_id_of_a_second_agent_gets_another_name_both_ways(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it, "s")
        answer, commands = await it.editor.reads(2)
        alias = answer["result"]["sessionId"]
        assert alias not in {"s", ""}
        assert commands["params"]["sessionId"] == alias

        turn = it.prompt("hello", alias)
        prompt = await second.read()
        assert prompt["params"]["sessionId"] == "s"
        second.tell("session/update", {"sessionId": "s", "update": PLAN})
        second.ask("p", "session/request_permission", {"sessionId": "s", "odd": 1})
        second.tell("_vendor/note", {"sessionId": "s"})
        update, asked, notice = await it.editor.reads(3)
        assert update["params"] == {"sessionId": alias, "update": PLAN}
        assert asked["params"] == {"sessionId": alias, "odd": 1}
        assert notice["params"] == {"sessionId": alias}
        it.editor.answer(asked, {"outcome": {}})
        assert (await second.read())["result"] == {"outcome": {}}
        it.editor.tell("session/cancel", {"sessionId": alias})
        assert (await second.read())["params"] == {"sessionId": "s"}
        second.answer(prompt, {"stopReason": "cancelled"})
        assert (await it.editor.read())["id"] == turn

        it.prompt("to the first", "s")
        assert (await first.read())["params"]["prompt"][0]["text"] == "to the first"
        assert not second.unread


@pytest.mark.requirement("run-mode.id-collision")
async def test_session_list_uses_the_editors_ids(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        second = await second_chain(it, "s")
        alias = (await it.editor.reads(2))[0]["result"]["sessionId"]
        it.editor.ask("l", "session/list", {})
        request = await second.read()
        second.answer(request, {"sessions": [{"sessionId": "s", "cwd": "/"}, {"sessionId": "u"}]})
        listed = (await it.editor.read())["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [alias, "u"]


@pytest.mark.requirement("run-mode.known-before-updates")
async def test_messages_before_a_session_is_known_arrive_after_its_response(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/new", {"cwd": "/"})
        request = await agent.read()
        agent.tell("session/update", {"sessionId": "t", "update": PLAN})
        agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        assert (await it.editor.read())["params"]["sessionId"] == "s"
        agent.answer(request, {"sessionId": "t"})
        answer, commands, update = await it.editor.reads(3)
        assert answer["result"] == {"sessionId": "t"}
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        assert update["params"] == {"sessionId": "t", "update": PLAN}


@pytest.mark.requirement("run-mode.fork")
async def test_fork_is_a_new_session_of_the_same_chain(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/fork", {"sessionId": "s"})
        request = await agent.read()
        agent.answer(request, {"sessionId": "fork"})
        assert (await it.editor.reads(2))[0]["result"] == {"sessionId": "fork"}
        it.prompt("continue", "fork")
        assert (await agent.read())["params"]["sessionId"] == "fork"


@pytest.mark.requirement("run-mode.commands-merged", "stories.a-03-merged")
async def test_commands_of_symposium_are_last_in_each_list_and_once(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        theirs = [{"name": "compact", "odd": 1}, {"name": "symposium:config", "description": "?"}]
        update = {"sessionUpdate": "available_commands_update", "availableCommands": theirs}
        agent.tell("session/update", {"sessionId": "s", "update": update})
        offered = (await it.editor.read())["params"]["update"]["availableCommands"]
        assert offered[0] == {"name": "compact", "odd": 1}
        names = [each["name"] for each in offered]
        assert names == ["compact", *(command["name"] for command in COMMANDS)]
        assert offered[1]["description"] == "Configure Symposium settings"


@pytest.mark.requirement("run-mode.commands-merged")
async def test_command_list_in_the_middle_of_a_stream_is_extended(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
        listed: dict[str, Any] = {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [],
        }
        stream: list[dict[str, Any]] = [chunk, chunk, listed, chunk, listed]
        for update in stream:
            agent.tell("session/update", {"sessionId": "s", "update": update})
        updates = [each["params"]["update"] for each in await it.editor.reads(5)]
        many = len(COMMANDS)
        assert [len(each.get("availableCommands", [])) for each in updates] == [0, 0, many, 0, many]


@pytest.mark.requirement("run-mode.own-commands", "stories.a-03-slash")
async def test_commands_of_symposium_are_handled_and_others_reach_the_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert "`/symposium:config`" in "".join(await it.say("/symposium:help"))
        status = "".join(await it.say("/symposium:status"))
        assert "**Chain:** editor → claude\n" in status
        assert "**Sessions with this agent and these mods:** 1; other sessions: 0" in status
        for text in ("/compact", "/nonsense", "/symposium:config now", "/Symposium:config"):
            it.prompt(text)
            assert (await agent.read())["params"]["prompt"][0]["text"] == text


@pytest.mark.requirement("run-mode.overviews", "run-mode.own-commands")
async def test_existing_agents_and_mods_can_be_listed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        assert await it.say("/symposium:agents") == [LISTED_AGENTS.format("", "Claude Code")]
        assert await it.say("/symposium:mods") == [LISTED_MODS]

        it.directory.offered = AgentChoices(AGENTS.agents, "the registry is down")
        it.config.unlink()
        warning = "Warning: the registry is down\n\n"
        assert await it.say("/symposium:agents") == [LISTED_AGENTS.format(warning, "none yet")]
        assert "(none configured)" in "".join(await it.say("/symposium:mods"))
        it.write_config("{")
        unreadable = "the config file cannot be read"
        assert await it.say("/symposium:agents") == [LISTED_AGENTS.format(warning, unreadable)]
        assert f"({unreadable})" in "".join(await it.say("/symposium:mods"))


@pytest.mark.requirement("stories.a-10-status", "run-mode.own-commands")
async def test_status_shows_the_chain_its_mods_and_the_servers_of_the_session(
    tmp_path: Path,
) -> None:
    server: dict[str, Any] = {
        "kind": "mcp",
        "source": {"http": {"name": "search", "url": "https://x"}},
    }
    off = {"name": "old", "enabled": False, **server}
    mods = [{"name": "tag"}, {"name": "search", **server}, off]
    async with run_mode_harness(tmp_path, {"agent": "claude", "proxies": mods}) as it:
        it.workshop.mods["tag"] = Tag
        it.workshop.notes = ["_left out_"]
        agent = await it.open(SUPPORTS_HTTP)
        assert agent is not None
        web, events = ({"type": kind, "name": name, "url": "https://x"} for kind, name in REMOTE)
        servers = [web, events, {"name": "files"}]
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": servers})
        agent.answer(await agent.read(), {"sessionId": "s"})
        await it.editor.reads(3)
        status = "".join(await it.say("/symposium:status"))
        assert status == STATUS.format("no messages yet")

        for _ in range(ONE_IN):
            agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        await it.editor.reads(ONE_IN)
        status = "".join(await it.say("/symposium:status"))
        assert re.sub(r"\d+(\.\d+)? ms", "N ms", status) == STATUS.format("p50 N ms, p95 N ms")


@pytest.mark.requirement("run-mode.config-words")
async def test_config_command_is_read_from_text_blocks_only(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        blocks = [IMAGE, {"type": "text", "text": "  /symposium:config\n"}]
        it.editor.ask(1, "session/prompt", {"sessionId": "s", "prompt": blocks})
        texts, _ = await it.said(1)
        assert texts == [MENU]


@pytest.mark.requirement("run-mode.config-words")
@pytest.mark.parametrize(
    "blocks",
    [
        ["please /symposium:config"],
        ["/symposium:config now"],
        ["/symposium:configs"],
        ["/Symposium:config"],
        ["/symposium:", "config, please"],
    ],
)
async def test_prompt_that_contains_the_config_command_inside_is_for_the_agent(
    blocks: list[str], tmp_path: Path
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        prompt: list[Any] = [{"type": "text", "text": each} for each in blocks]
        command = {"uri": "file:///x", "text": "/symposium:config"}
        prompt.append({"type": "resource", "resource": command})
        it.editor.ask(1, "session/prompt", {"sessionId": "s", "prompt": prompt})
        request = await agent.read()
        assert (request["method"], request["params"]["prompt"]) == ("session/prompt", prompt)


@pytest.mark.requirement("run-mode.table-delegating-eof")
async def test_agents_of_all_chains_end_when_the_editor_disconnects(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        assert await it.over() == 0
        await first.ended()
        await second.ended()


@pytest.mark.requirement("run-mode.notes")
async def test_inapplicable_settings_are_reported_once_in_each_session(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.workshop.notes = ["_left out_"]
        agent = await it.begin()
        assert (await it.editor.read())["params"]["update"]["content"]["text"] == "_left out_"
        await it.session(agent, "t")
        assert (await it.editor.read())["params"]["sessionId"] == "t"
        it.prompt("hello")
        await agent.read()
        assert not it.editor.unread


# -- the menu, and other sessions


@pytest.mark.requirement("run-mode.turn-in-progress")
async def test_menu_does_not_open_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        turn = it.prompt("hello")
        prompt = await agent.read()
        _, refused = await it.said(it.prompt("/symposium:config"))
        assert refused["error"]["code"] == INVALID_REQUEST
        assert refused["error"]["message"] == "A turn is in progress"
        agent.answer(prompt, {"stopReason": "end_turn"})
        assert (await it.editor.read())["id"] == turn
        assert await it.say("/symposium:config") == [MENU]


@pytest.mark.requirement("run-mode.pause-alone")
async def test_menu_in_one_session_does_not_delay_another(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        turn = it.prompt("hello", "t")
        prompt = await agent.read()
        await it.say("/symposium:config", "s")
        agent.tell("session/update", {"sessionId": "t", "update": PLAN})
        agent.answer(prompt, {"stopReason": "end_turn"})
        update, answer = await it.editor.reads(2)
        assert (update["params"]["sessionId"], answer["id"]) == ("t", turn)


@pytest.mark.requirement("run-mode.pause-conductor")
async def test_menu_pauses_all_sessions_of_its_chain_by_option(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"pause": "conductor"}) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        turn = it.prompt("hello", "t")
        prompt = await agent.read()
        assert await it.say("/symposium:config", "s") == [MENU]
        agent.tell("session/update", {"sessionId": "t", "update": PLAN})
        agent.answer(prompt, {"stopReason": "end_turn"})
        it.editor.ask("held", "session/set_mode", {"sessionId": "t"})
        it.editor.tell("session/cancel", {"sessionId": "t"})
        assert (await agent.read())["method"] == "session/cancel"
        assert await it.say("cancel", "s")
        assert (await agent.read())["method"] == "session/set_mode"
        update, answer = await it.editor.reads(2)
        assert (update["params"]["update"], answer["id"]) == (PLAN, turn)


@pytest.mark.requirement("run-mode.pause-counted")
async def test_two_menus_pause_a_chain_until_both_are_left(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"pause": "conductor"}) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        await it.say("/symposium:config", "s")
        await it.say("/symposium:config", "t")
        agent.tell("session/update", {"sessionId": "s", "update": PLAN})
        await it.say("cancel", "s")
        await it.say("what", "t")
        assert not it.editor.unread
        await it.say("cancel", "t")
        assert (await it.editor.read())["params"]["update"] == PLAN


@pytest.mark.requirement("run-mode.pause-death")
async def test_crash_is_detected_while_the_chain_is_paused(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"pause": "conductor"}) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        turn = it.prompt("hello", "t")
        await agent.read()
        await it.say("/symposium:config", "s")
        await agent.hang_up()
        texts, answer = await it.said(turn)
        assert "closed the connection" in "".join(texts)
        assert answer["error"]["code"] == INTERNAL_ERROR


@pytest.mark.requirement("run-mode.input-order")
async def test_input_typed_ahead_is_handled_in_order_and_the_rest_reaches_the_agent(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        words = ["/symposium:config", "2", "move 2 to 1", "SAVE", "hello", "again"]
        turns = [it.prompt(word) for word in words]
        for turn in turns[:4]:
            assert (await it.said(turn))[1]["result"] == {"stopReason": "end_turn"}
        asked = [each["params"]["prompt"][0]["text"] for each in await agent.reads(2)]
        assert asked == ["hello", "again"]
        written = " ".join(it.config.read_text().split())
        assert written.index('"ferris", "enabled": true') < written.index('"sparkle"')


@pytest.mark.requirement("run-mode.input-waits")
async def test_input_typed_while_agents_are_looked_up_is_not_lost(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.directory.gate.clear()
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/"})
        answer, welcome = await it.editor.reads(2)
        assert welcome["method"] == "session/update"
        turn = it.prompt("2", answer["result"]["sessionId"])
        it.directory.gate.set()
        texts, _ = await it.said(turn)
        assert texts[1] == "Agent set to `Other`.\n\n"


@pytest.mark.requirement("run-mode.input-cancelled")
async def test_prompt_that_waits_for_the_menu_can_be_canceled(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        it.directory.gate.clear()
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/"})
        answer, _ = await it.editor.reads(2)
        turn = it.prompt("2", answer["result"]["sessionId"])
        it.editor.tell("$/cancel_request", {"requestId": turn})
        _, cancelled = await it.said(turn)
        assert cancelled["error"]["code"] == -32800
        it.directory.gate.set()
        texts, _ = await it.said(it.prompt("1", answer["result"]["sessionId"]))
        assert texts[1] == "Agent set to `Claude Code`.\n\n"


@pytest.mark.requirement("run-mode.changed-on-disk")
async def test_file_changed_by_another_program_takes_two_saves(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("1")
        it.write_config(OTHER)
        assert "has changed since" in "".join(await it.say("save"))
        assert '"other"' in it.config.read_text()
        assert "Configuration saved." in "".join(await it.say("save"))
        assert '"claude"' in it.config.read_text()
        assert '"other"' in it.config.with_name("config.jsonc.bak").read_text()


@pytest.mark.requirement("run-mode.save-shows-changes")
async def test_save_shows_its_changes(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("2")
        diff, *_ = await it.say("save")
        assert diff == "```diff\n- 2. [ ] ferris\n+ 2. [x] ferris\n```\n\n"


# -- the first time


@pytest.mark.requirement("run-mode.setup-first-prompt")
async def test_prompt_from_before_the_setup_is_answered_by_the_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/"})
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        assert (await it.say("fix the tests", session))[0] == f"{MESSAGE_SAVED}\n\n"
        await it.say("1", session)
        turn = it.prompt("save", session)
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        prompt = await agent.read()
        assert prompt["params"] == {
            "sessionId": "inner",
            "prompt": [{"type": "text", "text": "fix the tests"}],
        }
        agent.answer(prompt, {"stopReason": "refusal"})
        _, answer = await it.said(turn)
        assert answer["result"] == {"stopReason": "refusal"}


async def agent_fails_in_setup(it: RunModeHarness) -> tuple[str, Any]:
    """Save a config whose agent exits while it starts: the session, and the request of the save."""
    await it.open()
    it.editor.ask("new", "session/new", {"cwd": "/"})
    session = (await it.editor.reads(3))[0]["result"]["sessionId"]
    await it.say("1", session)
    turn = it.prompt("save", session)
    agent = await it.chain()
    await agent.read()
    await agent.hang_up()
    return session, turn


@pytest.mark.requirement("run-mode.setup-agent-fails")
async def test_canceled_menu_reports_the_saved_config_of_a_failed_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, turn = await agent_fails_in_setup(it)
        await it.said(turn)
        stays = "Configuration cancelled. The configuration that you saved before is unchanged.\n\n"
        assert (await it.say("cancel", session))[0] == stays
        assert it.config.exists()


@pytest.mark.requirement("run-mode.setup-agent-fails")
async def test_chosen_agent_that_does_not_start_can_be_changed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        session, turn = await agent_fails_in_setup(it)
        texts, answer = await it.said(turn)
        assert "the agent did not start" in "".join(texts)
        assert answer["result"] == {"stopReason": "end_turn"}
        await it.say("a", session)
        await it.say("2", session)
        turn = it.prompt("save", session)
        other = await it.initialized_agent(2)
        other.answer(await other.read(), {"sessionId": "s"})
        texts, _ = await it.said(turn)
        assert texts[-1].startswith("Configuration saved. Starting your session.")


@pytest.mark.requirement("run-mode.setup-twice")
async def test_second_of_two_setups_is_informed_of_the_first(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        sessions: list[str] = []
        for number in range(2):
            it.editor.ask(f"new {number}", "session/new", {"cwd": "/"})
            sessions.append((await it.editor.reads(3))[0]["result"]["sessionId"])
        for session in sessions:
            await it.say("1", session)
        turn = it.prompt("save", sessions[0])
        agent = await it.initialized_agent()
        agent.answer(await agent.read(), {"sessionId": "a"})
        await it.said(turn)
        assert "has changed since" in "".join(await it.say("save", sessions[1]))
        turn = it.prompt("save", sessions[1])
        agent.answer(await agent.read(), {"sessionId": "b"})
        await it.said(turn)
        it.prompt("hello", sessions[1])
        assert (await agent.read())["params"]["sessionId"] == "b"
