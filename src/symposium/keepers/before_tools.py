"""What is done around tool calls: the worktree is kept before one can destroy it."""

from typing import Protocol


class BeforeTools(Protocol):
    """Keeps what a tool may destroy."""

    async def __aenter__(self) -> object:
        """Begin."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """End; what was asked for has been done or given up."""
        ...

    def soon(self, reason: str) -> None:
        """Keep the worktree as it is now, without holding up the agent."""
        ...

    async def keep(self, reason: str) -> None:
        """Keep the worktree as it is now, and return when that is done or cannot be."""
        ...


class NothingKept:
    """Keeps nothing: for an agent that works in no taskspace."""

    async def __aenter__(self) -> object:
        """Nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing."""

    def soon(self, reason: str) -> None:
        """Nothing."""

    async def keep(self, reason: str) -> None:
        """Nothing."""
