'''Messages of the bus: base classes, roles, and the catalog of all types.

A message is one class in a module under `bus/messages/`, one module for each topic:

    class SignalUser(BusRequest[Recorded], frozen=True, kw_only=True):
        """Ask for the user's attention."""

        about: ClassVar = MessageSpec(
            "signal_user", sent_by=AGENTS, target=MessageTarget.ENGINE, budget=2.0
        )
        taskspace_uuid: str

`BusRequest[...]` names the reply's data; a message that wants no reply is an `Announcement`.
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

    The bus is one user's: roles keep parts of the host from each other's mistakes, and a stray
    program from the levers. No peer connects as `daemon` or as `legacy`.
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
"""Roles that no `hello` may claim."""

USER_ROLES: Final = frozenset({Role.APP, Role.CLI, Role.EDITOR})
"""Peers that act for a person."""

AGENTS: Final = frozenset({Role.MCP_SERVER, Role.HOST})
"""Peers that act for an agent."""

ANYONE: Final = frozenset(Role) - {Role.OBSERVER, Role.LEGACY}
"""Everyone who has said hello, but for those who only watch."""


Answer = TypeVar("Answer", covariant=True)  # noqa: PLC0105 - a name, not its variance


class MessageTarget(Enum):
    """Receiver of a message whose envelope has no address."""

    BROKER = "broker"
    ENGINE = "engine"
    WINDOW = "window"
    MCP_SERVER = "mcp-server"
    ASKER = "asker"
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """Properties of a message type that the bus uses.

    Attributes:
        type: its name on the wire.
        sent_by: who may send it.
        target: who it is for, when the envelope does not say.
        budget: seconds in which it must be answered; 0 for what wants no reply.
        is_idempotent: whether a client may send it again when it does not know what became of it.
        version: 1 for what the reference knows, and its peers may therefore be sent.
        source: where it is described.
        stands_for: the message type that this is an older name of.
        is_public: of a request, whether subscribers get a copy of it.
    """

    type: str
    sent_by: frozenset[Role]
    target: MessageTarget
    budget: float = 0.0
    is_idempotent: bool = False
    version: int = 1
    source: str = ""
    stands_for: str = ""
    is_public: bool = False


class PayloadError(ValueError):
    """A payload is not what its message type says; the text names the place in it."""


class BusMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of one message type; members we do not know are left aside."""

    about: ClassVar[MessageSpec]

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """The message that a payload holds; classes with older spellings override it.

        Raises:
            PayloadError: it holds none.
        """
        return read_as(cls, payload)

    def canonical(self) -> "BusMessage":
        """The current message for an older name, otherwise itself."""
        return self


class Announcement(BusMessage, frozen=True):
    """A message that wants no reply."""


class BusRequest(BusMessage, Generic[Answer], frozen=True):
    """A message that is answered with `Answer`, or with an error."""


class BusReply(Struct, frozen=True, kw_only=True):
    """The data of a successful response; every member is written."""

    @classmethod
    def read(cls, data: Raw) -> Self:
        """Parse the data of a response; classes that accept other forms override it.

        Raises:
            PayloadError: the data has the wrong shape.
        """
        return read_as(cls, data)


class Ack(BusReply, frozen=True):
    """Data of a response that says no more than that it is done; may be absent."""

    @classmethod
    def read(cls, data: Raw) -> Self:
        """Parse the data; null counts as an empty object."""
        return cls() if bytes(data) == b"null" else read_as(cls, data)


_Value = TypeVar("_Value")


def read_as(kind: type[_Value], payload: Raw | bytes) -> _Value:
    """A JSON value as this type.

    Raises:
        PayloadError: the payload is malformed.
    """
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise PayloadError(str(error)) from error


def read_reply(kind: type[BusRequest[Answer]], data: Raw | UnsetType) -> Answer:
    """The data of a response to a request of this kind.

    Raises:
        PayloadError: it is not what the request's class says.
    """
    expected: Any = reply_type(kind)
    written = Raw(b"null") if data is UNSET else data
    if isinstance(expected, type) and issubclass(cast("type[Any]", expected), BusReply):
        return cast("Answer", cast("type[BusReply]", expected).read(written))
    return cast("Answer", read_as(expected, written))


def reply_type(kind: type[BusMessage]) -> Any:
    """The type of a request's reply, as its class says; None for an announcement."""
    for base in getattr(kind, "__orig_bases__", ()):
        if found := get_args(base):
            return found[0]
    return None


def fields_of(kind: type[Any]) -> dict[str, Any]:
    """The wire names of a struct's members, each with its annotated type."""
    hints = get_type_hints(kind)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(kind)}


_encode: Final = msgspec.json.Encoder().encode


def payload_of(message: object) -> Raw:
    """The JSON text of a message, a reply or another value that has one."""
    return Raw(_encode(message))


MESSAGES: Final = "symposium.bus.messages"


@cache
def message_types() -> Mapping[str, type[BusMessage]]:
    """Every message class by its type's name; imports them all.

    Raises:
        LocalError: a module holds no message class, or two classes have one name.
    """
    types: dict[str, type[BusMessage]] = {}
    for name in names_in(MESSAGES):
        for kind in _classes_of(name.replace("-", "_")):
            if kind.about.type in types:
                raise LocalError(f"two messages are called {kind.about.type}")
            types[kind.about.type] = kind
    return MappingProxyType(dict(sorted(types.items())))


@cache
def sendable_by(role: Role) -> frozenset[str]:
    """The message types that a peer of this role may send."""
    return frozenset(n for n, kind in message_types().items() if role in kind.about.sent_by)


def _classes_of(name: str) -> list[type[BusMessage]]:
    module = import_module(f"{MESSAGES}.{name}")
    found = [value for value in vars(module).values() if _is_message_of(value, module.__name__)]
    if not found:
        raise LocalError(f"{module.__name__} holds no message")
    return [cast("type[BusMessage]", each) for each in found]


def _is_message_of(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, BusMessage) and value.__module__ == module
