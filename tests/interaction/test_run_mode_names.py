"""Sessions with a name that Symposium gave them are found after a restart (§4.9, §6.7)."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import VERSION_ONE, Peer
from tests.support.run_mode_harness import RunModeHarness, run_mode_harness

PLAN: dict[str, Any] = {"sessionUpdate": "plan", "entries": []}
LOADS: dict[str, Any] = {
    **VERSION_ONE,
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"list": {}, "delete": {}}},
}


async def set_up(folder: Path) -> str:
    """Create a session by the first-time setup; return the editor's id. The agent uses `inner`."""
    async with run_mode_harness(folder, settings={"names": folder / "names"}) as it:
        await it.initialize_editor()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        session: str = (await it.editor.read())["result"]["sessionId"]
        await it.say("1", session)
        saved = it.prompt("SAVE", session)
        agent = await it.initialized_agent(result=LOADS)
        agent.answer(await agent.read(), {"sessionId": "inner"})
        await it.said(saved)
        await it.over()
        return session


async def again(it: RunModeHarness) -> Peer:
    agent = await it.open(LOADS)
    assert agent is not None
    return agent


def remembering_harness(folder: Path) -> Any:
    return run_mode_harness(folder, settings={"names": folder / "names"})


async def loaded(it: RunModeHarness, agent: Peer, session: str) -> list[Any]:
    """Load the session; return the messages for the editor before the response."""
    it.editor.ask("load", "session/load", {"sessionId": session, "cwd": "/w", "mcpServers": []})
    request = await agent.read()
    assert (request["method"], request["params"]["sessionId"]) == ("session/load", "inner")
    content = {"type": "text", "text": "As I said"}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    agent.tell("session/update", {"sessionId": "inner", "update": update})
    agent.answer(request, {})
    return await it.editor.reads(3)


@pytest.mark.requirement("run-mode.names-after-restart")
async def test_first_session_can_be_loaded_after_a_restart(tmp_path: Path) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        history, answer, commands = await loaded(it, agent, session)
        assert history["params"]["sessionId"] == session
        assert answer["result"] == {}
        assert commands["params"]["sessionId"] == session
        turn = it.prompt("Continue", session)
        prompt = await agent.read()
        assert prompt["params"]["sessionId"] == "inner"
        agent.answer(prompt, {"stopReason": "end_turn"})
        await it.said(turn)


@pytest.mark.requirement("run-mode.names-after-restart")
async def test_first_session_can_be_loaded_after_a_close_in_the_same_run(tmp_path: Path) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        await loaded(it, agent, session)
        it.editor.ask("close", "session/close", {"sessionId": session})
        request = await agent.read()
        assert request["params"]["sessionId"] == "inner"
        agent.answer(request, {})
        assert (await it.editor.read())["id"] == "close"
        history, *_ = await loaded(it, agent, session)
        assert history["params"]["sessionId"] == session


@pytest.mark.requirement("run-mode.names-after-restart")
async def test_session_list_uses_the_editors_name(tmp_path: Path) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        it.editor.ask("list", "session/list", {})
        request = await agent.read()
        listed = [{"sessionId": "inner", "cwd": "/w"}, {"sessionId": "other", "cwd": "/w"}]
        agent.answer(request, {"sessions": listed, "nextCursor": "c"})
        result = (await it.editor.read())["result"]
        assert [each["sessionId"] for each in result["sessions"]] == [session, "other"]
        assert result["nextCursor"] == "c"


@pytest.mark.requirement("run-mode.names-after-restart")
async def test_deleted_session_is_forgotten_and_one_whose_delete_failed_is_not(
    tmp_path: Path,
) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        for ends in (False, True):
            it.editor.ask("delete", "session/delete", {"sessionId": session})
            request = await agent.read()
            assert request["params"]["sessionId"] == "inner"
            if ends:
                agent.answer(request, {})
            else:
                agent.refuse(request, -32603)
            await it.editor.read()
        it.editor.ask("load", "session/load", {"sessionId": session, "cwd": "/w", "mcpServers": []})
        assert (await agent.read())["params"]["sessionId"] == session


@pytest.mark.requirement("run-mode.names-after-restart")
async def test_failed_load_leaves_the_agents_other_sessions_unchanged(tmp_path: Path) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        it.editor.ask("load", "session/load", {"sessionId": session, "cwd": "/w", "mcpServers": []})
        agent.refuse(await agent.read(), -32603)
        assert "error" in await it.editor.read()
        it.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        request = await agent.read()
        agent.tell("session/update", {"sessionId": "inner", "update": PLAN})
        agent.answer(request, {"sessionId": "inner"})
        answer, commands, update = await it.editor.reads(3)
        assert answer["result"] == {"sessionId": "inner"}
        assert commands["params"]["sessionId"] == "inner"
        assert update["params"] == {"sessionId": "inner", "update": PLAN}


@pytest.mark.requirement("run-mode.names-after-restart")
@pytest.mark.parametrize("names", [{}, {"names": True}])
async def test_other_requests_about_a_session_pass_unchanged(
    tmp_path: Path, names: dict[str, Any]
) -> None:
    session = await set_up(tmp_path)
    settings = {"names": tmp_path / "names"} if names else {}
    async with run_mode_harness(tmp_path, settings=settings) as it:
        agent = await again(it)
        for method, params in (
            ("authenticate", {"methodId": "m"}),
            ("session/list", {"cwd": "/w"}),
            ("_vendor/info", {"a": 1}),
        ):
            it.editor.ask(method, method, params)
            request = await agent.read()
            assert (request["method"], request["params"]) == (method, params)
            agent.tell("session/update", {"sessionId": "other", "update": PLAN})
            agent.answer(request, {"sessions": [{"sessionId": "inner"}]})
            update, answer = await it.editor.reads(2)
            assert update["params"] == {"sessionId": "other", "update": PLAN}
            (listed,) = answer["result"]["sessions"]
            is_named = names and method == "session/list"
            assert listed["sessionId"] == (session if is_named else "inner")


@pytest.mark.requirement("run-mode.names-after-restart", "run-mode.fork")
async def test_fork_of_a_session_from_an_earlier_start_is_a_new_session(tmp_path: Path) -> None:
    session = await set_up(tmp_path)
    async with remembering_harness(tmp_path) as it:
        agent = await again(it)
        it.editor.ask("fork", "session/fork", {"sessionId": session, "cwd": "/w"})
        request = await agent.read()
        assert request["params"] == {"sessionId": "inner", "cwd": "/w"}
        agent.answer(request, {"sessionId": "fork"})
        assert (await it.editor.reads(2))[0]["result"] == {"sessionId": "fork"}
        it.prompt("continue", "fork")
        assert (await agent.read())["params"]["sessionId"] == "fork"
