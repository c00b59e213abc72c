"""Run all checks before a deletion, including processes and open windows."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from localio.errors import ExplainedError
from localio.git import Git
from symposium.config.git import git_at
from symposium.tasks.deletion import commit_checks, worktree_checks
from symposium.tasks.deletion.process_checks import family_of, running_in
from symposium.tasks.deletion.safety_report import DeletionReport, Finding, Risk, Unknown
from symposium.tasks.engine_context import EngineContext
from symposium.tasks.model import Taskspace
from symposium.tasks.records import TaskPresence
from symposium.tasks.repository import Repository
from symposium.tasks.snapshots.clone_state import admin_directory
from symposium.tasks.worktree_status import status_of

_Found: TypeAlias = Sequence[Finding | Unknown]


@dataclass(frozen=True, slots=True)
class _Subject:
    """Input of the checks.

    Attributes:
        git: runs in the worktree.
        done: the process of an idle agent whose work has landed; a deletion stops it first.
    """

    context: EngineContext
    taskspace: Taskspace
    repository: Repository
    git: Git
    presence: TaskPresence | None
    done: int | None

    @property
    def worktree(self) -> Path:
        return Path(self.taskspace.worktree)


async def assess(
    context: EngineContext,
    taskspace: Taskspace,
    repository: Repository,
    presence: TaskPresence | None = None,
    done: int | None = None,
) -> DeletionReport:
    """Report what a deletion would lose; a failed check is unknown, never safe.

    Args:
        context: the context of the engine.
        taskspace: the task to delete.
        repository: its clone.
        presence: the windows that show it.
        done: the process of its idle agent, if all its work has landed.
    """
    worktree = Path(taskspace.worktree)
    if not await asyncio.to_thread((worktree / ".git").exists):
        gone = Unknown(Risk.UNCOMMITTED, f"{worktree} is no longer a worktree")
        return DeletionReport(taskspace.id, (), (gone,))
    subject = _Subject(context, taskspace, repository, git_at(worktree), presence, done)
    found: list[Finding | Unknown] = []
    for risk, check in _CHECKS:
        try:
            found += await check(subject)
        except ExplainedError as error:
            found.append(Unknown(risk, error.message))
        except (OSError, ValueError) as error:
            found.append(Unknown(risk, str(error)))
    findings = tuple(each for each in found if isinstance(each, Finding))
    return DeletionReport(
        taskspace.id, findings, tuple(each for each in found if isinstance(each, Unknown))
    )


async def _status(subject: _Subject) -> _Found:
    status = await status_of(subject.git)
    return worktree_checks.of_status(status)


async def _ignored(subject: _Subject) -> _Found:
    status = await status_of(subject.git)
    return await asyncio.to_thread(worktree_checks.of_ignored, subject.worktree, status.ignored)


async def _hidden(subject: _Subject) -> _Found:
    return await worktree_checks.hidden_files(subject.git)


async def _submodules(subject: _Subject) -> _Found:
    return await worktree_checks.of_repositories(subject.git, subject.worktree)


async def _commits(subject: _Subject) -> _Found:
    return await commit_checks.of_commits(subject.git, subject.taskspace)


async def _operations(subject: _Subject) -> _Found:
    admin = admin_directory(subject.worktree, subject.repository.common)
    return commit_checks.of_operations(admin)


async def _stash(subject: _Subject) -> _Found:
    top = await subject.git.text_or_none("rev-parse", "--verify", "--quiet", "refs/stash")
    return commit_checks.of_stash(subject.repository.common, top, subject.taskspace.branch)


async def _worktrees(subject: _Subject) -> _Found:
    return await commit_checks.of_worktrees(subject.git, subject.taskspace)


async def _agent(subject: _Subject) -> _Found:
    is_running = subject.context.agents.is_running(subject.taskspace.id)
    if is_running is None:
        return [Unknown(Risk.AGENT, "cannot tell whether its agent is running")]
    if is_running and subject.done is not None:
        return [Finding(Risk.AGENT_IDLE, 1, "its work has landed; its idle agent is stopped")]
    return [Finding(Risk.AGENT, 1, "its agent is running")] if is_running else []


async def _processes(subject: _Subject) -> _Found:
    running = await running_in(subject.worktree)
    if running and subject.done is not None:
        stopped = await asyncio.to_thread(family_of, subject.done)
        running = [each for each in running if each.pid not in stopped]
    if running is None:
        return [Unknown(Risk.PROCESSES, "cannot list the programs that run there")]
    if not running:
        return []
    names = tuple(f"{each.name} ({each.pid})" for each in running[:10])
    detail = "1 program runs there" if len(running) == 1 else f"{len(running)} programs run there"
    return [Finding(Risk.PROCESSES, len(running), detail, names)]


async def _watched(subject: _Subject) -> _Found:
    there = subject.presence.at(subject.taskspace.id) if subject.presence else []
    names = tuple(f"{each.kind}: {each.window_title or each.key}" for each in there)
    detail = "1 window is open" if len(there) == 1 else f"{len(there)} windows are open"
    return [Finding(Risk.WATCHED, len(there), detail, names)] if there else []


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
