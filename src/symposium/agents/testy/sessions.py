"""The scripted agent's sessions, and its requests to the client.

A request is sent only where the client declared the capability it needs. Those of a terminal wait
for the id that `terminal/create` was answered with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from peerwire.acp.agent import (
    InSession,
    ListSessions,
    SetConfigOption,
    SetMode,
    SetUp,
    SetUpAgain,
    Turns,
    read_params,
)
from peerwire.errors import INVALID_PARAMS, RpcError
from peerwire.jsonrpc.handlers import Request, RequestHandler
from symposium.agents.testy.updates import Update, config_options, modes

PAGE: Final = 20
"""Sessions in one answer to `session/list`; the rest is behind its cursor."""

SendUpdate: TypeAlias = Callable[[str, Update], None]


@dataclass(slots=True)
class ScriptedSession:
    """One conversation, in the memory of the agent.

    Attributes:
        id: as on the wire.
        directory: where the client works.
        servers: the MCP servers that the client declared.
        history: every update that tells what was said, for a replay.
        turns: what runs in it.
        is_open: whether it can be prompted; a closed one can be loaded again.
    """

    id: str
    directory: str
    servers: list[dict[str, Any]]
    history: list[Update] = field(default_factory=list[Update])
    turns: Turns = field(default_factory=Turns)
    is_open: bool = True
    mode: str = "chat"
    verbosity: str = "brief"

    def settings(self) -> dict[str, Any]:
        """Members of the response to every request that opens a session."""
        return {"modes": modes(self.mode), "configOptions": config_options(self.verbosity)}


class ScriptedSessions:
    """All of them, by id, and what the client may do to them."""

    def __init__(self, send: SendUpdate) -> None:
        self._send = send
        self._sessions: dict[str, ScriptedSession] = {}
        self._made = 0

    def handlers(self) -> dict[str, RequestHandler]:
        """Request handlers, by method."""
        return {
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": lambda request: self._again(request).settings(),
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    def open_session(self, session_id: str) -> ScriptedSession:
        """The session of that id.

        Raises:
            RpcError: it does not exist, or is closed.
        """
        session = self._sessions.get(session_id)
        if session is None or not session.is_open:
            raise RpcError(INVALID_PARAMS, {"reason": "unknown session", "sessionId": session_id})
        return session

    def cancel(self, params: Any) -> None:
        """End the turns of a session; of one that is unknown there is nothing to end."""
        session = self._sessions.get(read_params(params, InSession).session_id)
        if session is not None:
            session.turns.cancel()

    def _new(self, request: Request) -> dict[str, Any]:
        session = self._make(read_params(request.params, SetUp))
        return {"sessionId": session.id, **session.settings()}

    def _load(self, request: Request) -> dict[str, Any]:
        session = self._again(request)
        for update in session.history:
            self._send(session.id, update)
        return session.settings()

    def _fork(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, SetUpAgain)
        origin = self.open_session(params.session_id)
        session = self._make(params)
        session.history = [*origin.history]
        session.mode, session.verbosity = origin.mode, origin.verbosity
        return {"sessionId": session.id, **session.settings()}

    def _list(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, ListSessions)
        cursor = params.cursor or "0"
        if not cursor.isdecimal():
            raise RpcError(INVALID_PARAMS, {"reason": "unknown cursor", "cursor": cursor})
        found = [
            {"sessionId": session.id, "cwd": session.directory}
            for session in self._sessions.values()
            if params.cwd in (None, session.directory)
        ]
        end = int(cursor) + PAGE
        page: dict[str, Any] = {"sessions": found[int(cursor) : end]}
        return page | {"nextCursor": str(end)} if end < len(found) else page

    async def _close(self, request: Request) -> dict[str, Any]:
        session = self.open_session(read_params(request.params, InSession).session_id)
        session.is_open = False
        session.turns.cancel()
        await session.turns.quiet()
        return {}

    async def _delete(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, InSession)
        # A session that does not exist counts as deleted.
        if session := self._sessions.pop(params.session_id, None):
            session.turns.cancel()
            await session.turns.quiet()
        return {}

    def _set_mode(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, SetMode)
        session = self.open_session(params.session_id)
        known = [mode["id"] for mode in modes(session.mode)["availableModes"]]
        if params.mode_id not in known:
            raise RpcError(INVALID_PARAMS, {"reason": "unknown mode", "known": known})
        session.mode = params.mode_id
        return {}

    def _set_config_option(self, request: Request) -> dict[str, Any]:
        params = read_params(request.params, SetConfigOption)
        session = self.open_session(params.session_id)
        option = config_options(session.verbosity)[0]
        known = [choice["value"] for choice in option["options"]]
        if params.config_id != option["id"] or params.value not in known:
            raise RpcError(INVALID_PARAMS, {"reason": "unknown option or value", "known": option})
        session.verbosity = params.value
        return {"configOptions": config_options(session.verbosity)}

    def _make(self, params: SetUp) -> ScriptedSession:
        while (session_id := f"testy-session-{self._made + 1}") in self._sessions:
            self._made += 1
        self._made += 1
        return self._open(session_id, params)

    def _again(self, request: Request) -> ScriptedSession:
        params = read_params(request.params, SetUpAgain)
        # An id of an earlier run is accepted unchecked: to a client, that run might have been ours.
        session = self._sessions.get(params.session_id)
        if session is None:
            return self._open(params.session_id, params)
        session.is_open = True
        session.directory, session.servers = params.cwd, params.mcp_servers or []
        return session

    def _open(self, session_id: str, params: SetUp) -> ScriptedSession:
        session = ScriptedSession(session_id, params.cwd, params.mcp_servers or [])
        self._sessions[session_id] = session
        return session


_ELICIT = "elicitation/create"


class ClientRequest(Struct, frozen=True):
    """One request to the client.

    Attributes:
        method: as on the wire.
        params: as on the wire.
        needs: path of the client's capability, `fs.readTextFile` say; empty where none is needed.
    """

    method: str
    params: dict[str, Any]
    needs: str = ""


def callbacks(session_id: str, directory: str, turn: int) -> tuple[ClientRequest, ...]:
    """Permission first, then a file written and read again, then a terminal made.

    Args:
        session_id: of the session whose turn this is.
        directory: an absolute path; the file is written there.
        turn: makes the ids of this turn.
    """
    session = {"sessionId": session_id}
    path = f"{directory}/testy-{turn}.txt"
    return (
        ClientRequest("session/request_permission", session | _permission(turn)),
        ClientRequest(
            "fs/write_text_file",
            session | {"path": path, "content": "written by the test agent\n"},
            "fs.writeTextFile",
        ),
        ClientRequest(
            "fs/read_text_file", session | {"path": path, "line": 1, "limit": 1}, "fs.readTextFile"
        ),
        ClientRequest(
            "terminal/create",
            session
            | {"command": "echo", "args": ["testy"], "cwd": directory, "outputByteLimit": 4096},
            "terminal",
        ),
    )


def terminal_steps(session_id: str, terminal_id: str) -> tuple[ClientRequest, ...]:
    """Requests to make on a terminal that the client has created, its release last."""
    params = {"sessionId": session_id, "terminalId": terminal_id}
    steps = ("output", "wait_for_exit", "kill", "release")
    return tuple(ClientRequest(f"terminal/{step}", params, "terminal") for step in steps)


def elicitations(
    session_id: str, request_id: str | int | None, turn: int
) -> tuple[ClientRequest, ...]:
    """Every mode in every scope: the session, a tool call of it, the request being served.

    Args:
        session_id: of the session whose turn this is.
        request_id: of the prompt being served, as it reached this agent.
        turn: makes the ids of this turn.
    """
    session = {"sessionId": session_id}
    scopes = (session, session | {"toolCallId": f"elicit-{turn}"}, {"requestId": request_id})
    return (
        *(ClientRequest(_ELICIT, _form() | scope, "elicitation.form") for scope in scopes),
        *(
            ClientRequest(_ELICIT, _url(f"url-{turn}-{number}") | scope, "elicitation.url")
            for number, scope in enumerate(scopes, start=1)
        ),
    )


def is_offered(needs: str, capabilities: Mapping[str, Any]) -> bool:
    """Whether the client declared a capability: there, and neither null nor false."""
    declared: Any = capabilities
    for name in needs.split(".") if needs else ():
        if not isinstance(declared, Mapping):
            return False
        declared = cast("Mapping[str, Any]", declared).get(name)
    return declared is not None and declared is not False


def _permission(turn: int) -> dict[str, Any]:
    return {
        "toolCall": {
            "toolCallId": f"permission-{turn}",
            "title": "Do something that needs permission",
            "kind": "edit",
            "status": "pending",
        },
        "options": [
            {"optionId": kind.replace("_", "-"), "name": name, "kind": kind}
            for kind, name in (
                ("allow_once", "Allow once"),
                ("allow_always", "Allow always"),
                ("reject_once", "Reject once"),
                ("reject_always", "Reject always"),
            )
        ],
    }


def _form() -> dict[str, Any]:
    return {
        "mode": "form",
        "message": "What should the test agent be called?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Name", "minLength": 1},
                "age": {"type": "integer", "minimum": 0},
                "loud": {"type": "boolean", "default": False},
                "colour": {"type": "string", "enum": ["red", "green"]},
            },
            "required": ["name"],
        },
    }


def _url(elicitation_id: str) -> dict[str, Any]:
    return {
        "mode": "url",
        "message": "Sign in to the test agent.",
        "elicitationId": elicitation_id,
        "url": f"https://testy.invalid/{elicitation_id}",
    }
