"""What the broker wants done; whoever has the sockets does it, in this order."""

from typing import TypeAlias

from msgspec import Struct

from symposium.bus.envelope import Envelope


class Deliver(Struct, frozen=True, gc=False):
    """Write this line to these connections.

    Attributes:
        envelope: the same as a value, where it is at hand: a receiver in this process takes that.
    """

    connections: tuple[str, ...]
    line: bytes
    envelope: Envelope | None = None


class Close(Struct, frozen=True, gc=False):
    """End that connection; what was delivered to it before is still written."""

    connection: str
    reason: str


class Warn(Struct, frozen=True, gc=False):
    """Write this down where the user looks for what has gone wrong."""

    text: str


Action: TypeAlias = Deliver | Close | Warn
