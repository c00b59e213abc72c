'''Base classes of bus messages, roles, and the catalog of message types.

A message is one class in a module of `bus/messages/`; each module covers one topic:

    class SignalUser(BusRequest[Recorded], frozen=True, kw_only=True):
        """Ask for the user's attention."""

        about: ClassVar = MessageSpec(
            "signal_user", sent_by=AGENTS, target=MessageTarget.ENGINE, budget=2.0
        )
        taskspace_uuid: str

`BusRequest[...]` names the type of the reply; a message without a reply is an `Announcement`.
'''

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from localio.plugins import names_in
from peerwire.errors import LocalError


class Role(Enum):
    """The declared role of a peer.

    The bus belongs to one user: roles contain mistakes of other parts and keep stray programs away
    from control messages. No peer can connect as `daemon` or as `legacy`.
    """

    DAEMON = "daemon"
    MCP_SERVER = "mcp-server"
    HOST = "host"
    EDITOR = "editor"
    APP = "app"
    CLI = "cli"
    OBSERVER = "observer"
    LEGACY = "legacy"


ASSIGNED_ROLES: Final = frozenset({Role.DAEMON, Role.LEGACY})
"""Roles that `hello` cannot claim."""

USER_ROLES: Final = frozenset({Role.APP, Role.CLI, Role.EDITOR})
"""Peers that act for the user."""

AGENTS: Final = frozenset({Role.MCP_SERVER, Role.HOST})
"""Peers that act for an agent."""

ANYONE: Final = frozenset(Role) - {Role.OBSERVER, Role.LEGACY}
"""Every peer after `hello`, except those that only watch."""


Answer = TypeVar("Answer", covariant=True)  # noqa: PLC0105 - a name, not its variance


class MessageTarget(Enum):
    """Receiver of a message without an address."""

    BROKER = "broker"
    ENGINE = "engine"
    WINDOW = "window"
    MCP_SERVER = "mcp-server"
    ASKER = "asker"
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """Properties of a message type for routing.

    Attributes:
        type: name on the wire.
        sent_by: roles that may send it.
        target: receiver if the envelope has no address.
        budget: seconds to answer it; 0 for announcements.
        is_idempotent: whether a client may send it again if the outcome is unknown.
        version: 1 if the reference defines it and its peers may receive it.
        source: specification.
        alias_of: current message type, for an older name.
        is_public: whether subscribers receive a copy of the request.
    """

    type: str
    sent_by: frozenset[Role]
    target: MessageTarget
    budget: float = 0.0
    is_idempotent: bool = False
    version: int = 1
    source: str = ""
    alias_of: str = ""
    is_public: bool = False


class PayloadError(ValueError):
    """A payload does not match its message type; the text names the place."""


class BusMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Payload of one message type; unknown members are ignored."""

    about: ClassVar[MessageSpec]

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """Decode a payload; classes with older spellings override this.

        Raises:
            PayloadError: it is malformed.
        """
        return read_as(cls, payload)

    def canonical(self) -> "BusMessage":
        """The current message for an older name, otherwise itself."""
        return self


class Announcement(BusMessage, frozen=True):
    """A message without a reply."""


class BusRequest(BusMessage, Generic[Answer], frozen=True):
    """A message with a reply of type `Answer`, or an error."""


class BusReply(Struct, frozen=True, kw_only=True):
    """Data of a successful response; every member is written."""

    @classmethod
    def read(cls, data: Raw) -> Self:
        """Decode the data of a response; classes with other accepted forms override this.

        Raises:
            PayloadError: it is malformed.
        """
        return read_as(cls, data)


class Ack(BusReply, frozen=True):
    """Data of a response that only confirms success; may be absent."""

    @classmethod
    def read(cls, data: Raw) -> Self:
        """Decode the data; null counts as an empty object."""
        return cls() if bytes(data) == b"null" else read_as(cls, data)


_Value = TypeVar("_Value")


def read_as(kind: type[_Value], payload: Raw | bytes) -> _Value:
    """Decode a JSON value as this type.

    Raises:
        PayloadError: it is malformed.
    """
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PayloadError(str(error)) from error


def read_reply(kind: type[BusRequest[Answer]], data: Raw | UnsetType) -> Answer:
    """Decode the data of a response to a request of this class.

    Raises:
        PayloadError: it is malformed.
    """
    expected: Any = reply_type(kind)
    written = Raw(b"null") if data is UNSET else data
    if isinstance(expected, type) and issubclass(cast("type[Any]", expected), BusReply):
        return cast("Answer", cast("type[BusReply]", expected).read(written))
    return cast("Answer", read_as(expected, written))


def reply_type(kind: type[BusMessage]) -> Any:
    """Type of a request's reply; None for an announcement."""
    for base in getattr(kind, "__orig_bases__", ()):
        if found := get_args(base):
            return found[0]
    return None


def fields_of(kind: type[Any]) -> dict[str, Any]:
    """Wire names of a struct's members, with their annotated types."""
    hints = get_type_hints(kind)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(kind)}


_encode: Final = msgspec.json.Encoder().encode


def payload_of(message: object) -> Raw:
    """JSON of a message, a reply, or another encodable value."""
    return Raw(_encode(message))


MESSAGES: Final = "symposium.bus.messages"


@cache
def message_types() -> Mapping[str, type[BusMessage]]:
    """Every message class by its type's name; imports all of them.

    Raises:
        LocalError: a module has no message class, or two classes have one name.
    """
    types: dict[str, type[BusMessage]] = {}
    for name in names_in(MESSAGES):
        for kind in _classes_of(name.replace("-", "_")):
            if kind.about.type in types:
                raise LocalError(f"two message classes have the type {kind.about.type}")
            types[kind.about.type] = kind
    return MappingProxyType(dict(sorted(types.items())))


@cache
def sendable_by(role: Role) -> frozenset[str]:
    """Message types that a peer of this role may send."""
    return frozenset(n for n, kind in message_types().items() if role in kind.about.sent_by)


def _classes_of(name: str) -> list[type[BusMessage]]:
    module = import_module(f"{MESSAGES}.{name}")
    found = [value for value in vars(module).values() if _is_message_of(value, module.__name__)]
    if not found:
        raise LocalError(f"{module.__name__} has no message class")
    return [cast("type[BusMessage]", each) for each in found]


def _is_message_of(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, BusMessage) and value.__module__ == module
