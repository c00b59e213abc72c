"""MCP's streamable HTTP as a transport: each line sent is a POST.

One TCP connection for each POST: servers are near, calls are few. Nothing is resumed.
"""

import asyncio
import base64
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast
from urllib.parse import unquote_to_bytes, urlsplit

import h11
from msgspec import UNSET

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.messages import Message, decode, error_response
from peerwire.jsonrpc.transport import MAX_LINE, Listener
from peerwire.jsonrpc.values import decode_value, encode_value
from peerwire.mcp.session import NEWEST, McpError


class EventReader:
    """Puts events together from a stream's bytes, however they are cut."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    @property
    def size(self) -> int:
        """Bytes kept of an event that is not complete."""
        return sum(map(len, self._rest)) + sum(map(len, self._data))

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data of every event that these bytes complete; its lines joined by newlines."""
        # Joined once there is a line's end, or a line of megabytes would be copied with each piece.
        self._rest.append(data)
        if b"\n" not in data and b"\r" not in b"".join(self._rest[-2:]):
            return
        # All three line ends are allowed; after a carriage return a newline may be yet to come.
        text = b"".join(self._rest)
        cut = len(text) - text.endswith(b"\r")
        *lines, rest = text[:cut].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = [rest + text[cut:]]
        for line in lines:
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))


def event(data: bytes) -> bytes:
    """One message as an event; `data` is JSON on one line."""
    return b"event: message\ndata: %b\n\n" % data


_READ: Final = 64 * 1024
_ERRORS: Final = 400


class HttpTransport:
    """Lines to and from an MCP server at a URL; its POSTs run in the task group it is given.

    Args:
        url: `http:` or `https:`; a user and password in it are sent as basic authorization,
            unless the headers hold another, and appear in no error.
        headers: sent with every POST, as the declaration has them.
        tasks: owns the POSTs; must outlive this.

    Raises:
        McpError: the URL is invalid.
    """

    def __init__(
        self, url: str, headers: Iterable[tuple[str, str]], tasks: asyncio.TaskGroup
    ) -> None:
        self._place = _Place(url)
        # A key with an umlaut is wrong, but the server's to refuse.
        self._headers = [(name.encode(), value.encode()) for name, value in headers]
        is_authorized = any(name.lower() == b"authorization" for name, _ in self._headers)
        if self._place.credentials and not is_authorized:
            encoded = base64.b64encode(self._place.credentials)
            self._headers.append((b"Authorization", b"Basic " + encoded))
        self._tasks = tasks
        self._listener: Listener | None = None
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._posting: asyncio.Task[None] | None = None
        self._reading: set[asyncio.Task[None]] = set()
        self._session: str | None = None
        self._revision = ""
        self._is_closed = False

    @property
    def backlog(self) -> int:
        """Bytes that the server has not taken yet."""
        return self._size

    def start(self, listener: Listener) -> None:
        """Begin; nothing is opened before the first line is sent."""
        self._listener = listener
        self._go_on()

    def send(self, line: bytes) -> None:
        """POST one line, after those sent before it have been taken."""
        if not self._is_closed:
            self._waiting.append(line)
            self._size += len(line)
            self._go_on()

    def pause_reading(self) -> None:
        """Go on reading: an answer is awaited, and has its bound."""

    def resume_reading(self) -> None:
        """Do nothing: reading is never paused here."""

    async def drain(self) -> None:
        """Wait until the server has taken everything."""
        if self._posting is not None:
            await asyncio.wait([self._posting])

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Let what waits be sent for `grace` seconds, end the server's session, then stop."""
        self._is_closed = True
        try:
            async with asyncio.timeout(grace):
                await self.drain()
                if self._session is not None:
                    async with self._exchange(b"DELETE", b"") as exchange:
                        await exchange.begin()
        except (TimeoutError, OSError, h11.ProtocolError, McpError):
            pass  # the server ends the session by itself, sooner or later
        finally:
            for task in (self._posting, *self._reading):
                if task is not None:
                    task.cancel()

    def _go_on(self) -> None:
        if self._listener is not None and self._waiting and self._posting is None:
            self._posting = self._tasks.create_task(self._post_all(self._listener))

    async def _post_all(self, listener: Listener) -> None:
        try:
            while self._waiting:
                line = self._waiting.popleft()
                taken = asyncio.Event()
                task = self._tasks.create_task(self._post(line, listener, taken))
                self._reading.add(task)
                task.add_done_callback(self._reading.discard)
                task.add_done_callback(lambda _, taken=taken: taken.set())
                await taken.wait()
                self._size -= len(line)
        finally:
            self._posting = None

    async def _post(self, line: bytes, listener: Listener, taken: asyncio.Event) -> None:
        request_id = _request_id(line)
        try:
            async with self._exchange(b"POST", line) as exchange:
                if request_id is not None:
                    # A request may take long; what comes after it need not wait for its answer.
                    taken.set()
                await exchange.begin()
                self._session = exchange.header("mcp-session-id") or self._session
                is_answered = await self._read(exchange, listener, request_id)
            reason = "ended its answer before it was complete"
        except (OSError, h11.ProtocolError, McpError) as error:
            is_answered = False
            reason = str(error) or type(error).__name__
        if request_id is not None and not is_answered:
            listener.lines_received([_failure(request_id, f"{self._place.shown}: {reason}")])

    async def _read(
        self, exchange: "_Exchange", listener: Listener, request_id: bytes | None
    ) -> bool:
        """Pass on what an answer holds; whether the response to the request is in it."""
        is_answered = False
        async for line in _lines(exchange):
            message = decode(line)
            if isinstance(message, Message) and bytes(message.id or b"") == request_id:
                is_answered = True
                self._revision = self._revision or _revision(message)
            listener.lines_received([line])
        return is_answered

    @asynccontextmanager
    async def _exchange(self, method: bytes, body: bytes) -> AsyncGenerator["_Exchange", None]:
        """One request, sent, and the head of its response."""
        reader, writer = await self._place.connect()
        try:
            http = h11.Connection(h11.CLIENT)
            request = h11.Request(
                method=method, target=self._place.target, headers=self._headers_for(body)
            )
            writer.write(http.send(request) or b"")
            writer.write(http.send(h11.Data(body)) or b"" if body else b"")
            writer.write(http.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            yield _Exchange(http, reader)
        finally:
            writer.close()

    def _headers_for(self, body: bytes) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"Host", self._place.host.encode()),
            (b"Connection", b"close"),
            (b"Content-Length", b"%d" % len(body)),
            (b"Content-Type", b"application/json"),
            (b"Accept", b"application/json, text/event-stream"),
            *self._headers,
        ]
        if self._session is not None:
            session = self._session.encode("latin-1")
            headers.append((b"Mcp-Session-Id", session))
        if self._revision:
            headers.append((b"MCP-Protocol-Version", self._revision.encode()))
        return headers


class _Place:
    """Address of a server."""

    def __init__(self, url: str) -> None:
        self.shown = _shown(url)
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            # The reason can quote a part of the URL, such as a password taken for a port.
            raise McpError(f"`{self.shown}` is not a URL") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise McpError(f"`{self.shown}` is not an http or https URL")
        user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
        self.credentials = unquote_to_bytes(user) + colon.encode() + unquote_to_bytes(password)
        self._is_secure = parts.scheme == "https"
        self._name = parts.hostname
        self._port = port or (443 if self._is_secure else 80)
        self.host = parts.netloc.rpartition("@")[2]
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        secure = ssl.create_default_context() if self._is_secure else None
        return await asyncio.open_connection(self._name, self._port, ssl=secure)


def _shown(url: str) -> str:
    """A URL as errors show it: without its query, and without a user and password."""
    try:
        name = urlsplit(url).netloc.rpartition("@")[0]
        is_parsed = urlsplit(url).port is None or bool(name) or "@" not in url
    except ValueError:
        name, is_parsed = "", False
    if "://" not in url:
        return url.rpartition("@")[2].partition("?")[0]
    scheme, slashes, rest = url.partition("://")
    # In what cannot be parsed, anything before the last `@` can be a password.
    rest = rest[len(name) :].removeprefix("@") if is_parsed else rest.rpartition("@")[2]
    return f"{scheme}{slashes}{rest}".partition("?")[0]


class _Exchange:
    """The response to one request, as it arrives."""

    def __init__(self, http: h11.Connection, reader: asyncio.StreamReader) -> None:
        self._http = http
        self._reader = reader
        self.status = 0
        self._headers: dict[bytes, bytes] = {}

    def header(self, name: str) -> str:
        return self._headers.get(name.encode(), b"").decode("latin-1")

    async def begin(self) -> None:
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                self.status = event.status_code
                self._headers = dict(event.headers)
                return
            if not isinstance(event, h11.InformationalResponse):
                raise McpError("closed the connection without an answer")

    async def body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ))
        return event


async def _lines(exchange: _Exchange) -> AsyncIterator[bytes]:
    if exchange.header("content-type").startswith("text/event-stream"):
        events = EventReader()
        async for data in exchange.body():
            for line in events.feed(data):
                yield line
            if events.size > MAX_LINE:
                raise McpError(f"an event of more than {MAX_LINE} bytes")
        return
    body = b""
    async for data in exchange.body():
        body += data
        if len(body) > MAX_LINE:
            raise McpError(f"an answer of more than {MAX_LINE} bytes")
    body = body.replace(b"\n", b" ").strip()
    if body.startswith((b"{", b"[")):
        yield body
    if exchange.status >= _ERRORS:
        shown = body[:200].decode(errors="replace")
        raise McpError(f"answered HTTP {exchange.status}: {shown}")


def _request_id(line: bytes) -> bytes | None:
    message = decode(line)
    if isinstance(message, Message) and message.id is not UNSET and message.method is not UNSET:
        return bytes(message.id)
    return None


def _revision(response: Message) -> str:
    """The revision of MCP that the answer to `initialize`, which is the first, agrees to."""
    result = None if response.result is UNSET else decode_value(response.result)
    members = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    agreed = members.get("protocolVersion")
    return agreed if isinstance(agreed, str) else NEWEST


def _failure(request_id: bytes, reason: str) -> bytes:
    error = RpcError(INTERNAL_ERROR, {"reason": reason}, message=reason)
    return error_response(request_id, encode_value(error.body()))
