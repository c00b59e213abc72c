"""Choose the agent of a task."""

import json
import os
import shlex
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from localio.processes import look_up, reachable
from localio.toml import parse_toml
from peerwire.transports.command import Command, command_json
from symposium.bus.activity_words import Activity
from symposium.bus.messages.tasks import InboxItem, TaskView
from symposium.chain.blueprint import Program
from symposium.cli.chain_options import agent_spec, configured_agent
from symposium.config.paths import paths
from symposium.errors import NotFoundError
from symposium.planning.chain_spec import read_agent
from symposium.sessions.client import hand_over_environment
from symposium.tasks.spawning import BUILT_IN, TERMINAL

MAX_SETTINGS_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of a settings file, in bytes."""

_NAME: Final = "symposium"


@dataclass(frozen=True, slots=True)
class _Settings:
    """Files in which an agent configures MCP servers.

    Attributes:
        own: the user's file, relative to home.
        of_project: the project's file, relative to its root; empty if there is no such file.
        member: the member that contains the servers by name.
        moved: the variable that names another directory for the user's file, if any.
        fix: the hint that adds Symposium's server.
    """

    own: str
    of_project: str
    member: str
    moved: str
    fix: str


_BY_HAND: Final = "add the MCP server `symposium mcp` to it"
_AGENTS: Final[Mapping[str, _Settings]] = {
    "claude": _Settings(
        *(".claude.json", ".mcp.json", "mcpServers", "CLAUDE_CONFIG_DIR"),
        "`symposium setup claude-mcp --write` adds it",
    ),
    "codex": _Settings(
        *(".codex/config.toml", ".codex/config.toml", "mcp_servers", "CODEX_HOME"),
        "`symposium setup codex-mcp` prints the command that adds it",
    ),
    "gemini": _Settings(
        *(".gemini/settings.json", ".gemini/settings.json", "mcpServers", ""), _BY_HAND
    ),
    "qcli": _Settings(*(".aws/amazonq/mcp.json", ".amazonq/mcp.json", "mcpServers", ""), _BY_HAND),
}


def missing_tools(agent: str | None, project: Path, env: Mapping[str, str]) -> str | None:
    """Return a warning for an agent that cannot read its task; None if it probably can.

    Args:
        agent: the value of `--agent`.
        project: a checkout of the project.
        env: the environment of this process.
    """
    known = _AGENTS.get(agent or "")
    if known is None:
        return None
    home = Path(env.get("HOME") or Path.home())
    own = home / known.own
    if known.moved and (moved := env.get(known.moved)):
        own = Path(moved) / own.name
    files = (own, project / known.of_project)
    if any(_is_known(file, known.member) for file in files):
        return None
    missing = f"{agent} cannot read its task: it has no MCP server `symposium`"
    return f"{missing}; {known.fix}"


def _is_known(file: Path, member: str) -> bool:
    """Whether the file configures Symposium's server; True if it cannot be read."""
    read: Callable[[str], Any] = parse_toml if file.suffix == ".toml" else json.loads
    try:
        if not file.is_file():
            return False
        if file.stat().st_size > MAX_SETTINGS_BYTES:
            return True
        return _NAME in json.dumps(read(file.read_text(encoding="utf-8")).get(member, {}))
    except (OSError, ValueError, AttributeError, RecursionError):
        return True


NONE: Final = "none"
"""Value of --agent for a task without an agent, whatever the config names."""

STARTING: Final = frozenset({"failed", "landing", "login", "trust"})
"""Kinds of items whose answer starts an agent, or runs a setup."""


def chosen_agent(written: str | None) -> str | None:
    """Return the SPEC of a new task's agent; None for no agent.

    Raises:
        ExplainedError: it names no agent, or one that cannot be installed.
    """
    if written is None:
        return configured_agent(named_agent)
    return None if written == NONE else named_agent(written)


def named_agent(written: str) -> str:
    """Return the SPEC of the named agent, valid in any working directory.

    Raises:
        ExplainedError: it names no agent, or one that cannot be installed.
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
    """Whether an agent runs in a terminal, where it does not ask Symposium."""
    return agent is not None and (agent in BUILT_IN or agent.startswith(TERMINAL))


@asynccontextmanager
async def offered_environment(agent: str | None) -> AsyncGenerator[str, None]:
    """Offer the environment of this process to the daemon while the block runs.

    Args:
        agent: its program's directory is added to PATH.

    Raises:
        NotFoundError: the program is not found.
    """
    async with hand_over_environment(await environment_for(agent), paths().runtime) as place:
        yield place


@asynccontextmanager
async def environment_to_start(waiting: InboxItem | None) -> AsyncGenerator[str | None, None]:
    """Offer the environment to what an answer starts; None if it starts nothing."""
    if waiting is None or waiting.kind not in STARTING:
        yield None
        return
    async with offered_environment(None) as place:
        yield place


def must_have_agent(task: TaskView) -> None:
    """Check that the agent of a task was started.

    Raises:
        NotFoundError: it has no agent, or its agent was not started.
    """
    if not task.agent:
        raise NotFoundError(f"{task.name!r} has no agent", _resume(task, " --agent AGENT"))
    if task.session is None and task.activity is Activity.ASKS_TRUST:
        what = f"the agent of {task.name!r} starts after you decide on its setup files"
        raise NotFoundError(what, "`symposium inbox` shows what they want to run")
    if task.session is None:
        raise NotFoundError(f"the agent of {task.name!r} was never started", _resume(task))


def no_agent(task: TaskView) -> str:
    """Describe a task without an agent."""
    return f"the task has no agent; {_resume(task, ' --agent AGENT')}"


def _resume(task: TaskView, more: str = "") -> str:
    gives = "assigns one" if more else "starts it"
    return f"`symposium task resume {task.id[:8]}{more}` {gives}"


async def environment_for(agent: str | None) -> dict[str, str]:
    """Return the environment of this process, with the agent's program on PATH.

    Raises:
        NotFoundError: the program is not found.
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
    """Whether it is a relative path, whose meaning depends on the working directory."""
    return "/" in program and not Path(program).is_absolute()


def _command(agent: str) -> Command | None:
    """Return the command that starts an agent; None for an agent without a program."""
    if agent in BUILT_IN:
        return Command(BUILT_IN[agent].hatch)
    if agent.startswith(TERMINAL):
        words = shlex.split(agent.removeprefix(TERMINAL))
        return Command(tuple(words)) if words else None
    found = read_agent(agent, "--agent")
    return found.command if isinstance(found, Program) else None
