"""Sessions of the scripted agent, and its requests to the client.

A request is sent only if the client declared the required capability. Terminal requests need the
id from the response to `terminal/create`.
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
"""Sessions in one response to `session/list`; the cursor leads to the next page."""

SendUpdate: TypeAlias = Callable[[str, Update], None]


@dataclass(slots=True)
class ScriptedSession:
    """One conversation, in memory.

    Attributes:
        id: session id on the wire.
        directory: the client's working directory.
        servers: the MCP servers that the client declared.
        history: updates with messages and tool calls, for a replay.
        turns: the running turns.
        is_open: whether it accepts prompts; a closed one can be loaded again.
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
    """All sessions by id, and their request handlers."""

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
        """Return the open session with that id.

        Raises:
            RpcError: it does not exist, or is closed.
        """
        session = self._sessions.get(session_id)
        if session is None or not session.is_open:
            raise RpcError(INVALID_PARAMS, {"reason": "unknown session", "sessionId": session_id})
        return session

    def cancel(self, params: Any) -> None:
        """Cancel the turns of a session; an unknown session is ignored."""
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
        # Accept any id: an earlier run of this agent may have created the session.
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
        method: method on the wire.
        params: params on the wire.
        needs: path of the required client capability, such as `fs.readTextFile`; may be empty.
    """

    method: str
    params: dict[str, Any]
    needs: str = ""


def callbacks(session_id: str, directory: str, turn: int) -> tuple[ClientRequest, ...]:
    """Requests for permission, then to write and read a file, then to create a terminal.

    Args:
        session_id: of the session.
        directory: absolute path for the file.
        turn: makes the ids of this turn unique.
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
    """Requests for a terminal that the client has created, its release last."""
    params = {"sessionId": session_id, "terminalId": terminal_id}
    steps = ("output", "wait_for_exit", "kill", "release")
    return tuple(ClientRequest(f"terminal/{step}", params, "terminal") for step in steps)


def elicitations(
    session_id: str, request_id: str | int | None, turn: int
) -> tuple[ClientRequest, ...]:
    """Elicitations in every mode and scope: the session, a tool call, the current request.

    Args:
        session_id: of the session.
        request_id: of the prompt, as this agent received it.
        turn: makes the ids of this turn unique.
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
    """Whether the client declared a capability: present, and neither null nor false."""
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
