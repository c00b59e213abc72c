"""The agent that a task is to have: the one written, else the config's; its program is here."""

import os
import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from peerwire.transports.command import Command, command_json
from symposium.agent_sessions.lent_environment import lend
from symposium.bus.messages.tasks import InboxItem, TaskView
from symposium.chain.blueprint import Program
from symposium.chain_spec import read_agent
from symposium.cli.agent_names import agent_spec, configured_agent
from symposium.config.paths import paths
from symposium.errors import NotFoundError
from symposium.registry.path_probe import look_up, reachable
from symposium.taskspaces.agent_commands import BUILT_IN, TERMINAL

NONE: Final = "none"
"""Written for a task that is to have no agent although the config names one."""

STARTING: Final = frozenset({"failed", "landing", "login", "trust"})
"""Kinds of items whose answer starts an agent, or runs a set-up."""


def chosen_agent(written: str | None) -> str | None:
    """What starts the agent of a new task; None for no agent.

    Raises:
        ExplainedError: it names no agent, or one that cannot be had.
    """
    if written is None:
        return configured_agent(named_agent)
    return None if written == NONE else named_agent(written)


def named_agent(written: str) -> str:
    """What starts the agent that was written, wherever it is started from.

    Raises:
        ExplainedError: it names no agent, or one that cannot be had.
    """
    if written in BUILT_IN:
        return written
    spec = agent_spec(written) or written
    command = _command(spec)
    if command is None or "/" not in command.argv[0] or spec.startswith(TERMINAL):
        return spec
    program = str(Path(command.argv[0]).absolute())
    if program == command.argv[0]:
        return spec
    return command_json(replace(command, argv=(program, *command.argv[1:])))


def is_terminal(agent: str | None) -> bool:
    """Whether an agent is given a terminal, and so asks nothing of us."""
    return agent is not None and (agent in BUILT_IN or agent.startswith(TERMINAL))


@asynccontextmanager
async def surroundings_for(agent: str | None) -> AsyncGenerator[str, None]:
    """Where the daemon can fetch our environment from, for the block.

    Args:
        agent: a PATH that leads to its program is in it.

    Raises:
        NotFoundError: the program is nowhere.
    """
    async with lend(await environment_for(agent), paths().runtime) as place:
        yield place


@asynccontextmanager
async def surroundings_to_start(waiting: InboxItem | None) -> AsyncGenerator[str | None, None]:
    """The same for what the answer to an item starts; None where it starts nothing."""
    if waiting is None or waiting.kind not in STARTING:
        yield None
        return
    async with surroundings_for(None) as place:
        yield place


def must_have_agent(task: TaskView) -> None:
    """Say of a task that nobody is there to be spoken to.

    Raises:
        NotFoundError: it has no agent, or one that was never started, or not yet.
    """
    if not task.agent:
        raise NotFoundError(f"{task.name!r} has no agent", _resume(task, " --agent AGENT"))
    if task.session is None and task.state == "waiting: trust":
        what = f"the agent of {task.name!r} begins when its set-up files were judged"
        raise NotFoundError(what, "`symposium inbox` shows what they ask for")
    if task.session is None:
        raise NotFoundError(f"the agent of {task.name!r} was never started", _resume(task))


def no_agent(task: TaskView) -> str:
    """What to say of a task that nobody works on."""
    return f"no agent works on it; {_resume(task, ' --agent AGENT')}"


def _resume(task: TaskView, more: str = "") -> str:
    gives = "gives it one" if more else "tries again"
    return f"`symposium task resume {task.id[:8]}{more}` {gives}"


async def environment_for(agent: str | None) -> dict[str, str]:
    """Our environment, with a PATH that leads to the agent's program.

    Raises:
        NotFoundError: the program is nowhere.
    """
    found = dict(os.environ)
    command = None if agent is None else _command(agent)
    if command is None or _is_relative(command.argv[0]):
        return found
    theirs = {**found, **command.env}
    if look_up(command.argv[0], theirs.get("PATH", os.defpath).split(os.pathsep)) is None:
        found |= {k: v for k, v in (await reachable(command, theirs)).env.items() if k == "PATH"}
    return found


def _is_relative(program: str) -> bool:
    """Whether it is a path from where it is started: that may be somewhere else."""
    return "/" in program and not Path(program).is_absolute()


def _command(agent: str) -> Command | None:
    """What is started for it; None for an agent of ours, which needs no program."""
    if agent in BUILT_IN:
        return Command(BUILT_IN[agent].hatch)
    if agent.startswith(TERMINAL):
        words = shlex.split(agent.removeprefix(TERMINAL))
        return Command(tuple(words)) if words else None
    found = read_agent(agent, "--agent")
    return found.command if isinstance(found, Program) else None
