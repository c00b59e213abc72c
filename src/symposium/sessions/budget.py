"""Counts an agent's spending, and pauses it when the budget is used up."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol

from peerwire.jsonrpc.values import as_object
from symposium.bus.client import BusClient
from symposium.bus.errors import BusError
from symposium.bus.messages.agents import CheckBudget
from symposium.sessions.spending import CURRENCIES, read_spending, write_spending

TICK: Final = 1.0
"""Seconds between two questions while a turn runs, or while nothing is left."""

SAFE_WITHIN: Final = 10.0
"""Seconds that a tool which runs may take to end before its turn is cancelled all the same."""

_OVER: Final = frozenset({"completed", "failed"})
_log = logging.getLogger(__name__)


class Budget(Protocol):
    """Says whether a budget is spent."""

    async def exceeded(self) -> str | None:
        """What is spent, for people; None while something is left, or nobody can say."""
        ...


class NoBudget:
    """Of an agent that works in no taskspace."""

    async def exceeded(self) -> str | None:
        """Never."""
        return None


class SpendingMeter:
    """What one agent spends.

    Args:
        directory: of its session.
        budget: says whether it is spent.
        clock: seconds.
    """

    def __init__(
        self, directory: Path, budget: Budget, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._budget = budget
        self._clock = clock
        self._spending = read_spending(directory)
        self._since = 0.0
        self._tools: set[str] = set()
        self._quiet = asyncio.Event()

    def updated(self, session: str, update: Mapping[str, Any]) -> None:
        """Take what an agent tells: costs, and tools that begin and end."""
        match update.get("sessionUpdate"):
            case "usage_update":
                self._cost(session, as_object(update.get("cost")))
            case "tool_call" | "tool_call_update":
                self._tool(str(update.get("toolCallId")), update.get("status"))
            case _:
                pass

    def begun(self) -> None:
        """A turn has begun."""
        self._since = self._clock()
        self._tools.clear()
        self._quiet.set()

    def ended(self) -> None:
        """It has ended, however.

        Raises:
            OSError: that cannot be written down.
        """
        self._count()
        self._spending.turns += 1
        self._write()

    async def allowed(self, paused: Callable[[str], None]) -> None:
        """Return when there is something to spend; `paused` is told once if there is not."""
        told = False
        while (over := await self._budget.exceeded()) is not None:
            if not told:
                told = True
                paused(over)
            await asyncio.sleep(TICK)

    async def shown(self) -> None:
        """Let whoever has the budget see a turn's end: what is to be said of it is said now."""
        await self._budget.exceeded()

    async def spent(self) -> str:
        """Return when nothing is left and no tool runs, or one runs too long: what is spent."""
        while True:
            await asyncio.sleep(TICK)
            self._count()
            self._write()
            if (over := await self._budget.exceeded()) is not None:
                break
        try:
            async with asyncio.timeout(SAFE_WITHIN):
                await self._quiet.wait()
        except TimeoutError:
            _log.warning("a tool still runs; its turn is cancelled all the same")
        return over

    def _cost(self, session: str, cost: Mapping[str, Any]) -> None:
        amount, currency = cost.get("amount"), str(cost.get("currency")).lower()
        if (
            not isinstance(amount, int | float | Decimal)
            or currency not in CURRENCIES
            or not 0 <= amount < math.inf
        ):
            return
        mine = self._spending
        if mine.session != session:
            # It tells the sum of its session: a new one begins with nothing.
            mine.session, mine.told = session, {}
        now = float(amount)
        more = max(now - mine.told.get(currency, 0.0), 0.0)
        mine.costs[currency] = mine.costs.get(currency, 0.0) + more
        mine.told[currency] = now

    def _tool(self, id_: str, status: object) -> None:
        if status in _OVER:
            self._tools.discard(id_)
        else:
            self._tools.add(id_)
        if self._tools:
            self._quiet.clear()
        else:
            self._quiet.set()

    def _count(self) -> None:
        now = self._clock()
        self._spending.seconds += now - self._since
        self._since = now

    def _write(self) -> None:
        write_spending(self._directory, self._spending)


BUDGET_TIMEOUT: Final = 5.0
"""Seconds for an answer."""


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

    async def exceeded(self) -> str | None:
        """What is spent, for people; None while something is left.

        While nobody can say, it is what it was.
        """
        try:
            message = CheckBudget(taskspace_uuid=self._taskspace)
            async with asyncio.timeout(BUDGET_TIMEOUT):
                await self._bus.ready()
            verdict = await self._bus.request(message, patience=BUDGET_TIMEOUT)
        except (BusError, TimeoutError) as error:
            _log.info("The budget is not known: %s", error)
        else:
            self._known = verdict.text if verdict.is_over else None
        return self._known
