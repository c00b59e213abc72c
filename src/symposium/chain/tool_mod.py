"""Base class of mods with tools."""

from collections import deque
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final, cast

from peerwire.acp.names import CONNECT, DISCONNECT, MESSAGE, SETUP_METHODS, UNKNOWN_CONNECTION
from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Peer
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage, Direction
from symposium.chain.mod import (
    EVERY_METHOD,
    Deferred,
    Drop,
    Forward,
    Handler,
    Interception,
    Mod,
    Outcome,
    Refuse,
    Reply,
    Revision,
)
from symposium.chain.tools import ToolConnection, ToolServer

_ENDS_SESSION: Final = ("session/close", "session/delete")

_REMEMBERED: Final = 1024
"""Number of remembered closed connections: their late messages are not for another mod."""


@dataclass(slots=True)
class _ForOne:
    """Servers of one session, from its request on."""

    servers: Sequence[ToolServer]
    session_id: str | None = None


class ToolMod(Mod):
    """A mod with tools; its own handlers for `session/new` and the like run first.

    Args:
        servers: tool servers for every session.
    """

    def __init__(self, *servers: ToolServer) -> None:
        self._servers = {server.server_id: server for server in servers}
        self._sessions: list[_ForOne] = []
        self._connections: dict[str, tuple[ToolServer, ToolConnection]] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Additional servers for the session that this request sets up; override this."""
        del params
        return ()

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        """Called with the id of the session of these servers; override this."""

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        """Called when a session ended or could not be opened; override this."""

    def interceptions(self) -> list[Interception]:
        """Interceptions of the mod itself and of its tools."""
        own = super().interceptions()
        setup = [self._with(own, Direction.TO_AGENT, each, self._declare) for each in SETUP_METHODS]
        ends = [self._with(own, Direction.TO_AGENT, each, self._ending) for each in _ENDS_SESSION]
        answers = (CONNECT, self._connect), (MESSAGE, self._message), (DISCONNECT, self._disconnect)
        mcp = [self._before(own, method, answer) for method, answer in answers]
        return [*setup, *ends, *mcp, *own]

    def _with(
        self, own: list[Interception], direction: Direction, method: str, ours: Handler
    ) -> Interception:
        theirs = _handler(own, direction, method)

        def handle(message: ChainMessage) -> Outcome | Awaitable[Outcome]:
            outcome: Any = Forward() if theirs is None else theirs(message)
            if isawaitable(outcome):
                return _after(message, cast("Coroutine[Any, Any, Outcome]", outcome), ours)
            return _also(message, outcome, ours)

        return Interception(direction, method, handle)

    def _before(self, own: list[Interception], method: str, ours: Handler) -> Interception:
        theirs = _handler(own, Direction.TO_CLIENT, method)

        def handle(message: ChainMessage) -> Outcome | Awaitable[Outcome]:
            outcome = ours(message)
            is_ours = not isinstance(outcome, Forward)
            return outcome if is_ours or theirs is None else theirs(message)

        return Interception(Direction.TO_CLIENT, method, handle)

    def _declare(self, message: ChainMessage) -> Outcome:
        params = message.params
        if not isinstance(params, dict):
            return Forward()
        params = cast("dict[str, Any]", params)
        declared = params.get("mcpServers")
        if not isinstance(declared, list | None):
            return Forward()
        one = _ForOne(self.session_servers(params))
        servers = [*self._servers.values(), *one.servers]
        if not servers:
            return Forward()
        # Before the request is forwarded: the agent may connect before it answers.
        self._sessions.append(one)
        declarations: list[Any] = [*(declared or ())]
        declarations += [server.declaration() for server in servers]

        def opened(answer: Answer) -> Revision:
            one.session_id = _session_id(answer.result) or message.session_id
            if one.session_id is not None:
                self.session_opened(one.session_id, one.servers)
            return None

        def failed(_: Answer) -> Revision:
            self._forget(one)
            return None

        return Forward(params | {"mcpServers": declarations}, then=opened, catch=failed)

    def _ending(self, message: ChainMessage) -> Outcome:
        session_id = message.session_id

        def ended(_: Answer) -> Revision:
            for one in [each for each in self._sessions if each.session_id == session_id]:
                self._forget(one)
            return None

        return Forward(then=ended)

    def _forget(self, one: _ForOne) -> None:
        if one in self._sessions:
            self._sessions.remove(one)
            self.session_ended(one.servers)
        gone = {server.server_id for server in one.servers}
        for connection_id, (server, _) in list(self._connections.items()):
            if server.server_id in gone:
                self._end(connection_id)

    def _connect(self, message: ChainMessage) -> Outcome:
        server = self._server(_member(message, "serverId"))
        if server is None:
            return Forward()
        caller = _Caller(self.agent)
        connection = server.connect(caller)
        caller.connection_id = connection.connection_id
        self._connections[connection.connection_id] = server, connection
        return Reply({"connectionId": connection.connection_id})

    def _message(self, message: ChainMessage) -> Outcome:
        connection_id = _member(message, "connectionId")
        if connection_id in self._ended:
            return _unknown(connection_id) if message.is_request else Drop()
        _, connection = self._connections.get(connection_id, (None, None))
        if connection is None:
            return Forward()
        method = _member(message, "method")
        if not message.is_request:
            return Drop()
        if not method:
            return Refuse(RpcError(INVALID_PARAMS, "mcp/message needs a method"))
        return Deferred(_answer(connection, method, message.params.get("params")))

    def _disconnect(self, message: ChainMessage) -> Outcome:
        connection_id = _member(message, "connectionId")
        if connection_id in self._ended:
            return _unknown(connection_id) if message.is_request else Drop()
        if connection_id not in self._connections:
            return Forward()
        self._end(connection_id)
        return Reply({}) if message.is_request else Drop()

    def _end(self, connection_id: str) -> None:
        server, _ = self._connections.pop(connection_id)
        server.disconnect(connection_id)
        self._ended.append(connection_id)

    def _server(self, server_id: str) -> ToolServer | None:
        of_sessions = (server for one in self._sessions for server in one.servers)
        found = (server for server in of_sessions if server.server_id == server_id)
        return self._servers.get(server_id) or next(found, None)


@dataclass(slots=True)
class _Caller:
    """The agent's MCP client of one connection."""

    agent: Peer
    connection_id: str = ""

    async def request(self, method: str, params: Any = None) -> Any:
        return await self.agent.request(MESSAGE, self._wrapped(method, params))

    def notify(self, method: str, params: Any = None) -> None:
        self.agent.notify(MESSAGE, self._wrapped(method, params))

    def _wrapped(self, method: str, params: Any) -> dict[str, Any]:
        wrapped = {"connectionId": self.connection_id, "method": method}
        return wrapped if params is None else wrapped | {"params": params}


async def _answer(connection: ToolConnection, method: str, params: object) -> Reply:
    return Reply(await connection.answer(method, params))


async def _after(
    message: ChainMessage, waiting: Coroutine[Any, Any, Outcome], ours: Handler
) -> Outcome:
    return _also(message, await waiting, ours)


def _also(message: ChainMessage, outcome: Outcome, ours: Handler) -> Outcome:
    """Call the added handler after the mod's own, which handles the answer last."""
    if not isinstance(outcome, Forward):
        return outcome
    if outcome.params is not UNCHANGED:
        message.replace(method=None, params=outcome.params)
    added = ours(message)
    if not isinstance(added, Forward):
        return cast("Outcome", added)
    return Forward(
        outcome.params if added.params is UNCHANGED else added.params,
        outcome.method,
        _both(added.then, outcome.then),
        _both(added.catch, outcome.catch),
        outcome.cancelled,
    )


def _both(first: Any, second: Any) -> Any:
    """Combine two answer handlers; the first one changes nothing."""
    if first is None or second is None:
        return first or second

    def then(answer: Answer) -> Any:
        first(answer)
        return second(answer)

    return then


def _handler(own: list[Interception], direction: Direction, method: str) -> Handler | None:
    by_method = {each.method: each.handler for each in own if each.direction is direction}
    return by_method.get(method) or by_method.get(EVERY_METHOD)


def _member(message: ChainMessage, name: str) -> str:
    params = message.params
    value = cast("dict[str, Any]", params).get(name) if isinstance(params, dict) else None
    return value if isinstance(value, str) else ""


def _session_id(result: object) -> str | None:
    value = cast("dict[str, Any]", result).get("sessionId") if isinstance(result, dict) else None
    return value if isinstance(value, str) else None


def _unknown(connection_id: str) -> Refuse:
    data = {"reason": UNKNOWN_CONNECTION, "connectionId": connection_id}
    return Refuse(RpcError(INVALID_PARAMS, data))
