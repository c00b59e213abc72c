"""Agents that require a login (users A-11)."""

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
        {"id": "key", "name": "Key", "type": "env_var", "varName": "A_KEY"},
    ],
}
END = {"stopReason": "end_turn"}


async def refused(it: RunModeHarness, agent: Peer, text: str = "Hello") -> str:
    """Refuse a prompt for a missing login; return the message for the user."""
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
async def test_refused_prompt_is_answered_after_the_login(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        notice = await refused(it, agent)
        assert "no token" in notice
        assert "1. **Account** - Opens example.org. The agent runs the login; it may open" in notice
        assert "2. **Terminal** - In a terminal:" in notice

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
async def test_retry_sends_the_prompt_after_a_login_elsewhere(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        assert "".join(await it.say("2")) == (
            "To log in with Terminal, run this command in a terminal:\n\n"
            "    login\n\nThen type `retry` here.\n"
        )
        assert "".join(await it.say("3")) == (
            "To log in with Key, set `A_KEY` in the environment of your editor. "
            "Then restart the editor and open this session again.\n"
        )
        turn = it.prompt("retry")
        prompt = await agent.read()
        assert prompt["params"]["prompt"][0]["text"] == "Hello"
        agent.answer(prompt, END)
        assert (await it.said(turn))[1]["result"] == END


@pytest.mark.requirement("stories.a-11-elsewhere")
@pytest.mark.parametrize("text", ["Something else", "0", "4", "\u00b2", "9" * 5000])
async def test_another_message_replaces_the_first(text: str, tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        it.prompt(text)
        assert (await agent.read())["params"]["prompt"][0]["text"] == text


@pytest.mark.requirement("stories.a-11-cancelled")
async def test_session_can_be_used_after_a_login_is_left(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await begun(it)
        await refused(it, agent)
        assert "not logged in" in "".join(await it.say("cancel"))
        assert agent.unread == []
        turn = it.prompt("Later")
        agent.answer(await agent.read(), END)
        assert (await it.said(turn))[1]["result"] == END


@pytest.mark.requirement("stories.a-11-cancelled")
async def test_wait_for_the_agent_can_be_canceled(tmp_path: Path) -> None:
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
async def test_failed_login_gives_the_reason_and_can_be_tried_again(tmp_path: Path) -> None:
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
async def test_session_refused_for_a_missing_login_is_opened_after_it(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open(GREETING)
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
        session = (await it.editor.read())["result"]["sessionId"]
        updates = [each["params"]["update"] for each in await it.editor.reads(2)]
        notice = updates[-1]["content"]["text"]
        assert "1. **Account**" in notice

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
async def test_editor_with_its_own_login_is_informed_that_a_session_needs_one(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        request = {"protocolVersion": 1, "clientCapabilities": capabilities}
        it.editor.ask("open", "initialize", request)
        agent = await it.initialized_agent(result=GREETING)
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
async def test_editor_without_a_login_is_helped_in_the_chat(
    tmp_path: Path, auth: dict[str, Any] | None
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        request = {"protocolVersion": 1, "clientCapabilities": {"auth": auth}}
        it.editor.ask("open", "initialize", request)
        agent = await it.initialized_agent(result=GREETING)
        await it.editor.read()
        it.editor.ask("new", "session/new", {"cwd": "/", "mcpServers": []})
        agent.refuse(await agent.read(), AUTH_REQUIRED, "no token")
        assert "sessionId" in (await it.editor.read())["result"]
