"""Fakes for tests of mods: an editor, an agent, and a real chain between them, in memory.

Waits end when the expected message comes; a wait that times out fails and shows the messages that
came instead. No test framework is necessary.
"""

import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from peerwire.errors import METHOD_NOT_FOUND, LocalError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Reply, Request, RequestHandler
from peerwire.jsonrpc.transport import Transport
from peerwire.task_group import flat_task_group
from peerwire.testing import Recorder
from peerwire.transports.memory import memory_pair
from symposium.bridge.bridge import bridge_components
from symposium.catalog import agent_names, find_agent, find_mod, mod_names
from symposium.chain.blueprint import Blueprint, Component, InProcess, Program, Served
from symposium.chain.capabilities import Mode
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.mod import AgentSpec, ComponentSpec, Mod

CAPABILITIES: Final[dict[str, Any]] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
}
"""Capabilities that the fake editor declares; a test decides how it answers."""

ECHO_SERVER: Final[dict[str, Any]] = {
    "name": "echo",
    "command": sys.executable,
    "args": ["-P", "-m", "peerwire.mcp.echo_server"],
    "env": [],
}
"""An MCP server with the tools `echo` and `add`, for `new_session`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Updates and result of one prompt.

    Attributes:
        updates: the `update` of each `session/update` of the session, in order, up to the answer.
        result: the answer to the prompt.
    """

    updates: Sequence[dict[str, Any]]
    result: dict[str, Any]

    @property
    def stop_reason(self) -> str:
        """Reason of the end of the turn."""
        return self.result["stopReason"]

    @property
    def text(self) -> str:
        """Text of the agent, with its chunks joined."""
        return "".join(
            update["content"]["text"]
            for update in self.updates
            if update["sessionUpdate"] == "agent_message_chunk"
            and update["content"]["type"] == "text"
        )


class FakeEditor:
    """Scripted ACP client; `chain_of` and `editor_on` make one.

    Attributes:
        updates: the params of every `session/update`, in order.
        notifications: method and params of every other notification.
        asked: every request of the agent.
        answers: handlers of such requests, by method; a request without one gets the error
            `-32601`. There is one for permission requests from the start.
        permissions: option ids that answer the next permission requests, None for `cancelled`;
            when it is empty, the first option that allows is chosen.
        agent: the answer to `initialize`; None before it.
        session_id: the session made last; None before the first.
    """

    def __init__(self, transport: Transport) -> None:
        self.updates: Recorder[dict[str, Any]] = Recorder()
        self.notifications: Recorder[tuple[str, Any]] = Recorder()
        self.asked: Recorder[Request] = Recorder()
        self.answers: dict[str, RequestHandler] = {"session/request_permission": self._permit}
        self.permissions: deque[str | None] = deque()
        self.agent: dict[str, Any] | None = None
        self.session_id: str | None = None
        self.connection = Connection(
            transport,
            Handlers(
                notifications={"session/update": self.updates.note},
                other_request=self._answer,
                other_notification=lambda method, params: self.notifications.note((method, params)),
            ),
        )

    async def initialize(
        self, *, version: int = 1, capabilities: Mapping[str, Any] = CAPABILITIES
    ) -> dict[str, Any]:
        """Initialize the connection; `new_session` calls it if necessary."""
        params = {
            "protocolVersion": version,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "fake-editor", "version": "1"},
        }
        self.agent = await self.connection.request("initialize", params)
        assert self.agent is not None
        return self.agent

    async def new_session(
        self, *, cwd: str = "/", servers: Sequence[Mapping[str, Any]] = ()
    ) -> str:
        """Make a session; `prompt` calls it if necessary.

        Args:
            cwd: the session's directory, absolute.
            servers: MCP servers, as ACP declares them.
        """
        if self.agent is None:
            await self.initialize()
        params = {"cwd": cwd, "mcpServers": servers}
        result = await self.connection.request("session/new", params)
        session_id: str = result["sessionId"]
        self.session_id = session_id
        return session_id

    async def prompt(
        self, prompt: str | Sequence[Mapping[str, Any]], *, session_id: str | None = None
    ) -> Turn:
        """Run one turn, by default in the session made last.

        Raises:
            RpcError: the prompt was answered with an error.
        """
        session = session_id or self.session_id or await self.new_session()
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        begin = len(self.updates.items)
        updates: list[dict[str, Any]] = []

        def cut(_: Any) -> None:
            came = self.updates.items[begin:]
            updates.extend(params["update"] for params in came if params["sessionId"] == session)

        result = await self.connection.request(
            "session/prompt", {"sessionId": session, "prompt": blocks}, on_result=cut
        )
        return Turn(updates, result)

    def cancel(self, session_id: str | None = None) -> None:
        """Cancel the turn of a session, by default of the one made last."""
        self.connection.notify("session/cancel", {"sessionId": session_id or self.session_id})

    async def until(self, predicate: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first `update` that is as `predicate` wants it, come or yet to come.

        Raises:
            AssertionError: none came in time.
        """
        came = await self.updates.until(
            lambda items: any(predicate(params["update"]) for params in items)
        )
        return next(params["update"] for params in came if predicate(params["update"]))

    def _answer(self, request: Request) -> Reply:
        self.asked.note(request)
        answer = self.answers.get(request.method)
        if answer is None:
            raise RpcError(METHOD_NOT_FOUND, request.method)
        return answer(request)

    def _permit(self, request: Request) -> dict[str, Any]:
        if self.permissions:
            chosen = self.permissions.popleft()
        else:
            kinds = {option["optionId"]: option["kind"] for option in request.params["options"]}
            chosen = next((name for name, kind in kinds.items() if kind.startswith("allow")), None)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}


@dataclass(frozen=True, slots=True)
class Received:
    """A request or notification as the fake agent got it."""

    method: str
    params: Any


class FakeAgent:
    """Scripted agent.

    Args:
        says: its text in each turn, one chunk each.

    Attributes:
        received: every request and notification, in order.
        requests: handlers by method; a request without one gets the error `-32601`. There are
            handlers for `initialize`, `session/new`, and `session/prompt` from the start.
        capabilities: its declared capabilities; change them before `initialize`.
        connection: connection to the client, for requests and notifications, while it is open.
    """

    def __init__(self, *says: str) -> None:
        self.received: Recorder[Received] = Recorder()
        self.capabilities: dict[str, Any] = {}
        self.requests: dict[str, RequestHandler] = {
            "initialize": self._initialize,
            "session/new": self._new_session,
            "session/prompt": self._prompt,
        }
        self.connection: Connection | None = None
        self._says = says
        self._sessions = 0

    async def serve(self, transport: Transport) -> None:
        """Serve one client until it closes the connection."""
        handlers = Handlers(
            other_request=self._answer,
            other_notification=self._note,
        )
        self.connection = Connection(transport, handlers)
        await self.connection.run()

    def update(self, session_id: str, update: Mapping[str, Any]) -> None:
        """Send one `session/update` to the client."""
        assert self.connection is not None, "no client has come yet"
        self.connection.notify("session/update", {"sessionId": session_id, "update": update})

    def say(self, session_id: str, text: str) -> None:
        """Send one chunk of the agent's message."""
        content = {"type": "text", "text": text}
        self.update(session_id, {"sessionUpdate": "agent_message_chunk", "content": content})

    def _note(self, method: str, params: Any) -> None:
        self.received.note(Received(method, params))

    def _answer(self, request: Request) -> Reply:
        self._note(request.method, request.params)
        answer = self.requests.get(request.method)
        if answer is None:
            raise RpcError(METHOD_NOT_FOUND, request.method)
        return answer(request)

    def _initialize(self, request: Request) -> dict[str, Any]:
        return {
            "protocolVersion": request.params["protocolVersion"],
            "agentCapabilities": self.capabilities,
            "agentInfo": {"name": "fake-agent", "version": "1"},
        }

    def _new_session(self, _: Request) -> dict[str, Any]:
        self._sessions += 1
        return {"sessionId": f"session-{self._sessions}"}

    def _prompt(self, request: Request) -> dict[str, Any]:
        for text in self._says:
            self.say(request.params["sessionId"], text)
        return {"stopReason": "end_turn"}


ModLike: TypeAlias = str | Mod | ComponentSpec | Component
"""A mod as a test may name it: `"arrow"`, `Arrow()`, its spec, or a component of any kind."""
AgentLike: TypeAlias = str | FakeAgent | AgentSpec | Program | Served


@asynccontextmanager
async def editor_on(transport: Transport) -> AsyncGenerator[FakeEditor, None]:
    """A fake editor at this end of a transport; ends the connection after the block."""
    editor = FakeEditor(transport)
    # A test gets its failed assertion itself.
    async with flat_task_group() as tasks:
        tasks.create_task(editor.connection.run())
        try:
            yield editor
        finally:
            editor.connection.close()


@asynccontextmanager
async def chain_of(
    *mods: ModLike,
    agent: AgentLike = "eliza",
    bridge: Mode = "auto",
    settings: Settings | None = None,
) -> AsyncGenerator[FakeEditor, None]:
    """A conductor with these mods, from the editor's side to the agent's, and an editor on it.

    Args:
        mods: objects, specs, names, or components that are programs.
        agent: the agent of the chain; a `FakeAgent` records what it receives.
        bridge: delivery of the mods' tools to an agent without MCP over ACP.
        settings: settings of the conductor.

    Raises:
        LocalError: a name is unknown.
    """
    proxies = [*(_mod(mod) for mod in mods), *bridge_components(bridge)]
    blueprint = Blueprint(proxies, _agent(agent))
    near, far = memory_pair()
    conductor = Conductor(far, lambda _: blueprint, settings)
    async with flat_task_group() as tasks:
        tasks.create_task(conductor.run())
        async with editor_on(near) as editor:
            yield editor


def _mod(mod: ModLike) -> Component:
    match mod:
        case str(name):
            spec = find_mod(name)
            if spec is None:
                raise LocalError(f"no mod is called {name!r}; there are {', '.join(mod_names())}")
            return InProcess(name, spec.make())
        case Mod():
            return InProcess(type(mod).__name__.lower(), mod)
        case ComponentSpec():
            return InProcess(mod.name, mod.make())
        case InProcess() | Program() | Served():
            return mod


def _agent(agent: AgentLike) -> Program | Served:
    match agent:
        case str(name):
            spec = find_agent(name)
            if spec is None:
                known = ", ".join(agent_names())
                raise LocalError(f"no agent is called {name!r}; there are {known}")
            return Served(name, spec.serve)
        case FakeAgent():
            return Served("fake-agent", agent.serve)
        case AgentSpec():
            return Served(agent.name, agent.serve)
        case Program() | Served():
            return agent
