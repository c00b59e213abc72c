"""Who answers which message: typed async functions, one for each message class.

This is how a part of the daemon, an editor's end or an MCP server takes part in the bus:

    answers = Answers()

    async def state(message: TaskspaceState, asked: Asked) -> TaskspaceInfo:
        if unknown:
            raise BusRefusedError("there is no such taskspace", "not_found")
        asked.progress("reading", done=1, total=2)        # news for the asker, if one likes
        return TaskspaceInfo(name=...)

    async def hatched(message: Polo, asked: Asked) -> None: ...

    answers.to(TaskspaceState, state)      # a request: what it returns is the reply's data
    answers.hear(Polo, hatched)            # an announcement

Each call runs in a task of its own, started in the order of arrival. A call whose asker goes, or
takes the request back, is cancelled. What a function raises becomes the error of the response:
`BusRefusedError` with its code, any other `SymposiumError` with code `failed`; anything else is a
bug, logged with its trace.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from symposium.bus.catalog import message_types
from symposium.bus.envelope import Envelope, Sender
from symposium.bus.vocabulary import Announcement, Message, Request

Told: TypeAlias = Callable[[str, float | None, float | None], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who sent a message, as a function that answers it needs to know.

    Attributes:
        id: the request's.
        sender: where its sender says it stands.
        by: the connection that sent it, as the broker knows it.
        tell: takes news for the asker.
    """

    id: str
    sender: Sender
    by: str
    tell: Told

    def progress(
        self, message: str, *, done: float | None = None, total: float | None = None
    ) -> None:
        """Send news to whoever asked; nothing comes back."""
        self.tell(message, done, total)


_Request = TypeVar("_Request", bound=Request[Any])
_Heard = TypeVar("_Heard", bound=Message)

Respond: TypeAlias = Callable[[Any, Asked], Awaitable[Any]]


class Answers:
    """The functions of one peer, by message type."""

    def __init__(self) -> None:
        self.requests: dict[str, Respond] = {}
        """What answers each request."""
        self.announcements: dict[str, Respond] = {}
        """What hears each announcement."""

    def to(
        self, kind: type[_Request], respond: Callable[[_Request, Asked], Awaitable[Any]]
    ) -> None:
        """Answer requests of this class with this function.

        Raises:
            ValueError: another one answers them already.
        """
        if kind.about.type in self.requests:
            raise ValueError(f"{kind.about.type} is answered already")
        self.requests[kind.about.type] = respond

    def hear(self, kind: type[_Heard], heard: Callable[[_Heard, Asked], Awaitable[None]]) -> None:
        """Call this function for each announcement of this class.

        Also for each copy of a public request, which another peer answers.

        Raises:
            ValueError: another one hears them already, or nobody gets copies of this request.
        """
        if not issubclass(kind, Announcement) and not kind.about.is_public:
            raise ValueError(f"{kind.about.type} is a request that is not public")
        if kind.about.type in self.announcements:
            raise ValueError(f"{kind.about.type} is heard already")
        self.announcements[kind.about.type] = heard

    def extend(self, others: "Answers") -> None:
        """Take over the functions of others.

        Raises:
            ValueError: both answer the same.
        """
        mine, theirs = (each.requests | each.announcements for each in (self, others))
        if both := mine.keys() & theirs.keys():
            raise ValueError(f"answered twice: {', '.join(sorted(both))}")
        self.requests.update(others.requests)
        self.announcements.update(others.announcements)

    @property
    def handles(self) -> frozenset[str]:
        """The request types answered here, older names of them too."""
        older = {
            name for name, kind in message_types().items() if kind.about.stands_for in self.requests
        }
        return frozenset(self.requests.keys() | older)

    @property
    def subscribes(self) -> frozenset[str]:
        """What to subscribe to for the announcements heard here."""
        return frozenset("*" if name == "traffic" else name for name in self.announcements)

    def find(self, message: Message) -> Respond | None:
        """The function for this message."""
        type_ = message.about.type
        return self.requests.get(type_) or self.announcements.get(type_)


def read_message(envelope: Envelope) -> Message:
    """The message of an envelope, under the name that is emitted (bus §1.11).

    Raises:
        PayloadError: its payload is not what its type says.
        KeyError: there is no such type.
    """
    return message_types()[envelope.type].read(envelope.payload).canonical()
