"""What the agents of taskspaces have spent, and whether they may go on (users B-12)."""

from collections.abc import Sequence
from typing import Final

from symposium.agent_sessions.spending import read_spending
from symposium.agent_sessions.store import SessionStore
from symposium.bus.handlers import Answers, Asked
from symposium.bus.messages.agents import BudgetChecked, CheckBudget
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.taskspaces.budget import (
    WARNED_AT,
    Reckoning,
    Spent,
    budget_text,
    family,
    raised,
    read_budget,
    reckon,
)
from symposium.taskspaces.engine import Engine
from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.model import Standing, Taskspace

MORE: Final = "more"

_BUDGET_CHOICES: Final = (InboxChoice(MORE, "As much again"),)
_SECONDS: Final = 60.0


class Budgets:
    """Adds up what keepers have written down.

    Args:
        engine: the taskspaces.
        store: the sessions of their agents.
    """

    def __init__(self, engine: Engine, store: SessionStore) -> None:
        self._engine = engine
        self._store = store

    def answers(self) -> Answers:
        """Whether an agent may go on."""
        answers = Answers()
        answers.to(CheckBudget, self._check)
        return answers

    async def reckoning(self, taskspace: Taskspace) -> Reckoning | None:
        """How far the budget that holds for a taskspace is spent; None without one."""
        if not budget_text(taskspace.limits) and taskspace.parent is None:
            return None
        related = await self._engine.queries.family(taskspace.id)
        return reckon(taskspace, related, {each.id: self.spent(each.id) for each in related})

    def spent(self, id_: str) -> Spent:
        """What the agent of one taskspace has spent."""
        found = read_spending(self._store.directory(id_))
        has_worked = bool(found.turns or found.seconds)
        unknown = int(has_worked and not found.costs)
        return Spent(found.costs, found.seconds / _SECONDS, found.turns, unknown)

    async def items(self, running: Sequence[Taskspace]) -> list[InboxItem]:
        """The spent budgets of tasks whose agents run."""
        over: dict[str, Reckoning] = {}
        for each in running:
            found = await self.reckoning(each)
            if found is not None and found.is_over and each.standing is not Standing.ARCHIVED:
                over[found.holder.id] = found
        return [_item(found) for found in over.values()]

    async def grant(self, id_: str, answer: str) -> str:
        """Allow more: as much again, or so much; what came of it, for people.

        Raises:
            TaskspaceError: that is no budget or adds nothing to it, or there is no such taskspace.
        """
        holder = await self._engine.get(id_)
        more = holder.limits if answer == MORE else read_budget(answer)
        if raised(holder.limits, more) == holder.limits:
            reason = f"{answer!r} adds nothing to the budget of {budget_text(holder.limits)}"
            raise RefusedNameError(reason, "answer with more of what it bounds")
        everything = {each.id: each for each in await self._engine.queries.family(id_)}
        # What holds for all of them together must not hold one of them back.
        for each in family(holder, list(everything.values())):
            limits = raised(everything[each].limits, more)
            await self._engine.records.limit(each, limits)
        return f"{holder.name} may spend {budget_text(raised(holder.limits, more))} in all"

    async def _check(self, message: CheckBudget, asked: Asked) -> BudgetChecked:
        del asked
        taskspace = await self._engine.get(message.taskspace_uuid)
        found = await self.reckoning(taskspace)
        if found is None:
            return BudgetChecked(is_over=False, text=self.spent(taskspace.id).text)
        if found.share >= WARNED_AT:
            begun = f"{WARNED_AT:.0%} of {budget_text(found.holder.limits)} is spent"
            await self._warn(found.holder, begun, f": {found.spent.text}")
        if found.uncounted:
            await self._warn(found.holder, found.uncounted)
        return BudgetChecked(is_over=found.is_over, text=found.text)

    async def _warn(self, holder: Taskspace, begun: str, more: str = "") -> None:
        """Write it to the log, once for each beginning."""
        await self._engine.records.warn_once(holder.id, begun, f"{begun}{more}")


def _item(found: Reckoning) -> InboxItem:
    holder = found.holder
    # A new budget is a new question.
    id_ = f"budget:{holder.id}:{budget_text(holder.limits)}"
    text = f"its budget is spent ({found.text}); may it spend more?"
    return InboxItem(
        id_, "budget", holder.id, holder.name, holder.activated_at, text, _BUDGET_CHOICES
    )
