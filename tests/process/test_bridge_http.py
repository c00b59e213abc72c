"""HTTP side of the bridge over real sockets: guarantees for clients, and refused callers."""

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
TIMEOUT = 45.0


@dataclass
class Answer:
    """One HTTP response, read completely."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def events(self) -> list[Any]:
        return [json.loads(data) for data in EventReader().feed(self.body)]


@dataclass
class Exchange:
    """One HTTP request and its response, on a separate connection."""

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
        """Return the methods of the first events of a stream."""
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
        async with asyncio.timeout(TIMEOUT):
            while (found := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(await self.reader.read(65536))
        return found


@dataclass
class Endpoint:
    """Endpoint as its agent knows it."""

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

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a bare connection; it is closed with the chain."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer

    async def begin(
        self, body: object = b"", *, method: str = "POST", path: str = "", headers: Any = ()
    ) -> Exchange:
        reader, writer = await self.connect()
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
    """Editor as the owner of a server; a test sets its answers and when it sends them."""

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
        """Methods of the received MCP requests."""
        came = [each.params for each in self.editor.asked.items if each.method == "mcp/message"]
        return [params["method"] for params in came]

    @property
    def notifications(self) -> list[Any]:
        return [
            params for method, params in self.editor.notifications.items if method == "mcp/message"
        ]

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
async def opened() -> AsyncGenerator[tuple[Endpoint, Owner], None]:
    """Open an endpoint of a server that the editor owns."""
    agent = FakeAgent()
    agent.capabilities = {"mcpCapabilities": {"http": True}}
    agent.requests["session/close"] = lambda _: {}
    async with chain_of("pass", agent=agent) as editor:
        owner = Owner(editor)
        await editor.new_session(servers=[SERVER])
        endpoint = Endpoint.of(agent.received.items[-1].params["mcpServers"][0])
        try:
            yield endpoint, owner
        finally:
            for writer in endpoint.writers:
                writer.close()


def request(method: str, request_id: Any = 1, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


async def together(*work: Any) -> list[Any]:
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(one) for one in work]
    return [task.result() for task in started]


# -- POST


@pytest.mark.requirement("bridge.http-post-request")
async def test_request_is_answered_by_one_event() -> None:
    async with opened() as (endpoint, _):
        sent = b'{"jsonrpc":"2.0","id":"seven","method":"tools/list",\n "params":{"a":[1,2.50]}}'
        answer = await endpoint.send(sent)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream"
    result = {"method": "tools/list", "params": {"a": [1, 2.5]}}
    assert answer.events == [{"jsonrpc": "2.0", "id": "seven", "result": result}]
    assert b"2.50" in answer.body


@pytest.mark.requirement("bridge.http-details")
async def test_client_that_accepts_no_events_gets_json() -> None:
    async with opened() as (endpoint, _):
        answer = await endpoint.send(request("ping"), headers={"Accept": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["result"]["method"] == "ping"


@pytest.mark.requirement("bridge.message-error", "bridge.http-post-request")
async def test_error_of_the_server_has_code_message_and_data() -> None:
    async with opened() as (endpoint, _):
        answer = await endpoint.send(request("refuse"))
    error = {"code": INVALID_PARAMS, "message": "No.", "data": {"a": 1}}
    assert answer.events == [{"jsonrpc": "2.0", "id": 1, "error": error}]


@pytest.mark.requirement("bridge.http-post-request", "bridge.http-batch-grouped")
async def test_batch_is_answered_by_one_event_with_all_responses() -> None:
    batch = [
        request("a", 1),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        request("refuse", 2),
        request("c", 1),
    ]
    async with opened() as (endpoint, owner):
        answer = await endpoint.send(batch)
        assert owner.asked == ["a", "refuse", "c"]
    (event,) = answer.events
    assert [(part["id"], "error" in part) for part in event] == [(1, False), (2, True), (1, False)]


@pytest.mark.requirement("bridge.http-own-notifications")
async def test_notification_for_the_hop_itself_is_not_forwarded() -> None:
    async with opened() as (endpoint, owner):
        for method in ("$/cancel_request", "notifications/x"):
            await endpoint.send({"jsonrpc": "2.0", "method": method, "params": {"id": 1}})
        await owner.editor.notifications.until(lambda _: bool(owner.notifications))

        assert [params["method"] for params in owner.notifications] == ["notifications/x"]


@pytest.mark.requirement("bridge.http-post-notification")
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        [{"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}],
    ],
)
async def test_messages_without_a_response_are_accepted_with_202(message: Any) -> None:
    async with opened() as (endpoint, _):
        answer = await endpoint.send(message)
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.requirement("bridge.http-post-malformed", "bridge.http-null-ids-serialized")
@pytest.mark.parametrize(
    "malformed", [b"{", b"[1]", b'"x"', b"[]", b"\xff\xfe", b'{"jsonrpc":"2.0"}']
)
async def test_malformed_post_gets_its_own_error_and_no_response_of_another(
    malformed: bytes,
) -> None:
    async with opened() as (endpoint, owner):
        owner.held["slow"] = asyncio.Event()
        waiting = await endpoint.begin(request("slow", None))
        await owner.came("slow")
        answer = await endpoint.send(malformed)
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
async def test_malformed_response_is_ignored(message: Any) -> None:
    async with opened() as (endpoint, owner):
        answer = await endpoint.send(message)
        assert answer.status == 202
        assert owner.connected == 0


@pytest.mark.requirement("bridge.http-post-mixed-malformed")
async def test_batch_of_a_scalar_and_a_malformed_response_gets_one_error() -> None:
    async with opened() as (endpoint, _):
        answer = await endpoint.send([7, {"id": 1, "result": {}, "error": {"code": 1}}])
    (event,) = answer.events
    assert [part["error"]["code"] for part in event] == [-32600]


@pytest.mark.requirement("bridge.http-null-ids-serialized")
@pytest.mark.parametrize("request_id", [None, 1, "same"])
async def test_posts_with_one_id_each_get_their_own_response(request_id: Any) -> None:
    async with opened() as (endpoint, owner):
        owner.held["first"] = asyncio.Event()
        first = await endpoint.begin(request("first", request_id))
        await owner.came("first")
        second = await endpoint.send(request("second", request_id))
        assert second.events[0]["result"]["method"] == "second"
        owner.held["first"].set()
        assert (await first.whole()).events[0]["result"]["method"] == "first"


@pytest.mark.requirement("bridge.http-batches-serialized")
async def test_batches_without_usable_ids_each_get_their_own_responses() -> None:
    async with opened() as (endpoint, _):
        bodies = [[request(f"m{number}-{part}", None) for part in "ab"] for number in range(8)]
        answers = await together(*(endpoint.send(body) for body in bodies))
    for number, answer in enumerate(answers):
        (event,) = answer.events
        assert [part["result"]["method"] for part in event] == [f"m{number}-a", f"m{number}-b"]


@pytest.mark.requirement("bridge.http-late-response")
async def test_response_to_a_disconnected_caller_is_dropped() -> None:
    async with opened() as (endpoint, owner):
        owner.held["abandoned"] = asyncio.Event()
        left = await endpoint.begin(request("abandoned", 5))
        await owner.came("abandoned")
        left.writer.transport.abort()
        owner.held["again"] = asyncio.Event()
        again = await endpoint.begin(request("again", 5))
        await owner.came("again")
        owner.held["abandoned"].set()
        owner.held["again"].set()
        answer = await again.whole()
    assert [event["result"]["method"] for event in answer.events] == ["again"]


@pytest.mark.requirement("bridge.message-params")
async def test_positional_params_are_refused_by_the_endpoint() -> None:
    async with opened() as (endpoint, owner):
        answer = await endpoint.send(request("x", 1, [1]))
        assert answer.events[0]["error"]["code"] == INVALID_PARAMS
        assert owner.asked == []


@pytest.mark.requirement("bridge.http-details")
async def test_connection_handles_several_requests_in_sequence() -> None:
    async with opened() as (endpoint, _):
        exchange = await endpoint.begin(request("one"))
        assert (await exchange.whole()).events[0]["result"]["method"] == "one"
        exchange.http.start_next_cycle()
        body = json.dumps(request("two")).encode()
        head = [
            ("Host", "localhost"),
            ("Content-Length", str(len(body))),
            *endpoint.headers.items(),
        ]
        for part in (
            h11.Request(method="POST", target=endpoint.path, headers=head),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            exchange.writer.write(exchange.http.send(part) or b"")
        assert (await exchange.whole()).events[0]["result"]["method"] == "two"
        exchange.writer.close()


# -- sessions and streams


@pytest.mark.requirement("bridge.http-session-id", "bridge.connect-several")
async def test_each_client_that_initializes_has_its_own_connection() -> None:
    async with opened() as (endpoint, owner):
        first, second = [await endpoint.send(request("initialize")) for _ in range(2)]
        names = [answer.headers["mcp-session-id"] for answer in (first, second)]
        assert names[0] != names[1]
        assert owner.connected == 2
        for name in names:
            await endpoint.send(request("ping"), headers={"Mcp-Session-Id": name})
        asked = [each.params["connectionId"] for each in owner.editor.asked.items[-2:]]
        assert asked == ["c1", "c2"]


@pytest.mark.requirement("bridge.http-session-id")
async def test_client_without_client_info_is_served() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("tools/list"))
        await endpoint.send(request("ping"))
        assert owner.connected == 1
        assert "mcp-session-id" not in (await endpoint.send(request("ping"))).headers


@pytest.mark.requirement("bridge.http-session-id", "bridge.life-agent-closes")
async def test_client_that_deletes_its_session_is_disconnected_and_unknown() -> None:
    async with opened() as (endpoint, owner):
        name = (await endpoint.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        assert (await endpoint.send(method="DELETE", headers=header)).status == 204
        assert owner.ended == ["c1"]
        for method in ("POST", "GET", "DELETE"):
            body = request("ping") if method == "POST" else b""
            assert (await endpoint.send(body, method=method, headers=header)).status == 404
        assert (await endpoint.send(method="DELETE")).status == 400


@pytest.mark.requirement("bridge.life-session-end", "bridge.life-agent-closes")
async def test_owners_get_disconnects_of_clients_when_the_last_session_ends() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        stream = await endpoint.begin(method="GET")
        await stream.head()
        await owner.editor.connection.request("session/close", {"sessionId": "session-1"})
        await owner.editor.asked.until(lambda _: owner.ended == ["c1"])
        with pytest.raises((h11.RemoteProtocolError, ConnectionResetError)):
            await stream.data()


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_cancel_of_an_id_used_by_two_calls_stops_neither() -> None:
    async with opened() as (endpoint, owner):
        for method in ("one", "other"):
            owner.held[method] = asyncio.Event()
        calls = [await endpoint.begin(request(method, 7)) for method in ("one", "other")]
        await together(owner.came("one"), owner.came("other"))
        params = {"requestId": 7}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        assert (await endpoint.send(cancelled)).status == 202
        for held in owner.held.values():
            held.set()
        answers = await together(*(call.whole() for call in calls))
    assert [answer.events[0]["result"]["method"] for answer in answers] == ["one", "other"]


@pytest.mark.requirement("bridge.http-session-id")
async def test_silent_clients_are_removed_idle_ones_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_CLIENTS", 2)
    async with opened() as (endpoint, owner):
        names = list[str]()
        for _ in range(2):
            names.append((await endpoint.send(request("initialize"))).headers["mcp-session-id"])
        listening = await endpoint.begin(method="GET", headers={"Mcp-Session-Id": names[0]})
        await listening.head()
        await endpoint.send(request("initialize"))
        await owner.editor.asked.until(lambda _: owner.ended == ["c2"])
        for name, status in zip(names, (200, 404), strict=True):
            answer = await endpoint.send(request("ping"), headers={"Mcp-Session-Id": name})
            assert answer.status == status


@pytest.mark.requirement("bridge.life-owner-dies", "bridge.disconnect")
async def test_streams_end_when_the_owner_disconnects() -> None:
    async with opened() as (endpoint, owner):
        name = (await endpoint.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        stream = await endpoint.begin(method="GET", headers=header)
        assert (await stream.head()).status_code == 200
        await owner.editor.connection.request("mcp/disconnect", {"connectionId": "c1"})
        with pytest.raises(h11.RemoteProtocolError):
            await stream.data()
        assert (await endpoint.send(request("ping"), headers=header)).status == 404


@pytest.mark.requirement("bridge.unknown-connection", "bridge.http-session-id")
async def test_client_of_an_unknown_connection_gets_404() -> None:
    async with opened() as (endpoint, owner):
        name = (await endpoint.send(request("initialize"))).headers["mcp-session-id"]
        header = {"Mcp-Session-Id": name}
        answer = await endpoint.send(request("forget"), headers=header)
        assert answer.events[0]["error"]["data"]["reason"] == "unknown MCP connection"
        assert (await endpoint.send(request("ping"), headers=header)).status == 404
        assert (await endpoint.send(request("initialize"))).status == 200
        assert owner.connected == 2
        del owner.editor.answers["mcp/connect"]
        name = (await endpoint.send(request("initialize"))).headers["mcp-session-id"]
        unconnected = await endpoint.begin(method="GET", headers={"Mcp-Session-Id": name})
        assert (await unconnected.head()).status_code == 404


@pytest.mark.requirement("bridge.http-get-stream")
async def test_server_messages_wait_for_a_stream_and_arrive_in_order() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        connection = owner.editor.connection
        for number in range(3):
            notifications = {"connectionId": "c1", "method": f"n{number}"}
            connection.notify("mcp/message", notifications)
        # No handler answers it, but it arrives after earlier notifications.
        with pytest.raises(RpcError):
            await connection.request("mcp/message", {"connectionId": "none", "method": "x"})
        stream = await endpoint.begin(method="GET")
        assert (await stream.head()).status_code == 200
        assert await stream.methods(3) == ["n0", "n1", "n2"]
        stream.writer.close()


@pytest.mark.requirement("bridge.http-get-stream")
async def test_new_stream_of_a_client_replaces_the_old_one() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        first = await endpoint.begin(method="GET")
        await first.head()
        second = await endpoint.begin(method="GET")
        await second.head()
        notifications = {"connectionId": "c1", "method": "notifications"}
        owner.editor.connection.notify("mcp/message", notifications)
        assert await second.methods(1) == ["notifications"]
        assert await first.data() is None


@pytest.mark.requirement("bridge.message-server-to-client", "bridge.http-get-stream")
async def test_request_of_the_server_is_answered_by_a_post() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        stream = await endpoint.begin(method="GET")
        await stream.head()
        asked = {"connectionId": "c1", "method": "elicitation/create", "params": {"message": "?"}}

        async def answer_it() -> None:
            (data,) = EventReader().feed(await stream.data() or b"")
            question = json.loads(data)
            assert question["params"] == {"message": "?"}
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
            assert (await endpoint.send(answer)).status == 202

        work = owner.editor.connection.request("mcp/message", asked)
        assert (await together(work, answer_it()))[0] == {"action": "accept"}
        stream.writer.close()


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_request_of_the_server_uses_the_stream_of_a_running_call_without_a_get() -> None:
    async with opened() as (endpoint, owner):
        owner.held["tools/call"] = asyncio.Event()
        call = await endpoint.begin(request("tools/call", 1))
        await call.head()
        await owner.came("tools/call")
        asked = {"connectionId": "c1", "method": "roots/list"}

        async def answer_it() -> None:
            (data,) = EventReader().feed(await call.data() or b"")
            refusal = {"id": json.loads(data)["id"], "error": {"code": -1, "message": "no roots"}}
            await endpoint.send(refusal)

        with pytest.raises(ExceptionGroup) as caught:
            await together(owner.editor.connection.request("mcp/message", asked), answer_it())
        assert caught.group_contains(RpcError, match="no roots")
        call.writer.close()


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_request_and_later_notification_of_the_server_arrive_in_order() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        stream = await endpoint.begin(method="GET")
        await stream.head()
        connection = owner.editor.connection
        connection.post("mcp/message", {"connectionId": "c1", "method": "asked"})
        connection.notify("mcp/message", {"connectionId": "c1", "method": "notifications"})
        assert await stream.methods(2) == ["asked", "notifications"]


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_request_canceled_by_the_server_is_canceled_by_mcp() -> None:
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        stream = await endpoint.begin(method="GET")
        await stream.head()
        connection = owner.editor.connection
        async with asyncio.TaskGroup() as tasks:
            asked = {"connectionId": "c1", "method": "first"}
            first = tasks.create_task(connection.request("mcp/message", asked))
            await asyncio.sleep(0)  # the task's first step, which writes the request
            connection.post("mcp/message", {"connectionId": "c1", "method": "second"})
            assert await stream.methods(2) == ["first", "second"]
            first.cancel()
            (data,) = EventReader().feed(await stream.data() or b"")
        cancelled = json.loads(data)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"] == {"requestId": 1}


@pytest.mark.requirement("bridge.message-server-to-client")
async def test_message_right_after_the_connect_response_is_not_lost() -> None:
    async with opened() as (endpoint, owner):
        connection = owner.editor.connection

        def say() -> None:
            connection.notify("mcp/message", {"connectionId": "c1", "method": "notifications"})
            connection.notify("mcp/message", {"connectionId": "c9", "method": "stray"})
            connection.post("mcp/message", {"connectionId": "c1", "method": "asked"})

        def connect(_: Request) -> dict[str, Any]:
            # The response is written when this returns; the message follows in the same turn.
            asyncio.get_running_loop().call_soon(say)
            return {"connectionId": "c1"}

        owner.editor.answers["mcp/connect"] = connect
        answer = await endpoint.send(request("initialize"))
    assert [event.get("method") for event in answer.events] == ["notifications", "asked", None]


@pytest.mark.requirement("bridge.http-get-stream")
async def test_messages_that_wait_for_a_stream_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_QUEUED", 1000)
    async with opened() as (endpoint, owner):
        await endpoint.send(request("initialize"))
        big = {"connectionId": "c1", "method": "n", "params": {"text": "x" * 900}}
        owner.editor.connection.notify("mcp/message", big)
        with pytest.raises(RpcError, match="does not read messages"):
            await owner.editor.connection.request("mcp/message", big)


@pytest.mark.requirement("bridge.cancel-not-tunnelled")
async def test_cancel_of_the_hop_stays_here_and_that_of_mcp_passes() -> None:
    async with opened() as (endpoint, owner):
        owner.held["tools/call"] = asyncio.Event()
        call = await endpoint.begin(request("tools/call", 41))
        await owner.came("tools/call")
        ours = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 41}}
        assert (await endpoint.send(ours)).status == 202
        mcps = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 41}}
        assert (await endpoint.send(mcps)).status == 202
        # The cancel of the hop stops the owner's work, and the call is over.
        assert (await call.whole()).events == []
        assert [params["method"] for params in owner.notifications] == ["notifications/cancelled"]


@pytest.mark.requirement("bridge.rewrite-same-endpoint")
async def test_client_has_one_connection_for_repeated_setup_requests() -> None:
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


# -- refused callers


@pytest.mark.requirement("bridge.security-token")
@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer {token:.42}"],
)
async def test_request_without_the_token_does_not_reach_a_mod(given: str) -> None:
    async with opened() as (endpoint, owner):
        token = endpoint.headers["Authorization"].removeprefix("Bearer ")
        header = {"Authorization": given.format(token=token)}
        answer = await endpoint.send(request("initialize"), headers=header)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert owner.connected == 0
        assert (await endpoint.send(request("initialize"))).status == 200


@pytest.mark.requirement("bridge.security-path")
async def test_other_paths_are_not_found_and_the_path_is_random() -> None:
    async with opened() as (endpoint, _), opened() as (other, _):
        assert endpoint.path != other.path
        assert len(endpoint.path) > 20
        # A known agent appends this to a URL that does not end with it.
        assert endpoint.path.endswith("/mcp")
        for path in ("/", "/mcp", "/mcp/", endpoint.path + "x", endpoint.path[:-1], other.path):
            assert (await endpoint.send(request("ping"), path=path)).status == 404


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
async def test_request_of_a_web_page_is_refused(origin: str, status: int) -> None:
    async with opened() as (endpoint, owner):
        answer = await endpoint.send(request("ping"), headers={"Origin": origin})
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
async def test_rebound_host_name_is_refused(host: str, status: int) -> None:
    async with opened() as (endpoint, _):
        assert (await endpoint.send(request("ping"), headers={"Host": host})).status == status


@pytest.mark.requirement("bridge.security-origin")
@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization"])
async def test_duplicate_security_header_is_refused(name: str) -> None:
    async with opened() as (endpoint, owner):
        given = {"Host": "localhost", "Origin": "null", **endpoint.headers}
        headers = [*given.items(), (name, given[name])]
        reader, writer = await endpoint.connect()
        lines = [f"POST {endpoint.path} HTTP/1.0", *(f"{each}: {value}" for each, value in headers)]
        writer.write("\r\n".join([*lines, "Content-Length: 0", "", ""]).encode())

        assert (await reader.readline()).split()[1] in {b"400", b"403"}
        assert owner.connected == 0


@pytest.mark.requirement("bridge.security-body-cap")
async def test_body_over_the_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_BODY", 1000)
    async with opened() as (endpoint, owner):
        reader, writer = await endpoint.connect()
        head = f"POST {endpoint.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**12}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in endpoint.headers.items())
        writer.write(head.encode() + b"\r\n" + b"x" * 5000)
        async with asyncio.timeout(TIMEOUT):
            assert (await reader.readline()).startswith(b"HTTP/1.1 413")
        assert owner.connected == 0


@pytest.mark.requirement("bridge.security-body-cap")
async def test_endless_head_is_refused() -> None:
    async with opened() as (endpoint, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        writer.write(b"POST / HTTP/1.1\r\n" + b"X-Long: " + b"x" * 100_000)
        async with asyncio.timeout(TIMEOUT):
            assert (await reader.readline()).startswith(b"HTTP/1.1 431")
        writer.close()
        assert (await endpoint.send(request("ping"))).status == 200


@pytest.mark.requirement("bridge.security-loopback")
async def test_port_is_open_on_the_loopback_address_only() -> None:
    async with opened() as (endpoint, _):
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("127.0.0.2", endpoint.port)
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection("::1", endpoint.port)


@pytest.mark.requirement("bridge.http-details")
async def test_methods_that_mcp_does_not_use_are_not_allowed() -> None:
    async with opened() as (endpoint, _):
        answer = await endpoint.send(method="PUT")
        assert (answer.status, answer.headers["allow"]) == (405, "POST, GET, DELETE")


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the endpoint has closed a connection."""
    with suppress(ConnectionResetError):
        async with asyncio.timeout(TIMEOUT):
            assert await reader.read() == b""


@pytest.mark.requirement("bridge.http-details", "bridge.idle-strangers")
async def test_more_connections_than_an_agent_needs_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "MAX_CONNECTIONS", 2)
    async with opened() as (endpoint, _):
        kept = [await endpoint.begin(request("one")) for _ in range(2)]
        for each in kept:
            assert (await each.whole()).status == 200
        reader, _ = await endpoint.connect()
        await closed(reader)
        for each in kept:
            each.writer.close()


@pytest.mark.requirement("bridge.idle-strangers")
async def test_connections_without_the_token_do_not_block_an_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_endpoint, "IDLE_UNPROVEN", 600.0)
    async with opened() as (endpoint, _):
        agent = await endpoint.begin(request("one"))
        assert (await agent.whole()).status == 200
        idle = [await endpoint.connect() for _ in range(70)]

        assert (await endpoint.send(request("ping"))).status == 200
        for reader, _ in idle[: 70 - http_endpoint.MAX_UNPROVEN]:
            await closed(reader)
        refused = await endpoint.begin(request("ping"), headers={"Authorization": "Bearer x"})
        assert (await refused.whole()).status == 401
        agent.http.start_next_cycle()
        body = json.dumps(request("two")).encode()
        head = [
            ("Host", "localhost"),
            ("Content-Length", str(len(body))),
            *endpoint.headers.items(),
        ]
        for part in (
            h11.Request(method="POST", target=endpoint.path, headers=head),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            agent.writer.write(agent.http.send(part) or b"")
        assert (await agent.whole()).events[0]["result"]["method"] == "two"
        for exchange in (agent, refused):
            exchange.writer.close()


# -- broken bytes


def broken(seed: int, endpoint: Endpoint) -> bytes:
    """Build something between noise and a request."""
    chance = random.Random(seed)  # noqa: S311 - the same in each run
    whole = f"POST {endpoint.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n".encode()
    whole += "".join(f"{name}: {value}\r\n" for name, value in endpoint.headers.items()).encode()
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
    async def throw(seeds: Sequence[int], endpoint: Endpoint) -> None:
        for seed in seeds:
            reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
            writer.write(broken(seed, endpoint))
            with suppress(OSError):
                writer.write_eof()
                await reader.read()
            writer.close()

    async with opened() as (endpoint, _):
        async with asyncio.timeout(45):
            await together(*(throw(range(first, 400, 8), endpoint) for first in range(8)))
        answer = await endpoint.send(request("ping"))
        assert answer.events[0]["result"]["method"] == "ping"
