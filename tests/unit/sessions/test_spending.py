"""Spending of an agent: computed from its reports, and saved for the daemon."""

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symposium.sessions import budget as limits
from symposium.sessions.budget import SpendingMeter
from symposium.sessions.spending import Spending, read_spending


class Answers:
    """A budget with these answers in order; the last one repeats."""

    def __init__(self, *answers: str | None, seen: Callable[[], object] = lambda: None) -> None:
        self.answers = list(answers)
        self.asked = 0
        self._seen = seen

    async def exceeded(self) -> str | None:
        self.asked += 1
        self._seen()
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def usage(amount: object, currency: object = "USD") -> dict[str, Any]:
    cost = {"amount": amount, "currency": currency}
    return {"sessionUpdate": "usage_update", "cost": cost}


def tool(id_: str, status: str | None = None) -> dict[str, Any]:
    kind = "tool_call" if status is None else "tool_call_update"
    return {"sessionUpdate": kind, "toolCallId": id_} | ({"status": status} if status else {})


async def rounds(number: int = 5) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def spent_by(directory: Path, *updates: tuple[str, dict[str, Any]]) -> Spending:
    """Return the saved spending of a turn with these updates, each with its session."""
    spending = SpendingMeter(directory, Answers(None))
    spending.begun()
    for session, update in updates:
        spending.updated(session, update)
    spending.ended()
    return read_spending(directory)


@pytest.mark.requirement("tasks.spending")
def test_cumulative_cost_of_a_session_counts_once(tmp_path: Path) -> None:
    first = spent_by(tmp_path, ("a", usage(1)), ("a", usage(1.5)), ("a", usage(1.5)))
    less = spent_by(tmp_path, ("a", usage(0.5)), ("a", usage(0.75, "usd")))
    other = spent_by(tmp_path, ("b", usage(2)), ("b", usage(3, "eur")))

    assert first.costs == {"usd": 1.5}
    assert less.costs == {"usd": 1.75}
    assert other.costs == {"usd": 3.75, "eur": 3.0}
    assert other.turns == 3


@pytest.mark.requirement("tasks.spending")
@pytest.mark.parametrize(
    "update",
    [
        *(usage(amount) for amount in (-1, math.inf, -math.inf, math.nan, "1", None, [1])),
        *(usage(1, currency) for currency in ("points", None, 1)),
        {"sessionUpdate": "usage_update", "cost": 5},
        {"sessionUpdate": "agent_message_chunk", "cost": {"amount": 1, "currency": "usd"}},
    ],
)
def test_malformed_cost_is_ignored(tmp_path: Path, update: dict[str, Any]) -> None:
    assert spent_by(tmp_path, ("a", update)).costs == {}


@pytest.mark.requirement("tasks.spending")
def test_only_the_time_of_turns_counts(tmp_path: Path) -> None:
    clock = Clock()
    spending = SpendingMeter(tmp_path, Answers(None), clock)
    for _ in range(2):
        spending.begun()
        clock.now += 3
        spending.ended()
        clock.now += 1000

    spent = read_spending(tmp_path)
    assert (spent.seconds, spent.turns) == (6.0, 2)


@pytest.mark.requirement("tasks.spending")
async def test_running_turn_is_saved_before_each_budget_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TICK", 0)
    seen: list[float] = []
    clock = Clock()

    def look() -> None:
        seen.append(read_spending(tmp_path).seconds)
        clock.now += 2

    budget = Answers(None, None, "2 usd of 1usd", seen=look)
    spending = SpendingMeter(tmp_path, budget, clock)
    spending.begun()
    clock.now += 5

    assert await spending.spent() == "2 usd of 1usd"
    assert seen == [5.0, 7.0, 9.0]


@pytest.mark.requirement("tasks.spending")
async def test_budget_is_checked_once_per_tick(tmp_path: Path) -> None:
    """Without the delay, a turn would query the daemon continuously."""
    waits = Answers("spent")
    works = Answers(None)
    reported: list[str] = []
    spending = SpendingMeter(tmp_path, works)
    spending.begun()
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(spending.spent())
        waiting = tasks.create_task(SpendingMeter(tmp_path, waits).allowed(reported.append))
        await rounds(20)
        watching.cancel()
        waiting.cancel()

    assert (works.asked, waits.asked, reported) == (0, 1, ["spent"])


@pytest.mark.requirement("tasks.spending")
async def test_prompt_waits_for_budget_and_the_user_is_notified_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TICK", 0)
    reported: list[str] = []
    budget = Answers("first", "second", "third", None)
    await SpendingMeter(tmp_path, budget).allowed(reported.append)

    assert (reported, budget.asked) == (["first"], 4)


@pytest.mark.requirement("tasks.spending")
@pytest.mark.parametrize(
    ("before", "still_runs"),
    [
        ([], False),
        ([tool("a")], True),
        ([tool("a", "in_progress")], True),
        ([tool("a"), tool("a", "completed")], False),
        ([tool("a"), tool("a", "failed")], False),
        ([tool("a"), tool("b"), tool("a", "completed")], True),
        ([tool("a", "completed"), tool("a", "in_progress")], True),
    ],
)
async def test_turn_is_not_cancelled_while_a_tool_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[Any], *, still_runs: bool
) -> None:
    monkeypatch.setattr(limits, "TICK", 0)
    spending = SpendingMeter(tmp_path, Answers("spent"))
    spending.updated("a", tool("of the last turn"))
    spending.begun()
    for update in before:
        spending.updated("a", update)
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(spending.spent())
        await rounds()
        was_cut = watching.done()
        for id_ in ("a", "b"):
            spending.updated("a", tool(id_, "completed"))

    assert was_cut is not still_runs
    assert watching.result() == "spent"


@pytest.mark.requirement("tasks.spending")
async def test_endless_tool_does_not_prevent_the_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TICK", 0)
    monkeypatch.setattr(limits, "SAFE_WITHIN", 0)
    spending = SpendingMeter(tmp_path, Answers("spent"))
    spending.begun()
    spending.updated("a", tool("a"))
    async with asyncio.timeout(45):
        assert await spending.spent() == "spent"
