"""Negotiated protocol versions: clients and agents of different versions."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import (
    VERSION_ONE,
    ChainHarness,
    Peer,
    bare,
    chain_harness,
    inner,
    mods,
)
from tests.support.run_mode_harness import RunModeHarness, run_mode_harness

from symposium.chain.blueprint import Component
from symposium.chain.handshake import HIGHEST_VERSION
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Mod, Reply, from_client
from symposium.mods.arrow import Arrow

VERSIONS = [1, 2, 999]

CHAINS = {
    "no mod": [],
    "one program": ["program"],
    "three mods": ["program", "in process", "nested"],
}


def chain(kinds: list[str]) -> list[Component]:
    """Return components of these kinds."""
    made: list[Component] = []
    for kind in kinds:
        match kind:
            case "program":
                made.append(bare()[0])
            case "in process":
                made += mods(Arrow())
            case _:
                made.append(inner(*mods(Arrow()), bare("innermost")[0]))
    return made


def lowest(client: int, agent: int) -> int:
    """Return the highest version that a client, an agent, and Symposium have in common."""
    return min(client, agent, HIGHEST_VERSION)


async def takes_a_turn(it: ChainHarness, agent: Peer) -> None:
    """Pass a prompt through the chain, and its response back."""
    it.client.ask("turn", "session/prompt", {"sessionId": "s", "prompt": []})
    prompt = await agent.read()
    assert prompt["method"] == "session/prompt"
    agent.answer(prompt, {"stopReason": "end_turn"})
    answer = await it.client.read()
    assert (answer["id"], answer["result"]) == ("turn", {"stopReason": "end_turn"})


@pytest.mark.requirement(
    "conductor.init-version-negotiated", "conductor.init-v1-only", "acp.t9-version-pinned"
)
@pytest.mark.parametrize("components", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("spoken", VERSIONS)
@pytest.mark.parametrize("asked", VERSIONS)
async def test_client_gets_the_version_that_the_agent_negotiates(
    asked: int, spoken: int, components: list[str]
) -> None:
    async with chain_harness(*chain(components)) as it:
        it.client.ask(0, "initialize", {"protocolVersion": asked})
        agent = await it.agent()
        request = await agent.read()
        assert request["params"]["protocolVersion"] == min(asked, HIGHEST_VERSION)
        version = min(request["params"]["protocolVersion"], spoken)
        agent.answer(request, {"protocolVersion": version})
        assert (await it.client.read())["result"]["protocolVersion"] == lowest(asked, spoken)
        await takes_a_turn(it, agent)


@pytest.mark.requirement(
    "conductor.init-version-negotiated",
    "conductor.init-version-answer-differs",
    "acp.t9-version-pinned",
)
@pytest.mark.parametrize("components", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("spoken", VERSIONS)
@pytest.mark.parametrize("asked", VERSIONS)
async def test_agent_with_one_version_is_used_or_refused_with_both_versions(
    asked: int, spoken: int, components: list[str]
) -> None:
    async with chain_harness(*chain(components)) as it:
        it.client.ask(0, "initialize", {"protocolVersion": asked})
        agent = await it.agent()
        agent.answer(await agent.read(), {"protocolVersion": spoken})
        answer = await it.client.read()
        if spoken <= min(asked, HIGHEST_VERSION):
            assert answer["result"]["protocolVersion"] == spoken
            await takes_a_turn(it, agent)
        else:
            data = answer["error"]["data"]
            assert data["reason"] == "protocol_version_mismatch"
            assert (data["selected"], data["answered"]) == (min(asked, HIGHEST_VERSION), spoken)
            assert str(spoken) in data["hint"]


@pytest.mark.requirement("conductor.init-version-answer-differs")
@pytest.mark.parametrize("version", [0, -1, 3])
async def test_agent_with_an_impossible_version_is_refused(version: int) -> None:
    async with chain_harness() as it:
        it.client.ask(0, "initialize", {"protocolVersion": 2})
        agent = await it.agent()
        agent.answer(await agent.read(), {"protocolVersion": version})
        assert (await it.client.read())["error"]["data"]["answered"] == version


class Rewriter(Mod):
    """Answers the client with another version than the agent's."""

    @from_client("initialize")
    def change(self, message: ChainMessage) -> Forward:
        def then(answer: Answer) -> Reply:
            return Reply({**answer.result, "protocolVersion": 2})

        return Forward(message.params, then=then)


@pytest.mark.requirement("conductor.init-version-mod-differs")
@pytest.mark.parametrize("is_program", [True, False])
async def test_mod_that_changes_the_agents_version_fails_initialize(
    is_program: bool,  # noqa: FBT001 - both forms of one parameter
) -> None:
    component = inner(*mods(Rewriter())) if is_program else mods(Rewriter())[0]
    async with chain_harness(component) as it:
        it.client.ask(0, "initialize", {"protocolVersion": 2})
        agent = await it.agent()
        agent.answer(await agent.read(), VERSION_ONE)
        data = (await it.client.read())["error"]["data"]
        assert data["reason"] == "protocol_version_mismatch"
        assert (data["selected"], data["answered"]) == (1, 2)
        assert "mod" in data["hint"]


# -- run mode

NAMES = ["first", "second", "third"]


def config(number: int = 0, agent: str = "claude") -> dict[str, Any]:
    """Return a config with this many mods."""
    return {"agent": agent, "proxies": [{"name": name} for name in NAMES[:number]]}


async def initializes(it: RunModeHarness, version: int) -> None:
    """Let the editor request a version; each mod of the config is an arrow."""
    it.workshop.mods.update(dict.fromkeys(NAMES, Arrow))
    it.editor.ask("greet", "initialize", {"protocolVersion": version})


@pytest.mark.requirement("run-mode.version-negotiated", "acp.t9-version-pinned")
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("spoken", VERSIONS)
@pytest.mark.parametrize("asked", VERSIONS)
async def test_editor_in_run_mode_gets_the_version_that_the_agent_negotiates(
    tmp_path: Path, asked: int, spoken: int, number: int
) -> None:
    async with run_mode_harness(tmp_path, config(number)) as it:
        await initializes(it, asked)
        agent = await it.chain()
        request = await agent.read()
        assert request["params"]["protocolVersion"] == min(asked, HIGHEST_VERSION)
        version = min(request["params"]["protocolVersion"], spoken)
        agent.answer(request, {"protocolVersion": version})
        assert (await it.editor.read())["result"]["protocolVersion"] == lowest(asked, spoken)
        await it.session(agent)
        turn = it.prompt("Hello")
        prompt = await agent.read()
        assert prompt["method"] == "session/prompt"
        agent.answer(prompt, {"stopReason": "end_turn"})
        assert (await it.said(turn))[1]["result"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("run-mode.version-sentence", "acp.t9-version-pinned")
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize(("asked", "spoken"), [(1, 2), (1, 999), (2, 999), (999, 999)])
async def test_session_in_run_mode_says_both_versions_when_the_agent_speaks_a_higher_one(
    tmp_path: Path, asked: int, spoken: int, number: int
) -> None:
    async with run_mode_harness(tmp_path, config(number)) as it:
        await initializes(it, asked)
        await it.initialized_agent(result={"protocolVersion": spoken})
        assert (await it.editor.read())["result"]["protocolVersion"] == 1
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        again = await it.chain(2)
        request = await again.read()
        assert request["params"]["protocolVersion"] == 1
        again.answer(request, {"protocolVersion": spoken})
        texts = await said_in_new_session(it)
        assert f"it uses version {spoken} of ACP, but this connection uses version 1" in texts
        assert "To fix that, " in texts


async def said_in_new_session(it: RunModeHarness) -> str:
    """Return the messages of a session whose agent does not start."""
    _, _, notice = await it.editor.reads(3)
    text: str = notice["params"]["update"]["content"]["text"]
    return text


@pytest.mark.requirement("run-mode.version-slow-agent")
async def test_slow_agent_is_asked_again_for_the_version_that_the_editor_was_answered(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, config(), settings={"start_timeout": 0.0}) as it:
        await initializes(it, 2)
        assert (await it.editor.read())["result"]["protocolVersion"] == 1
        agent = await it.chain()
        request = await agent.read()
        assert request["params"]["protocolVersion"] == 2
        agent.answer(request, {"protocolVersion": 2})
        await agent.ended()
        again = await it.chain(2)
        request = await again.read()
        assert request["params"]["protocolVersion"] == 1
        again.answer(request, VERSION_ONE)
        await it.session(again)


@pytest.mark.requirement("run-mode.version-slow-agent")
async def test_slow_agent_with_version_one_is_started_once(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, config(), settings={"start_timeout": 0.0}) as it:
        await initializes(it, 2)
        assert (await it.editor.read())["result"]["protocolVersion"] == 1
        await it.session(await it.initialized_agent())
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.version-sentence")
@pytest.mark.parametrize("later", [1, 999])
async def test_session_says_both_versions_when_another_agent_does_not_speak_the_editors(
    tmp_path: Path, later: int
) -> None:
    async with run_mode_harness(tmp_path, config()) as it:
        await initializes(it, 2)
        await it.initialized_agent(result={"protocolVersion": 2})
        assert (await it.editor.read())["result"]["protocolVersion"] == 2
        it.write_config(config(agent="other"))
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        await it.initialized_agent(2, {"protocolVersion": later})
        text = await said_in_new_session(it)
        assert f"it uses version {later} of ACP, but this connection uses version 2" in text


@pytest.mark.requirement("run-mode.version-sentence")
async def test_session_says_to_reconnect_when_the_editor_could_speak_the_agents_version(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, config()) as it:
        await initializes(it, 2)
        await it.initialized_agent(result={"protocolVersion": 2})
        await it.editor.read()
        it.write_config(config(agent="other"))
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        await it.initialized_agent(2)
        assert "restart Symposium from your editor" in await said_in_new_session(it)


@pytest.mark.requirement("run-mode.version-without-agent")
@pytest.mark.parametrize("asked", VERSIONS)
async def test_editor_without_an_agent_is_answered_the_version_that_symposium_serves(
    tmp_path: Path, asked: int
) -> None:
    async with run_mode_harness(tmp_path) as it:
        await initializes(it, asked)
        assert (await it.editor.read())["result"]["protocolVersion"] == 1


EDITOR = {
    "fs": {"readTextFile": True},
    "terminal": True,
    "_meta": {"symposium": {"version": "1.0", "my_cap": {"a": 1}, "other": False}},
}


@pytest.mark.requirement("run-mode.initialize-known")
@pytest.mark.parametrize("kind", ["first start", "broken", "slow"])
async def test_editor_without_an_agent_yet_gets_its_own_primitives_and_the_hosts(
    tmp_path: Path, kind: str
) -> None:
    written = {"first start": None, "broken": config(agent="missing"), "slow": config()}[kind]
    settings = {"start_timeout": 0.0} if kind == "slow" else None
    async with run_mode_harness(tmp_path, written, settings=settings) as it:
        it.editor.ask(0, "initialize", {**VERSION_ONE, "clientCapabilities": EDITOR})
        capabilities = (await it.editor.read())["result"]["agentCapabilities"]
        ours = capabilities["_meta"]["symposium"]
        assert {name for name, value in ours.items() if value is True} == {
            *("fs_read", "bash", "my_cap", "mcp_acp_transport", "proxy")
        }
        provided = dict.fromkeys(("fs_read", "bash", "my_cap"), "editor")
        assert ours["details"]["provided_by"] == provided


@pytest.mark.requirement("run-mode.initialize-order")
async def test_an_agent_is_asked_for_the_highest_version_that_is_known(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, config()) as it:
        await initializes(it, 999)
        agent = await it.chain()
        request = await agent.read()
        assert request["params"]["protocolVersion"] == HIGHEST_VERSION
        agent.answer(request, VERSION_ONE)
        assert (await it.editor.read())["result"]["protocolVersion"] == 1
