"""Work that must not be left half done: it goes on when whoever asked for it has gone."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from peerwire.errors import Boundary

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

FAREWELL: Final = 3.0
"""Seconds in which work that is cut has to stop; less than a part of the daemon has to end in."""


class Undertakings:
    """What has been begun and is not ended."""

    def __init__(self) -> None:
        self._going: set[asyncio.Task[Exception | None]] = set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is being done."""
        return not self._going

    async def to_its_end(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """What the work gives; whoever is cancelled meanwhile waits for its end first.

        Raises:
            asyncio.CancelledError: whoever asked has gone, and the work is done; or it was cut.
        """
        results: list[_Result] = []

        async def run() -> Exception | None:
            # Not the group's error: it goes to whoever asked, as it is.
            with Boundary() as caught:
                results.append(await work)
            return caught.error

        async with asyncio.TaskGroup() as tasks:
            going = tasks.create_task(run())
            self._going.add(going)
            going.add_done_callback(self._going.discard)
            try:
                error = await asyncio.shield(going)
            except asyncio.CancelledError:
                await asyncio.wait({going})
                _note(going)
                raise
            finally:
                # One that is cut before its first step has not even begun.
                work.close()
        if error is not None:
            raise error
        return results[0]

    async def after_failure(self, rollback: Coroutine[Any, Any, object]) -> None:
        """Run a rollback to its end; if it fails, log that: its caller reports the first failure.

        What a rollback leaves, the next start finds and ends.
        """
        with Boundary() as caught:
            await self.to_its_end(rollback)
        if caught.error is not None:
            _log.error("a rollback failed: %s", caught.error, exc_info=caught.error)

    async def cut(self) -> None:
        """Stop all of it where it is: the next start ends it."""
        for going in self._going:
            going.cancel()
        if self._going:
            await asyncio.wait(self._going, timeout=FAREWELL)


def _note(going: asyncio.Task[Exception | None]) -> None:
    """Write down how it failed: nobody is there any more to be told."""
    error = None if going.cancelled() else going.result()
    if error is not None:
        _log.error("nobody was there any more to be told: %s", error, exc_info=error)
