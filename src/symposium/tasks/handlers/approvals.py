"""Approval of setup commands and of budgets."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localio.text import exact
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.agents import BudgetChecked, CheckBudget
from symposium.bus.messages.tasks import InboxChoice, InboxItem
from symposium.permissions.trust_store import TrustStore
from symposium.permissions.trusted_content import TrustEffect, TrustItem
from symposium.sessions.session import SessionStore
from symposium.sessions.spending import read_spending
from symposium.tasks.budget import (
    WARNED_AT,
    BudgetStatus,
    Usage,
    budget_text,
    family,
    raised,
    read_budget,
    reckon,
)
from symposium.tasks.engine import Engine
from symposium.tasks.model import RefusedNameError, Taskspace, TaskState
from symposium.tasks.recipe import SetUpRecipe
from symposium.tasks.setup import DECLINED, UNTRUSTED

SETUP_KIND = "setup"


class SetUpTrust:
    """Looks up earlier approvals of the user; the inbox asks for new ones.

    Args:
        store: store of trusted content.
    """

    def __init__(self, store: TrustStore) -> None:
        self._store = store

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        """Whether the user trusts exactly these commands."""
        return self._store.is_trusted(item_of(project, digest, commands))

    def grant(self, project: str, recipe: SetUpRecipe) -> None:
        """Trust exactly these commands.

        Raises:
            TrustError: the approval cannot be saved.
        """
        self._store.grant([item_of(project, recipe.digest, lines_of(recipe))])


def lines_of(recipe: SetUpRecipe) -> list[str]:
    """The commands of a setup, in order, for the user."""
    return [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]


def item_of(project: str, digest: str, commands: Sequence[str]) -> TrustItem:
    """The question for the user: the same text wherever it is asked."""
    content = "\n".join([digest, *commands]).encode(errors="surrogateescape")
    allows = tuple(TrustEffect("command", command) for command in commands)
    return TrustItem(Path(project), SETUP_KIND, "set-up of taskspaces", content, allows=allows)


TRUST_KIND: Final = "trust"

DIGITS: Final = 32
"""Length of the digest in an id: enough for two setups never to share it."""

REMEMBERED: Final = 100
"""Questions whose earlier commands are remembered, to show what changed since."""

_TRUST_CHOICES: Final = (
    InboxChoice("trust", "Run this setup, now and whenever a task has exactly the same one"),
    InboxChoice("without", "Continue without the setup"),
)


class SetUpQuestions:
    """Ask whether setup commands may run, and apply the answer.

    Args:
        engine: the taskspaces.
        trust: store of trusted content.
    """

    def __init__(self, engine: Engine, trust: SetUpTrust) -> None:
        self._engine = engine
        self._trust = trust
        self._shown: OrderedDict[str, Sequence[str]] = OrderedDict()

    async def of(self, taskspace: Taskspace) -> list[InboxItem]:
        """The unapproved setup of a task; at most one item.

        A setup that is trusted by now stays an item until it has run.

        Raises:
            TaskspaceError: its project cannot be opened.
        """
        reason = taskspace.reason
        if taskspace.standing is not TaskState.READY:
            return []
        if UNTRUSTED not in reason and DECLINED not in reason:
            return []
        recipe = await self._engine.recipe(taskspace.id)
        lines = shown_lines(recipe)
        if UNTRUSTED not in reason and (not lines or recipe.digest == taskspace.declined):
            return []
        id_ = _id(taskspace.id, recipe)
        self._remember(id_, lines)
        return [
            InboxItem(
                id_,
                TRUST_KIND,
                taskspace.id,
                taskspace.name,
                taskspace.activated_at,
                "\n".join([_head(reason, lines), *lines]),
                _TRUST_CHOICES,
            )
        ]

    async def answer(self, item: InboxItem, answer: str) -> Taskspace:
        """Apply the answer to exactly the commands that the item showed.

        Raises:
            BusRefusedError: the files ask for other commands by now.
            ExplainedError: the approval cannot be saved, or the setup failed to start.
        """
        recipe = await self._engine.recipe(item.taskspace)
        if _id(item.taskspace, recipe) != item.id:
            raise self._changed(item.id, shown_lines(recipe))
        declined = None if answer == TRUST_KIND else recipe.digest
        if declined is None:
            taskspace = await self._engine.get(item.taskspace)
            self._trust.grant(taskspace.project, recipe)
        # The setup reads the files again, and uses this answer only for the same content.
        made = await self._engine.retry(item.taskspace, declined=declined)
        if UNTRUSTED in made.reason:
            raise self._changed(item.id, shown_lines(await self._engine.recipe(made.id)))
        return made

    async def gone(self, item_id: str, waiting: Sequence[InboxItem]) -> BusRefusedError:
        """The error for an item id that does not exist."""
        kind, _, rest = item_id.partition(":")
        taskspace = rest.rpartition(":")[0] or rest
        if kind == TRUST_KIND and any(
            (e.kind, e.taskspace) == (TRUST_KIND, taskspace) for e in waiting
        ):
            return self._changed(item_id, shown_lines(await self._engine.recipe(taskspace)))
        return BusRefusedError(f"no item {item_id}; `symposium inbox` lists all items", "not_found")

    def _changed(self, item_id: str, now: Sequence[str]) -> BusRefusedError:
        before = self._shown.get(item_id)
        text = "its setup files have changed since you saw them; nothing was run"
        came = [f"+ {line}" for line in now if before is None or line not in before]
        went = [f"- {line}" for line in before or () if line not in now]
        order = [] if came or went else ["the same lines in another order"]
        hint = "check the new commands with `symposium inbox`, then answer again"
        return BusRefusedError("\n".join([f"{text}:", *went, *came, *order, hint]), "changed")

    def _remember(self, id_: str, lines: Sequence[str]) -> None:
        self._shown.pop(id_, None)
        self._shown[id_] = lines
        while len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)


def shown_lines(recipe: SetUpRecipe) -> list[str]:
    """Every command of the setup, one a line, with the file that asks for it."""
    return [
        f"{each.source}  {kind}: {exact(line)}"
        for each in recipe.recipes
        for kind, line in each.lines()
    ]


def _id(taskspace: str, recipe: SetUpRecipe) -> str:
    return f"{TRUST_KIND}:{taskspace}:{recipe.digest[:DIGITS]}"


def _head(reason: str, lines: Sequence[str]) -> str:
    if not lines:
        return "its setup files no longer ask for any command; the task has not started yet"
    if UNTRUSTED in reason:
        return "its setup wants to run these commands; the task waits for your answer"
    return "the setup files that you skipped before have changed; they want to run this"


MORE: Final = "more"

_BUDGET_CHOICES: Final = (InboxChoice(MORE, "The same amount again"),)
_SECONDS: Final = 60.0


class Budgets:
    """Add up the spending that session servers record.

    Args:
        engine: the taskspaces.
        store: the sessions of their agents.
    """

    def __init__(self, engine: Engine, store: SessionStore) -> None:
        self._engine = engine
        self._store = store

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(CheckBudget, self._check)
        return answers

    async def reckoning(self, taskspace: Taskspace) -> BudgetStatus | None:
        """Spending against the budget of a task; None without a budget."""
        if not budget_text(taskspace.limits) and taskspace.parent is None:
            return None
        related = await self._engine.queries.family(taskspace.id)
        return reckon(taskspace, related, {each.id: self.spent(each.id) for each in related})

    def spent(self, id_: str) -> Usage:
        """Spending of the agent of one task."""
        found = read_spending(self._store.directory(id_))
        has_worked = bool(found.turns or found.seconds)
        unknown = int(has_worked and not found.costs)
        return Usage(found.costs, found.seconds / _SECONDS, found.turns, unknown)

    async def items(self, running: Sequence[Taskspace]) -> list[InboxItem]:
        """The spent budgets of tasks whose agents run."""
        over: dict[str, BudgetStatus] = {}
        for each in running:
            found = await self.reckoning(each)
            if found is not None and found.is_over and each.standing is not TaskState.ARCHIVED:
                over[found.holder.id] = found
        return [_item(found) for found in over.values()]

    async def grant(self, id_: str, answer: str) -> str:
        """Raise a budget by the same amount or by a given one; the result, for the user.

        Raises:
            TaskspaceError: the amount is not valid or adds nothing, or the task does not exist.
        """
        holder = await self._engine.get(id_)
        more = holder.limits if answer == MORE else read_budget(answer)
        if raised(holder.limits, more) == holder.limits:
            reason = f"{answer!r} adds nothing to the budget of {budget_text(holder.limits)}"
            raise RefusedNameError(
                reason, "answer with an amount to add to one of its limits, such as 1usd"
            )
        everything = {each.id: each for each in await self._engine.queries.family(id_)}
        # A budget shared by several tasks must not stay used up for one of them.
        for each in family(holder, list(everything.values())):
            limits = raised(everything[each].limits, more)
            await self._engine.records.limit(each, limits)
        return f"{holder.name} may spend {budget_text(raised(holder.limits, more))} in all"

    async def _check(self, message: CheckBudget, asked: RequestContext) -> BudgetChecked:
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
        """Log a warning once for each text."""
        await self._engine.records.warn_once(holder.id, begun, f"{begun}{more}")


def _item(found: BudgetStatus) -> InboxItem:
    holder = found.holder
    # A new budget is a new question.
    id_ = f"budget:{holder.id}:{budget_text(holder.limits)}"
    text = f"its budget is spent ({found.text}); may it spend more?"
    return InboxItem(
        id_, "budget", holder.id, holder.name, holder.activated_at, text, _BUDGET_CHOICES
    )
