"""What the test agent asks of a client: the bodies of its requests, one after the other.

A request is sent only where the client declared the capability it needs. Those of a terminal wait
for the id that `terminal/create` was answered with.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

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
    """What follows on a terminal that the client has made, its release last."""
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
