"""The turns of one session, as its agent runs them: each ends once, by itself or cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import Final

CANCELLED: Final = "cancelled"
"""The stop reason of a turn that `session/cancel` has ended (acp-host §1.8)."""


class Turns:
    """What runs in one session at present; most clients let one turn end before the next."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called; stays so until every turn of then has ended."""
        return self._is_cancelled

    async def run(self, work: Awaitable[str]) -> str:
        """Run one turn.

        Returns:
            Its stop reason: what `work` says, or `cancelled`.
        """
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                self._quiet.clear()
                return await work
        except TimeoutError:
            if not scope.expired():
                raise
            return CANCELLED
        finally:
            self._scopes.discard(scope)
            if not self._scopes:
                self._quiet.set()
                self._is_cancelled = False

    def cancel(self) -> None:
        """End every turn that runs, where it waits next; without one nothing happens."""
        self._is_cancelled = bool(self._scopes)
        for scope in self._scopes:
            scope.reschedule(asyncio.get_running_loop().time())

    async def quiet(self) -> None:
        """Wait until no turn runs."""
        await self._quiet.wait()
