"""Table of all methods of ACP v1, stable and unstable: senders and requirements.

The table is for endpoints and for documentation. Hops forward unknown methods as well
(acp-host §7.3, T2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, cast

from peerwire.acp.names import CANONICAL, CONNECT, DISCONNECT, ENVELOPES, ERAS, INITIALIZE, MESSAGE


class MethodRole(Enum):
    """The part of a program in a conversation; its values are user-visible names."""

    CLIENT = "client"
    AGENT = "agent"
    PROXY = "proxy"
    CONDUCTOR = "conductor"


COUNTERPART: Final[Mapping[MethodRole, MethodRole]] = MappingProxyType(
    {
        MethodRole.CLIENT: MethodRole.AGENT,
        MethodRole.AGENT: MethodRole.CLIENT,
        MethodRole.PROXY: MethodRole.CONDUCTOR,
        MethodRole.CONDUCTOR: MethodRole.PROXY,
    }
)
"""Peers of each role. A conductor is also an agent to the client, and a client to the agent."""


UNSTABLE: Final = "unstable"
"""Value of `since` for a method that only the unstable schema has."""

_AGENT: Final = frozenset({MethodRole.AGENT})
_CLIENT: Final = frozenset({MethodRole.CLIENT})
_EITHER_END: Final = _AGENT | _CLIENT
_PROXY: Final = frozenset({MethodRole.PROXY})
_SESSION: Final = "agentCapabilities.sessionCapabilities."


class MethodKind(Enum):
    """Kind of message that a method is."""

    REQUEST = "request"
    NOTIFICATION = "notification"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Method:
    """Row of the table of methods.

    Attributes:
        name: the method on the wire.
        receivers: the roles that handle it.
        required: the members its params must have.
        kind: request or notification.
        capability: the member of the handshake that it requires; may be empty.
        since: "1" for the first schema, the day it became stable, or `UNSTABLE`.
        note: further remarks.
    """

    name: str
    receivers: frozenset[MethodRole]
    required: tuple[str, ...] = ()
    kind: MethodKind = MethodKind.REQUEST
    capability: str = ""
    since: str = "1"
    note: str = ""

    @property
    def is_stable(self) -> bool:
        """Whether the stable schema has it."""
        return self.since != UNSTABLE


_ROWS: Final = (
    # Before a session
    Method(INITIALIZE, _AGENT, ("protocolVersion",), note="The first request of a connection."),
    Method("authenticate", _AGENT, ("methodId",), note="In v2 `auth/login`."),
    Method(
        "logout",
        _AGENT,
        capability="agentCapabilities.auth.logout",
        since="2026-05-21",
        note="In v2 `auth/logout`.",
    ),
    # Sessions
    Method("session/new", _AGENT, ("cwd", "mcpServers")),
    Method(
        "session/load",
        _AGENT,
        ("sessionId", "cwd", "mcpServers"),
        capability="agentCapabilities.loadSession",
        note="Replays the history as updates, then answers. Not in v2.",
    ),
    Method(
        "session/resume",
        _AGENT,
        ("sessionId", "cwd"),
        capability=_SESSION + "resume",
        since="2026-04-22",
        note="Replays nothing.",
    ),
    Method("session/list", _AGENT, capability=_SESSION + "list", since="2026-03-09"),
    Method(
        "session/close", _AGENT, ("sessionId",), capability=_SESSION + "close", since="2026-04-23"
    ),
    Method(
        "session/delete", _AGENT, ("sessionId",), capability=_SESSION + "delete", since="2026-06-05"
    ),
    Method(
        "session/fork", _AGENT, ("sessionId", "cwd"), capability=_SESSION + "fork", since=UNSTABLE
    ),
    Method("session/set_mode", _AGENT, ("sessionId", "modeId"), note="Not in v2."),
    Method(
        "session/set_config_option",
        _AGENT,
        ("sessionId", "configId", "value"),
        since="2026-02-04",
        note="`value` is a string, or a boolean next to `type`.",
    ),
    # A turn
    Method(
        "session/prompt",
        _AGENT,
        ("sessionId", "prompt"),
        note="Answered when the turn ends; in v2 when it is accepted.",
    ),
    Method(
        "session/cancel",
        _AGENT,
        ("sessionId",),
        MethodKind.NOTIFICATION,
        note="The prompt then ends with stop reason `cancelled`.",
    ),
    Method("session/update", _CLIENT, ("sessionId", "update"), MethodKind.NOTIFICATION),
    Method(
        "session/request_permission",
        _CLIENT,
        ("sessionId", "toolCall", "options"),
        note="Waits for the user: no time limit.",
    ),
    # Services of the client for the agent
    Method(
        "fs/read_text_file",
        _CLIENT,
        ("sessionId", "path"),
        capability="clientCapabilities.fs.readTextFile",
        note="Not in v2.",
    ),
    Method(
        "fs/write_text_file",
        _CLIENT,
        ("sessionId", "path", "content"),
        capability="clientCapabilities.fs.writeTextFile",
        note="Not in v2.",
    ),
    Method(
        "terminal/create",
        _CLIENT,
        ("sessionId", "command"),
        capability="clientCapabilities.terminal",
        note="Not in v2, like all of `terminal/`.",
    ),
    *(
        Method(
            f"terminal/{act}",
            _CLIENT,
            ("sessionId", "terminalId"),
            capability="clientCapabilities.terminal",
        )
        for act in ("output", "wait_for_exit", "kill", "release")
    ),
    Method(
        "elicitation/create",
        _CLIENT,
        ("message", "mode"),
        capability="clientCapabilities.elicitation",
        since="2026-07-24",
        note="Its `requestId` is an id of this hop. Waits for the user: no time limit.",
    ),
    Method(
        "elicitation/complete",
        _CLIENT,
        ("elicitationId",),
        MethodKind.NOTIFICATION,
        capability="clientCapabilities.elicitation.url",
        since="2026-07-24",
    ),
    # Both directions
    Method(
        "$/cancel_request",
        _EITHER_END | _PROXY | {MethodRole.CONDUCTOR},
        ("requestId",),
        MethodKind.NOTIFICATION,
        since="2026-06-29",
        note="Its `requestId` is an id of this hop; never forwarded unchanged.",
    ),
    # MCP over ACP
    Method(
        CONNECT,
        _CLIENT,
        ("serverId",),
        capability="agentCapabilities.mcpCapabilities.acp",
        since=UNSTABLE,
        note="The component that declared the server answers.",
    ),
    Method(
        MESSAGE,
        _EITHER_END,
        ("connectionId", "method"),
        MethodKind.EITHER,
        capability="agentCapabilities.mcpCapabilities.acp",
        since=UNSTABLE,
        note="A request if the MCP message inside is a request.",
    ),
    Method(
        DISCONNECT,
        _CLIENT,
        ("connectionId",),
        capability="agentCapabilities.mcpCapabilities.acp",
        since=UNSTABLE,
        note="A notification in older eras.",
    ),
    # Model providers
    Method("providers/list", _AGENT, capability="agentCapabilities.providers", since=UNSTABLE),
    Method(
        "providers/set",
        _AGENT,
        ("providerId", "apiType", "baseUrl"),
        capability="agentCapabilities.providers",
        since=UNSTABLE,
    ),
    Method(
        "providers/disable",
        _AGENT,
        ("providerId",),
        capability="agentCapabilities.providers",
        since=UNSTABLE,
    ),
    # Edits the agent suggests while the user types
    Method("nes/start", _AGENT, capability="agentCapabilities.nes", since=UNSTABLE),
    Method(
        "nes/suggest",
        _AGENT,
        ("sessionId", "uri", "version", "position", "triggerKind"),
        capability="agentCapabilities.nes",
        since=UNSTABLE,
    ),
    *(
        Method(
            f"nes/{act}",
            _AGENT,
            ("sessionId", "id"),
            MethodKind.NOTIFICATION,
            capability="agentCapabilities.nes",
            since=UNSTABLE,
        )
        for act in ("accept", "reject")
    ),
    Method("nes/close", _AGENT, ("sessionId",), capability="agentCapabilities.nes", since=UNSTABLE),
    *(
        Method(
            f"document/{act}",
            _AGENT,
            ("sessionId", "uri", *members),
            MethodKind.NOTIFICATION,
            capability="agentCapabilities.nes",
            since=UNSTABLE,
        )
        for act, members in (
            ("didOpen", ("languageId", "version", "text")),
            ("didChange", ("version", "contentChanges")),
            ("didSave", ()),
            ("didFocus", ("version", "position", "visibleRange")),
            ("didClose", ()),
        )
    ),
    # Between a conductor and its proxies, in the canonical era
    Method(
        ERAS[CANONICAL].initialize,
        _PROXY,
        ("protocolVersion",),
        since=UNSTABLE,
        note="Only a conductor sends it; params and result are those of `initialize`.",
    ),
    *(
        Method(
            name,
            _PROXY | {MethodRole.CONDUCTOR},
            ("method",),
            MethodKind.EITHER,
            since=UNSTABLE,
            note="Carries a message to or from the proxy's successor; the response is plain.",
        )
        for name, dialect in ENVELOPES.items()
        if dialect is CANONICAL
    ),
)

METHODS: Final[Mapping[str, Method]] = MappingProxyType({row.name: row for row in _ROWS})
"""All methods by their name on the wire."""


def may_send(role: MethodRole, method: Method) -> bool:
    """Whether a program in this role may send the message.

    A proxy forwards messages in both directions, so it may send those of either end. A conductor
    may send all messages.
    """
    match role:
        case MethodRole.CONDUCTOR:
            return True
        case MethodRole.PROXY:
            return method.receivers != _PROXY
        case end:
            return COUNTERPART[end] in method.receivers


def is_offered(method: Method, handshake: Mapping[str, Any]) -> bool:
    """Whether the handshake allows the method; true if it needs no capability.

    Args:
        method: the row.
        handshake: the params and the result of `initialize` in one mapping. An object, even an
            empty one, allows the method; null does not (acp-host §7.1).
    """
    found: Any = handshake
    for name in method.capability.split(".") if method.capability else ():
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return found is not None and found is not False


def missing_params(method: str, params: object) -> list[str]:
    """Missing required members of the params, in the table's order.

    Empty for unknown methods.
    """
    row = METHODS.get(method)
    if row is None:
        return []
    given = cast("Mapping[str, Any]", params) if isinstance(params, Mapping) else ()
    return [name for name in row.required if name not in given]
