"""ACP agent that answers at once with the program Eliza."""

import asyncio
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field

from peerwire.acp.agent import InSession, Prompt, SetUp, SetUpAgain, Turns, read_params
from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.agents.eliza.commands import (
    ListToolsCommand,
    Talk,
    Unreadable,
    UseTool,
    parse_command,
    render_error,
)
from symposium.agents.eliza.engine import DETERMINISTIC_SEED, Eliza
from symposium.chain.mod import AgentSpec

VERSION: Final = 1
"""Version of ACP, for every client."""

CAPABILITIES: Final[dict[str, Any]] = {
    "loadSession": True,
    "mcpCapabilities": {"http": True, "sse": False},
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
    "sessionCapabilities": {"close": {}},
}

COMMANDS: Final[list[dict[str, Any]]] = [
    {
        "name": "list-tools",
        "description": "List the tools of an MCP server of this session.",
        "input": {"hint": "SERVER"},
    },
    {
        "name": "use-tool",
        "description": "Call a tool of an MCP server of this session.",
        "input": {"hint": 'SERVER::TOOL with {"argument": "value"}'},
    },
]
"""Commands announced to clients; each is replaced by its words in `WORDS`."""

WORDS: Final = {"/list-tools": "list tools from", "/use-tool": "use tool"}

_FORMS: Final = " or ".join(f"/{each['name']} {each['input']['hint']}" for each in COMMANDS)


class _Session(Struct):
    eliza: Eliza
    directory: str
    servers: list[dict[str, Any]]
    turns: Turns = field(default_factory=Turns)


class ElizaAgent:
    """Agent for one client, with one conversation per session.

    Args:
        transport: connection to the client.
        seed: start of the answers; None for a random one in each session.
    """

    def __init__(self, transport: Transport, seed: int | None) -> None:
        self._seed = seed
        self._sessions: dict[str, _Session] = {}
        self._calls = 0
        self._connection = Connection(
            transport,
            Handlers(
                requests={
                    "initialize": self._initialize,
                    "session/new": self._new,
                    "session/load": self._load,
                    "session/prompt": self._prompt,
                    "session/close": self._close,
                },
                notifications={"session/cancel": self._cancel},
            ),
        )

    async def run(self) -> None:
        """Serve until the client ends the connection."""
        await self._connection.run()

    def _initialize(self, _: Request) -> dict[str, Any]:
        return {
            "protocolVersion": VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "eliza", "title": "Eliza", "version": "1"},
            "authMethods": [],
        }

    def _new(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, SetUp)
        session_id = f"eliza-{uuid4()}"
        self._open(session_id, params.cwd, params.mcp_servers or [])
        return {"sessionId": session_id}

    def _load(self, request: Request) -> dict[str, Any]:
        # As in the reference: a loaded session has neither its history nor its MCP servers.
        params = read_params(request.params, SetUpAgain)
        self._open(params.session_id, params.cwd, [])
        return {}

    def _open(self, session_id: str, directory: str, servers: list[dict[str, Any]]) -> None:
        self._sessions[session_id] = _Session(Eliza(self._seed), directory, servers)
        # Send the commands after the response, so that the client knows the session id.
        asyncio.get_running_loop().call_soon(
            self._update,
            session_id,
            {"sessionUpdate": "available_commands_update", "availableCommands": COMMANDS},
        )

    async def _prompt(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, Prompt)
        session = self._session(params.session_id)
        return {"stopReason": await session.turns.run(self._turn(session, params))}

    async def _close(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, InSession)
        session = self._session(params.session_id)
        session.turns.cancel()
        await session.turns.quiet()
        self._sessions.pop(params.session_id, None)
        return {}

    def _cancel(self, params: Any) -> None:
        session = self._sessions.get(read_params(params, InSession).session_id)
        if session is not None:
            session.turns.cancel()

    async def _turn(self, session: _Session, params: Prompt) -> str:
        said = params.text
        match parse_command(_in_words(said)):
            case Talk(text) if _is_announced(said):
                self._say(params.session_id, render_error(f"{text} what? Write: {_FORMS}"))
            case Talk(text):
                self._say(params.session_id, session.eliza.reply(text))
            case Unreadable(reply):
                self._say(params.session_id, reply)
            case ListToolsCommand() | UseTool() as command:
                await self._use_tools(session, params.session_id, command)
        await self._connection.drain()
        return "end_turn"

    async def _use_tools(
        self, session: _Session, session_id: str, command: ListToolsCommand | UseTool
    ) -> None:
        self._calls += 1
        call = {"toolCallId": f"call-{self._calls}"}
        self._update(session_id, {"sessionUpdate": "tool_call", **call, **_call_fields(command)})
        status = "failed"
        from symposium.agents.eliza.tools import carry_out

        try:
            report = await carry_out(command, session.servers, session.directory)
            status = "failed" if report.has_failed else "completed"
        finally:
            self._update(
                session_id, {"sessionUpdate": "tool_call_update", **call, "status": status}
            )
        self._say(session_id, report.text)

    def _say(self, session_id: str, text: str) -> None:
        content = {"type": "text", "text": text}
        self._update(session_id, {"sessionUpdate": "agent_message_chunk", "content": content})

    def _update(self, session_id: str, update: dict[str, Any]) -> None:
        self._connection.notify("session/update", {"sessionId": session_id, "update": update})

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(INVALID_PARAMS, {"reason": "unknown session", "sessionId": session_id})
        return session


def _is_announced(text: str) -> bool:
    return text.split(maxsplit=1)[:1] in [[command] for command in WORDS]


def _in_words(text: str) -> str:
    if not _is_announced(text):
        return text
    command, *rest = text.split(maxsplit=1)
    return " ".join([WORDS[command], *rest])


def _call_fields(command: ListToolsCommand | UseTool) -> dict[str, Any]:
    match command:
        case ListToolsCommand(server):
            return {
                "title": f"List the tools of {server}",
                "kind": "search",
                "status": "in_progress",
            }
        case UseTool(server, tool, arguments):
            return {
                "title": f"{server}::{tool}",
                "kind": "other",
                "status": "in_progress",
                "rawInput": arguments,
            }


async def serve_eliza(transport: Transport, *, seed: int | None = None) -> None:
    """Serve Eliza to one client until it ends the connection."""
    await ElizaAgent(transport, seed).run()


spec = AgentSpec(
    name="eliza",
    summary="Answers without a model, always the same way. Calls MCP tools on request.",
    serve=partial(serve_eliza, seed=DETERMINISTIC_SEED),
)
