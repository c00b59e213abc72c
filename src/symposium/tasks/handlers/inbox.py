"""The inbox: one list over all tasks, each item answered once (users B-5)."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from localio.text import minute_of
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import InboxCall, InboxChoice, InboxItem
from symposium.sessions.client import ANSWER, SAY, reach
from symposium.sessions.session import SessionKind, SessionStore
from symposium.tasks.deletion.archive import ARCHIVE_DAYS
from symposium.tasks.deletion.trash import DeletionConsent, DeletionDecision, DeletionRequest
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.approvals import TRUST_KIND as SET_UP
from symposium.tasks.handlers.approvals import Budgets, SetUpQuestions, SetUpTrust
from symposium.tasks.handlers.conflict_resolution import KIND as LANDING
from symposium.tasks.handlers.conflict_resolution import LATER, Resolving
from symposium.tasks.handlers.finished_agents import (
    FINISHED_TURN,
    SEEN,
    FinishedTurns,
    choose_way,
    ended_agent,
)
from symposium.tasks.handlers.live_sessions import NO_AGENT, AgentNow, LiveSessions
from symposium.tasks.handlers.snoozed import SnoozedItems
from symposium.tasks.model import LogEntry, Taskspace, TaskState
from symposium.tasks.setup import reason_text

REMEMBERED: Final = 1000
"""Answers that are remembered, to report them to a second user who answers."""

_URGENCY: Final = (
    *("permission", "question", "login", "budget", "delete", "trust", "failed"),
    *(LANDING, FINISHED_TURN),
)
_DELETING: Final = (
    InboxChoice("archive", f"Delete it; you can undo this for {ARCHIVE_DAYS} days"),
    InboxChoice("keep", "Keep it"),
)
_FAILED: Final = (InboxChoice("retry", "Try again"),)


@dataclass(frozen=True, slots=True)
class Settled:
    """An earlier answer: the user, the time, and the choice."""

    by: str
    at: str
    answer: str


@dataclass(frozen=True, slots=True)
class InboxSources:
    """Parts of the daemon that the inbox reads and changes.

    Attributes:
        engine: the taskspaces.
        store: the sessions of their agents.
        trust: store of trusted content.
        budgets: limits on spending.
        snoozed: items without notifications.
        live: the running sessions of their agents.
    """

    engine: Engine
    store: SessionStore
    trust: SetUpTrust
    budgets: Budgets
    snoozed: SnoozedItems
    live: LiveSessions


class TaskInbox:
    """The inbox of all tasks.

    Attributes:
        on_change: called when an item was answered or snoozed.
        resolving: landings whose conflicts an agent resolves.
    """

    def __init__(self, sources: InboxSources) -> None:
        self._engine = engine = sources.engine
        self._store = store = sources.store
        self._set_ups = SetUpQuestions(engine, sources.trust)
        self._budgets = sources.budgets
        self._snoozed = sources.snoozed
        self._finished = FinishedTurns(store, sources.snoozed)
        self.resolving = Resolving(engine, store, sources.live)
        self._live = sources.live
        self._settled: OrderedDict[str, Settled] = OrderedDict()
        self.on_change: Callable[[], None] = _ignore

    async def items(self) -> list[InboxItem]:
        """Items by urgency, then by age."""
        questions = await self._engine.logs.attention()
        deletions = self._engine.trash.requests.pending()
        running = await self._live.of(self._live.known())
        problems = {each.id: each for each in await self._engine.queries.with_problems()}
        wanted = {each.taskspace for each in (*questions, *deletions)}
        resolved = {each.taskspace for each in await self._engine.resolutions.all()}
        wanted |= {*running, *self._live.ended(), *resolved}
        found_by_id = await self._engine.queries.of_ids(wanted - problems.keys())
        live = {id_: e for id_, e in found_by_id.items() if e.standing is not TaskState.ARCHIVED}
        known = live | problems
        found = [_question(known[e.taskspace], e) for e in questions if e.taskspace in known]
        found += [_deletion(known[e.taskspace], e) for e in deletions if e.taskspace in known]
        found += await self._budgets.items([known[id_] for id_ in running if id_ in known])
        found += await self.resolving.items(known)
        for taskspace in known.values():
            items = await self._of(taskspace, running.get(taskspace.id, NO_AGENT))
            # The landing is decided on in one item, which shows the same change.
            found += [e for e in items if e.kind != FINISHED_TURN or taskspace.id not in resolved]
        marked = [replace(item, put_off_at=self._snoozed.at(item.id)) for item in found]
        return sorted(marked, key=lambda item: (_URGENCY.index(item.kind), item.at))

    async def snooze(self, item_id: str) -> str:
        """Snooze an item; the result, for the user.

        Raises:
            BusRefusedError: it was answered already, or does not exist.
            OSError: it cannot be saved.
        """
        found = await self._find(item_id)
        self._snoozed.add(item_id)
        self.on_change()
        return f"{found.name} is snoozed; it stays in the inbox without notifications"

    def settled(self, item_id: str) -> Settled | None:
        """The earlier answer to an item; None if no answer is remembered."""
        return self._settled.get(item_id)

    async def answer(self, item_id: str, answer: str, by: str) -> str:
        """Answer an item; the result, for the user.

        Raises:
            BusRefusedError: it was answered already, does not exist, or has no such choice.
            ExplainedError: the decision cannot be carried out.
        """
        found = await self._find(item_id)
        known = {choice.id for choice in found.choices}
        if found.kind not in {"question", "budget"} and answer not in known:
            choices = ", ".join(sorted(known))
            raise BusRefusedError(f"unknown answer to {item_id}; choices: {choices}", "bad_choice")
        # Noted first: a second answer in the meantime must not run it again.
        self._note(item_id, answer, by)
        try:
            outcome = await self._act(found, answer, by)
        except BaseException:
            # Another answer may have removed it meanwhile; the error must not be replaced.
            self._settled.pop(item_id, None)
            raise
        finally:
            if (found.kind == "failed" and answer != SEEN.id) or _waits_on(found, answer):
                # A decision that fails again is a question again, under the same id.
                self._settled.pop(item_id, None)
        self.on_change()
        return outcome

    async def _find(self, item_id: str) -> InboxItem:
        earlier = self._settled.get(item_id)
        if earlier is not None:
            raise BusRefusedError(
                f"already answered by {earlier.by} at {minute_of(earlier.at)}", "already_answered"
            )
        waiting = await self.items()
        found = next((each for each in waiting if each.id == item_id), None)
        if found is None:
            raise await self._set_ups.gone(item_id, waiting)
        return found

    async def _act(self, item: InboxItem, answer: str, by: str) -> str:
        match item.kind:
            case "permission":
                number = int(item.id.rpartition(":")[2])
                params = {"question": number, "optionId": answer, "by": by}
                async with reach(self._store, item.taskspace) as server:
                    await server.ask(ANSWER, params)
                self._live.changed(item.taskspace, "settled")
                return f"{item.name} is answered"
            case "question":
                return await self._reply(item, answer)
            case "budget" | "delete" | "done" | "landing":
                return await self._allow(item, answer)
            case "trust":
                made = await self._set_ups.answer(item, answer)
                return _outcome(made)
            case _:
                return await self._try_again(item, answer)

    async def _reply(self, item: InboxItem, answer: str) -> str:
        outcome = "seen"
        if answer != SEEN.id:
            outcome = await self._tell_agent(item.taskspace, answer)
        await self._engine.records.acknowledge(int(item.id.rpartition(":")[2]))
        return outcome

    async def _tell_agent(self, taskspace: str, text: str) -> str:
        if self._store.spec(taskspace).kind is not SessionKind.ACP:
            raise BusRefusedError(
                "its agent has its own terminal; answer there: "
                f"`symposium task attach {taskspace[:8]}`",
                "no_handler",
            )
        async with reach(self._store, taskspace) as server:
            await server.ask(SAY, {"text": text})
        return "the answer is sent to its agent"

    async def _allow(self, item: InboxItem, answer: str) -> str:
        if item.kind == "budget":
            return await self._budgets.grant(item.taskspace, answer)
        if item.kind == FINISHED_TURN:
            self._finished.review(item.id)
            return f"{item.name} is reviewed"
        if _waits_on(item, answer):
            self._snoozed.add(item.id)
            return f"{item.name} is snoozed; it stays in the inbox without notifications"
        if item.kind == LANDING:
            outcome = await self.resolving.answer(item, answer)
            # A decision on the landing counts as a review of the work.
            self._finished.review_all(await self._engine.get(item.taskspace))
            return outcome
        return await self._delete(item, answer)

    async def _delete(self, item: InboxItem, answer: str) -> str:
        trash = self._engine.trash
        if answer == "keep":
            trash.requests.decide(item.taskspace, DeletionDecision.CANCELLED)
            return f"{item.name} is kept"
        await trash.delete(item.taskspace, DeletionConsent.ARCHIVE)
        return f"{item.name} is deleted; `symposium task undo {item.taskspace}` restores it"

    async def _of(self, taskspace: Taskspace, live: AgentNow) -> list[InboxItem]:
        if taskspace.standing is TaskState.SETUP_FAILED:
            return [_item("failed", taskspace, reason_text(taskspace.reason), _FAILED)]
        found = [_permission(taskspace, each) for each in live.questions]
        ended = ended_agent(taskspace, self._store)
        found += [each for each in ended if each.id not in self._settled]
        if live.is_idle or not self._store.is_kept(taskspace.id):
            found += self._finished.of(taskspace)
        return found + await self._set_ups.of(taskspace)

    async def _try_again(self, item: InboxItem, answer: str) -> str:
        if answer == SEEN.id:
            return "seen"
        if item.choices == _FAILED:
            made = await self._engine.retry(item.taskspace)
            return _outcome(made)
        choose_way(item.taskspace, self._store, answer)
        await self._engine.resume(item.taskspace)
        return f"the agent of {item.name} is restarted"

    def _note(self, item_id: str, answer: str, by: str) -> None:
        # A setup that was answered, changed, and changed back is a question again.
        place = item_id.rpartition(":")[0]
        for each in [each for each in self._settled if place.startswith(f"{SET_UP}:")]:
            if each.startswith(f"{place}:"):
                del self._settled[each]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._settled[item_id] = Settled(by or "another user", now, answer)
        while len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)


def _waits_on(item: InboxItem, answer: str) -> bool:
    return item.kind == LANDING and answer == LATER.id


def _ignore() -> None:
    pass


def _item(
    kind: str, taskspace: Taskspace, text: str, choices: tuple[InboxChoice, ...]
) -> InboxItem:
    id_ = f"{kind}:{taskspace.id}"
    return InboxItem(id_, kind, taskspace.id, taskspace.name, taskspace.activated_at, text, choices)


def _permission(taskspace: Taskspace, asked: Mapping[str, Any]) -> InboxItem:
    # A session server of an earlier version sends fewer fields.
    title = str(asked.get("title") or "a tool call")
    summary = asked.get("wish")
    return InboxItem(
        f"permission:{taskspace.id}:{asked['question']}",
        "permission",
        taskspace.id,
        taskspace.name,
        str(asked.get("askedAt") or taskspace.activated_at),
        title if summary is None else f"wants to {summary}",
        tuple(
            InboxChoice(each["optionId"], each["name"], str(each.get("kind", "")))
            for each in asked["options"]
        ),
        InboxCall(
            kind=asked.get("kind") or "",
            title=title,
            paths=tuple(asked.get("paths") or ()),
            command=asked.get("command") or "",
            diff=asked.get("diff") or "",
            lines=tuple(asked.get("lines") or ()),
            is_cut=asked.get("isCut") is True,
        ),
    )


def _question(taskspace: Taskspace, entry: LogEntry) -> InboxItem:
    id_ = f"question:{entry.number}"
    name = taskspace.name
    return InboxItem(id_, "question", taskspace.id, name, entry.at, entry.message, (SEEN,))


def _deletion(taskspace: Taskspace, asked: DeletionRequest) -> InboxItem:
    text = f"its agent asks to delete the task{f': {asked.reason}' if asked.reason else ''}"
    id_ = f"delete:{taskspace.id}:{asked.id}"
    return InboxItem(id_, "delete", taskspace.id, taskspace.name, asked.at, text, _DELETING)


def _outcome(made: Taskspace) -> str:
    if made.standing is TaskState.SETUP_FAILED:
        return f"the setup of {made.name} failed{_because(made)}"
    return f"{made.name} is {made.standing.value}{_because(made)}"


def _because(taskspace: Taskspace) -> str:
    return f": {reason_text(taskspace.reason)}" if taskspace.reason else ""
