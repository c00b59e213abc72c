"""Streamable HTTP of MCP as a transport: each sent line is a POST.

Each POST uses a new TCP connection: servers are near, and calls are few. Streams are not resumed.
"""

import asyncio
import base64
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, cast
from urllib.parse import unquote_to_bytes, urlsplit

import httpx2
from msgspec import UNSET

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.messages import Message, decode, error_body, error_response
from peerwire.jsonrpc.transport import MAX_LINE, Listener
from peerwire.jsonrpc.values import decode_value
from peerwire.mcp.session import NEWEST, McpError


class EventReader:
    """Parse server-sent events from pieces of a stream."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    @property
    def size(self) -> int:
        """Bytes buffered of an incomplete event, each line with its end."""
        return sum(map(len, self._rest)) + sum(map(len, self._data)) + len(self._data)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Return the data of all completed events; lines are joined by newlines."""
        # Join at the end of a line, or each piece would copy a line of megabytes.
        self._rest.append(data)
        if b"\n" not in data and b"\r" not in b"".join(self._rest[-2:]):
            return
        # All three line ends are allowed; after a carriage return a newline may follow.
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


_ERRORS: Final = 400
_FAILURES: Final = (OSError, httpx2.HTTPError, McpError)


class HttpTransport:
    """Lines to and from an MCP server at a URL.

    Args:
        url: `http:` or `https:`. User and password are sent as basic authorization, unless
            `headers` has one; errors never contain them.
        headers: headers of the declaration, for every POST.
        tasks: runs the POSTs; must outlive the transport.

    Raises:
        McpError: the URL is invalid.
    """

    def __init__(
        self, url: str, headers: Iterable[tuple[str, str]], tasks: asyncio.TaskGroup
    ) -> None:
        self._shown = _shown(url)
        self._url = _parsed(url, self._shown)
        credentials = unquote_to_bytes(self._url.userinfo)
        # An invalid key with an umlaut is left for the server to reject.
        self._headers = [(name.encode(), value.encode()) for name, value in headers]
        is_authorized = any(name.lower() == b"authorization" for name, _ in self._headers)
        if credentials and not is_authorized:
            encoded = base64.b64encode(credentials)
            self._headers.append((b"Authorization", b"Basic " + encoded))
        is_secure = self._url.scheme == "https"
        tls = ssl.create_default_context() if is_secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unlimited = httpx2.Limits(max_connections=None)
        self._http = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=unlimited)
        self._tasks = tasks
        self._listener: Listener | None = None
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._posting: asyncio.Task[None] | None = None
        self._reading: set[asyncio.Task[None]] = set()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._session: str | None = None
        self._revision = ""
        self._is_closed = False

    @property
    def backlog(self) -> int:
        """Sent bytes that the server has not received."""
        return self._size

    def start(self, listener: Listener) -> None:
        """Start; the first connection opens with the first line."""
        self._listener = listener
        self._start_posting()

    def send(self, line: bytes) -> None:
        """POST one line, after the server received the lines before it."""
        if not self._is_closed:
            self._waiting.append(line)
            self._size += len(line)
            self._start_posting()

    def pause_reading(self) -> None:
        """Deliver no more lines; the unread rest of each response stays with the server."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Deliver lines again after `pause_reading`."""
        self._may_read.set()

    async def drain(self) -> None:
        """Wait until the server received all lines."""
        if self._posting is not None:
            await asyncio.wait([self._posting])

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Send waiting lines for `grace` seconds, end the server's session, then stop."""
        self._is_closed = True
        try:
            async with asyncio.timeout(grace):
                await self.drain()
                if self._session is not None:
                    async with self._exchange("DELETE", b""):
                        pass
        except _FAILURES:
            pass  # the server ends the session by itself after a while
        finally:
            for task in (self._posting, *self._reading):
                if task is not None:
                    task.cancel()

    def _start_posting(self) -> None:
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
        # Do not wait for the response to a request before sending the next line.
        on_sent = None if request_id is None else taken.set
        try:
            async with self._exchange("POST", line, on_sent) as response:
                self._session = response.headers.get("mcp-session-id") or self._session
                is_answered = await self._read(response, listener, request_id)
            reason = "ended its answer before it was complete"
        except _FAILURES as error:
            is_answered = False
            reason = str(error) or type(error).__name__
        if request_id is not None and not is_answered:
            await self._deliver(_failure(request_id, f"{self._shown}: {reason}"), listener)

    async def _read(
        self, response: httpx2.Response, listener: Listener, request_id: bytes | None
    ) -> bool:
        """Forward the lines of a response; return whether the request was answered."""
        is_answered = False
        async for line in _lines(response):
            message = decode(line)
            if isinstance(message, Message) and bytes(message.id or b"") == request_id:
                is_answered = True
                self._revision = self._revision or _revision(message)
            await self._deliver(line, listener)
        return is_answered

    async def _deliver(self, line: bytes, listener: Listener) -> None:
        # Another response may have paused reading again before this one continues.
        while not self._may_read.is_set():
            await self._may_read.wait()
        listener.lines_received([line])

    @asynccontextmanager
    async def _exchange(
        self, method: str, body: bytes, on_sent: Callable[[], None] | None = None
    ) -> AsyncGenerator[httpx2.Response, None]:
        """Send one request; return the head of its response."""

        async def content() -> AsyncIterator[bytes]:
            yield body
            if on_sent is not None:
                on_sent()

        request = httpx2.Request(
            method, self._url, headers=self._headers_for(body), content=content()
        )
        async with aclosing(await self._http.handle_async_request(request)) as response:
            response.headers.encoding = "latin-1"  # its bytes are sent back unchanged
            yield response

    def _headers_for(self, body: bytes) -> list[tuple[bytes, bytes]]:
        headers = [
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


def _parsed(url: str, shown: str) -> httpx2.URL:
    try:
        urlsplit(url)  # unlike httpx2, it rejects an address without its closing bracket
        parsed = httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        # The reason can quote a part of the URL, such as a password taken for a port.
        raise McpError(f"`{shown}` is not a URL") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise McpError(f"`{shown}` is not an http or https URL")
    return parsed


def _shown(url: str) -> str:
    """URL for errors: without query, user, and password."""
    try:
        name = urlsplit(url).netloc.rpartition("@")[0]
        is_parsed = urlsplit(url).port is None or bool(name) or "@" not in url
    except ValueError:
        name, is_parsed = "", False
    if "://" not in url:
        return url.rpartition("@")[2].partition("?")[0]
    scheme, slashes, rest = url.partition("://")
    # In an invalid URL, any text before the last `@` can be a password.
    rest = rest[len(name) :].removeprefix("@") if is_parsed else rest.rpartition("@")[2]
    return f"{scheme}{slashes}{rest}".partition("?")[0]


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        events = EventReader()
        # Do not decompress: a small body could become a large one.
        async for data in response.aiter_raw():
            for line in events.feed(data):
                yield line
            if events.size > MAX_LINE:
                raise McpError(f"an event is larger than {MAX_LINE} bytes")
        return
    body = b""
    async for data in response.aiter_raw():
        body += data
        if len(body) > MAX_LINE:
            raise McpError(f"the response is larger than {MAX_LINE} bytes")
    body = body.replace(b"\n", b" ").strip()
    if body.startswith((b"{", b"[")):
        yield body
    if response.status_code >= _ERRORS:
        shown = body[:200].decode(errors="replace")
        raise McpError(f"answered HTTP {response.status_code}: {shown}")


def _request_id(line: bytes) -> bytes | None:
    message = decode(line)
    if isinstance(message, Message) and message.id is not UNSET and message.method is not UNSET:
        return bytes(message.id)
    return None


def _revision(response: Message) -> str:
    """Revision of MCP in the response to `initialize`, which is the first one."""
    result = None if response.result is UNSET else decode_value(response.result)
    members = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
    agreed = members.get("protocolVersion")
    return agreed if isinstance(agreed, str) else NEWEST


def _failure(request_id: bytes, reason: str) -> bytes:
    error = RpcError(INTERNAL_ERROR, {"reason": reason}, message=reason)
    return error_response(request_id, error_body(error))
