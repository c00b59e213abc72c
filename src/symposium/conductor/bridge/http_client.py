"""One MCP client that reaches a server by HTTP: its tunnel, and the streams to write to it on."""

import asyncio
from collections import deque
from typing import Any, Final
from uuid import uuid4

from msgspec import UNSET

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.values import decode_value, encode_value
from symposium.conductor.bridge.http_wire import HttpConversation
from symposium.conductor.bridge.in_flight import CANCELLED, InFlight, TakenBackError
from symposium.conductor.bridge.tunnel import Tunnel, Tunnels, unknown_connection

MAX_QUEUED: Final = 1024 * 1024
"""Bytes of server messages that wait for the client to open a stream."""


class HttpClient:
    """The agent's MCP client, as the owner of its server sees it.

    Attributes:
        session_id: what the client is told to call this by, in `Mcp-Session-Id`.
        is_open: until one side ends it.
    """

    def __init__(self, tunnels: Tunnels, server_id: str) -> None:
        self.session_id = uuid4().hex
        self.is_open = True
        self._tunnels = tunnels
        self._server_id = server_id
        self._tunnel: Tunnel | None = None
        self._opening = asyncio.Lock()
        self._in_flight = InFlight()
        self._get: HttpConversation | None = None
        self._posts: list[HttpConversation] = []
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._asked: dict[bytes, asyncio.Future[Message]] = {}
        self._last_id = 0

    @property
    def is_connected(self) -> bool:
        """Whether it has a tunnel that no side has ended."""
        return self._tunnel is not None and self.is_open

    @property
    def is_busy(self) -> bool:
        """Whether it has a stream open, or a connection to its server in the making."""
        return self._get is not None or bool(self._posts) or self._opening.locked()

    # -- from the agent

    async def ready(self) -> Tunnel:
        """Its tunnel, opened when first needed.

        Raises:
            RpcError: nobody owns the server, or this has ended.
        """
        async with self._opening:
            if self._tunnel is None and self.is_open:
                tunnel = await self._tunnels.open(self._server_id, self)
                if not self.is_open:
                    await tunnel.aclose()
                self._tunnel = tunnel
        if self._tunnel is None or not self.is_open:
            raise unknown_connection(self.session_id)
        return self._tunnel

    async def answer_to(self, request: Message, request_id: bytes) -> bytes | None:
        """The response to one MCP request, as a line; None once the client has taken it back."""
        try:
            tunnel = await self.ready()
            asked = tunnel.request(str(request.method), request.params)
            result = await self._in_flight.run(request_id, asked)
            return wire.result_response(request_id, encode_value(result))
        except TakenBackError:
            return None
        except RpcError as error:
            return wire.error_response(request_id, encode_value(error.body()))

    async def take(self, message: Message) -> None:
        """Take a notification, or the response to a request of the server."""
        if message.method is UNSET:
            waiting = self._asked.pop(wire.id_key(bytes(message.id or b"null")), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
            return
        # JSON-RPC's own way to take a request back names an id of this hop: it goes no further.
        if message.method.startswith("$/"):
            return
        tunnel = await self.ready()
        tunnel.notify(message.method, message.params)
        if message.method == CANCELLED and message.params is not UNSET:
            self._in_flight.cancel(decode_value(message.params))

    async def listen(self, conversation: HttpConversation) -> None:
        """Write server messages here, from those that wait on, until the client leaves."""
        before, self._get = self._get, conversation
        if before is not None:
            # Its reader has gone without a word, or it would not ask again.
            await before.end_events()
            before.close()
        queue, self._queue, self._queued = self._queue, deque(), 0
        for line in queue:
            self._write(line)
        try:
            await conversation.gone()
        finally:
            if self._get is conversation:
                self._get = None

    def post_begins(self, conversation: HttpConversation) -> None:
        """A POST has a stream open, on which server messages can be written too."""
        self._posts.append(conversation)

    def post_ends(self, conversation: HttpConversation) -> None:
        """It will be complete next."""
        if conversation in self._posts:
            self._posts.remove(conversation)

    async def aclose(self) -> None:
        """The client has gone, or its endpoint closes: the owner is told."""
        self.close()
        if self._tunnel is not None:
            await self._tunnel.aclose()

    # -- from the server's owner

    async def request(self, method: str, params: Any = None) -> Any:
        """Ask the client, and wait for the result.

        Raises:
            RpcError: it refused, or has gone.
        """
        self._last_id += 1
        number = self._last_id
        request_id = b"%d" % number
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = waiting
        try:
            body = UNSET if params is None else encode_value(params)
            if not self._write(wire.request(request_id, method, body)):
                reason = "the agent reads no messages of this server"
                raise RpcError(INTERNAL_ERROR, {"reason": reason, "method": method})
            message = await waiting
        except asyncio.CancelledError:
            self.notify(CANCELLED, {"requestId": number})
            raise
        finally:
            self._asked.pop(request_id, None)
        if message.error is not UNSET and bytes(message.error) != b"null":
            raise wire.rpc_error(message.error)
        return None if message.result is UNSET else decode_value(message.result)

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the client; what finds no room is lost."""
        body = UNSET if params is None else encode_value(params)
        self._write(wire.notification(method, body))

    def close(self) -> None:
        """The owner has ended the connection: the streams end, and what was asked fails."""
        self.is_open = False
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            if not waiting.done():
                waiting.set_exception(unknown_connection(self.session_id))
        if self._get is not None:
            self._get.close()
        self._queue.clear()

    def _write(self, line: bytes) -> bool:
        """Write a server message on the stream for it, on a POST's, or keep it for the next."""
        for stream in (self._get, *reversed(self._posts)):
            if stream is not None and stream.send_event(line):
                return True
        if not self.is_open or self._queued + len(line) > MAX_QUEUED:
            return False
        self._queue.append(line)
        self._queued += len(line)
        return True
