"""Makes the report: every check, and what each could not find out."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from localio.errors import ExplainedError
from symposium.git.program import Git
from symposium.taskspaces.deletion import commit_checks, work_tree_checks
from symposium.taskspaces.deletion.processes import family_of, running_in
from symposium.taskspaces.deletion.report import Finding, Report, Risk, Unknown
from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.presence import Presence
from symposium.taskspaces.snapshots.gitdir import admin_directory

_Found: TypeAlias = Sequence[Finding | Unknown]


@dataclass(frozen=True, slots=True)
class _Subject:
    """What the checks look at.

    Attributes:
        git: runs in the worktree.
        done: the process of an idle agent whose work has landed; a deletion stops it first.
    """

    ground: Ground
    taskspace: Taskspace
    repository: Repository
    git: Git
    presence: Presence | None
    done: int | None

    @property
    def worktree(self) -> Path:
        return Path(self.taskspace.worktree)


async def assess(
    ground: Ground,
    taskspace: Taskspace,
    repository: Repository,
    presence: Presence | None = None,
    done: int | None = None,
) -> Report:
    """What a deletion would lose; what a check cannot find out is unknown, never safe.

    Args:
        ground: what the engine stands on.
        taskspace: the one to delete.
        repository: its clone.
        presence: who is at it.
        done: the process of its idle agent, if all its work has landed.
    """
    worktree = Path(taskspace.worktree)
    if not await asyncio.to_thread((worktree / ".git").exists):
        gone = Unknown(Risk.UNCOMMITTED, f"{worktree} is no worktree any more")
        return Report(taskspace.id, (), (gone,))
    try:
        git = Git(worktree)
    except ExplainedError as error:
        return Report(taskspace.id, (), (Unknown(Risk.UNCOMMITTED, error.message),))
    subject = _Subject(ground, taskspace, repository, git, presence, done)
    found: list[Finding | Unknown] = []
    for risk, check in _CHECKS:
        try:
            found += await check(subject)
        except ExplainedError as error:
            found.append(Unknown(risk, error.message))
        except (OSError, ValueError) as error:
            found.append(Unknown(risk, str(error)))
    findings = tuple(each for each in found if isinstance(each, Finding))
    return Report(
        taskspace.id, findings, tuple(each for each in found if isinstance(each, Unknown))
    )


async def _status(subject: _Subject) -> _Found:
    status = await work_tree_checks.status_of(subject.git)
    return work_tree_checks.of_status(status)


async def _ignored(subject: _Subject) -> _Found:
    status = await work_tree_checks.status_of(subject.git)
    return await asyncio.to_thread(work_tree_checks.of_ignored, subject.worktree, status.ignored)


async def _hidden(subject: _Subject) -> _Found:
    return await work_tree_checks.hidden_files(subject.git)


async def _submodules(subject: _Subject) -> _Found:
    return await work_tree_checks.of_repositories(subject.git, subject.worktree)


async def _commits(subject: _Subject) -> _Found:
    return await commit_checks.of_commits(subject.git, subject.taskspace)


async def _operations(subject: _Subject) -> _Found:
    admin = admin_directory(subject.worktree, subject.repository.common)
    return commit_checks.of_operations(admin)


async def _stash(subject: _Subject) -> _Found:
    top = await subject.git.maybe("rev-parse", "--verify", "--quiet", "refs/stash")
    return commit_checks.of_stash(subject.repository.common, top, subject.taskspace.branch)


async def _worktrees(subject: _Subject) -> _Found:
    return await commit_checks.of_worktrees(subject.git, subject.taskspace)


async def _agent(subject: _Subject) -> _Found:
    is_running = subject.ground.agents.is_running(subject.taskspace.id)
    if is_running is None:
        return [Unknown(Risk.AGENT, "whether its agent runs is not known")]
    if is_running and subject.done is not None:
        return [Finding(Risk.AGENT_IDLE, 1, "its work has landed; its idle agent is stopped")]
    return [Finding(Risk.AGENT, 1, "its agent is running")] if is_running else []


async def _processes(subject: _Subject) -> _Found:
    running = await running_in(subject.worktree)
    if running and subject.done is not None:
        stopped = await asyncio.to_thread(family_of, subject.done)
        running = [each for each in running if each.pid not in stopped]
    if running is None:
        return [Unknown(Risk.PROCESSES, "which programs run there cannot be known here")]
    if not running:
        return []
    names = tuple(f"{each.name} ({each.pid})" for each in running[:10])
    return [Finding(Risk.PROCESSES, len(running), f"{len(running)} programs run there", names)]


async def _watched(subject: _Subject) -> _Found:
    there = subject.presence.at(subject.taskspace.id) if subject.presence else []
    names = tuple(f"{each.kind}: {each.window_title or each.key}" for each in there)
    return (
        [Finding(Risk.WATCHED, len(there), f"{len(there)} windows are open", names)]
        if there
        else []
    )


_CHECKS: tuple[tuple[Risk, Callable[[_Subject], Awaitable[_Found]]], ...] = (
    (Risk.UNCOMMITTED, _status),
    (Risk.IGNORED, _ignored),
    (Risk.UNCOMMITTED, _hidden),
    (Risk.SUBMODULE, _submodules),
    (Risk.UNPUSHED, _commits),
    (Risk.OPERATION, _operations),
    (Risk.STASH, _stash),
    (Risk.LOCKED, _worktrees),
    (Risk.AGENT, _agent),
    (Risk.PROCESSES, _processes),
    (Risk.WATCHED, _watched),
)
"""Each with the risk that is unknown when it fails."""
