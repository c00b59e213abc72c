"""Land a task's branch: trial merge, rebase or merge, check, fast-forward.

Nothing is forced. Each step can be repeated, so a second landing continues after a kill.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from localio.git import Git, GitCommandError, GitRunError
from symposium.config.git import git_at
from symposium.tasks import repository as remotes
from symposium.tasks import tables
from symposium.tasks.branch_move import check_way, move_branch, move_worktree, take_back
from symposium.tasks.creation import base_of
from symposium.tasks.deletion.commit_checks import of_operations
from symposium.tasks.engine_context import EngineContext, keep, subject_of
from symposium.tasks.events import Said
from symposium.tasks.merges import Conflict, dry_merge
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.rebase import replay
from symposium.tasks.repository import BaseBranch, Repository, commit_of, worktrees
from symposium.tasks.setup import recipe_of
from symposium.tasks.setup_steps import CommandFailure, run_commands
from symposium.tasks.snapshots.clone_state import admin_directory
from symposium.tasks.tables import Operation, OperationKind
from symposium.tasks.task_environment import command_environment
from symposium.tasks.worktree_status import status_of

_Result = TypeVar("_Result")

TAIL: Final = 20
"""Number of reported lines of a failed check."""


class Join(StrEnum):
    """Method to combine the base's new work with the branch."""

    REBASE = "rebase"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class LandOptions:
    """Options of a landing; `is_pushed` also sends the base branch to its remote."""

    join: Join = Join.REBASE
    is_pushed: bool = False


@dataclass(frozen=True, slots=True)
class Landed:
    """Success: the base branch has the work, at this commit.

    Attributes:
        is_news: whether the base lacked any of it.
    """

    commit: str
    base: str
    notes: tuple[str, ...] = ()
    is_news: bool = True


@dataclass(frozen=True, slots=True)
class LandConflict:
    """Conflicts with the base; the worktree is unchanged.

    Attributes:
        onto: the commit of the base that it conflicts with.
    """

    base: str
    conflicts: tuple[Conflict, ...]
    onto: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ChecksFailed:
    """No conflict, but a check failed; the branch has the base's work in it, the base is unchanged.

    Attributes:
        tail: the last lines of the checks' output.
    """

    failure: CommandFailure
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """No conflict, and its checks pass; the base is unchanged.

    Attributes:
        tip: the commit that can land.
        onto: the commit of the base that it lands on.
        checks: number of checks that ran.
        is_news: whether the base lacks any of it.
    """

    tip: str
    base: str
    onto: str
    checks: int
    is_news: bool
    notes: tuple[str, ...] = ()


LandOutcome: TypeAlias = Landed | LandConflict | ChecksFailed


async def land(
    context: EngineContext, taskspace: Taskspace, repository: Repository, options: LandOptions
) -> LandOutcome:
    """Land a taskspace.

    Raises:
        TaskspaceError: it has uncommitted work, its base is not known or has diverged, or git
            cannot run; the worktree is unchanged, or has the base's work in it.
    """
    landing = await _begin(taskspace, repository, options)

    async def work() -> LandOutcome:
        tried = await _make_ready(context, landing)
        return await _bring_in(context, landing, tried) if isinstance(tried, Ready) else tried

    return await _as_operation(context, taskspace, work)


async def prepare(
    context: EngineContext, taskspace: Taskspace, repository: Repository, options: LandOptions
) -> Ready | LandConflict | ChecksFailed:
    """Do everything before the landing: fetch, try, rebase or merge, check.

    Raises:
        TaskspaceError: see `land`.
    """
    landing = await _begin(taskspace, repository, options)
    return await _as_operation(context, taskspace, lambda: _make_ready(context, landing))


async def land_approved(
    context: EngineContext,
    taskspace: Taskspace,
    repository: Repository,
    approved: Ready,
    options: LandOptions,
) -> Landed | None:
    """Land exactly the approved commit; None if the branch or its base has moved since.

    Raises:
        TaskspaceError: see `land`.
    """
    landing = await _begin(taskspace, repository, options)

    async def work() -> Landed | None:
        async with context.clone_lock(repository.common):
            await context.shielded.run_shielded(_fetch(landing))
        tip = await landing.git.text("rev-parse", "HEAD")
        if (tip, await _newest_base(landing)) != (approved.tip, approved.onto):
            return None
        return await _bring_in(context, landing, approved)

    return await _as_operation(context, taskspace, work)


async def keep_landed(
    context: EngineContext, taskspace: Taskspace, repository: Repository, landed: Landed
) -> Landed:
    """Snapshot the landed state; a failure is noted in the result."""
    unkept = await keep(context, taskspace, repository, "landed")
    return replace(landed, notes=(*landed.notes, *filter(None, [unkept])))


async def _as_operation(
    context: EngineContext, taskspace: Taskspace, work: Callable[[], Coroutine[Any, Any, _Result]]
) -> _Result:
    """Record it in the journal while it runs, so that a restart undoes half a rebase."""
    try:
        await context.complete_stage(
            Operation(taskspace.id, OperationKind.LAND, "land.recorded", {}), "land.recorded"
        )
        return await work()
    finally:
        # A stop of the engine cancels a rebase halfway: the next start finds its entry.
        if not context.shielded.is_stopped:
            await context.journal.write(lambda connection: tables.end(connection, taskspace.id))


@dataclass(frozen=True, slots=True)
class _Landing:
    taskspace: Taskspace
    repository: Repository
    git: Git
    base: BaseBranch
    options: LandOptions

    @property
    def local(self) -> str:
        """The base as a branch of the clone."""
        return f"refs/heads/{self.base.branch}"


async def _begin(taskspace: Taskspace, repository: Repository, options: LandOptions) -> _Landing:
    base = base_of(taskspace)
    if base is None:
        raise TaskspaceError(f"{taskspace.name!r} has no base branch", "land it by hand")
    if options.is_pushed and base.remote is None:
        raise TaskspaceError(f"{base.branch} has no remote", "land it without a push")
    git = git_at(Path(taskspace.worktree))
    await _check_clean(git, taskspace, repository)
    return _Landing(taskspace, repository, git, base, options)


async def _make_ready(
    context: EngineContext, landing: _Landing
) -> Ready | LandConflict | ChecksFailed:
    operation = Operation(landing.taskspace.id, OperationKind.LAND, "land.recorded", {})
    async with context.clone_lock(landing.repository.common):
        notes = await context.shielded.run_shielded(_fetch(landing))
    operation = await context.complete_stage(operation, "land.fetched")
    onto = await _newest_base(landing)
    known = await landing.git.run("merge-base", "--is-ancestor", "HEAD", onto)
    dry = await dry_merge(landing.git, "HEAD", onto)
    operation = await context.complete_stage(operation, "land.dry-merge")
    if dry.conflicts:
        return LandConflict(landing.base.branch, dry.conflicts, onto)
    subject = subject_of(context, landing.taskspace, landing.repository)
    await context.snapshots.take(subject, "before landing")
    joining = _join(context, landing, operation, onto, dry.tree)
    if not await context.shielded.run_shielded(joining):
        return LandConflict(landing.base.branch, (), onto)
    operation = await context.complete_stage(operation, "land.joined")
    checked = await _checks(context, landing)
    if isinstance(checked, ChecksFailed):
        return checked
    await context.complete_stage(operation, "land.checked")
    tip = await landing.git.text("rev-parse", "HEAD")
    return Ready(tip, landing.base.branch, onto, checked, known.code != 0, tuple(notes))


async def _bring_in(context: EngineContext, landing: _Landing, ready: Ready) -> Landed:
    """Move the base forward to the prepared commit."""
    id_, tip = landing.taskspace.id, ready.tip
    async with context.clone_lock(landing.repository.common):
        await context.shielded.run_shielded(_forward(landing, tip))
    if ready.is_news:
        now = await context.get(id_)
        await context.put(replace(now, landed=tip, landed_at=context.stamp()))
    await context.complete_stage(
        Operation(id_, OperationKind.LAND, "land.checked", {}), "land.forwarded"
    )
    context.pass_stage(id_, "land.done")
    return Landed(tip, ready.base, ready.notes, ready.is_news)


async def _check_clean(git: Git, taskspace: Taskspace, repository: Repository) -> None:
    status = await status_of(git)
    begun = of_operations(admin_directory(Path(taskspace.worktree), repository.common))
    if begun:
        raise TaskspaceError(f"{taskspace.name!r}: {begun[0].detail}", "finish or abort it first")
    dirty = [*status.changed, *status.conflicts, *status.untracked]
    if dirty:
        reason = f"{taskspace.name!r} has uncommitted work, as {dirty[0]!r}"
        raise TaskspaceError(reason, "commit it, or let its agent do so")


async def _fetch(landing: _Landing) -> list[str]:
    try:
        await remotes.fetch(landing.repository.git, landing.base)
    except (GitRunError, TaskspaceError) as error:
        return [f"{landing.base.remote} did not answer: {error.message}"]
    return []


async def _newest_base(landing: _Landing) -> str:
    """The newer of the remote's base and the clone's own.

    Raises:
        TaskspaceError: they have diverged, or the base does not exist.
    """
    git, base = landing.git, landing.base
    there, here = await commit_of(git, base.ref), await commit_of(git, landing.local)
    if there is None and here is None:
        raise TaskspaceError(f"{base.ref} does not exist", "name another base")
    if there is None or here is None:
        return there or here or ""
    if await _is_in(git, there, here):
        return here
    if await _is_in(git, here, there):
        return there
    reason = f"{base.branch} and {base.remote}/{base.branch} have diverged"
    raise TaskspaceError(reason, f"bring {base.branch} up to date first")


async def _is_in(git: Git, older: str, newer: str) -> bool:
    return not (await git.run("merge-base", "--is-ancestor", older, newer)).code


async def _join(
    context: EngineContext, landing: _Landing, operation: Operation, onto: str, merged: str
) -> bool:
    """Rebase or merge; False on a conflict, with the worktree unchanged.

    Args:
        context: the context of the engine.
        landing: the landing.
        operation: its entry in the journal.
        onto: the commit of the base.
        merged: the files of a merge with that.
    """
    git = landing.git
    if await _is_in(git, onto, "HEAD"):
        return True
    if landing.options.join is Join.REBASE:
        return await _rebase(context, landing, operation, onto, merged)
    done = await git.run("merge", "--no-edit", onto, timeout=600.0)
    if done.code:
        conflicts = await git.text("ls-files", "--unmerged")
        await git.run("merge", "--abort")
        if not conflicts:
            raise GitCommandError(("merge", onto), done.code, done.said)
        return False
    return True


async def _rebase(
    context: EngineContext, landing: _Landing, operation: Operation, onto: str, merged: str
) -> bool:
    git, name = await landing.git.completing(), landing.taskspace.name
    before = await git.text("rev-parse", "HEAD")
    copies = await replay(git, onto, before)
    if copies is None:
        return False
    if copies.merges and copies.tree != merged:
        lost = copies.merges[0][:12]
        reason = f"a rebase of {name!r} would lose changes that its merge commit {lost} made"
        raise TaskspaceError(reason, f"symposium task land {landing.taskspace.id[:8]} --merge")
    detail = {"before": before, "after": copies.tip, "at": context.now()}
    await context.complete_stage(replace(operation, detail=detail), "land.replayed")
    await check_way(git, before, copies.tip)
    try:
        await move_worktree(git, before, copies.tip)
        context.pass_stage(operation.taskspace, "land.moved")
        await move_branch(git, before, copies.tip, f"symposium: land: rebase onto {onto}")
    except (GitRunError, TaskspaceError):
        await context.shielded.after_failure(take_back(git, before, copies.tip))
        raise
    return True


async def _checks(context: EngineContext, landing: _Landing) -> int | ChecksFailed:
    """Run the checks; returns the number that passed, or the first failure."""
    taskspace, repository = landing.taskspace, landing.repository
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    commands = recipe.all_of("check")
    if not commands:
        return 0
    lines = [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]
    if not await context.trust.allows(taskspace.project, recipe.digest, lines):
        raise TaskspaceError("the checks are not trusted", "check and approve them")
    environment = context.agents.environment(taskspace)
    env = {**command_environment(taskspace, repository.root, environment), **recipe.env}
    tail: deque[str] = deque(maxlen=TAIL)

    def say(line: str) -> None:
        tail.append(line)
        context.tell(Said(taskspace.id, line))

    failure = await run_commands(commands, Path(taskspace.worktree), env, say)
    return len(commands) if failure is None else ChecksFailed(failure, tuple(tail))


async def _forward(landing: _Landing, tip: str) -> None:
    await _move_base(landing, tip)
    base = landing.base
    if landing.options.is_pushed and base.remote is not None:
        await remotes.push(landing.repository.git, base.remote, tip, base.branch)


async def _move_base(landing: _Landing, tip: str) -> None:
    """Fast-forward the clone's base branch, in its checkout if it has one.

    Raises:
        TaskspaceError: it would not be a fast-forward, or would overwrite uncommitted work.
    """
    git, local = landing.repository.git, landing.local
    here = await commit_of(git, local)
    if here == tip:
        return
    if here is not None and not await _is_in(git, here, tip):
        raise TaskspaceError(f"{landing.base.branch} has new commits", "land again")
    holder = next((each for each in await worktrees(git) if each.branch == local), None)
    if holder is None:
        await git.ask("update-ref", "-m", "symposium: land", local, tip, here or "0" * len(tip))
        return
    done = await git.at(holder.path).run("merge", "--ff-only", "--no-autostash", tip)
    if done.code:
        reason = f"{holder.path}: git cannot update {landing.base.branch}: {done.said}"
        raise TaskspaceError(reason, "commit or move the files named there, then land again")
