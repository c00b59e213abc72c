"""The scripted test agent on the wire: each prompt is a command, and it does just that."""

from typing import Any, Final

from peerwire.acp.agent import Initialize, Prompt, read_params
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from peerwire.jsonrpc.values import decode_value
from peerwire.mcp.session import Tunnels
from symposium.agents.testy.scenario import ScenarioError, parse_command
from symposium.agents.testy.sessions import Session, Sessions
from symposium.agents.testy.turn import END_TURN, Client, ScenarioTurn
from symposium.agents.testy.updates import Update, message
from symposium.chain.mod import AgentSpec

NEWEST: Final = 2
"""The highest version of ACP it answers with; of version 2 it knows the handshake only."""

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
    """One client's test agent."""

    def __init__(self, transport: Transport) -> None:
        self._turns = 0
        self._capabilities: dict[str, Any] = {}
        self._sessions = Sessions(self._send)
        self._tunnels = Tunnels()
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


def _remember(session: Session, prompt: Prompt, number: int) -> None:
    for block in prompt.prompt:
        session.history.append(
            {"sessionUpdate": "user_message_chunk", "messageId": f"user-{number}", "content": block}
        )


async def serve_testy(transport: Transport) -> None:
    """Be the test agent to one client until it ends the connection."""
    await ScriptedAgent(transport).run()


spec = AgentSpec(
    name="testy",
    summary="Does what a prompt in JSON tells it, to try out clients and mods.",
    serve=serve_testy,
)
