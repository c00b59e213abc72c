"""The streamable HTTP endpoint of one MCP server."""

import asyncio
import logging
import secrets
import socket
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import h11
from msgspec import UNSET

from localio.loopback import (
    ADDRESS,
    Connections,
    LoopbackPort,
    checked_headers,
    has_token,
    is_local,
    new_token,
)
from peerwire.errors import INVALID_REQUEST, RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from symposium.bridge.dialects import without_bridge_keys
from symposium.bridge.http_server import (
    IDLE,
    IDLE_UNPROVEN,
    BodyTooLongError,
    HttpConversation,
    McpHttpSession,
)
from symposium.bridge.tunnel import Tunnels
from symposium.chain.running_chain import log_failures

FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
UNAUTHORIZED: Final = 401


def members(request: h11.Request) -> dict[bytes, bytes]:
    """Headers by name; the last one if a name occurs twice."""
    return dict(request.headers)


def refusal(request: h11.Request, path: str, token: str) -> int | None:
    """HTTP status that rejects a request; None if it is allowed.

    The checks for requests from other programs come first: a web page in a browser must not learn
    whether a path exists.
    """
    headers = checked_headers(request.headers)
    if headers is None or headers.get(b"origin", b"null") != b"null":
        return FORBIDDEN
    host = headers.get(b"host", b"")
    if not is_local(host) or host.startswith(b"["):  # the port is open on IPv4 only
        return FORBIDDEN
    if request.target.partition(b"?")[0] != path.encode():
        return NOT_FOUND
    return None if has_token(headers, token) else UNAUTHORIZED


MAX_BODY: Final = 16 * 1024 * 1024
"""Maximum length of a POSTed message, in bytes."""

MAX_CONNECTIONS: Final = 64
"""Maximum number of connections to one endpoint; an agent uses a few."""

MAX_UNPROVEN: Final = 16
"""Maximum number of connections without the token; beyond it, the oldest is closed."""

MAX_CLIENTS: Final = 64
"""Maximum number of remembered clients; a forgotten one must send `initialize` again."""

_ACCEPTED: Final = 202
_BAD_REQUEST: Final = 400
_NOT_ALLOWED: Final = 405
_TOO_LONG: Final = 413

_log = logging.getLogger(__name__)


def http_declaration(declaration: Mapping[str, Any], url: str, token: str) -> dict[str, Any]:
    """Convert an ACP server declaration to one with a URL; other members stay."""
    header = {"name": "Authorization", "value": f"Bearer {token}"}
    return {"type": "http", **without_bridge_keys(declaration), "url": url, "headers": [header]}


class HttpEndpoint:
    """HTTP endpoint of one MCP server for the agent's clients; open until `aclose`.

    Args:
        server_id: the MCP server.
        tunnels: opens connections to the server's owner.
        tasks: task group for the connections.
    """

    def __init__(self, server_id: str, tunnels: Tunnels, tasks: asyncio.TaskGroup) -> None:
        self._server_id = server_id
        self._tunnels = tunnels
        self._tasks = tasks
        self._token = new_token()
        # As a suffix: some clients append `/mcp` to a URL without it (peers: fast-agent).
        self._path = f"/{secrets.token_urlsafe(16)}/mcp"
        self._clients: dict[str, McpHttpSession] = {}
        self._connections = Connections(MAX_CONNECTIONS, MAX_UNPROVEN)
        self._listener = LoopbackPort(self._connected)

    def declaration(self, declaration: Mapping[str, Any], *, is_typed: bool) -> dict[str, Any]:
        """Server declaration with the URL and the token of this endpoint."""
        del is_typed
        url = f"http://{ADDRESS}:{self._listener.port}{self._path}"
        return http_declaration(declaration, url, self._token)

    def close(self) -> None:
        """Close the port and every connection to it."""
        self._listener.close()
        self._connections.cancel()

    async def aclose(self) -> None:
        """Close, and notify the owner that its clients disconnected."""
        self.close()
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    def _connected(self, sock: socket.socket) -> None:
        if not self._connections.has_room():
            _log.warning("refused a connection to an MCP server: %d are open", MAX_CONNECTIONS)
            sock.close()
            return
        task = self._tasks.create_task(log_failures("the bridge", partial(self._serve, sock)))
        self._connections.add(task)
        # A task canceled before its first step cannot close the socket itself.
        task.add_done_callback(lambda task: sock.close() if task.cancelled() else None)

    async def _serve(self, sock: socket.socket) -> None:
        conversation = HttpConversation(*await asyncio.open_connection(sock=sock))
        try:
            idle = IDLE_UNPROVEN
            while (request := await conversation.next_request(idle)) is not None:
                idle = IDLE
                await self._answer(conversation, request)
                if not conversation.next_cycle():
                    await conversation.linger()
                    break
        except h11.RemoteProtocolError as error:
            if conversation.can_answer:
                await conversation.answer(error.error_status_hint)
        except (OSError, TimeoutError):
            pass  # the agent disconnected or stopped sending
        finally:
            conversation.close()

    async def _answer(self, conversation: HttpConversation, request: h11.Request) -> None:
        status = refusal(request, self._path, self._token)
        if status is not None:
            scheme = [("WWW-Authenticate", "Bearer")] if status == UNAUTHORIZED else []
            await conversation.answer(status, scheme)
            return
        self._connections.prove()
        match request.method:
            case b"POST":
                await self._post(conversation, request)
            case b"GET":
                await self._listen(conversation, request)
            case b"DELETE":
                await self._delete(conversation, request)
            case _:
                await conversation.answer(_NOT_ALLOWED, [("Allow", "POST, GET, DELETE")])

    async def _post(self, conversation: HttpConversation, request: h11.Request) -> None:
        try:
            body = await conversation.body(MAX_BODY)
        except BodyTooLongError:
            await conversation.answer(_TOO_LONG)
            return
        incoming = wire.decode(body.strip())
        client = self._client(request, begins=_is_initialize(incoming))
        if client is None:
            await conversation.answer(NOT_FOUND)
            return
        try:
            await Post(conversation, request, client).carry_out(incoming)
        finally:
            if not client.is_connected:
                self._clients.pop(client.session_id, None)

    async def _listen(self, conversation: HttpConversation, request: h11.Request) -> None:
        client = self._client(request, begins=False)
        if client is None:
            await conversation.answer(NOT_FOUND)
            return
        conversation.begin_events()
        await client.listen(conversation)

    async def _delete(self, conversation: HttpConversation, request: h11.Request) -> None:
        named = members(request).get(b"mcp-session-id")
        if named is None:
            await conversation.answer(_BAD_REQUEST)
            return
        client = self._clients.pop(named.decode("latin-1"), None)
        if client is not None:
            await client.aclose()
        await conversation.answer(NOT_FOUND if client is None else 204)

    def _client(self, request: h11.Request, *, begins: bool) -> McpHttpSession | None:
        """Session of a request; None if the request names one that is not open."""
        named = members(request).get(b"mcp-session-id")
        for client in [each for each in self._clients.values() if not each.is_open]:
            del self._clients[client.session_id]
        if named is not None and not begins:
            return self._clients.get(named.decode("latin-1"))
        if self._clients and not begins:
            # The request names no session: it is most likely from the newest client.
            return next(reversed(self._clients.values()))
        if len(self._clients) >= MAX_CLIENTS:
            self._forget_one()
        client = McpHttpSession(self._tunnels, self._server_id)
        self._clients[client.session_id] = client
        return client

    def _forget_one(self) -> None:
        """End the oldest idle client: many clients disconnect without DELETE."""
        idle = (client for client in self._clients.values() if not client.is_busy)
        client = next(idle, None) or next(iter(self._clients.values()))
        del self._clients[client.session_id]
        self._tasks.create_task(log_failures("the bridge", client.aclose))


class Post:
    """One POST request and its response."""

    def __init__(
        self, conversation: HttpConversation, request: h11.Request, client: McpHttpSession
    ) -> None:
        self._conversation = conversation
        self._client = client
        accepted = members(request).get(b"accept", b"*/*")
        self._takes_events = any(kind in accepted for kind in (b"text/event-stream", b"*/*"))

    async def carry_out(self, incoming: wire.Incoming) -> None:
        """Handle the messages and write the response: one event, or one batch."""
        match incoming:
            case Batch(lines) if lines:
                parts = [_checked(wire.decode(line)) for line in lines]
            case Batch():
                empty = RpcError(INVALID_REQUEST, "an empty batch")
                incoming = Malformed(empty, answer=True)
                parts = [incoming]
            case _:
                parts = [_checked(incoming)]
        owed = [part for part in parts if _is_owed(part)]
        for part in parts:
            if isinstance(part, Message) and part not in owed:
                await self._take(part)
        if not owed:
            await self._conversation.answer(_ACCEPTED)
            return
        await self._answer(owed, is_batch=isinstance(incoming, Batch))

    async def _answer(self, owed: list[Message | Malformed], *, is_batch: bool) -> None:
        conversation, client = self._conversation, self._client
        is_first = not is_batch and _is_initialize(owed[0])
        headers = [("Mcp-Session-Id", client.session_id)] if is_first else []
        if not self._takes_events:
            body = await self._body(owed, is_batch=is_batch)
            await conversation.answer(200, [("Content-Type", "application/json"), *headers], body)
            return
        conversation.begin_events(headers)
        client.post_begins(conversation)
        try:
            body = await self._body(owed, is_batch=is_batch)
        finally:
            client.post_ends(conversation)
        if body:
            conversation.send_event(body)
        await conversation.end_events()

    async def _body(self, owed: list[Message | Malformed], *, is_batch: bool) -> bytes:
        if not is_batch:
            return await self._response(owed[0]) or b""
        async with asyncio.TaskGroup() as tasks:
            answers = [tasks.create_task(self._response(part)) for part in owed]
        written = [answer.result() for answer in answers]
        return b"[%b]" % b",".join(line for line in written if line is not None)

    async def _response(self, part: Message | Malformed) -> bytes | None:
        if isinstance(part, Malformed):
            return wire.error_response(part.id, wire.error_body(part.error))
        return await self._client.answer_to(part, bytes(part.id or b"null"))

    async def _take(self, message: Message) -> None:
        try:
            await self._client.take(message)
        except RpcError as error:
            _log.info("could not deliver an MCP notification: %s", error)


def _checked(incoming: wire.Incoming) -> Message | Malformed:
    match incoming:
        case Message():
            return wire.check(incoming) or incoming
        case Malformed():
            return incoming
        case Batch():
            return Malformed(RpcError(INVALID_REQUEST, "a batch in a batch"), answer=True)


def _is_owed(part: Message | Malformed) -> bool:
    if isinstance(part, Malformed):
        return part.answer
    return part.id is not UNSET and part.method is not UNSET


def _is_initialize(incoming: object) -> bool:
    return isinstance(incoming, Message) and incoming.method == "initialize"
