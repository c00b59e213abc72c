"""The fakes for tests of mods, used with each other."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

import symposium
from peerwire.errors import METHOD_NOT_FOUND, LocalError, RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.mods.arrow import Arrow
from symposium.mods.arrow import spec as arrow
from symposium.testing import FakeAgent, Received, chain_of

SERVER: dict[str, Any] = {"name": "tools", "command": "/bin/tools", "args": [], "env": []}


@pytest.mark.requirement("cli.testing-fake-agent", "cli.testing-fake-editor")
async def test_fake_agent_records_its_messages_and_sends_the_given_texts() -> None:
    agent = FakeAgent("Hello, ", "world!")
    async with chain_of("pass", agent=agent) as editor:
        session_id = await editor.new_session(cwd="/src", servers=[SERVER])
        turn = await editor.prompt("Hi")
        editor.cancel()
        await agent.received.count(4)

    assert turn.text == "Hello, world!"
    assert turn.stop_reason == "end_turn"
    assert agent.received.items[1:] == [
        Received("session/new", {"cwd": "/src", "mcpServers": [SERVER]}),
        Received(
            "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": "Hi"}]}
        ),
        Received("session/cancel", {"sessionId": session_id}),
    ]


@pytest.mark.requirement("cli.testing-fake-agent")
async def test_fake_agent_returns_the_given_answers() -> None:
    agent = FakeAgent()
    agent.capabilities = {"loadSession": True}
    agent.requests["vendor/add"] = lambda request: sum(request.params)

    async with chain_of(agent=agent) as editor:
        initialized = await editor.initialize()
        added = await editor.connection.request("vendor/add", [1, 2])
        with pytest.raises(RpcError) as caught:
            await editor.connection.request("vendor/missing")

    assert initialized["agentCapabilities"]["loadSession"] is True
    assert added == 3
    assert caught.value.code == METHOD_NOT_FOUND


@pytest.mark.requirement("cli.testing-fake-agent", "cli.testing-fake-editor")
async def test_fake_agent_can_send_requests_during_a_turn() -> None:
    agent = FakeAgent()

    async def prompt(request: Request) -> dict[str, str]:
        assert agent.connection is not None
        answer = await agent.connection.request("vendor/colour", {})
        agent.say(request.params["sessionId"], answer)
        return {"stopReason": "refusal"}

    agent.requests["session/prompt"] = prompt
    async with chain_of(agent=agent) as editor:
        editor.answers["vendor/colour"] = lambda _: "red"
        turn = await editor.prompt("?")
        asked = [request.method for request in editor.asked.items]

    assert (turn.text, turn.stop_reason) == ("red", "refusal")
    assert asked == ["vendor/colour"]


@pytest.mark.requirement("cli.testing-fake-editor")
async def test_turn_has_only_its_own_updates() -> None:
    agent = FakeAgent("now")
    async with chain_of(agent=agent) as editor:
        other, mine = await editor.new_session(), await editor.new_session()
        agent.say(mine, "before")
        await editor.updates.count(1)
        agent.say(other, "elsewhere")
        turn = await editor.prompt("Hi", session_id=mine)
        agent.say(mine, "after")
        await editor.until(lambda update: update["content"]["text"] == "after")

    assert turn.text == "now"


@pytest.mark.requirement("cli.testing-fake-editor")
async def test_until_finds_received_updates() -> None:
    async with chain_of(agent=FakeAgent("one", "two")) as editor:
        await editor.prompt("Hi")
        update = await editor.until(lambda update: update["content"]["text"] == "one")

    assert update["sessionUpdate"] == "agent_message_chunk"


@pytest.mark.requirement("cli.testing-chain-of")
async def test_chain_accepts_names_objects_and_specs_in_order() -> None:
    agent = FakeAgent("Hi")
    async with chain_of("arrow", Arrow(), arrow, agent=agent) as editor:
        turn = await editor.prompt("Hi")

    assert turn.text == ">>>Hi"


@pytest.mark.requirement("cli.testing-chain-of")
async def test_failed_assertion_in_a_chain_is_raised_unchanged() -> None:
    with pytest.raises(AssertionError, match="not so"):
        async with chain_of():
            raise AssertionError("not so")


@pytest.mark.requirement("cli.testing-chain-of")
async def test_chain_ends_when_it_is_closed_during_a_turn() -> None:
    agent = FakeAgent()
    canceled: list[str] = []

    async def prompt(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            canceled.append(request.method)

    agent.requests["session/prompt"] = prompt
    async with chain_of("pass", agent=agent) as editor, asyncio.TaskGroup() as tasks:
        turn = tasks.create_task(editor.prompt("Hi"))
        await agent.received.until(
            lambda items: [each.method for each in items][-1:] == ["session/prompt"]
        )
        turn.cancel()

    assert canceled == ["session/prompt"]


@pytest.mark.requirement("cli.testing-chain-of")
@pytest.mark.parametrize(
    ("mods", "agent", "problem"),
    [
        (["unknown"], "eliza", "no mod is called 'unknown'; there are arrow, "),
        (["eliza"], "eliza", "no mod is called 'eliza'"),
        ([], "arrow", "no agent is called 'arrow'; there are eliza, testy"),
    ],
)
async def test_unknown_name_is_refused(mods: list[str], agent: str, problem: str) -> None:
    with pytest.raises(LocalError, match=problem):
        async with chain_of(*mods, agent=agent):
            pass


@pytest.mark.requirement("cli.testing-importable")
def test_testing_module_needs_no_test_framework() -> None:
    script = (
        "import sys; sys.modules['pytest'] = sys.modules['hypothesis'] = None\n"
        "import asyncio\n"
        "from symposium.testing import chain_of\n"
        "async def main():\n"
        "    async with chain_of('arrow') as editor:\n"
        "        print((await editor.prompt('Hello')).text)\n"
        "asyncio.run(main())\n"
    )

    said = subprocess.check_output([sys.executable, "-c", script], text=True)

    assert said == ">How do you do. Please state your problem.\n"


@pytest.mark.requirement("cli.mod-author-names")
def test_public_names_for_mod_authors_exist() -> None:
    assert sorted(symposium.__all__) == [
        *("Answer", "ChainMessage", "ComponentSpec", "Deferred", "Drop", "Forward", "Mod"),
        *("Needs", "Refuse", "Reply", "RpcError"),
        *("ToolContent", "ToolContext", "ToolMod", "ToolServer"),
        *("from_agent", "from_client", "has_capability", "run_mod", "with_capability"),
    ]
    assert all(getattr(symposium, name).__name__ == name for name in symposium.__all__)
    assert getattr(symposium, "Crossing") is symposium.ChainMessage  # noqa: B009 - an old name
    assert getattr(symposium, "Content") is symposium.ToolContent  # noqa: B009 - an old name
    assert getattr(symposium, "Later") is symposium.Deferred  # noqa: B009 - an old name
    with pytest.raises(AttributeError, match="has no attribute 'Mods'"):
        getattr(symposium, "Mods")  # noqa: B009 - the name does not exist
