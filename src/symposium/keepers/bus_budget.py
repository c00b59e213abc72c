"""Asks the daemon whether the budget of a taskspace is spent."""

import asyncio
import logging
from typing import Final

from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.messages.agents import CheckBudget

PATIENCE: Final = 5.0
"""Seconds for an answer."""

_log = logging.getLogger(__name__)


class BusBudget:
    """The budget of one taskspace.

    Args:
        taskspace: its id.
        bus: the way to the daemon; entered by somebody else.
    """

    def __init__(self, taskspace: str, bus: BusClient) -> None:
        self._taskspace = taskspace
        self._bus = bus
        self._known: str | None = None

    async def over(self) -> str | None:
        """What is spent, for people; None while something is left.

        While nobody can say, it is what it was.
        """
        try:
            message = CheckBudget(taskspace_uuid=self._taskspace)
            async with asyncio.timeout(PATIENCE):
                await self._bus.ready()
            verdict = await self._bus.request(message, patience=PATIENCE)
        except (BusError, TimeoutError) as error:
            _log.info("The budget is not known: %s", error)
        else:
            self._known = verdict.text if verdict.is_over else None
        return self._known
