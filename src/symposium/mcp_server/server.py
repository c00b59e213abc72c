"""Bind parts to the MCP SDK: both protocol eras, both transports, and notifications.

The import of the SDK is slow; a caller imports this module when it starts
a server. No other module imports the SDK.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, get_args

from mcp import types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.server.streamable_http import EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.transport import Transport
from symposium.mcp_server.line_streams import BadLineError, LineStreams
from symposium.mcp_server.tool import STATELESS, Json, ToolPart, not_found, unknown

PAGE: Final = 100
"""Maximum number of entries on a page."""

_MARK: Final = "after:"


def page(key: str, entries: Sequence[Any], cursor: str | None) -> dict[str, Any]:
    """The page at a cursor, with the cursor of the next page.

    Raises:
        RpcError: the cursor is unknown.
    """
    begin = _offset(cursor, len(entries))
    piece: dict[str, Any] = {key: list(entries[begin : begin + PAGE])}
    if begin + PAGE < len(entries):
        piece["nextCursor"] = f"{_MARK}{begin + PAGE}"
    return piece


def _offset(cursor: str | None, maximum: int) -> int:
    if cursor is None:
        return 0
    digits = cursor.removeprefix(_MARK)
    if digits == cursor or len(digits) > len(str(maximum)) or not digits.isascii():
        raise _unknown(cursor)
    if not digits.isdecimal() or int(digits) > maximum:
        raise _unknown(cursor)
    return int(digits)


def _unknown(cursor: str) -> RpcError:
    data = {"cursor": cursor[:200]}
    return RpcError(INVALID_PARAMS, data, message="Unknown cursor; restart without a cursor")


NAME: Final = "symposium"

MAX_CLIENTS: Final = 1000
"""Clients of the earlier era that are notified of changes; the oldest is forgotten first."""

MAX_COMPLETIONS: Final = 100
"""Maximum that MCP allows."""

_CACHE_HINT: Final = CacheHint(ttl_ms=1000, scope="private")
"""Cache time of lists and texts for clients of the later era; changes are still announced."""

_CACHEABLE: Final[Sequence[CacheableMethod]] = get_args(CacheableMethod)
_HINTS: Final = dict.fromkeys(_CACHEABLE, _CACHE_HINT)

_Context: TypeAlias = ServerRequestContext[Any, Any]
_Handle: TypeAlias = Callable[[_Context, Any], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class SdkCaller:
    """The client of one request.

    Attributes:
        context: the SDK's context of the request.
    """

    context: _Context

    @property
    def revision(self) -> str:
        """Version of MCP in use."""
        return self.context.protocol_version

    async def news(self, done: float, total: float | None, message: str) -> None:
        """Report progress on the request, if the client wants it."""
        await self.context.session.report_progress(done, total, message)


@dataclass(slots=True)
class _Client:
    """One initialized client of the earlier era."""

    session: ServerSession | None = None
    uris: set[str] = field(default_factory=set[str])


class _Clients:
    """Initialized clients of the earlier era, with their subscriptions."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, _Client] = OrderedDict()

    def of(self, context: _Context) -> _Client:
        """The client of a request: by its session over HTTP, the only one over lines."""
        headers: Mapping[str, str] = context.request.headers if context.request else {}
        key = headers.get("mcp-session-id", "")
        client = self._clients.setdefault(key, _Client())
        self._clients.move_to_end(key)
        while len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return client

    async def tell(self, uris: Collection[str], *, is_list: bool) -> None:
        """Notify each client of its subscriptions."""
        for client in list(self._clients.values()):
            if client.session is not None:
                for uri in sorted(client.uris.intersection(uris)):
                    await client.session.send_resource_updated(uri)
                if is_list:
                    await client.session.send_resource_list_changed()


class _Sdk(Server[Any]):
    """The SDK's server; it declares changing lists in every handshake."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Options for the handshake of the earlier era."""
        changes = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


class _Requests:
    """Answer requests from the first part that knows the requested name."""

    def __init__(self, parts: Sequence[ToolPart], clients: _Clients) -> None:
        self._parts = parts
        self._clients = clients

    def register(self, sdk: Server[Any]) -> None:
        """Register handlers for every method."""
        listed = types.PaginatedRequestParams
        self._on(sdk, "tools/list", listed, self._list("tools", lambda part: part.tools()))
        self._on(
            sdk, "resources/list", listed, self._list("resources", lambda part: part.resources())
        )
        templates = self._list("resourceTemplates", lambda part: part.templates())
        self._on(sdk, "resources/templates/list", listed, templates)
        self._on(sdk, "prompts/list", listed, self._list("prompts", lambda part: part.prompts()))
        self._on(sdk, "tools/call", types.CallToolRequestParams, self._call_tool)
        self._on(sdk, "resources/read", types.ReadResourceRequestParams, self._read)
        self._on(sdk, "resources/subscribe", types.SubscribeRequestParams, self._subscribe)
        self._on(sdk, "resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        self._on(sdk, "prompts/get", types.GetPromptRequestParams, self._prompt)
        self._on(sdk, "completion/complete", types.CompleteRequestParams, self._complete)
        sdk.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._initialized
        )

    def _on(
        self,
        sdk: Server[Any],
        method: str,
        params: type[Any],
        handle: _Handle,
    ) -> None:
        async def handled(context: _Context, given: Any) -> Json:
            try:
                result = await handle(context, given)
            except RpcError as error:
                raise MCPError(error.code, error.message, error.data) from error
            if context.protocol_version in STATELESS:
                return {"resultType": "complete", **result}
            return result

        sdk.add_request_handler(method, params, handled)

    def _list(
        self, key: str, of: Callable[[ToolPart], Sequence[Json]]
    ) -> Callable[[_Context, types.PaginatedRequestParams], Awaitable[Json]]:
        async def listed(context: _Context, params: types.PaginatedRequestParams) -> Json:
            del context
            return page(key, [entry for part in self._parts for entry in of(part)], params.cursor)

        return listed

    async def _call_tool(self, context: _Context, params: types.CallToolRequestParams) -> Json:
        given = _dumped(params)
        for part in self._parts:
            result = await part.call_tool(params.name, given, SdkCaller(context))
            if result is not None:
                return result
        known = [tool["name"] for part in self._parts for tool in part.tools()]
        raise unknown("tool", params.name, known)

    async def _read(self, context: _Context, params: types.ReadResourceRequestParams) -> Json:
        caller = SdkCaller(context)
        for part in self._parts:
            result = await part.read(params.uri, caller)
            if result is not None:
                return result
        raise not_found(params.uri, caller.revision)

    async def _prompt(self, context: _Context, params: types.GetPromptRequestParams) -> Json:
        given = _dumped(params)
        for part in self._parts:
            result = await part.prompt(params.name, given, SdkCaller(context))
            if result is not None:
                return result
        known = [prompt["name"] for part in self._parts for prompt in part.prompts()]
        raise unknown("prompt", params.name, known)

    async def _complete(self, context: _Context, params: types.CompleteRequestParams) -> Json:
        del context
        ref = _dumped(params.ref)
        for part in self._parts:
            values = part.complete(ref, params.argument.name, params.argument.value)
            if values is not None:
                return _completion(values)
        return _completion(())

    async def _subscribe(self, context: _Context, params: types.SubscribeRequestParams) -> Json:
        await self._read(context, types.ReadResourceRequestParams(uri=params.uri))
        self._clients.of(context).uris.add(params.uri)
        return {}

    async def _unsubscribe(self, context: _Context, params: types.UnsubscribeRequestParams) -> Json:
        self._clients.of(context).uris.discard(params.uri)
        return {}

    async def _initialized(self, context: _Context, params: types.NotificationParams) -> None:
        del params
        self._clients.of(context).session = context.session

    def input_schema(self, name: str) -> Json | None:
        """The schema of a tool's arguments; None if there is no such tool."""
        tools = (tool for part in self._parts for tool in part.tools())
        return next((tool["inputSchema"] for tool in tools if tool["name"] == name), None)


class SymposiumMcpServer:
    """Parts as one MCP server.

    Attributes:
        sdk: the SDK's server.
        bus: announces changes to clients of the later era.
    """

    def __init__(self, parts: Sequence[ToolPart], *, version: str, instructions: str) -> None:
        self._clients = _Clients()
        requests = _Requests(parts, self._clients)
        self.bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self.bus)
        self.sdk: Server[Any] = _Sdk(
            NAME,
            version=version,
            title="Symposium",
            instructions=instructions,
            get_tool_input_schema=requests.input_schema,
            on_subscriptions_listen=self._listening,
            cache_hints=_HINTS,
        )
        requests.register(self.sdk)

    async def serve(self, transport: Transport) -> None:
        """Serve one client over lines until it disconnects; the caller closes the transport."""
        streams = LineStreams(transport, _read, _written)
        streams.start()
        await self.sdk.run(streams, streams, self.options)

    def app(self, *, event_store: EventStore | None = None, retry: int | None = None) -> Any:
        """An ASGI application for streamable HTTP at `/mcp`; Host and Origin must be this machine.

        Args:
            event_store: stores events for clients that reconnect.
            retry: milliseconds until a client reconnects.
        """
        return self.sdk.streamable_http_app(
            event_store=event_store, retry_interval=retry, max_sessions=MAX_CLIENTS
        )

    @property
    def options(self) -> Any:
        """Options for the handshake of the earlier era."""
        return self.sdk.create_initialization_options()

    async def tell(self, uris: Collection[str], *, is_list: bool) -> None:
        """Notify every subscribed client of changes, in the form of its era.

        Args:
            uris: URIs of changed, added, and removed resources.
            is_list: whether the list of resources has changed too.
        """
        for uri in sorted(uris):
            await self.bus.publish(ResourceUpdated(uri=uri))
        if is_list:
            await self.bus.publish(ResourcesListChanged())
        await self._clients.tell(uris, is_list=is_list)

    def close(self) -> None:
        """End every stream of changes with its final message."""
        self._listening.close()


def _completion(values: Sequence[str]) -> Json:
    shown = list(values[:MAX_COMPLETIONS])
    completion = {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}
    return {"completion": completion}


def _dumped(params: Any) -> Json:
    return params.model_dump(by_alias=True, mode="json", exclude_none=True)


def _read(line: bytes) -> SessionMessage:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        raise BadLineError("the line is JSON-RPC but not an MCP message") from error


def _written(message: SessionMessage) -> bytes:
    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode()
