"""Handlers of bus messages from users about landing: land, its stage, and overlapping changes."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.worktrees import (
    ConflictView,
    FindOverlaps,
    Landing,
    LandingShown,
    LandTaskspace,
    Overlaps,
    OverlapView,
    ShowLanding,
)
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.conflict_resolution import Resolving
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.land import ChecksFailed, Join, LandConflict, Landed, LandOptions
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.model import Taskspace
from symposium.tasks.overlaps import Overlap


class LandingHandlers:
    """Handlers for one engine.

    Args:
        engine: the tasks.
        agents: their agents.
        resolving: landings whose conflicts an agent resolves.
    """

    def __init__(self, engine: Engine, agents: TaskAgents, resolving: Resolving) -> None:
        self._engine = engine
        self._agents = agents
        self._resolving = resolving

    def answers(self) -> HandlerTable:
        answers = HandlerTable()
        answers.on_request(LandTaskspace, self._land)
        answers.on_request(ShowLanding, self._show_landing)
        answers.on_request(FindOverlaps, self._overlaps)
        return answers

    async def _land(self, message: LandTaskspace, asked: RequestContext) -> Landing:
        taskspace = await self._engine.get(message.taskspace_uuid)
        asked.progress("checking for conflicts with other tasks")
        warnings = await _warnings(self._engine, taskspace)
        asked.progress("landing")
        options = LandOptions(join=_join(message.join), is_pushed=message.is_pushed)
        match await self._engine.land(taskspace.id, options):
            case Landed(commit, base, notes, is_news):
                had = f"{taskspace.name} has nothing to land: {base} has all its changes"
                first = f"{taskspace.name} has landed on {base}" if is_news else had
                lines = (first, f"`symposium task rm {taskspace.id[:8]}` deletes it")
                return Landing(outcome="landed", lines=(*lines, *notes, *warnings), commit=commit)
            case LandConflict(base, conflicts, onto) as conflict:
                described = [_conflict(each) for each in conflicts]
                first = f"{taskspace.name} conflicts with {base}; nothing was changed"
                if message.resolve_conflicts:
                    await self._agents.environments.take(taskspace.id, message.environment)
                    begun = await self._resolving.begin(taskspace, conflict, options)
                    lines = (first, *described, begun, *_what_follows(taskspace), *warnings)
                    return Landing(outcome="resolving", lines=lines)
                lines = (first, *described, *_next_steps(taskspace, base, onto), *warnings)
                return Landing(outcome="conflict", lines=lines)
            case ChecksFailed(failure):
                first = f"a check of {taskspace.name} fails; its base is unchanged"
                return Landing(outcome="checks_failed", lines=(first, failure.text, *warnings))

    async def _show_landing(self, message: ShowLanding, asked: RequestContext) -> LandingShown:
        del asked
        taskspace = await self._engine.get(message.taskspace_uuid)
        found = await self._engine.resolutions.of(taskspace.id)
        stage = "" if found is None else found.stage.value
        return LandingShown(stage=stage, landed=taskspace.landed, landed_at=taskspace.landed_at)

    async def _overlaps(self, message: FindOverlaps, asked: RequestContext) -> Overlaps:
        del asked
        found = await self._engine.radar(Path(message.project))
        return Overlaps(overlaps=tuple(_overlap_view(each) for each in found))


def _join(word: str) -> Join:
    try:
        return Join(word)
    except ValueError as error:
        raise BusRefusedError("`join` must be rebase or merge", "bad_choice") from error


def _other(overlap: Overlap, id_: str) -> str:
    return overlap.second if overlap.first == id_ else overlap.first


def _overlap_view(overlap: Overlap) -> OverlapView:
    conflicts = tuple(
        ConflictView(each.path, each.kind, _pairs(each.ours), _pairs(each.theirs))
        for each in overlap.conflicts
    )
    lines = tuple(_lines(overlap))
    return OverlapView(overlap.first, overlap.second, lines, conflicts, overlap.problem)


def _pairs(ranges: Sequence[LineRange]) -> tuple[tuple[int, int], ...]:
    return tuple((each.first, each.last) for each in ranges)


def _lines(overlap: Overlap) -> list[str]:
    if overlap.problem:
        return [f"could not be compared: {overlap.problem}"]
    return [_conflict(each) for each in overlap.conflicts]


async def _warnings(engine: Engine, taskspace: Taskspace) -> list[str]:
    """Conflicts with other tasks."""
    overlaps = await engine.radar(Path(taskspace.project))
    names = await engine.queries.of_ids(
        {id_ for each in overlaps for id_ in (each.first, each.second)}
    )
    return [
        f"{taskspace.name} would conflict with {names[_other(each, taskspace.id)].name}: {line}"
        for each in overlaps
        if taskspace.id in {each.first, each.second} and _other(each, taskspace.id) in names
        for line in _lines(each)
    ]


def _what_follows(taskspace: Taskspace) -> tuple[str, str]:
    """Next steps for the user while the agent resolves the conflicts."""
    id_ = taskspace.id[:8]
    return (
        "nothing lands until you approve it in `symposium inbox`",
        f"to follow its agent: symposium task attach {id_}",
    )


def _next_steps(taskspace: Taskspace, base: str, onto: str) -> tuple[str, str]:
    """Ways to resolve a conflict with the base: by the agent, or by hand."""
    id_, commit = taskspace.id[:8], onto[:12]
    by_hand = f"git -C {shlex.quote(taskspace.worktree)} rebase {commit}"
    return (
        f"to let its agent resolve it: symposium task land {id_} --resolve",
        f"to resolve it yourself: {by_hand} (the latest {base}), then land again",
    )


def _conflict(conflict: Conflict) -> str:
    ranges = ", ".join(f"{each.first}-{each.last}" for each in conflict.ours)
    return f"{conflict.path}{f':{ranges}' if ranges else ''} ({conflict.kind})"
