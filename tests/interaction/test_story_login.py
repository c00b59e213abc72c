"""Agents that want a login before they work (users A-11)."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

AUTH_REQUIRED = -32000
GREETING: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {},
    "authMethods": [
        {"id": "web", "name": "Account", "description": "Opens example.org."},
        {"id": "tty", "name": "Terminal", "type": "terminal", "args": ["login"]},
    ],
}
END = {"stopReason": "end_turn"}


async def refused(it: RunModeHarness, agent: Peer, text: str = "Hello") -> str:
    """Have a prompt refused for want of a login; what the user is told."""
    turn = it.prompt(text)
    agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
    texts, answer = await it.said(turn)
    assert answer["error"]["code"] == AUTH_REQUIRED
    return "".join(texts)


async def begun(it: RunModeHarness) -> Peer:
    agent = await it.open(GREETING)
    assert agent is not None
    await it.session(agent)
    return agent


@pytest.mark.requirement("stories.a-11-told", "stories.a-11-prompt")
async def test_after_the_login_the_prompt_that_was_refused_is_answered(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        told = await refused(it, agent)
        assert "no token" in told
        assert "1. **Account** - Opens example.org. The agent runs the login; it may open" in told
        assert "2. **Terminal** - In a terminal:" in told

        turn = it.prompt("1")
        asked = await agent.read()
        assert (asked["method"], asked["params"]) == ("authenticate", {"methodId": "web"})
        agent.answer(asked, {})
        prompt = await agent.read()
        assert prompt["params"] == {
            "sessionId": "s",
            "prompt": [{"type": "text", "text": "Hello"}],
        }
        agent.answer(prompt, END)
        texts, answer = await it.said(turn)
        assert "Logged in with Account." in "".join(texts)
        assert answer["result"] == END


@pytest.mark.requirement("stories.a-11-elsewhere")
async def test_who_has_logged_in_elsewhere_says_retry(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        assert "Do this yourself" in "".join(await it.say("2"))
        turn = it.prompt("retry")
        prompt = await agent.read()
        assert prompt["params"]["prompt"][0]["text"] == "Hello"
        agent.answer(prompt, END)
        assert (await it.said(turn))[1]["result"] == END


@pytest.mark.requirement("stories.a-11-elsewhere")
async def test_another_message_is_sent_in_place_of_the_first(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        it.prompt("Something else")
        assert (await agent.read())["params"]["prompt"][0]["text"] == "Something else"


@pytest.mark.requirement("stories.a-11-cancelled")
async def test_a_login_that_is_left_leaves_a_session_to_go_on_with(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        assert "not logged in" in "".join(await it.say("cancel"))
        assert agent.unread == []
        turn = it.prompt("Later")
        agent.answer(await agent.read(), END)
        assert (await it.said(turn))[1]["result"] == END


@pytest.mark.requirement("stories.a-11-cancelled")
async def test_who_waits_for_the_agent_can_stop_waiting(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        first = it.prompt("1")
        asked = await agent.read()
        it.editor.tell("session/cancel", {"sessionId": "s"})
        cancel = await agent.read()
        assert cancel["params"] == {"requestId": asked["id"]}
        texts, answer = await it.said(first)
        assert "Waiting" in "".join(texts)
        assert answer["result"] == END
        texts = [(await it.editor.read())["params"]["update"]["content"]["text"]]
        assert "not logged in" in texts[0]


@pytest.mark.requirement("stories.a-11-failed")
async def test_a_login_that_does_not_work_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        turn = it.prompt("1")
        agent.refuse(await agent.read(), -32603, "the browser was closed")
        texts, answer = await it.said(turn)
        assert "the browser was closed" in "".join(texts)
        assert "1. **Account**" in "".join(texts)
        assert answer["result"] == END
        it.prompt("1")
        assert (await agent.read())["method"] == "authenticate"


@pytest.mark.requirement("stories.a-11-session")
async def test_a_session_that_is_refused_for_want_of_a_login_is_opened_after_it(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open(GREETING)
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
        session = (await it.editor.read())["result"]["sessionId"]
        updates = [each["params"]["update"] for each in await it.editor.reads(2)]
        told = updates[-1]["content"]["text"]
        assert "1. **Account**" in told

        first = it.prompt("Hello", session)
        again = await agent.read()
        assert again["method"] == "session/new"
        agent.refuse(again, AUTH_REQUIRED, "no token")
        texts, _ = await it.said(first)
        assert "Your message is saved" in "".join(texts)

        turn = it.prompt("1", session)
        asked = await agent.read()
        assert asked["method"] == "authenticate"
        agent.answer(asked, {})
        agent.answer(await agent.read(), {"sessionId": "s"})
        prompt = await agent.read()
        assert prompt["params"]["prompt"][0]["text"] == "Hello"
        agent.answer(prompt, END)
        assert (await it.said(turn))[1]["result"] == END


LOGIN_OF_ITS_OWN: list[dict[str, Any]] = [
    {"auth": {"terminal": True}},
    {"_meta": {"terminal-auth": True}},
]


@pytest.mark.requirement("stories.a-11-editors-own")
@pytest.mark.parametrize("capabilities", LOGIN_OF_ITS_OWN)
async def test_an_editor_with_a_login_of_its_own_is_told_that_a_session_needs_one(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        greeting = {"protocolVersion": 1, "clientCapabilities": capabilities}
        it.editor.ask("open", "initialize", greeting)
        agent = await it.greeted(result=GREETING)
        assert (await it.editor.read())["result"]["authMethods"] == GREETING["authMethods"]
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
        refusal = await it.editor.read()
        assert refusal["error"]["code"] == AUTH_REQUIRED
        assert refusal["error"]["data"] == "no token"

        it.editor.ask("login", "authenticate", {"methodId": "web"})
        asked = await agent.read()
        assert (asked["method"], asked["params"]) == ("authenticate", {"methodId": "web"})
        agent.answer(asked, {})
        assert (await it.editor.read())["result"] == {}
        await it.session(agent)


@pytest.mark.requirement("stories.a-11-editors-own")
@pytest.mark.parametrize("auth", [{}, {"terminal": False}, None])
async def test_an_editor_that_only_may_have_one_is_helped_in_the_chat(
    tmp_path: Path, auth: dict[str, Any] | None
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        greeting = {"protocolVersion": 1, "clientCapabilities": {"auth": auth}}
        it.editor.ask("open", "initialize", greeting)
        agent = await it.greeted(result=GREETING)
        await it.editor.read()
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
        assert "sessionId" in (await it.editor.read())["result"]
