"""Landings whose conflicts the agent of the task resolves; the user approves the result.

The journal has each one's stage, so a new daemon continues where the last one stopped.
"""

import asyncio
import logging
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from localio.errors import ExplainedError
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import InboxCall, InboxChoice, InboxItem
from symposium.sessions.session import SessionStore
from symposium.tasks.conflict_resolutions import Resolution, ResolutionStage, conflict_text
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.conflict_agents import ResolvingAgents
from symposium.tasks.handlers.live_sessions import LiveSessions
from symposium.tasks.land import LandConflict, LandOptions
from symposium.tasks.model import Taskspace, TaskState, UnknownTaskspaceError

KIND: Final = "landing"

LAND: Final = InboxChoice("land", "Land exactly this commit")
LATER: Final = InboxChoice("later", "Not now: keep it in the list without notifications")
REJECT: Final = InboxChoice("reject", "Do not land it; the branch stays unchanged")
RETRY: Final = InboxChoice("retry", "Try again: its agent gets the prompt once more")
LEAVE: Final = InboxChoice("leave", "Leave it; the branch stays unchanged")

POLL_INTERVAL: Final = 2.0
"""Seconds between two checks of a resolving agent, in addition to announcements of its server."""

_UNDECIDED: Final = frozenset({ResolutionStage.ASKED, ResolutionStage.WORKING})

_log = logging.getLogger(__name__)


class Resolving:
    """Give agents the prompt, check the result, and ask the user.

    Args:
        engine: the taskspaces.
        store: the sessions of their agents.
        live: the running sessions of their agents.

    Attributes:
        on_change: called when an item comes or goes without an answer.
    """

    def __init__(self, engine: Engine, store: SessionStore, live: LiveSessions) -> None:
        self._engine = engine
        self._agents = ResolvingAgents(engine, store, live)
        self._undecided: set[str] = set()
        self._at_work: set[str] = set()
        self._noted: set[str] = set()
        self._is_due = asyncio.Event()
        self.on_change: Callable[[], None] = _ignore

    async def run(self) -> None:
        """Follow the agents that resolve conflicts, until canceled."""
        # All are looked at once: a task may have been deleted just before the daemon stopped.
        self._undecided |= {each.taskspace for each in await self._engine.resolutions.all()}
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._is_due.clear()
                for id_ in self._undecided - self._at_work:
                    # Use one asyncio task each, so that no check delays another.
                    self._at_work.add(id_)
                    self._noted.discard(id_)
                    tasks.create_task(self._look(id_))
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL if self._undecided else None):
                        await self._is_due.wait()

    def noted(self, id_: str) -> None:
        """Handle a change in the session of a task."""
        if id_ in self._undecided:
            self._noted.add(id_)
            self._is_due.set()

    def removed(self, id_: str) -> None:
        """A task was deleted: its landing is canceled."""
        self._follow(id_)

    def is_busy(self) -> bool:
        """Whether an agent is at work whose result must be checked."""
        return bool(self._undecided)

    async def begin(
        self, taskspace: Taskspace, conflict: LandConflict, options: LandOptions
    ) -> str:
        """Let the agent resolve a conflict; returns the next steps, for the user.

        Raises:
            ExplainedError: the task has no agent that takes prompts, or it cannot be started.
        """
        id_ = taskspace.id
        before = await self._engine.resolutions.of(id_)
        if before is not None and before.stage in _UNDECIDED:
            return f"the agent of {taskspace.name} is already resolving the conflicts"
        self._agents.check(taskspace)
        resolution = Resolution(
            taskspace=id_,
            stage=ResolutionStage.ASKED,
            attempt=1 if before is None else _next(before),
            at=_now(),
            base=conflict.base,
            onto=conflict.onto,
            conflicts=tuple(conflict_text(each) for each in conflict.conflicts),
            options=options,
        )
        await self._ask(resolution)
        return f"the agent of {taskspace.name} is resolving the conflicts"

    async def items(self, known: Mapping[str, Taskspace]) -> list[InboxItem]:
        """Decisions for the user about these tasks."""
        found = await self._engine.resolutions.all()
        return [
            _item(known[each.taskspace], each)
            for each in found
            if each.taskspace in known and each.stage not in _UNDECIDED
        ]

    async def answer(self, item: InboxItem, answer: str) -> str:
        """Apply the user's decision; the result, for the user.

        Raises:
            BusRefusedError: the branch or its base has moved since the item was made.
            ExplainedError: it cannot be done.
        """
        resolution = await self._engine.resolutions.of(item.taskspace)
        if resolution is None or _id(resolution) != item.id:
            raise BusRefusedError(f"{item.name} has changed; `symposium inbox` shows it", "changed")
        match answer:
            case LAND.id:
                return await self._land(item, resolution)
            case RETRY.id:
                await self._ask(
                    replace(resolution, stage=ResolutionStage.ASKED, attempt=_next(resolution))
                )
                return f"the agent of {item.name} tries again"
            case _:
                await self._engine.resolutions.end(item.taskspace)
                way_back = f"`symposium task undo {item.taskspace[:8]} --list` lists earlier states"
                return f"{item.name} is not landed. Its branch is unchanged; {way_back}"

    async def _land(self, item: InboxItem, resolution: Resolution) -> str:
        landed = await self._engine.resolutions.land(resolution)
        if landed is None:
            # The next check makes a new item.
            again = replace(
                resolution, stage=ResolutionStage.WORKING, at=_now(), ready=None, lines=()
            )
            await self._engine.resolutions.advance(resolution, again)
            self._follow(item.taskspace)
            text = f"{item.name} or its base has changed, so nothing was landed"
            raise BusRefusedError(f"{text}; Symposium checks it again", "changed")
        notes = "".join(f"; {each}" for each in landed.notes)
        clear = f"`symposium task rm {item.taskspace[:8]}` deletes the task"
        return f"{item.name} has landed on {landed.base}; {clear}{notes}"

    async def _ask(self, resolution: Resolution) -> None:
        """Prompt the agent; restarts it if it has exited.

        Raises:
            ExplainedError: it cannot be started, or takes no prompts.
        """
        id_ = resolution.taskspace
        before = await self._engine.resolutions.of(id_)
        self._at_work.add(id_)
        try:
            await self._engine.resolutions.put(resolution)
            try:
                await self._agents.prompt(resolution)
            except ExplainedError:
                if before is None:
                    await self._engine.resolutions.end(id_)
                else:
                    await self._engine.resolutions.put(before)
                raise
            working = replace(resolution, stage=ResolutionStage.WORKING, at=_now())
            await self._engine.resolutions.advance(resolution, working)
        finally:
            self._at_work.discard(id_)
        self._follow(id_)

    def _follow(self, id_: str) -> None:
        self._undecided.add(id_)
        self._is_due.set()

    async def _look(self, id_: str) -> None:
        try:
            resolution = await self._engine.resolutions.of(id_)
            if resolution is not None and not await _is_alive(self._engine, id_):
                await self._engine.resolutions.end(id_)
                self._undecided.discard(id_)
            elif resolution is None or resolution.stage not in _UNDECIDED:
                self._undecided.discard(id_)
            elif await self._agents.is_done(id_):
                await self._advance(resolution)
        except (ExplainedError, OSError) as error:
            self._undecided.add(id_)
            _log.warning("cannot look at the conflicts of %s: %s", id_, error)
        finally:
            self._at_work.discard(id_)
            if id_ in self._noted:
                # A change was announced while the checks ran.
                self._is_due.set()

    async def _advance(self, resolution: Resolution) -> None:
        if resolution.stage is ResolutionStage.ASKED:
            # An earlier daemon stopped before it knew that the agent had the prompt.
            await self._ask_again(resolution)
            return
        after = await self._engine.resolutions.look(resolution)
        # Remove it before the write: afterwards the user may answer, which adds it again.
        self._undecided.discard(resolution.taskspace)
        await self._engine.resolutions.advance(resolution, after)
        self.on_change()

    async def _ask_again(self, resolution: Resolution) -> None:
        try:
            await self._agents.prompt(resolution)
        except ExplainedError as error:
            reason = f"its agent did not get the prompt: {error.message}"
            after = replace(resolution, stage=ResolutionStage.FAILED, at=_now(), reason=reason)
            self._undecided.discard(resolution.taskspace)
        else:
            after = replace(resolution, stage=ResolutionStage.WORKING, at=_now())
        await self._engine.resolutions.advance(resolution, after)
        self.on_change()


async def _is_alive(engine: Engine, id_: str) -> bool:
    """Whether the task exists and is not deleted."""
    try:
        return (await engine.get(id_)).standing is not TaskState.ARCHIVED
    except UnknownTaskspaceError:
        return False


def _item(taskspace: Taskspace, resolution: Resolution) -> InboxItem:
    ready = resolution.ready
    if ready is None:
        text, choices = resolution.reason, (RETRY, LEAVE)
    else:
        count = len(resolution.files)
        files = "1 file" if count == 1 else f"{count} files"
        checks = "checks passed" if ready.checks else "the project has no checks"
        text = f"is ready to land on {ready.base}: {files}, {checks}"
        choices = (LAND, LATER, REJECT)
    diff = "" if ready is None else _diff_command(taskspace, ready.onto, ready.tip)
    cut = (f"[cut; `{diff}` shows all of it]",) if resolution.is_cut else ()
    call = InboxCall(
        kind="edit",
        title=text,
        paths=resolution.files,
        command=diff,
        lines=(*resolution.lines, *cut),
        is_cut=resolution.is_cut,
    )
    id_, name = taskspace.id, taskspace.name
    return InboxItem(_id(resolution), KIND, id_, name, resolution.at, text, choices, call)


def _diff_command(taskspace: Taskspace, onto: str, tip: str) -> str:
    return f"git -C {shlex.quote(taskspace.worktree)} diff {onto[:12]} {tip[:12]}"


def _id(resolution: Resolution) -> str:
    """An id of exactly this state: if ready, of its commit and the commit of the base."""
    ready = resolution.ready
    what = f"{resolution.attempt}" if ready is None else f"{ready.tip[:16]}{ready.onto[:16]}"
    return f"{KIND}:{resolution.taskspace}:{what}"


def _next(resolution: Resolution) -> int:
    return resolution.attempt + 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ignore() -> None:
    pass
