"""Track an agent's spending, and pause it when the budget is used up."""

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
"""Interval in seconds between budget checks during a turn or a pause."""

SAFE_WITHIN: Final = 10.0
"""Limit in seconds for a running tool before its turn is canceled anyway."""

_OVER: Final = frozenset({"completed", "failed"})
_log = logging.getLogger(__name__)


class Budget(Protocol):
    """Report whether a budget is used up."""

    async def exceeded(self) -> str | None:
        """Describe the exceeded limit; None if there is budget left, or it is unknown."""
        ...


class NoBudget:
    """Unlimited budget, for an agent without a task."""

    async def exceeded(self) -> str | None:
        return None


class SpendingMeter:
    """Spending of one agent.

    Args:
        directory: of its session.
        budget: of its task.
        clock: current time in seconds.
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
        """Process an update: costs, and tools that start and end."""
        match update.get("sessionUpdate"):
            case "usage_update":
                self._cost(session, as_object(update.get("cost")))
            case "tool_call" | "tool_call_update":
                self._tool(str(update.get("toolCallId")), update.get("status"))
            case _:
                pass

    def begun(self) -> None:
        """Start measuring a turn."""
        self._since = self._clock()
        self._tools.clear()
        self._quiet.set()

    def ended(self) -> None:
        """End a turn.

        Raises:
            OSError: the spending cannot be saved.
        """
        self._count()
        self._spending.turns += 1
        self._write()

    async def allowed(self, paused: Callable[[str], None]) -> None:
        """Return when there is budget; call `paused` once if all is spent."""
        is_reported = False
        while (limit := await self._budget.exceeded()) is not None:
            if not is_reported:
                is_reported = True
                paused(limit)
            await asyncio.sleep(TICK)

    async def shown(self) -> None:
        """Check the budget after a turn, so that a warning appears now."""
        await self._budget.exceeded()

    async def spent(self) -> str:
        """Return the exceeded limit once no tool runs, or one runs too long."""
        while True:
            await asyncio.sleep(TICK)
            self._count()
            self._write()
            if (limit := await self._budget.exceeded()) is not None:
                break
        try:
            async with asyncio.timeout(SAFE_WITHIN):
                await self._quiet.wait()
        except TimeoutError:
            _log.warning("tool call still running; canceling the turn anyway")
        return limit

    def _cost(self, session: str, cost: Mapping[str, Any]) -> None:
        amount, currency = cost.get("amount"), str(cost.get("currency")).lower()
        if (
            not isinstance(amount, int | float | Decimal)
            or currency not in CURRENCIES
            or not 0 <= amount < math.inf
        ):
            return
        spending = self._spending
        if spending.session != session:
            # Costs are cumulative within a session: a new one starts at zero.
            spending.session, spending.reported = session, {}
        now = float(amount)
        more = max(now - spending.reported.get(currency, 0.0), 0.0)
        spending.costs[currency] = spending.costs.get(currency, 0.0) + more
        spending.reported[currency] = now

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
"""Timeout in seconds for one check."""


class BusBudget:
    """The budget of one task.

    Args:
        taskspace: its id.
        bus: the connection to the daemon, which another owner enters.
    """

    def __init__(self, taskspace: str, bus: BusClient) -> None:
        self._taskspace = taskspace
        self._bus = bus
        self._known: str | None = None

    async def exceeded(self) -> str | None:
        """Describe the exceeded limit; None if there is budget left.

        While the daemon cannot answer, return the last known value.
        """
        try:
            message = CheckBudget(taskspace_uuid=self._taskspace)
            async with asyncio.timeout(BUDGET_TIMEOUT):
                await self._bus.ready()
            verdict = await self._bus.request(message, timeout=BUDGET_TIMEOUT)
        except (BusError, TimeoutError) as error:
            _log.info("cannot check the budget: %s", error)
        else:
            self._known = verdict.text if verdict.is_over else None
        return self._known
