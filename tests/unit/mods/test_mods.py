"""Changes that each built-in mod makes, and no others."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from peerwire.jsonrpc.transport import Transport
from peerwire.testing import LinePeer, Recorder
from peerwire.transports.memory import memory_pair
from symposium.catalog import find_mod
from symposium.chain.blueprint import Blueprint, InProcess, Served
from symposium.chain.conductor import Conductor
from symposium.testing import FakeAgent, chain_of

ODD_LINES = [
    b'{"method":"session/update","jsonrpc":"2.0","params":{ "sessionId" : "s" , "update":{}}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"x":1.50e3,"y":12345678901234567890}}',
    b'{"jsonrpc":"2.0","method":"vendor/odd","params":{"text":"\\ud800 \\u00e9","a":1,"a":2}}',
    b'{"jsonrpc":"2.0","method":"vendor/bare"}',
]

UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Hi"}},
    {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm"}},
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "", "text": 7}},
    {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [{"type": "content"}]},
    {"sessionUpdate": "vendor_update", "content": None},
    {"no": "kind"},
]


@asynccontextmanager
async def raw_ends(name: str) -> AsyncGenerator[tuple[LinePeer, LinePeer], None]:
    """The bare client and the bare agent of an open chain with one mod in it."""
    spec = find_mod(name)
    assert spec is not None
    agents: Recorder[LinePeer] = Recorder()
    over = asyncio.Event()

    async def serve(transport: Transport) -> None:
        agents.note(LinePeer(transport))
        await over.wait()

    near, far = memory_pair()
    blueprint = Blueprint([InProcess(name, spec.make())], Served("agent", serve))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(Conductor(far, lambda _: blueprint).run())
        client = LinePeer(near)
        client.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
        )
        (agent,) = await agents.count(1)
        (asked,) = await agent.read(1)
        agent.write(b'{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":1}}' % asked["id"])
        await client.lines.count(1)
        yield client, agent
        await near.aclose()
        over.set()


@pytest.mark.requirement("cli.mod-pass")
async def test_pass_changes_no_byte() -> None:
    async with raw_ends("pass") as (client, agent):
        agent.write(*ODD_LINES)
        came = await client.lines.count(1 + len(ODD_LINES))

    assert came[1:] == ODD_LINES


@pytest.mark.requirement("cli.mod-pass")
def test_pass_intercepts_nothing() -> None:
    spec = find_mod("pass")

    assert spec is not None
    assert spec.make().interceptions() == []


async def passed(mod: str, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The params of updates as they arrive behind a mod."""
    agent = FakeAgent()
    async with chain_of(mod, agent=agent) as editor:
        await editor.new_session()
        assert agent.connection is not None
        for params in sent:
            agent.connection.notify("session/update", params)
        return await editor.updates.count(len(sent))


@pytest.mark.requirement("cli.mod-tag")
async def test_tag_adds_one_member_and_changes_nothing_else() -> None:
    sent = [{"sessionId": "s", "update": update, "x": [1]} for update in UPDATES]
    marked = {"sessionId": "s", "_meta": {"other": 1, "nested": {"a": None}}, "update": {}}

    came = await passed("tag", [*sent, marked, {"_meta": None}, {}])

    tag = {"symposium/tag": True}
    assert came[: len(sent)] == [params | {"_meta": tag} for params in sent]
    assert came[len(sent)] == marked | {"_meta": {"other": 1, "nested": {"a": None}} | tag}
    assert came[len(sent) + 1 :] == [{"_meta": tag}, {"_meta": tag}]


@pytest.mark.requirement("cli.mod-arrow")
async def test_arrow_marks_text_of_the_agents_message_and_nothing_else() -> None:
    content = {"type": "text", "text": "Hi", "annotations": {"priority": 1}}
    said = {
        "sessionUpdate": "agent_message_chunk",
        "content": content,
        "messageId": "m",
    }

    came = await passed("arrow", [{"sessionId": "s", "update": each} for each in [said, *UPDATES]])

    assert came[0]["update"] == said | {"content": content | {"text": ">Hi"}}
    assert [params["update"] for params in came[1:]] == UPDATES


@pytest.mark.requirement("cli.mod-tag", "cli.mod-arrow")
@pytest.mark.parametrize("name", ["tag", "arrow"])
@pytest.mark.parametrize("params", [[], [{"update": {}}]])
async def test_updates_of_no_known_shape_pass(name: str, params: Any) -> None:
    assert await passed(name, [params]) == [params]


@pytest.mark.requirement("house.one-place-catalog")
async def test_the_mod_that_contributors_are_shown_is_found_and_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (tmp_path / "hello.py").write_text(page.split("```python\n")[1].split("```")[0])
    package = sys.modules["symposium.mods"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])

    async with chain_of("hello") as editor:
        turn = await editor.prompt("Hello")
    monkeypatch.delitem(sys.modules, "symposium.mods.hello")

    assert turn.text == "Hello. How do you do. Please state your problem."
