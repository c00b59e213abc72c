"""Sets up a worktree: copies files, runs trusted commands, starts the agent."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from localio.errors import ExplainedError
from symposium.tasks import tables
from symposium.tasks.engine_context import EngineContext, keep
from symposium.tasks.events import Changed, Said
from symposium.tasks.model import Taskspace, TaskspaceError, TaskState
from symposium.tasks.recipe import SetUpRecipe
from symposium.tasks.recipe_files import read_set_up
from symposium.tasks.repository import Repository
from symposium.tasks.setup_steps import bring, run_commands
from symposium.tasks.tables import Operation, OperationKind, load, save
from symposium.tasks.task_environment import command_environment, variables

INTERRUPTED: Final = "the setup was interrupted; try again"
"""Reason of a task whose setup did not finish."""

UNTRUSTED: Final = (
    "waits for trust: the set-up files are not trusted, nothing of them was done, and no agent is "
    "started before `symposium inbox` has an answer"
)
"""Part of the reason of a task that waits for the user to approve its setup."""

DECLINED: Final = "without what its set-up files ask for"
"""Part of the reason of a task whose setup the user declined, as every version stores it."""

_SHOWN: Final = {
    UNTRUSTED: (
        "waits for trust: its setup files want to run commands. No command has run. Answer in "
        "`symposium inbox` to start the agent"
    ),
    DECLINED: "without its setup, which you declined",
}
"""Text for the user, by the stored part of a reason."""


def reason_text(reason: str) -> str:
    """Replace the stored parts of a reason by their texts for the user."""
    for stored, shown in _SHOWN.items():
        reason = reason.replace(stored, shown)
    return reason


class _Verdict(Enum):
    """Decision of the user about a setup."""

    TRUSTED = auto()
    DECLINED = auto()
    OPEN = auto()


_REASONS = {
    _Verdict.TRUSTED: "",
    _Verdict.DECLINED: f"continues {DECLINED}",
    _Verdict.OPEN: UNTRUSTED,
}


def recipe_of(taskspace: Taskspace, repository: Repository) -> SetUpRecipe:
    """Setup of a task as its files describe it; runs nothing."""
    return read_set_up(Path(taskspace.worktree), repository.root)


async def set_up(
    context: EngineContext,
    taskspace: Taskspace,
    repository: Repository,
    operation: Operation | None = None,
) -> Taskspace:
    """Set a worktree up and start its agent; also the retry of one that failed.

    Returns:
        The task, ready or `setup-failed` with the reason.
    """
    begun = operation or Operation(taskspace.id, OperationKind.CREATE, "create.worktree", {})
    try:
        return await _set_up(context, taskspace, repository, begun)
    except asyncio.CancelledError:
        await _interrupted(context, taskspace)
        raise


async def _set_up(
    context: EngineContext, taskspace: Taskspace, repository: Repository, operation: Operation
) -> Taskspace:
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    verdict = await _judged(context, taskspace, recipe)
    is_trusted = verdict is _Verdict.TRUSTED
    failure = await _bring(context, taskspace, repository, recipe) if is_trusted else None
    operation = await context.complete_stage(operation, "create.included")
    if failure is None and is_trusted:
        failure = await _commands(context, taskspace, repository, recipe)
    operation = await context.complete_stage(operation, "create.setup")
    # Before the agent starts: its first action can be undone.
    unkept = await keep(context, taskspace, repository, "made")
    # Without an agent the files stay unchanged while the user reads them.
    if failure is None and verdict is not _Verdict.OPEN:
        failure = await _agent(context, taskspace, recipe.env if is_trusted else {})
    operation = await context.complete_stage(operation, "create.agent")
    reasons = [failure or "", unkept]
    if taskspace.standing is TaskState.CREATING:
        reasons.append(taskspace.reason)
    reasons.append(_REASONS[verdict])
    reasons += [f"cannot be read: {each}" for each in recipe.broken]
    ready = replace(
        taskspace,
        standing=TaskState.READY if failure is None else TaskState.SETUP_FAILED,
        reason="; ".join(each for each in dict.fromkeys(reasons) if each),
    )
    await context.shielded.run_shielded(_finish(context, ready))
    return ready


async def _interrupted(context: EngineContext, taskspace: Taskspace) -> None:
    """Record an interrupted setup: its files stay, for a retry."""

    def settle(connection: Connection) -> bool:
        if not tables.is_unfinished(connection, taskspace.id):
            return False
        now = load(connection, taskspace.id) or taskspace
        save(connection, replace(now, standing=TaskState.SETUP_FAILED, reason=INTERRUPTED))
        tables.end(connection, taskspace.id)
        return True

    if await context.journal.write(settle):
        context.tell(Changed(await context.get(taskspace.id)))
        await context.mirror(taskspace.id)


async def _finish(context: EngineContext, taskspace: Taskspace) -> None:
    def finish(connection: Connection) -> None:
        # Its agent may have started already: the state that it reported stays.
        now = load(connection, taskspace.id) or taskspace
        if now.standing is not TaskState.FINISHED:
            now = replace(now, standing=taskspace.standing, reason=taskspace.reason)
        save(connection, now)
        tables.end(connection, taskspace.id)

    await context.journal.write(finish)
    context.tell(Changed(taskspace))
    await context.mirror(taskspace.id)
    context.pass_stage(taskspace.id, "create.ready")


async def _judged(context: EngineContext, taskspace: Taskspace, recipe: SetUpRecipe) -> _Verdict:
    lines = [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]
    if not lines or await context.trust.allows(taskspace.project, recipe.digest, lines):
        return _Verdict.TRUSTED
    return _Verdict.DECLINED if recipe.digest == taskspace.declined else _Verdict.OPEN


async def _bring(
    context: EngineContext, taskspace: Taskspace, repository: Repository, recipe: SetUpRecipe
) -> str | None:
    try:
        await bring(recipe, repository, Path(taskspace.worktree), context.state / "scratch")
    except ExplainedError as error:
        return f"setup failed: {error.message}"
    return None


async def _commands(
    context: EngineContext, taskspace: Taskspace, repository: Repository, recipe: SetUpRecipe
) -> str | None:
    environment = context.agents.environment(taskspace)
    env = {**command_environment(taskspace, repository.root, environment), **recipe.env}
    failure = await run_commands(
        recipe.all_of("setup"),
        Path(taskspace.worktree),
        env,
        lambda line: context.tell(Said(taskspace.id, line)),
    )
    return None if failure is None else f"setup failed: {failure.text}"


async def resume(context: EngineContext, taskspace: Taskspace, repository: Repository) -> bool:
    """Restart the agent of a task; returns whether that was needed.

    A setup that is trusted by now runs first, even if the agent is running. One that waits for the
    user to decide keeps waiting.

    Raises:
        TaskspaceError: the task is not ready, or its agent cannot be started.
    """
    if taskspace.standing is not TaskState.READY:
        hint = reason_text(taskspace.reason) or "see symposium task list"
        raise TaskspaceError(f"{taskspace.name!r} is {taskspace.standing}", hint)
    is_open = UNTRUSTED in taskspace.reason
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    verdict = await _judged(context, taskspace, recipe)
    if is_open and verdict is _Verdict.OPEN:
        return False
    if is_open or (DECLINED in taskspace.reason and verdict is _Verdict.TRUSTED):
        await set_up(context, taskspace, repository)
        return True
    # Never start an agent twice: one in an unknown state may be running.
    if context.agents.is_running(taskspace.id) is not False:
        return False
    if unkept := await keep(context, taskspace, repository, "resumed"):
        context.tell(Said(taskspace.id, unkept))
    env = recipe.env if verdict is _Verdict.TRUSTED else {}
    failure = await _agent(context, taskspace, env)
    if failure is not None:
        raise TaskspaceError(failure, "fix the problem, then resume again")
    return True


async def _agent(
    context: EngineContext, taskspace: Taskspace, env: Mapping[str, str]
) -> str | None:
    try:
        await context.agents.start(taskspace, {**variables(taskspace), **env})
    except ExplainedError as error:
        return f"the agent did not start: {error.message}"
    return None
