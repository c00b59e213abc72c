"""Traces of whole conversations: the reference's sequences, with correct labels."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from localio.redaction import REDACTED
from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.jsonrpc.transport import Transport
from peerwire.testing import LinePeer
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import Blueprint, InProcess, Served
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, Outcome, Reply, from_agent
from symposium.chain.trace import open_trace
from symposium.mods.arrow import Arrow
from symposium.testing import FakeAgent, FakeEditor, ModLike, chain_of

Event: TypeAlias = dict[str, Any]


class Traced:
    """Chain that is recorded; `events` once it has ended."""

    def __init__(self, directory: Path, *known: str) -> None:
        self._known = known
        self.directory = directory
        self.events: list[Event] = []

    @asynccontextmanager
    async def chain(
        self, *mods: ModLike, agent: FakeAgent | str = "eliza"
    ) -> AsyncGenerator[FakeEditor, None]:
        trace = open_trace(self.directory, self._known)
        chain = chain_of(*mods, agent=agent, bridge="off", settings=Settings(watcher=trace))
        async with chain as editor:
            yield editor
        trace.close()
        self.events = [json.loads(line) for line in trace.file.path.read_text().splitlines()]

    def rows(self) -> list[str]:
        """Return one line per event; a response has the method of its request."""
        asked: dict[tuple[int, int], str] = {}
        rows: list[str] = []
        for event in self.events:
            method = event.get("method")
            if event["type"] == "request":
                asked[event["hop"], event["id"]] = str(method)
            elif event["type"] == "response":
                method = f"= {asked[event['hop'], event['id']]}"
            ends = f"{event['from']} {event['to']}".replace("Proxy(", "P").replace(")", "")
            rows.append(f"{ends.replace('Client', 'C').replace('Agent', 'A')} {method}")
        return rows


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    return Traced(tmp_path / "traces")


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def program_like(mod: Mod) -> Served:
    """Put a mod on its own wire, as a program."""

    async def serve(transport: Transport) -> None:
        blueprint = Blueprint([InProcess("mod", mod)], None)
        await Conductor(transport, lambda _: blueprint, Settings(is_proxy=True)).run()

    return Served("wired", serve)


def there_and_back(method: str, *hops: str, first: str = "") -> list[str]:
    asked = [f"{hop} {method}" for hop in hops]
    asked[0] = f"{hops[0]} {first or method}"
    answers = [
        f"{' '.join(reversed(hop.split()))} = {ask.split()[2]}"
        for hop, ask in zip(hops, asked, strict=True)
    ]
    return [*asked, *reversed(answers)]


@pytest.mark.requirement("conductor.trace-generation")
async def test_trace_has_requests_and_responses_with_type_and_ts(traced: Traced) -> None:
    async with traced.chain() as editor:
        await editor.prompt("Hello")

    assert {"request", "response"} <= {event["type"] for event in traced.events}
    moments = [event["ts"] for event in traced.events]
    assert moments == sorted(moments)
    assert moments[0] >= 0


def conversation() -> list[str]:
    prompt = there_and_back("session/prompt", "C P0", "P0 A")
    return [
        *there_and_back("initialize", "C P0", "P0 A", first="_proxy/initialize"),
        *there_and_back("session/new", "C P0", "P0 A"),
        *prompt[:2],
        "A P0 session/update",
        "P0 C session/update",
        *prompt[2:],
    ]


@pytest.mark.requirement("conductor.trace-snapshot", "conductor.trace-labels")
async def test_conversation_through_one_proxy(traced: Traced) -> None:
    async with traced.chain(Arrow(), agent=FakeAgent("Hi")) as editor:
        await editor.prompt("Hello")

    assert traced.rows() == conversation()


@pytest.mark.requirement("conductor.trace-snapshot", "conductor.trace-labels")
async def test_conversation_through_one_proxy_on_a_wire(traced: Traced) -> None:
    async with traced.chain(program_like(Arrow()), agent=FakeAgent("Hi")) as editor:
        await editor.prompt("Hello")

    # Simultaneous messages of two peers have no order between them: check each leg alone.
    for ends in ({"C", "P0"}, {"P0", "A"}):
        on_leg = [row for row in conversation() if set(row.split()[:2]) == ends]
        assert [row for row in traced.rows() if set(row.split()[:2]) == ends] == on_leg


@pytest.mark.requirement("conductor.trace-every-leg", "conductor.trace-labels")
async def test_every_leg_of_a_mixed_chain_is_recorded_once(traced: Traced) -> None:
    mods = [Arrow(), program_like(Arrow()), Arrow(), Arrow(), program_like(Arrow())]
    async with traced.chain(*mods, agent=FakeAgent("How are you?")) as editor:
        turn = await editor.prompt("Hello")

    legs = ["C P0", "P0 P1", "P1 P2", "P2 P3", "P3 P4", "P4 A"]
    back = [" ".join(reversed(leg.split())) for leg in reversed(legs)]
    assert turn.text.startswith(">>>>>How")
    assert [row for row in traced.rows() if "session/update" in row] == [
        f"{leg} session/update" for leg in back
    ]
    assert [row for row in traced.rows() if "session/new" in row] == there_and_back(
        "session/new", *legs
    )
    texts = [
        event["params"]["update"]["content"]["text"]
        for event in traced.events
        if event.get("method") == "session/update"
    ]
    assert [len(text) - len(text.lstrip(">")) for text in texts] == [0, 1, 2, 3, 4, 5]


class Tools(Mod):
    """Serves one MCP tool over ACP."""

    @from_agent("mcp/connect")
    def connect(self, message: ChainMessage) -> Outcome:
        del message
        return Reply({"connectionId": "c1"})

    @from_agent("mcp/message")
    def message(self, message: ChainMessage) -> Outcome:
        return Reply({"said": message.params["method"]}) if message.is_request else Forward()


def agent_that_calls_a_tool(era: str = "mcp") -> FakeAgent:
    agent = FakeAgent()

    async def prompt(request: Request) -> dict[str, Any]:
        wire = agent.connection
        assert wire is not None
        await wire.request(f"{era}/connect", {"serverId": "tools"})
        tunnel = {"connectionId": "c1"}
        await wire.request(f"{era}/message", {**tunnel, "method": "initialize", "params": {"a": 1}})
        wire.notify(f"{era}/message", {**tunnel, "method": "notifications/initialized"})
        await wire.request(f"{era}/message", {**tunnel, "method": "tools/call", "params": {}})
        agent.say(request.params["sessionId"], "done")
        return {"stopReason": "end_turn"}

    agent.requests["session/prompt"] = prompt
    return agent


@pytest.mark.requirement("conductor.trace-mcp-tool-call", "conductor.trace-unwrapped")
async def test_tool_call_to_the_mcp_server_of_a_proxy(traced: Traced) -> None:
    async with traced.chain(Tools(), agent=agent_that_calls_a_tool()) as editor:
        await editor.prompt("Use the tool")

    assert traced.rows()[8:] == [
        "C P0 session/prompt",
        "P0 A session/prompt",
        "A P0 mcp/connect",
        "P0 A = mcp/connect",
        "A P0 initialize",
        "P0 A = initialize",
        "A P0 notifications/initialized",
        "P0 C notifications/initialized",
        "A P0 tools/call",
        "P0 A = tools/call",
        "A P0 session/update",
        "P0 C session/update",
        "A P0 = session/prompt",
        "P0 C = session/prompt",
    ]
    protocols = {
        event["method"]: (event["protocol"], event.get("connection"))
        for event in traced.events[10:]
        if "protocol" in event
    }
    assert protocols == {
        "mcp/connect": ("acp", None),
        "initialize": ("mcp", "c1"),
        "notifications/initialized": ("mcp", "c1"),
        "tools/call": ("mcp", "c1"),
        "session/update": ("acp", None),
    }


@pytest.mark.requirement("conductor.trace-client-mcp-server")
async def test_tool_call_to_the_mcp_server_of_the_client(traced: Traced) -> None:
    async with traced.chain(agent=agent_that_calls_a_tool("_mcp")) as editor:
        editor.answers["_mcp/connect"] = lambda _: {"connectionId": "c1"}
        editor.answers["_mcp/message"] = lambda _: {"content": []}
        await editor.prompt("Use the tool")

    assert traced.rows() == [
        *there_and_back("initialize", "C A"),
        *there_and_back("session/new", "C A"),
        "C A session/prompt",
        "A C _mcp/connect",
        "C A = _mcp/connect",
        "A C initialize",
        "C A = initialize",
        "A C notifications/initialized",
        "A C tools/call",
        "C A = tools/call",
        "A C session/update",
        "A C = session/prompt",
    ]


@pytest.mark.requirement(
    "conductor.trace-shape-request",
    "conductor.trace-shape-response",
    "conductor.trace-shape-notification",
)
async def test_each_kind_of_event_has_its_members(traced: Traced) -> None:
    async with traced.chain(agent=FakeAgent("Hi")) as editor:
        await editor.prompt("Hello")
        with pytest.raises(RpcError):
            await editor.connection.request("session/nonsense", {"a": 1})

    request, update, response = traced.events[4:7]
    session = "session-1"
    assert request | {"ts": 0} == {
        "type": "request",
        "ts": 0,
        "protocol": "acp",
        "from": "Client",
        "to": "Agent",
        "id": 3,
        "method": "session/prompt",
        "session": session,
        "hop": 0,
        "params": {"sessionId": session, "prompt": [{"type": "text", "text": "Hello"}]},
    }
    assert response | {"ts": 0} == {
        "type": "response",
        "ts": 0,
        "from": "Agent",
        "to": "Client",
        "id": 3,
        "hop": 0,
        "is_error": False,
        "session": session,
        "payload": {"stopReason": "end_turn"},
    }
    content = {"type": "text", "text": "Hi"}
    assert update | {"ts": 0} == {
        "type": "notification",
        "ts": 0,
        "protocol": "acp",
        "from": "Agent",
        "to": "Client",
        "method": "session/update",
        "session": session,
        "hop": 0,
        "params": {
            "sessionId": session,
            "update": {"sessionUpdate": "agent_message_chunk", "content": content},
        },
    }
    refused = traced.events[-1]
    assert refused["is_error"]
    assert refused["payload"]["code"] == -32601


@pytest.mark.requirement("conductor.trace-session")
async def test_response_has_the_session_of_its_request_or_the_one_it_names(
    traced: Traced,
) -> None:
    async with traced.chain() as editor:
        session = await editor.new_session()
        await editor.prompt("Hello")

    sessions = {
        (row, event["session"]) for row, event in zip(traced.rows(), traced.events, strict=True)
    }
    assert sessions == {
        ("C A initialize", None),
        ("A C = initialize", None),
        ("C A session/new", None),
        ("A C = session/new", session),
        ("C A session/prompt", session),
        ("A C session/update", session),
        ("A C = session/prompt", session),
    }


@pytest.mark.requirement("conductor.trace-hop-ids")
async def test_legs_of_one_request_are_joined_by_its_id(traced: Traced) -> None:
    async with traced.chain(Arrow(), "pass", Arrow()) as editor:
        await editor.prompt("Hello")

    hops: dict[int, list[int]] = {}
    for event in traced.events:
        if event["type"] != "notification":
            hops.setdefault(event["id"], []).append(event["hop"])
    assert hops == {number: [0, 1, 2, 3, 3, 2, 1, 0] for number in (1, 2, 3)}


@pytest.mark.requirement("conductor.trace-every-leg")
async def test_cancellation_is_recorded_on_each_leg_it_passes(traced: Traced) -> None:
    agent = FakeAgent()
    async with traced.chain(Arrow(), agent=agent) as editor:
        session = await editor.new_session()

        async def wait(_: Request) -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        agent.requests["session/prompt"] = wait
        prompt = editor.connection.request("session/prompt", {"sessionId": session, "prompt": []})
        async with asyncio.TaskGroup() as tasks:
            pending = tasks.create_task(prompt)
            await agent.received.count(3)
            pending.cancel()

    cancelled = [event for event in traced.events if event.get("method") == "$/cancel_request"]
    assert [(e["from"], e["to"]) for e in cancelled] == [
        ("Client", "Proxy(0)"),
        ("Proxy(0)", "Agent"),
    ]
    assert {e["params"]["requestId"] for e in cancelled} == {3}


@pytest.mark.requirement("conductor.trace-tolerant-mcp", "conductor.trace-unwrapped")
@pytest.mark.parametrize(
    ("params", "method"),
    [
        ({"connectionId": "c", "method": "x", "params": ["odd"]}, "x"),
        ({"connectionId": 7, "method": "x", "params": None}, "x"),
        ({"method": "x"}, "x"),
        ({"connectionId": "c", "method": 5}, "mcp/message"),
        ([1, 2], "mcp/message"),
        (None, "mcp/message"),
    ],
)
async def test_unusual_params_still_have_the_mcp_protocol(
    traced: Traced, params: Any, method: str
) -> None:
    agent = FakeAgent()
    async with traced.chain(agent=agent) as editor:
        await editor.initialize()
        assert agent.connection is not None
        agent.connection.notify("mcp/message", params)
        await editor.notifications.count(1)

    found = traced.events[-1]
    assert (found["protocol"], found["method"]) == ("mcp", method)
    assert editor.notifications.items == [("mcp/message", params)]


@pytest.mark.requirement("conductor.trace-redaction")
async def test_secrets_pass_and_are_not_recorded(tmp_path: Path) -> None:
    traced = Traced(tmp_path, "a known value of the environment")
    agent = FakeAgent("the key is sk-abcdefghijklmnopqrstuvwx")
    header = {"name": "Authorization", "value": "Bearer hunter2"}
    server = {"type": "http", "name": "t", "url": "http://x", "headers": [header]}
    async with traced.chain(Arrow(), agent=agent) as editor:
        await editor.new_session(servers=[server])
        turn = await editor.prompt("use a known value of the environment")

    recorded = json.dumps(traced.events)
    assert "sk-abcdefghijklmnopqrstuvwx" in turn.text
    assert agent.received.items[1].params["mcpServers"] == [server]
    assert REDACTED in recorded
    for secret in ("hunter2", "sk-abc", "a known value"):
        assert secret not in recorded


async def lines_of(settings: Settings, mods: Sequence[Mod]) -> list[Any]:
    """Return the lines of a bare client and of the agent for initialize and a batch."""
    agent = FakeAgent("Hi")
    near, far = memory_pair()
    components = [InProcess("mod", mod) for mod in mods]
    blueprint = Blueprint(components, Served("agent", agent.serve))
    client = LinePeer(near)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(Conductor(far, lambda _: blueprint, settings).run())
        client.write(INITIALIZE)
        await client.lines.count(1)
        client.write(BATCH)
        await client.lines.count(2)
        await near.aclose()
    return [*client.lines.items, *agent.received.items]


INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
BATCH = (
    b'[{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/"}},{"jsonrpc":"2.0",'
    b'"method":"x/y","params":{"b":[1.50]},"extra":1},{"jsonrpc":"2.0","id":"3","method":"z"}]'
)


@pytest.mark.requirement("conductor.trace-batches", "conductor.trace-no-proxies")
@pytest.mark.parametrize("mods", [(), (Arrow(),)], ids=["no proxies", "one proxy"])
async def test_trace_does_not_change_messages(tmp_path: Path, mods: Sequence[Mod]) -> None:
    trace = open_trace(tmp_path)
    plain = await lines_of(Settings(), mods)

    seen = await lines_of(Settings(watcher=trace), mods)

    assert seen == plain
    assert len(seen) > 3
    trace.close()
    assert trace.file.path.read_text().count('"method":"x/y"') == 1 + len(mods)


@pytest.mark.requirement("conductor.trace-no-proxies")
@pytest.mark.parametrize("is_traced", [False, True], ids=["untraced", "traced"])
async def test_trace_keeps_every_member_of_an_envelope(tmp_path: Path, *, is_traced: bool) -> None:
    line = b'{"jsonrpc":"2.0","method":"x/y","params":{"b":[1.50]},"traceparent":"00-1"}'

    async def serve(transport: Transport) -> None:
        transport.send(line)
        await FakeAgent().serve(transport)

    trace = open_trace(tmp_path) if is_traced else None
    near, far = memory_pair()
    blueprint = Blueprint([program_like(Mod())], Served("agent", serve))
    client = LinePeer(near)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(Conductor(far, lambda _: blueprint, Settings(watcher=trace)).run())
        client.write(INITIALIZE)
        lines = await client.lines.count(2)
        await near.aclose()

    assert line in lines


@pytest.mark.requirement("conductor.trace-off")
async def test_trace_is_not_recorded_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with chain_of("arrow") as editor:
        await editor.prompt("Hello")

    assert not files_in(tmp_path)


@pytest.mark.requirement("conductor.trace-write-error")
async def test_conversation_continues_when_the_trace_cannot(
    traced: Traced, caplog: pytest.LogCaptureFixture
) -> None:
    trace = open_trace(traced.directory)
    async with chain_of("arrow", settings=Settings(watcher=trace)) as editor:
        await editor.initialize()
        trace.file.flush()
        trace.file.path.unlink()
        await editor.prompt("Hello")
        turn = await editor.prompt("Hello again")

    assert turn.stop_reason == "end_turn"
    assert not trace.file.is_open
    assert [r.message for r in caplog.records if "stopped recording" in r.message] == [
        f"stopped recording into {trace.file.path}: it has been removed"
    ]
