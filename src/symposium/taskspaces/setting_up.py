"""Makes a worktree ready: files brought over, commands run where they are trusted, the agent."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from localio.errors import ExplainedError
from symposium.taskspaces import operations
from symposium.taskspaces.events import Changed, Said
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.repository import Repository
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.journal import load, save
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.operations import Kind, Operation
from symposium.taskspaces.port_blocks import variables
from symposium.taskspaces.setup_files.bringing import bring
from symposium.taskspaces.setup_files.reading import read_set_up
from symposium.taskspaces.setup_files.recipe import SetUp
from symposium.taskspaces.setup_files.running import command_environment, run_commands
from symposium.taskspaces.subjects import keep

INTERRUPTED: Final = "the set-up was interrupted: try it again"
"""Why a taskspace is not ready whose set-up nobody has seen the end of."""

UNTRUSTED: Final = (
    "waits for trust: the set-up files are not trusted, nothing of them was done, and no agent is "
    "started before `symposium inbox` has an answer"
)
"""Part of the reason of a taskspace that waits for a person to judge what its files ask for."""

DECLINED: Final = "goes on without what its set-up files ask for"
"""Part of the reason of a taskspace whose set-up a person has said no to."""


class _Verdict(Enum):
    """What a person has said to a recipe."""

    TRUSTED = auto()
    DECLINED = auto()
    OPEN = auto()


_SAID = {_Verdict.TRUSTED: "", _Verdict.DECLINED: DECLINED, _Verdict.OPEN: UNTRUSTED}


def recipe_of(taskspace: Taskspace, repository: Repository) -> SetUp:
    """What the set-up files that reach a taskspace ask for; nothing is run."""
    return read_set_up(Path(taskspace.worktree), repository.root)


async def set_up(
    ground: Ground,
    taskspace: Taskspace,
    repository: Repository,
    operation: Operation | None = None,
) -> Taskspace:
    """Set a worktree up and start its agent; also the retry of one that failed.

    Returns:
        The taskspace, ready or `setup-failed` with the reason.
    """
    begun = operation or Operation(taskspace.id, Kind.CREATE, "create.worktree", {})
    try:
        return await _set_up(ground, taskspace, repository, begun)
    except asyncio.CancelledError:
        await _interrupted(ground, taskspace)
        raise


async def _set_up(
    ground: Ground, taskspace: Taskspace, repository: Repository, operation: Operation
) -> Taskspace:
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    verdict = await _judged(ground, taskspace, recipe)
    is_trusted = verdict is _Verdict.TRUSTED
    failure = await _bring(ground, taskspace, repository, recipe) if is_trusted else None
    operation = await ground.reach(operation, "create.included")
    if failure is None and is_trusted:
        failure = await _commands(ground, taskspace, repository, recipe)
    operation = await ground.reach(operation, "create.setup")
    # Before anybody works there: the first thing that an agent does can be undone.
    unkept = await keep(ground, taskspace, repository, "made")
    # Nobody works there while a person reads what is asked: it stays what was shown.
    if failure is None and verdict is not _Verdict.OPEN:
        failure = await _agent(ground, taskspace, recipe.env if is_trusted else {})
    operation = await ground.reach(operation, "create.agent")
    reasons = [failure or "", unkept]
    if taskspace.standing is Standing.CREATING:
        reasons.append(taskspace.reason)
    reasons.append(_SAID[verdict])
    reasons += [f"cannot be read: {each}" for each in recipe.broken]
    ready = replace(
        taskspace,
        standing=Standing.READY if failure is None else Standing.SETUP_FAILED,
        reason="; ".join(each for each in dict.fromkeys(reasons) if each),
    )
    await ground.undertakings.to_its_end(_finish(ground, ready))
    return ready


async def _interrupted(ground: Ground, taskspace: Taskspace) -> None:
    """Whoever asked has gone before it was done: what is there stays, to be tried again."""

    def settle(connection: Connection) -> bool:
        if not operations.is_unfinished(connection, taskspace.id):
            return False
        now = load(connection, taskspace.id) or taskspace
        save(connection, replace(now, standing=Standing.SETUP_FAILED, reason=INTERRUPTED))
        operations.end(connection, taskspace.id)
        return True

    if await ground.journal.change(settle):
        ground.tell(Changed(await ground.get(taskspace.id)))
        await ground.mirror(taskspace.id)


async def _finish(ground: Ground, taskspace: Taskspace) -> None:
    def finish(connection: Connection) -> None:
        # Its agent may have begun already: what it has said of itself stays.
        now = load(connection, taskspace.id) or taskspace
        if now.standing is not Standing.FINISHED:
            now = replace(now, standing=taskspace.standing, reason=taskspace.reason)
        save(connection, now)
        operations.end(connection, taskspace.id)

    await ground.journal.change(finish)
    ground.tell(Changed(taskspace))
    await ground.mirror(taskspace.id)
    ground.pass_stage(taskspace.id, "create.ready")


async def _judged(ground: Ground, taskspace: Taskspace, recipe: SetUp) -> _Verdict:
    lines = [f"{kind}: {line}" for each in recipe.recipes for kind, line in each.lines()]
    if not lines or await ground.trust.allows(taskspace.project, recipe.digest, lines):
        return _Verdict.TRUSTED
    return _Verdict.DECLINED if recipe.digest == taskspace.declined else _Verdict.OPEN


async def _bring(
    ground: Ground, taskspace: Taskspace, repository: Repository, recipe: SetUp
) -> str | None:
    try:
        await bring(recipe, repository, Path(taskspace.worktree), ground.state / "scratch")
    except ExplainedError as error:
        return f"setup failed: {error.message}"
    return None


async def _commands(
    ground: Ground, taskspace: Taskspace, repository: Repository, recipe: SetUp
) -> str | None:
    around = ground.agents.environment(taskspace)
    env = {**command_environment(taskspace, repository.root, around), **recipe.env}
    failure = await run_commands(
        recipe.all_of("setup"),
        Path(taskspace.worktree),
        env,
        lambda line: ground.tell(Said(taskspace.id, line)),
    )
    return None if failure is None else f"setup failed: {failure.text}"


async def resume(ground: Ground, taskspace: Taskspace, repository: Repository) -> bool:
    """Start the agent of a taskspace again; whether that was needed.

    Set-up files that are trusted by now are done first, also beside an agent that runs. One that
    waits for a person to judge them goes on waiting.

    Raises:
        TaskspaceError: the taskspace is not ready, or its agent cannot be started.
    """
    if taskspace.standing is not Standing.READY:
        hint = taskspace.reason or "see symposium task list"
        raise TaskspaceError(f"{taskspace.name!r} is {taskspace.standing}", hint)
    is_open = UNTRUSTED in taskspace.reason
    recipe = await asyncio.to_thread(recipe_of, taskspace, repository)
    verdict = await _judged(ground, taskspace, recipe)
    if is_open and verdict is _Verdict.OPEN:
        return False
    if is_open or (DECLINED in taskspace.reason and verdict is _Verdict.TRUSTED):
        await set_up(ground, taskspace, repository)
        return True
    # Nothing runs twice: one of which nothing is known is not started beside itself.
    if ground.agents.is_running(taskspace.id) is not False:
        return False
    if unkept := await keep(ground, taskspace, repository, "resumed"):
        ground.tell(Said(taskspace.id, unkept))
    env = recipe.env if verdict is _Verdict.TRUSTED else {}
    failure = await _agent(ground, taskspace, env)
    if failure is not None:
        raise TaskspaceError(failure, "mend it, then resume again")
    return True


async def _agent(ground: Ground, taskspace: Taskspace, env: Mapping[str, str]) -> str | None:
    try:
        await ground.agents.start(taskspace, {**variables(taskspace), **env})
    except ExplainedError as error:
        return f"the agent did not start: {error.message}"
    return None
