"""Deletions that an agent has asked for and a person decides on (users.md B-9)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import uuid4

EXPIRY: Final = 24 * 3600.0
"""Seconds that a question waits for somebody to see it."""


class Decision(StrEnum):
    """What the agent hears."""

    DELETED = "deleted"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    """One that waits.

    Attributes:
        id: of this one: what was decided on an earlier one does not hold for it.
        at: since when, ISO 8601, UTC.
    """

    taskspace: str
    reason: str
    id: str
    at: str


class Requests:
    """Those that wait. Two for one taskspace are both answered by one decision.

    Attributes:
        on_change: called when a request comes or goes.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = _ignore
        self._waiting: dict[str, tuple[DeletionRequest, list[asyncio.Future[Decision]]]] = {}

    async def ask(self, taskspace: str, reason: str = "", expiry: float = EXPIRY) -> Decision:
        """Wait until a person has decided, or nobody did in time."""
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        request = DeletionRequest(taskspace, reason, uuid4().hex[:8], at)
        self._waiting.setdefault(taskspace, (request, []))[1].append(answer)
        self.on_change()
        try:
            async with asyncio.timeout(expiry):
                return await answer
        except TimeoutError:
            return Decision.EXPIRED
        finally:
            self._drop(taskspace, answer)
            self.on_change()

    def _drop(self, taskspace: str, answer: asyncio.Future[Decision]) -> None:
        if taskspace not in self._waiting:
            return
        _, answers = self._waiting[taskspace]
        if answer in answers:
            answers.remove(answer)
        if not answers:
            del self._waiting[taskspace]

    def decide(self, taskspace: str, decision: Decision) -> int:
        """Answer all who wait; how many."""
        if taskspace not in self._waiting:
            return 0
        _, answers = self._waiting.pop(taskspace)
        waiting = [answer for answer in answers if not answer.done()]
        for answer in waiting:
            answer.set_result(decision)
        return len(waiting)

    def pending(self) -> list[DeletionRequest]:
        """What waits, oldest first."""
        return [request for request, _ in self._waiting.values()]


def _ignore() -> None:
    pass
