"""A scripted ACP agent, and its turns."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peerwire.acp.agent import CANCELLED, Initialize, Prompt, read_params
from peerwire.errors import INVALID_PARAMS, PeerwireError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from peerwire.jsonrpc.values import decode_value, encode_value
from peerwire.mcp.client import open_server
from peerwire.mcp.session import AcpMcpConnections, McpTool, ToolResult
from symposium.agents.testy.scenario import (
    Callbacks,
    CallTool,
    CancelStatus,
    Command,
    Elicitations,
    Full,
    ListTools,
    ScenarioError,
    WaitForCancel,
    parse_command,
)
from symposium.agents.testy.sessions import (
    ClientRequest,
    ScriptedSession,
    ScriptedSessions,
    callbacks,
    elicitations,
    is_offered,
    terminal_steps,
)
from symposium.agents.testy.updates import Update, asking_call, message, terminal_call, updates_for
from symposium.chain.mod import AgentSpec

END_TURN = "end_turn"


@dataclass(frozen=True, slots=True)
class Client:
    """The connected client and its capabilities."""

    connection: Connection
    tunnels: AcpMcpConnections
    capabilities: Mapping[str, Any]


@dataclass(slots=True)
class ScenarioTurn:
    """A running turn.

    Attributes:
        number: makes the ids of this turn unique.
        request_id: of the prompt.
    """

    client: Client
    session: ScriptedSession
    number: int
    request_id: str | int | None

    async def run(self, command: Command) -> str:
        """Execute the command; return the stop reason."""
        for update in updates_for(command, self.number):
            self.send(update)
        await self.client.connection.drain()
        match command:
            case WaitForCancel():
                await asyncio.Event().wait()
            case CancelStatus():
                return self._cancel_status()
            case Callbacks():
                await self._callbacks()
            case Elicitations():
                self._require(self._elicitations())
                await self._elicit()
            case Full():
                await self._callbacks()
                if all(self._offers(request) for request in self._elicitations()):
                    await self._elicit()
            case ListTools() | CallTool():
                self._say(await self._use_tools(command))
            case _:
                pass
        return END_TURN

    def send(self, update: Update) -> None:
        """Send an update, and record messages and tool calls for a replay."""
        if update["sessionUpdate"] in {"agent_message_chunk", "tool_call", "tool_call_update"}:
            self.session.history.append(update)
        self.client.connection.notify(
            "session/update", {"sessionId": self.session.id, "update": update}
        )

    def _say(self, text: str) -> None:
        self.send(message(text, self.number))

    async def _use_tools(self, command: ListTools | CallTool) -> str:
        named = [each for each in self.session.servers if each.get("name") == command.server]
        if not named:
            return f"ERROR: no MCP server is called {command.server}"
        opening = open_server(named[0], tunnels=self.client.tunnels, cwd=self.session.directory)
        try:
            async with opening as server:
                match command:
                    case ListTools():
                        return _listed(await server.list_tools())
                    case CallTool(_, tool, params):
                        return _result_text(await server.call_tool(tool, params))
        except PeerwireError as error:
            return f"ERROR: {error}"

    def _cancel_status(self) -> str:
        is_cancelled = self.session.turns.is_cancelled
        self._say("cancelled" if is_cancelled else "not cancelled")
        return CANCELLED if is_cancelled else END_TURN

    async def _callbacks(self) -> None:
        outcomes: list[str] = []
        for request in callbacks(self.session.id, self.session.directory, self.number):
            if not self._offers(request):
                outcomes.append(f"{request.method}: not offered")
                continue
            outcome = await self._ask(request)
            outcomes.append(_worded(request, outcome))
            if request.method == "terminal/create" and isinstance(outcome, dict):
                outcomes += await self._use_terminal(outcome["terminalId"])
        self._say("\n".join(outcomes))

    async def _use_terminal(self, terminal_id: str) -> list[str]:
        for update in terminal_call(terminal_id, self.number):
            self.send(update)
        *steps, release = terminal_steps(self.session.id, terminal_id)
        try:
            outcomes = [_worded(step, await self._ask(step)) for step in steps]
        except asyncio.CancelledError:
            # The client keeps a terminal until it is released, even if the turn is canceled.
            self.client.connection.post(release.method, release.params)
            raise
        return [*outcomes, _worded(release, await self._ask(release))]

    def _elicitations(self) -> tuple[ClientRequest, ...]:
        return elicitations(self.session.id, self.request_id, self.number)

    async def _elicit(self) -> None:
        start, end = asking_call(self.number)
        self.send(start)
        outcomes: list[str] = []
        for request in self._elicitations():
            outcome = await self._ask(request)
            outcomes.append(f"{request.params['mode']} {_worded(request, outcome)}")
            if isinstance(outcome, dict) and "elicitationId" in request.params:
                done = {"elicitationId": request.params["elicitationId"]}
                self.client.connection.notify("elicitation/complete", done)
        self.send(end)
        self._say("\n".join(outcomes))

    def _require(self, requests: tuple[ClientRequest, ...]) -> None:
        missing = {request.needs for request in requests if not self._offers(request)}
        if missing:
            reason = f"the client does not offer {' and '.join(sorted(missing))}"
            raise RpcError(INVALID_PARAMS, {"reason": reason})

    def _offers(self, request: ClientRequest) -> bool:
        return is_offered(request.needs, self.client.capabilities)

    async def _ask(self, request: ClientRequest) -> dict[str, Any] | RpcError:
        try:
            return await self.client.connection.request(request.method, request.params)
        except RpcError as error:
            return error


def _listed(tools: Sequence[McpTool]) -> str:
    lines = [f"  - {tool.name}: {tool.description or ''}".rstrip() for tool in tools]
    return "\n".join(["Available tools:", *lines])


def _result_text(result: ToolResult) -> str:
    return f"{'ERROR' if result.is_error else 'OK'}: {encode_value(result.content).decode()}"


def _worded(request: ClientRequest, outcome: dict[str, Any] | RpcError) -> str:
    if isinstance(outcome, RpcError):
        return f"{request.method}: error {outcome.code} {outcome}"
    return f"{request.method}: {encode_value(outcome).decode()}"


NEWEST: Final = 2
"""Highest supported version of ACP; of version 2, only the handshake."""

CAPABILITIES: Final[dict[str, Any]] = {
    "loadSession": True,
    "mcpCapabilities": {"http": True, "sse": False, "acp": True},
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}, "fork": {}},
    "auth": {"logout": {}},
}
INFO: Final = {"name": "testy", "title": "Test agent", "version": "1"}
AUTH_METHODS: Final = [{"id": "testy", "name": "Nothing to do", "description": "Always succeeds."}]


class ScriptedAgent:
    """Test agent for one client."""

    def __init__(self, transport: Transport) -> None:
        self._turns = 0
        self._capabilities: dict[str, Any] = {}
        self._sessions = ScriptedSessions(self._send)
        self._tunnels = AcpMcpConnections()
        self._connection = self._tunnels.connection = Connection(
            transport,
            Handlers(
                requests={
                    "initialize": self._initialize,
                    "authenticate": lambda _: {},
                    "logout": lambda _: {},
                    "session/prompt": self._prompt,
                    **self._sessions.handlers(),
                    **self._tunnels.requests,
                },
                notifications={
                    "session/cancel": self._sessions.cancel,
                    **self._tunnels.notifications,
                },
            ),
        )

    async def run(self) -> None:
        """Serve until the client ends the connection."""
        await self._connection.run()

    def _initialize(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, Initialize)
        self._capabilities = params.client_capabilities or {}
        version = min(max(params.protocol_version, 1), NEWEST)
        answer: dict[str, Any] = {"protocolVersion": version, "authMethods": AUTH_METHODS}
        if version == 1:
            return answer | {"agentCapabilities": CAPABILITIES, "agentInfo": INFO}
        return answer | {"capabilities": {"session": {}}, "info": INFO}

    async def _prompt(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, Prompt)
        session = self._sessions.open_session(params.session_id)
        self._turns += 1
        turn = ScenarioTurn(
            Client(self._connection, self._tunnels, self._capabilities),
            session,
            self._turns,
            decode_value(request.id),
        )
        _remember(session, params, self._turns)
        return {"stopReason": await session.turns.run(_run(turn, params.text))}

    def _send(self, session_id: str, update: Update) -> None:
        self._connection.notify("session/update", {"sessionId": session_id, "update": update})


async def _run(turn: ScenarioTurn, text: str) -> str:
    try:
        command = parse_command(text)
    except ScenarioError as error:
        turn.send(message(str(error), turn.number))
        return END_TURN
    return await turn.run(command)


def _remember(session: ScriptedSession, prompt: Prompt, number: int) -> None:
    for block in prompt.prompt:
        session.history.append(
            {"sessionUpdate": "user_message_chunk", "messageId": f"user-{number}", "content": block}
        )


async def serve_testy(transport: Transport) -> None:
    """Serve one client until it closes the connection."""
    await ScriptedAgent(transport).run()


spec = AgentSpec(
    name="testy",
    summary="Runs JSON commands from prompts, for testing clients and mods.",
    serve=serve_testy,
)
