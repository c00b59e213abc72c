"""What is done around tool calls: the worktree is kept before one can destroy it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from peerwire.jsonrpc.transport import Transport


@dataclass(frozen=True, slots=True)
class Listening:
    """How an agent is listened to.

    Attributes:
        is_old: whether what it says now was said before: it repeats its session.
        trouble: told what could not be done, for people.
    """

    is_old: Callable[[], bool]
    trouble: Callable[[str], None]


class BeforeTools(Protocol):
    """Keeps what a tool may destroy."""

    @property
    def has_changed(self) -> bool:
        """Whether the worktree has changed since the turn began, as far as snapshots show it."""
        ...

    async def __aenter__(self) -> object:
        """Begin."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """End; what was asked for has been done or given up."""
        ...

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """The agent's transport, on which each tool call is heard before anybody acts on it.

        The agent stands still until its worktree is kept.
        """
        ...

    async def keep(self, reason: str) -> str:
        """Keep the worktree as it is now; why that could not be, or nothing."""
        ...

    async def begin_turn(self) -> str:
        """Keep the worktree before the agent is told something; why that could not be."""
        ...


class NothingKept:
    """Keeps nothing: for an agent that works in no taskspace."""

    has_changed = False

    async def __aenter__(self) -> object:
        """Nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing."""

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """The transport as it is."""
        del listening
        return transport

    async def keep(self, reason: str) -> str:
        """Nothing."""
        del reason
        return ""

    async def begin_turn(self) -> str:
        """Nothing."""
        return ""
