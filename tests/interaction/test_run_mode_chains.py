"""Which chain a session gets, what sessions share, and what stays apart (acp-host §4.5-§4.9)."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, Peer
from tests.support.run_mode_harness import (
    CONFIG,
    HOST_CAPABILITIES,
    MENU,
    RunModeHarness,
    run_mode_harness,
)

from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND
from symposium.run_mode.chat import COMMANDS
from symposium.run_mode.failure_text import KEPT

OTHER = {**CONFIG, "agent": "other"}
PLAN: dict[str, Any] = {"sessionUpdate": "plan", "entries": []}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
TEXT = {"type": "text", "text": "look"}
ACCEPTS_IMAGES = {**VERSION_ONE, "agentCapabilities": {"promptCapabilities": {"image": True}}}
LOADS = {**VERSION_ONE, "agentCapabilities": {"loadSession": True}}


async def second_chain(it: RunModeHarness, session: str = "t") -> Peer:
    """Change the config, and make a session with what it says now; its agent."""
    it.write_config(OTHER)
    it.editor.ask("second", "session/new", {"cwd": "/"})
    agent = await it.greeted(2)
    agent.answer(await agent.read(), {"sessionId": session})
    return agent


# -- at `initialize`


@pytest.mark.requirement("run-mode.initialize-without")
async def test_without_a_config_little_is_promised_and_nothing_started(tmp_path: Path) -> None:
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
async def test_a_chain_that_does_not_start_is_no_reason_to_refuse_the_editor(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, {"agent": "nobody"}) as it:
        await it.editor_greets()
        _, told = await it.without_agent()
        assert "there is no such agent" in told
        it.write_config(CONFIG)
        it.editor.ask(2, "session/new", {"cwd": "/"})
        agent = await it.greeted()
        agent.answer(await agent.read(), {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.initialize-order")
async def test_initialize_comes_first_and_once(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.editor.ask(1, "session/new", {"cwd": "/"})
        assert (await it.editor.read())["error"]["code"] == INVALID_REQUEST


@pytest.mark.requirement("run-mode.initialize-order")
async def test_a_second_initialize_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "initialize", VERSION_ONE)
        assert (await it.editor.read())["error"]["code"] == INVALID_REQUEST
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.initialize-again")
async def test_an_editor_that_asks_for_no_version_may_ask_again(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.editor.ask(0, "initialize", {})
        assert (await it.editor.read())["error"]["code"] == -32602
        await it.open()


@pytest.mark.requirement("run-mode.later-greeting")
async def test_a_later_chain_is_greeted_with_the_editors_own_request(tmp_path: Path) -> None:
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
async def test_an_image_that_a_later_agent_cannot_take_is_left_out_and_told(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.open(ACCEPTS_IMAGES)
        agent = await second_chain(it)
        await it.editor.reads(2)
        prompt = [TEXT, IMAGE, {"type": "resource_link", "uri": "x", "name": "x"}]
        it.editor.ask(1, "session/prompt", {"sessionId": "t", "prompt": prompt})
        assert (await agent.read())["params"]["prompt"] == [prompt[0], prompt[2]]
        note = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "cannot read image: 1 block was removed" in note


@pytest.mark.requirement("run-mode.adapt-load")
async def test_a_later_agent_is_not_asked_to_load_what_it_cannot(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.open(LOADS)
        await second_chain(it)
        await it.editor.reads(2)
        it.editor.ask(1, "session/load", {"sessionId": "old", "cwd": "/", "mcpServers": []})
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.requirement("run-mode.load")
async def test_a_session_is_loaded_with_its_history_before_the_answer(tmp_path: Path) -> None:
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
        it.prompt("go on", "old")
        assert (await agent.read())["params"]["sessionId"] == "old"


@pytest.mark.requirement("run-mode.default-chain")
@pytest.mark.parametrize("method", ["authenticate", "logout", "session/list", "_vendor/any"])
async def test_what_is_of_no_session_goes_to_the_current_chain(tmp_path: Path, method: str) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask(1, method, {"x": 1})
        request = await agent.read()
        assert (request["method"], request["params"]) == (method, {"x": 1})
        agent.answer(request, {"sessions": []})
        assert (await it.editor.read())["result"] == {"sessions": []}


@pytest.mark.requirement("run-mode.default-chain-none")
async def test_without_a_config_nobody_can_be_asked(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.editor.ask(1, "authenticate", {"methodId": "m"})
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND


@pytest.mark.requirement("run-mode.every-chain")
async def test_a_notification_of_no_session_reaches_every_chain(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        it.editor.tell("_vendor/told", {"x": 1})
        assert (await first.read())["params"] == {"x": 1}
        assert (await second.read())["params"] == {"x": 1}


# -- one chain for each config


@pytest.mark.requirement("run-mode.shared-chain")
async def test_sessions_of_one_config_share_an_agent_however_it_is_written(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.write_config(
            '{ // other words\n "proxies": [{"enabled": true, "name": "sparkle"},'
            ' {"name": "ferris", "enabled": false},], "agent": "claude", "mine": 1 }'
        )
        await it.session(agent, "t")
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.config-next-session")
async def test_a_changed_config_is_for_the_next_session_only(tmp_path: Path) -> None:
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
async def test_order_names_and_flags_tell_configs_apart(tmp_path: Path, proxies: Any) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        it.write_config({**CONFIG, "proxies": proxies})
        it.editor.ask(1, "session/new", {"cwd": "/"})
        await it.greeted(2)


@pytest.mark.requirement("run-mode.single-flight")
async def test_sessions_asked_for_at_once_start_one_agent(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/1"})
        it.editor.ask(2, "session/new", {"cwd": "/2"})
        agent = await it.greeted()
        one, two = await agent.reads(2)
        assert (one["params"]["cwd"], two["params"]["cwd"]) == ("/1", "/2")
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.single-flight")
async def test_who_stops_waiting_for_a_start_does_not_stop_it_for_others(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/1"})
        it.editor.ask(2, "session/new", {"cwd": "/2"})
        it.editor.tell("$/cancel_request", {"requestId": 1})
        assert (await it.editor.read())["error"]["code"] == -32800
        agent = await it.greeted()
        request = await agent.read()
        assert request["params"] == {"cwd": "/2"}
        agent.answer(request, {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.failed-start")
async def test_a_failed_start_is_told_to_all_who_wait_and_not_remembered(tmp_path: Path) -> None:
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
        again = await it.greeted(2)
        again.answer(await again.read(), {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {"sessionId": "s"}


@pytest.mark.requirement("run-mode.start-death")
async def test_an_agent_that_dies_while_it_is_greeted_is_a_failed_start(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.write_config(CONFIG)
        it.editor.ask(1, "session/new", {"cwd": "/"})
        agent = await it.chain()
        await agent.read()
        await agent.hang_up()
        _, _, told = await it.editor.reads(3)
        assert "closed the connection" in told["params"]["update"]["content"]["text"]


@pytest.mark.requirement("run-mode.death-is-alone")
async def test_a_death_leaves_the_sessions_of_other_chains_alone(tmp_path: Path) -> None:
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
async def test_a_broken_file_is_told_to_new_sessions_with_its_place_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.write_config('{ "agent": 1,\n  oops }')
        _, told = await it.without_agent()
        assert f"{it.config}:2:3" in told
        assert it.config.read_text() == '{ "agent": 1,\n  oops }'
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


@pytest.mark.requirement("run-mode.idle")
async def test_a_chain_is_ended_after_its_last_session_is_closed(tmp_path: Path) -> None:
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
        await it.greeted(2)


@pytest.mark.requirement("run-mode.idle-busy")
async def test_a_chain_without_sessions_stays_while_a_request_is_on_its_way(tmp_path: Path) -> None:
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
async def test_a_session_that_its_agent_does_not_close_stays(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings={"idle_timeout": 0}) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/close", {"sessionId": "s"})
        agent.refuse(await agent.read(), METHOD_NOT_FOUND)
        assert (await it.editor.read())["error"]["code"] == METHOD_NOT_FOUND
        it.prompt("still there?")
        assert (await agent.read())["method"] == "session/prompt"


# -- ids, and who knows them


@pytest.mark.requirement("run-mode.id-collision")
async def test_the_same_id_of_two_agents_gets_another_name_both_ways(tmp_path: Path) -> None:
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
        second.tell("_vendor/told", {"sessionId": "s"})
        update, asked, told = await it.editor.reads(3)
        assert update["params"] == {"sessionId": alias, "update": PLAN}
        assert asked["params"] == {"sessionId": alias, "odd": 1}
        assert told["params"] == {"sessionId": alias}
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
async def test_a_list_of_sessions_calls_them_as_the_editor_does(tmp_path: Path) -> None:
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
async def test_what_an_agent_says_before_its_session_is_known_comes_after_it(
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
async def test_a_fork_is_a_new_session_of_the_same_chain(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/fork", {"sessionId": "s"})
        request = await agent.read()
        agent.answer(request, {"sessionId": "fork"})
        assert (await it.editor.reads(2))[0]["result"] == {"sessionId": "fork"}
        it.prompt("go on", "fork")
        assert (await agent.read())["params"]["sessionId"] == "fork"


@pytest.mark.requirement("run-mode.commands-merged", "stories.a-03-merged")
async def test_our_commands_stand_last_in_every_list_of_the_agent_and_once(tmp_path: Path) -> None:
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
async def test_a_list_in_the_middle_of_a_stream_is_seen(tmp_path: Path) -> None:
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
async def test_our_commands_are_ours_and_others_the_agents(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        assert "`/symposium:config`" in "".join(await it.say("/symposium:help"))
        status = "".join(await it.say("/symposium:status"))
        assert "**Chain:** editor → claude\n" in status
        assert "**Sessions on this chain:** 1; on other chains: 0" in status
        for text in ("/compact", "/nonsense", "/symposium:config now", "/Symposium:config"):
            it.prompt(text)
            assert (await agent.read())["params"]["prompt"][0]["text"] == text


@pytest.mark.requirement("run-mode.overviews", "run-mode.own-commands")
async def test_agents_and_mods_that_there_are_can_be_listed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        agents = "".join(await it.say("/symposium:agents"))
        assert "| 2 | Other | Another one |" in agents
        assert "**Agent of new sessions:** Claude Code\n" in agents
        mods = "".join(await it.say("/symposium:mods"))
        assert "1. [x] sparkle\n2. [ ] ferris\n" in mods
        assert "| 1 | tag | Tags everything |" in mods
        assert "Sources" not in mods


@pytest.mark.requirement("run-mode.config-words")
async def test_the_config_command_is_read_from_the_text_blocks_alone(tmp_path: Path) -> None:
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
async def test_a_prompt_that_only_contains_the_config_command_is_for_the_agent(
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
async def test_the_end_of_the_editor_ends_the_agents_of_all_its_chains(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        first = await it.begin()
        second = await second_chain(it)
        assert await it.over() == 0
        await first.ended()
        await second.ended()


@pytest.mark.requirement("run-mode.notes")
async def test_what_a_config_cannot_have_is_told_once_in_each_session(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        it.workshop.notes = ["_left out_"]
        agent = await it.begin()
        assert (await it.editor.read())["params"]["update"]["content"]["text"] == "_left out_"
        await it.session(agent, "t")
        assert (await it.editor.read())["params"]["sessionId"] == "t"
        it.prompt("hello")
        await agent.read()
        assert not it.editor.unread


# -- the menu, and those beside it


@pytest.mark.requirement("run-mode.turn-in-progress")
async def test_the_menu_does_not_open_in_the_middle_of_a_turn(tmp_path: Path) -> None:
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
async def test_a_menu_in_one_session_does_not_hold_up_another(tmp_path: Path) -> None:
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
async def test_by_option_a_menu_freezes_all_that_share_its_chain(tmp_path: Path) -> None:
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
async def test_two_menus_on_one_chain_freeze_it_until_both_are_left(tmp_path: Path) -> None:
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
async def test_a_death_is_noticed_while_its_chain_is_frozen(tmp_path: Path) -> None:
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
async def test_what_is_typed_ahead_is_heard_in_order_and_the_rest_is_the_agents(
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
async def test_what_is_typed_while_agents_are_looked_up_is_not_lost(tmp_path: Path) -> None:
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
async def test_a_prompt_that_waits_for_the_menu_can_be_cancelled(tmp_path: Path) -> None:
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
async def test_a_file_that_somebody_else_changed_takes_two_saves(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("1")
        it.write_config(OTHER)
        assert "changed on disk" in "".join(await it.say("save"))
        assert '"other"' in it.config.read_text()
        assert "Configuration saved." in "".join(await it.say("save"))
        assert '"claude"' in it.config.read_text()
        assert '"other"' in it.config.with_name("config.jsonc.bak").read_text()


@pytest.mark.requirement("run-mode.save-shows-changes")
async def test_a_save_shows_what_it_changes(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("2")
        diff, *_ = await it.say("save")
        assert diff == "```diff\n- 2. [ ] ferris\n+ 2. [x] ferris\n```\n\n"


# -- the first time


@pytest.mark.requirement("run-mode.setup-first-prompt")
async def test_what_was_asked_before_there_was_an_agent_is_answered_by_it(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/"})
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        assert (await it.say("mend the tests", session))[0] == f"{KEPT}\n\n"
        await it.say("1", session)
        turn = it.prompt("save", session)
        agent = await it.greeted()
        agent.answer(await agent.read(), {"sessionId": "inner"})
        prompt = await agent.read()
        assert prompt["params"] == {
            "sessionId": "inner",
            "prompt": [{"type": "text", "text": "mend the tests"}],
        }
        agent.answer(prompt, {"stopReason": "refusal"})
        _, answer = await it.said(turn)
        assert answer["result"] == {"stopReason": "refusal"}


@pytest.mark.requirement("run-mode.setup-agent-fails")
async def test_a_chosen_agent_that_does_not_start_can_be_changed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        it.editor.ask("new", "session/new", {"cwd": "/"})
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        await it.say("1", session)
        turn = it.prompt("save", session)
        agent = await it.chain()
        await agent.read()
        await agent.hang_up()
        texts, answer = await it.said(turn)
        assert "the agent did not start" in "".join(texts)
        assert answer["result"] == {"stopReason": "end_turn"}
        await it.say("a", session)
        await it.say("2", session)
        turn = it.prompt("save", session)
        other = await it.greeted(2)
        other.answer(await other.read(), {"sessionId": "s"})
        texts, _ = await it.said(turn)
        assert texts[-1].startswith("Configuration saved. Starting your session.")


@pytest.mark.requirement("run-mode.setup-twice")
async def test_of_two_setups_the_second_is_told_of_the_first(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path) as it:
        await it.open()
        sessions: list[str] = []
        for number in range(2):
            it.editor.ask(f"new {number}", "session/new", {"cwd": "/"})
            sessions.append((await it.editor.reads(3))[0]["result"]["sessionId"])
        for session in sessions:
            await it.say("1", session)
        turn = it.prompt("save", sessions[0])
        agent = await it.greeted()
        agent.answer(await agent.read(), {"sessionId": "a"})
        await it.said(turn)
        assert "changed on disk" in "".join(await it.say("save", sessions[1]))
        turn = it.prompt("save", sessions[1])
        agent.answer(await agent.read(), {"sessionId": "b"})
        await it.said(turn)
        it.prompt("hello", sessions[1])
        assert (await agent.read())["params"]["sessionId"] == "b"
