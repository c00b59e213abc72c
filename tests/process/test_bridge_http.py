"""The bridge's HTTP side over real sockets: what a client may rely on, and who is kept out."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import h11
import pytest

from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Request
from peerwire.mcp.client import open_server
from peerwire.mcp.streamable_http import EventReader
from symposium.bridge import http_endpoint, http_server
from symposium.testing import FakeAgent, FakeEditor, chain_of

SERVER = {"type": "acp", "name": "own", "serverId": "server-1"}
PATIENCE = 45.0


@dataclass
class Answer:
    """One HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def events(self) -> list[Any]:
        return [json.loads(data) for data in EventReader().feed(self.body)]


@dataclass
class Exchange:
    """One HTTP request and its answer, on a connection of its own."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))

    async def head(self) -> h11.Response:
        found = await self._next()
        assert isinstance(found, h11.Response)
        return found

    async def data(self) -> bytes | None:
        found = await self._next()
        return bytes(found.data) if isinstance(found, h11.Data) else None

    async def methods(self, number: int) -> list[str]:
        """The methods of the first events of a stream."""
        events, reader = list[Any](), EventReader()
        while len(events) < number and (data := await self.data()) is not None:
            events += [json.loads(event) for event in reader.feed(data)]
        return [event["method"] for event in events]

    async def whole(self) -> Answer:
        head = await self.head()
        body = b""
        while (data := await self.data()) is not None:
            body += data
        headers = {name.decode(): value.decode() for name, value in head.headers}
        return Answer(head.status_code, headers, body)

    async def _next(self) -> object:
        async with asyncio.timeout(PATIENCE):
            while (found := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(await self.reader.read(65536))
        return found


@dataclass
class Door:
    """An endpoint as its agent knows it."""

    port: int
    path: str
    headers: dict[str, str]
    writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    @classmethod
    def of(cls, declaration: Mapping[str, Any]) -> Self:
        url = urlsplit(str(declaration["url"]))
        given = {entry["name"]: entry["value"] for entry in declaration["headers"]}
        assert url.port is not None
        return cls(url.port, url.path, given)

    async def knock(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A bare connection; closed with the chain."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer

    async def begin(
        self, body: object = b"", *, method: str = "POST", path: str = "", headers: Any = ()
    ) -> Exchange:
        reader, writer = await self.knock()
        exchange = Exchange(reader, writer)
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        every = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(sent))}
        every |= {"Accept": "application/json, text/event-stream"} | self.headers | dict(headers)
        head = h11.Request(
            method=method,
            target=path or self.path,
            headers=[(name, value) for name, value in every.items() if value],
        )
        writer.write(exchange.http.send(head) or b"")
        if sent:
            writer.write(exchange.http.send(h11.Data(data=sent)) or b"")
        writer.write(exchange.http.send(h11.EndOfMessage()) or b"")
        return exchange

    async def send(
        self, body: object = b"", *, method: str = "POST", path: str = "", headers: Any = ()
    ) -> Answer:
        exchange = await self.begin(body, method=method, path=path, headers=headers)
        answer = await exchange.whole()
        exchange.writer.close()
        return answer


class Owner:
    """The editor as the owner of a server; answers what a test tells it, when it tells it."""

    def __init__(self, editor: FakeEditor) -> None:
        self.editor = editor
        self.connected = 0
        self.ended: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        editor.answers["mcp/connect"] = self._connect
        editor.answers["mcp/message"] = self._answer
        editor.answers["mcp/disconnect"] = self._disconnect

    @property
    def asked(self) -> list[str]:
        """The methods of the MCP requests that have come."""
        came = [each.params for each in self.editor.asked.items if each.method == "mcp/message"]
        return [params["method"] for params in came]

    @property
    def told(self) -> list[Any]:
        return [params for method, params in self.editor.told.items if method == "mcp/message"]

    async def came(self, method: str, number: int = 1) -> None:
        await self.editor.asked.until(lambda _: self.asked.count(method) >= number)

    def _connect(self, _: Request) -> dict[str, Any]:
        self.connected += 1
        return {"connectionId": f"c{self.connected}"}

    def _disconnect(self, request: Request) -> dict[str, Any]:
        self.ended.append(request.params["connectionId"])
        return {}

    async def _answer(self, request: Request) -> Any:
        method = request.params["method"]
        if method in self.held:
            await self.held[method].wait()
        if method == "forget":
            data = {"reason": "unknown MCP connection", "connectionId": "c1"}
            raise RpcError(INVALID_PARAMS, data)
        if method == "refuse":
            raise RpcError(INVALID_PARAMS, {"a": 1}, message="No.")
        return {"method": method, "params": request.params.get("params")}


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Door, Owner], None]:
    """A door to a server that the editor owns."""
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"http": True}}
    agent.requests["session/close"] = lambda _: {}
    async with chain_of("pass", agent=agent) as editor:
        owner = Owner(editor)
        await editor.new_session(servers=[SERVER])
        door = Door.of(agent.received.items[-1].params["mcpServers"][0])
        try:
            yield door, owner
        finally:
            for writer in door.writers:
                writer.close()


def request(method: str, request_id: Any = 1, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def together(*work: Any) -> list[Any]:
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(one) for one in work]
    return [task.result() for task in started]


# -- POST


@pytest.mark.requirement("bridge.http-post-request")
async def test_a_request_is_answered_with_one_event() -> None:
    async with opened() as (door, _):
        sent = b'{"jsonrpc":"2.0","id":"seven","method":"tools/list",\n "params":{"a":[1,2.50]}}'
        answer = await door.send(sent)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    result = {"method": "tools/list", "params": {"a": [1, 2.5]}}
    assert answer.events == [{"jsonrpc": "2.0", "id": "seven", "result": result}]
    assert b"2.50" in answer.body


@pytest.mark.requirement("bridge.http-details")
async def test_a_client_that_takes_no_events_gets_json() -> None:
    async with opened() as (door, _):
        answer = await door.send(request("ping"), headers={"Accept": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["result"]["method"] == "ping"


@pytest.mark.requirement("bridge.message-error", "bridge.http-post-request")
async def test_an_error_of_the_server_comes_with_code_message_and_data() -> None:
    async with opened() as (door, _):
        answer = await door.send(request("refuse"))
    error = {"code": INVALID_PARAMS, "message": "No.", "data": {"a": 1}}
    assert answer.events == [{"jsonrpc": "2.0", "id": 1, "error": error}]


@pytest.mark.requirement("bridge.http-post-request", "bridge.http-batch-grouped")
async def test_a_batch_is_answered_with_one_event_of_all_its_answers() -> None:
    batch = [
        request("a", 1),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        request("refuse", 2),
        request("c", 1),
    ]
    async with opened() as (door, owner):
        answer = await door.send(batch)
        assert owner.asked == ["a", "refuse", "c"]
    (event,) = answer.events
    assert [(part["id"], "error" in part) for part in event] == [(1, False), (2, True), (1, False)]


@pytest.mark.requirement("bridge.http-own-notifications")
async def test_a_notification_of_the_hop_itself_is_not_passed_on() -> None:
    async with opened() as (door, owner):
        for method in ("$/cancel_request", "notifications/x"):
            await door.send({"jsonrpc": "2.0", "method": method, "params": {"id": 1}})
        await owner.editor.told.until(lambda _: bool(owner.told))

        assert [params["method"] for params in owner.told] == ["notifications/x"]


@pytest.mark.requirement("bridge.http-post-notification")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        [{"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}],
    ],
)
async def test_what_is_owed_no_answer_is_taken_with_202(message: Any) -> None:
    async with opened() as (door, _):
        answer = await door.send(message)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.requirement("bridge.http-post-malformed", "bridge.http-null-ids-serialized")
@pytest.mark.parametrize(
    "malformed", [b"{", b"[1]", b'"x"', b"[]", b"\xff\xfe", b'{"jsonrpc":"2.0"}']
)
async def test_a_malformed_post_gets_its_own_error_and_takes_nobodys_answer(
    malformed: bytes,
) -> None:
    async with opened() as (door, owner):
        owner.held["slow"] = asyncio.Event()
        waiting = await door.begin(request("slow", None))
        await owner.came("slow")
        answer = await door.send(malformed)
        (event,) = answer.events
        error: Any = event[0] if malformed.startswith(b"[") and malformed != b"[]" else event
        assert error["id"] is None
        assert error["error"]["code"] in {-32700, -32600}
        owner.held["slow"].set()
        assert (await waiting.whole()).events[0]["result"]["method"] == "slow"


@pytest.mark.requirement("bridge.http-post-response-shaped")
@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": {}, "error": {"code": 1}},
        {"id": {}, "result": {}},
        {"result": {}},
    ],
)
async def test_a_malformed_response_is_ignored(message: Any) -> None:
    async with opened() as (door, owner):
        answer = await door.send(message)
        assert answer.status == 202
        assert owner.connected == 0


@pytest.mark.requirement("bridge.http-post-mixed-malformed")
async def test_of_a_scalar_and_a_malformed_response_only_the_scalar_gets_an_error() -> None:
    async with opened() as (door, _):
        answer = await door.send([7, {"id": 1, "result": {}, "error": {"code": 1}}])
    (event,) = answer.events
    assert [part["error"]["code"] for part in event] == [-32600]


@pytest.mark.requirement("bridge.http-null-ids-serialized")
@pytest.mark.parametrize("request_id", [None, 1, "same"])
async def test_posts_with_one_id_each_get_their_own_answer(request_id: Any) -> None:
    async with opened() as (door, owner):
        owner.held["first"] = asyncio.Event()
        first = await door.begin(request("first", request_id))
        await owner.came("first")
        second = await door.send(request("second", request_id))
        assert second.events[0]["result"]["method"] == "second"
        owner.held["first"].set()
        assert (await first.whole()).events[0]["result"]["method"] == "first"


@pytest.mark.requirement("bridge.http-batches-serialized")
async def test_batches_without_usable_ids_each_get_their_own_answers() -> None:
    async with opened() as (door, _):
        bodies = [[request(f"m{number}-{part}", None) for part in "ab"] for number in range(8)]
        answers = await together(*(door.send(body) for body in bodies))
    for number, answer in enumerate(answers):
        (event,) = answer.events
        assert [part["result"]["method"] for part in event] == [f"m{number}-a", f"m{number}-b"]


@pytest.mark.requirement("bridge.http-late-response")
async def test_the_answer_to_a_caller_that_left_reaches_nobody_else() -> None:
    async with opened() as (door, owner):
        owner.held["abandoned"] = asyncio.Event()
        left = await door.begin(request("abandoned", 5))
        await owner.came("abandoned")
        left.writer.transport.abort()
        owner.held["again"] = asyncio.Event()
        again = await door.begin(request("again", 5))
        await owner.came("again")
        owner.held["abandoned"].set()
        owner.held["again"].set()
        answer = await again.whole()
    assert [event["result"]["method"] for event in answer.events] == ["again"]


@pytest.mark.requirement("bridge.message-params")
async def test_positional_params_are_refused_before_they_travel() -> None:
    async with opened() as (door, owner):
        answer = await door.send(request("x", 1, [1]))
        assert answer.events[0]["error"]["code"] == INVALID_PARAMS
        assert owner.asked == []


@pytest.mark.requirement("bridge.http-details")
async def test_one_connection_carries_one_request_after_the_other() -> None:
    async with opened() as (door, _):
        exchange = await door.begin(request("one"))
        assert (await exchange.whole()).events[0]["result"]["method"] == "one"
        exchange.http.start_next_cycle()
        body = json.dumps(request("two")).encode()
        head = [("Host", "localhost"), ("Content-Length", str(len(body))), *door.headers.items()]
        for part in (
            h11.Request(method="POST", target=door.path, headers=head),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            exchange.writer.write(exchange.http.send(part) or b"")
        assert (await exchange.whole()).events[0]["result"]["method"] == "two"
        exchange.writer.close()


# -- sessions and streams


@pytest.mark.requirement("bridge.http-session-id", "bridge.connect-several")
async def test_each_client_that_initializes_has_a_connection_of_its_own() -> None:
    async with opened() as (door, owner):
        first, second = [await door.send(request("initialize")) for _ in range(2)]
        names = [answer.headers["mcp-session-id"] for answer in (first, second)]
        assert names[0] != names[1]
        assert owner.connected == 2
        for name in names:
            await door.send(request("ping"), headers={"Mcp-Session-Id": name})
        asked = [each.params["connectionId"] for each in owner.editor.asked.items[-2:]]
        assert asked == ["c1", "c2"]


@pytest.mark.requirement("bridge.http-session-id")
async def test_a_client_that_says_not_who_it_is_is_served_all_the_same() -> None:
    async with opened() as (door, owner):
        await door.send(request("tools/list"))
        await door.send(request("ping"))
        assert owner.connected == 1
        assert "mcp-session-id" not in (await door.send(request("ping"))).headers


@pytest.mark.requirement("bridge.http-session-id", "bridge.life-agent-closes")
async def test_a_client_that_leaves_is_disconnected_and_known_no_more() -> None:
    async with opened() as (door, owner):
        name = (await door.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        assert (await door.send(method="DELETE", headers=header)).status == 204
        assert owner.ended == ["c1"]
        for method in ("POST", "GET", "DELETE"):
            body = request("ping") if method == "POST" else b""
            assert (await door.send(body, method=method, headers=header)).status == 404
        assert (await door.send(method="DELETE")).status == 400


@pytest.mark.requirement("bridge.life-session-end", "bridge.life-agent-closes")
async def test_owners_are_told_of_their_clients_when_the_last_session_ends() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        stream = await door.begin(method="GET")
        await stream.head()
        await owner.editor.connection.request("session/close", {"sessionId": "session-1"})
        await owner.editor.asked.until(lambda _: owner.ended == ["c1"])
        with pytest.raises((h11.RemoteProtocolError, ConnectionResetError)):
            await stream.data()


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_of_two_calls_with_one_id_a_cancellation_stops_neither() -> None:
    async with opened() as (door, owner):
        for method in ("one", "other"):
            owner.held[method] = asyncio.Event()
        calls = [await door.begin(request(method, 7)) for method in ("one", "other")]
        await together(owner.came("one"), owner.came("other"))
        params = {"requestId": 7}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        assert (await door.send(cancelled)).status == 202
        for held in owner.held.values():
            held.set()
        answers = await together(*(call.whole() for call in calls))
    assert [answer.events[0]["result"]["method"] for answer in answers] == ["one", "other"]


@pytest.mark.requirement("bridge.http-session-id")
async def test_clients_that_leave_without_a_word_are_forgotten_the_idle_ones_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_CLIENTS", 2)
    async with opened() as (door, owner):
        names = list[str]()
        for _ in range(2):
            names.append((await door.send(request("initialize"))).headers["mcp-session-id"])
        listening = await door.begin(method="GET", headers={"Mcp-Session-Id": names[0]})
        await listening.head()
        await door.send(request("initialize"))
        await owner.editor.asked.until(lambda _: owner.ended == ["c2"])
        for name, status in zip(names, (200, 404), strict=True):
            answer = await door.send(request("ping"), headers={"Mcp-Session-Id": name})
            assert answer.status == status


@pytest.mark.requirement("bridge.life-owner-dies", "bridge.disconnect")
async def test_an_owner_that_disconnects_ends_the_clients_streams() -> None:
    async with opened() as (door, owner):
        name = (await door.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        stream = await door.begin(method="GET", headers=header)
        assert (await stream.head()).status_code == 200
        await owner.editor.connection.request("mcp/disconnect", {"connectionId": "c1"})
        with pytest.raises(h11.RemoteProtocolError):
            await stream.data()
        assert (await door.send(request("ping"), headers=header)).status == 404


@pytest.mark.requirement("bridge.unknown-connection", "bridge.http-session-id")
async def test_a_client_whose_connection_the_owner_has_forgotten_is_told_to_begin_again() -> None:
    async with opened() as (door, owner):
        name = (await door.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        answer = await door.send(request("forget"), headers=header)
        assert answer.events[0]["error"]["data"]["reason"] == "unknown MCP connection"
        assert (await door.send(request("ping"), headers=header)).status == 404
        assert (await door.send(request("initialize"))).status == 200
        assert owner.connected == 2


@pytest.mark.requirement("bridge.http-get-stream")
async def test_server_messages_wait_for_a_stream_and_come_in_order() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        connection = owner.editor.connection
        for number in range(3):
            told = {"connectionId": "c1", "method": f"n{number}"}
            connection.notify("mcp/message", told)
        # Answered by nobody, but in order behind what was told.
        with pytest.raises(RpcError):
            await connection.request("mcp/message", {"connectionId": "none", "method": "x"})
        stream = await door.begin(method="GET")
        assert (await stream.head()).status_code == 200
        assert await stream.methods(3) == ["n0", "n1", "n2"]
        stream.writer.close()


@pytest.mark.requirement("bridge.http-get-stream")
async def test_a_client_that_listens_again_is_written_to_on_its_new_stream_only() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        first = await door.begin(method="GET")
        await first.head()
        second = await door.begin(method="GET")
        await second.head()
        told = {"connectionId": "c1", "method": "told"}
        owner.editor.connection.notify("mcp/message", told)
        assert await second.methods(1) == ["told"]
        assert await first.data() is None


@pytest.mark.requirement("bridge.message-server-to-client", "bridge.http-get-stream")
async def test_a_question_of_the_server_is_answered_by_a_post() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        stream = await door.begin(method="GET")
        await stream.head()
        asked = {"connectionId": "c1", "method": "elicitation/create", "params": {"message": "?"}}

        async def answer_it() -> None:
            (data,) = EventReader().feed(await stream.data() or b"")
            question = json.loads(data)
            assert question["params"] == {"message": "?"}
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
            assert (await door.send(answer)).status == 202

        work = owner.editor.connection.request("mcp/message", asked)
        assert (await together(work, answer_it()))[0] == {"action": "accept"}
        stream.writer.close()


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_without_a_get_a_question_comes_on_the_stream_of_a_call_under_way() -> None:
    async with opened() as (door, owner):
        owner.held["tools/call"] = asyncio.Event()
        call = await door.begin(request("tools/call", 1))
        await call.head()
        await owner.came("tools/call")
        asked = {"connectionId": "c1", "method": "roots/list"}

        async def answer_it() -> None:
            (data,) = EventReader().feed(await call.data() or b"")
            refusal = {"id": json.loads(data)["id"], "error": {"code": -1, "message": "no roots"}}
            await door.send(refusal)

        with pytest.raises(ExceptionGroup) as caught:
            await together(owner.editor.connection.request("mcp/message", asked), answer_it())
        assert caught.group_contains(RpcError, match="no roots")
        call.writer.close()


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_what_the_server_asks_and_then_tells_comes_in_that_order() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        stream = await door.begin(method="GET")
        await stream.head()
        connection = owner.editor.connection
        connection.post("mcp/message", {"connectionId": "c1", "method": "asked"})
        connection.notify("mcp/message", {"connectionId": "c1", "method": "told"})
        assert await stream.methods(2) == ["asked", "told"]


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_a_question_that_the_server_takes_back_is_cancelled_in_mcps_way() -> None:
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        stream = await door.begin(method="GET")
        await stream.head()
        connection = owner.editor.connection
        async with asyncio.TaskGroup() as tasks:
            asked = {"connectionId": "c1", "method": "first"}
            first = tasks.create_task(connection.request("mcp/message", asked))
            await asyncio.sleep(0)  # the task's first step, which writes the question
            connection.post("mcp/message", {"connectionId": "c1", "method": "second"})
            assert await stream.methods(2) == ["first", "second"]
            first.cancel()
            (data,) = EventReader().feed(await stream.data() or b"")
        cancelled = json.loads(data)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": 1}


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_what_the_server_says_right_behind_its_answer_to_the_connect_is_not_lost() -> None:
    async with opened() as (door, owner):
        connection = owner.editor.connection

        def say() -> None:
            connection.notify("mcp/message", {"connectionId": "c1", "method": "told"})
            connection.notify("mcp/message", {"connectionId": "c9", "method": "stray"})
            connection.post("mcp/message", {"connectionId": "c1", "method": "asked"})

        def connect(_: Request) -> dict[str, Any]:
            # The answer is written when this returns; what follows it, in the same turn.
            asyncio.get_running_loop().call_soon(say)
            return {"connectionId": "c1"}

        owner.editor.answers["mcp/connect"] = connect
        answer = await door.send(request("initialize"))
    assert [event.get("method") for event in answer.events] == ["told", "asked", None]


@pytest.mark.requirement("bridge.http-get-stream")
async def test_what_waits_for_a_stream_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_QUEUED", 1000)
    async with opened() as (door, owner):
        await door.send(request("initialize"))
        big = {"connectionId": "c1", "method": "n", "params": {"text": "x" * 900}}
        owner.editor.connection.notify("mcp/message", big)
        with pytest.raises(RpcError, match="does not read messages"):
            await owner.editor.connection.request("mcp/message", big)


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_a_cancellation_of_ours_stays_here_and_mcps_own_passes() -> None:
    async with opened() as (door, owner):
        owner.held["tools/call"] = asyncio.Event()
        call = await door.begin(request("tools/call", 41))
        await owner.came("tools/call")
        ours = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 41}}
        assert (await door.send(ours)).status == 202
        mcps = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 41}}
        assert (await door.send(mcps)).status == 202
        # The owner's work is stopped by the hop's own cancellation, and the call is over.
        assert (await call.whole()).events == []
        assert [params["method"] for params in owner.told] == ["notifications/cancelled"]


@pytest.mark.requirement("bridge.rewrite-same-endpoint")
async def test_one_client_is_one_connection_however_often_the_session_is_set_up() -> None:
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"http": True}}
    for method in ("session/load", "session/resume"):
        agent.requests[method] = lambda _: {}
    async with chain_of("pass", agent=agent) as editor:
        owner = Owner(editor)
        await editor.new_session(servers=[SERVER])
        async with open_server(agent.received.items[-1].params["mcpServers"][0]) as server:
            for method in ("session/load", "session/resume"):
                params = {"sessionId": "session-1", "cwd": "/", "mcpServers": [SERVER]}
                await editor.connection.request(method, params)
            await server.wire.request("ping")
        assert owner.connected == 1
        await editor.asked.until(lambda _: owner.ended == ["c1"])


# -- who is kept out


@pytest.mark.requirement("bridge.security-token")
@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer {token:.42}"],
)
async def test_without_the_token_nothing_reaches_a_mod(given: str) -> None:
    async with opened() as (door, owner):
        token = door.headers["Authorization"].removeprefix("Bearer ")
        header = {"Authorization": given.format(token=token)}
        answer = await door.send(request("initialize"), headers=header)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert owner.connected == 0
        assert (await door.send(request("initialize"))).status == 200


@pytest.mark.requirement("bridge.security-path")
async def test_any_other_path_is_not_found_and_the_path_is_random() -> None:
    async with opened() as (door, _), opened() as (other, _):
        assert door.path != other.path
        assert len(door.path) > 20
        # An agent that is out there appends this to a URL that does not end with it.
        assert door.path.endswith("/mcp")
        for path in ("/", "/mcp", "/mcp/", door.path + "x", door.path[:-1], other.path):
            assert (await door.send(request("ping"), path=path)).status == 404


@pytest.mark.requirement("bridge.security-origin")
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.invalid", 403),
        ("http://127.0.0.1", 403),
        ("http://localhost:3000", 403),
        ("null", 200),
    ],
)
async def test_a_page_in_a_browser_is_refused(origin: str, status: int) -> None:
    async with opened() as (door, owner):
        answer = await door.send(request("ping"), headers={"Origin": origin})
        assert answer.status == status
        assert owner.connected == (status == 200)


@pytest.mark.requirement("bridge.security-host")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.invalid", 403),
        ("127.0.0.1.evil.invalid", 403),
        ("127.0.0.1:x", 403),
        ("127.0.0.1:", 403),
        ("127.0.0.1:0", 403),
        ("127.0.0.1:065", 403),
        ("127.0.0.1:65536", 403),
        ("127.0.0.1:99999999999", 403),
        ("[::1]:80", 403),
        ("localhost:1", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1", 200),
    ],
)
async def test_a_name_that_leads_here_by_trickery_is_refused(host: str, status: int) -> None:
    async with opened() as (door, _):
        assert (await door.send(request("ping"), headers={"Host": host})).status == status


@pytest.mark.requirement("bridge.security-origin")
@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization"])
async def test_a_header_that_decides_and_comes_twice_is_refused(name: str) -> None:
    async with opened() as (door, owner):
        given = {"Host": "localhost", "Origin": "null", **door.headers}
        headers = [*given.items(), (name, given[name])]
        reader, writer = await door.knock()
        lines = [f"POST {door.path} HTTP/1.0", *(f"{each}: {value}" for each, value in headers)]
        writer.write("\r\n".join([*lines, "Content-Length: 0", "", ""]).encode())

        assert (await reader.readline()).split()[1] in {b"400", b"403"}
        assert owner.connected == 0


@pytest.mark.requirement("bridge.security-body-cap")
async def test_a_body_over_the_cap_is_refused_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_BODY", 1000)
    async with opened() as (door, owner):
        reader, writer = await door.knock()
        head = f"POST {door.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**12}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in door.headers.items())
        writer.write(head.encode() + b"\r\n" + b"x" * 5000)
        async with asyncio.timeout(PATIENCE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413")
        assert owner.connected == 0


@pytest.mark.requirement("bridge.security-body-cap")
async def test_an_endless_head_is_refused() -> None:
    async with opened() as (door, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"POST / HTTP/1.1\r\n" + b"X-Long: " + b"x" * 100_000)
        async with asyncio.timeout(PATIENCE):
            assert (await reader.readline()).startswith(b"HTTP/1.1 431")
        writer.close()
        assert (await door.send(request("ping"))).status == 200


@pytest.mark.requirement("bridge.security-loopback")
async def test_the_port_is_open_on_this_machines_own_address_only() -> None:
    async with opened() as (door, _):
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("127.0.0.2", door.port)
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("::1", door.port)


@pytest.mark.requirement("bridge.http-details")
async def test_methods_that_mcp_has_not_are_not_allowed() -> None:
    async with opened() as (door, _):
        answer = await door.send(method="PUT")
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the endpoint has closed a connection."""
    with suppress(ConnectionResetError):
        async with asyncio.timeout(PATIENCE):
            assert await reader.read() == b""


@pytest.mark.requirement("bridge.http-details", "bridge.idle-strangers")
async def test_more_connections_than_an_agent_needs_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_CONNECTIONS", 2)
    async with opened() as (door, _):
        kept = [await door.begin(request("one")) for _ in range(2)]
        for each in kept:
            assert (await each.whole()).status == 200
        reader, _ = await door.knock()
        await closed(reader)
        for each in kept:
            each.writer.close()


@pytest.mark.requirement("bridge.idle-strangers")
async def test_connections_without_the_token_keep_no_agent_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "IDLE_UNPROVEN", 600.0)
    async with opened() as (door, _):
        agent = await door.begin(request("one"))
        assert (await agent.whole()).status == 200
        idle = [await door.knock() for _ in range(70)]

        assert (await door.send(request("ping"))).status == 200
        for reader, _ in idle[: 70 - http_endpoint.MAX_UNPROVEN]:
            await closed(reader)
        refused = await door.begin(request("ping"), headers={"Authorization": "Bearer x"})
        assert (await refused.whole()).status == 401
        agent.http.start_next_cycle()
        body = json.dumps(request("two")).encode()
        head = [("Host", "localhost"), ("Content-Length", str(len(body))), *door.headers.items()]
        for part in (
            h11.Request(method="POST", target=door.path, headers=head),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            agent.writer.write(agent.http.send(part) or b"")
        assert (await agent.whole()).events[0]["result"]["method"] == "two"
        for exchange in (agent, refused):
            exchange.writer.close()


# -- broken bytes


def broken(seed: int, door: Door) -> bytes:
    """Something between noise and a request."""
    chance = random.Random(seed)  # noqa: S311 - to be the same in each run
    whole = f"POST {door.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n".encode()
    whole += "".join(f"{name}: {value}\r\n" for name, value in door.headers.items()).encode()
    whole += b'\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}'
    match seed % 4:
        case 0:
            return chance.randbytes(chance.randrange(400))
        case 1:
            return whole[: chance.randrange(len(whole))]
        case 2:
            mutated = bytearray(whole)
            for _ in range(chance.randrange(1, 20)):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
            return bytes(mutated)
        case _:
            at = chance.randrange(len(whole))
            return whole[:at] + chance.randbytes(30) + whole[at:]


@pytest.mark.requirement("bridge.http-post-malformed")
async def test_broken_bytes_neither_end_nor_hang_an_endpoint() -> None:
    async def throw(seeds: Sequence[int], door: Door) -> None:
        for seed in seeds:
            reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(broken(seed, door))
            with suppress(OSError):
                writer.write_eof()
                await reader.read()
            writer.close()

    async with opened() as (door, _):
        async with asyncio.timeout(45):
            await together(*(throw(range(first, 400, 8), door) for first in range(8)))
        answer = await door.send(request("ping"))
        assert answer.events[0]["result"]["method"] == "ping"
