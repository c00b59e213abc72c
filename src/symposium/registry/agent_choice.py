"""Resolve the name of an agent to the command that starts it.

Command lines, paths, JSON, and the names of built-ins are SPECs already. An id that `symposium
agents list` shows becomes the command of that agent (users A-14, A-15).
"""

import os
from dataclasses import dataclass
from typing import Final

from localio.errors import ExplainedError
from localio.processes import look_up, usual_path
from localio.text import near_names
from peerwire.transports.command import Command, command_json
from symposium.catalog import built_in_agents, is_built_in, looks_like_id, may_be_id
from symposium.errors import SpecError
from symposium.registry.entries import RegistryEntry
from symposium.registry.index import LoadedIndex, RegistryContext, snapshot
from symposium.registry.listing import program_name, way_arguments
from symposium.registry.provision import StartCommand, obtain_agent, provision


async def known_agent(agent_id: str, context: RegistryContext) -> StartCommand | None:
    """Command of an agent that was added, is installed, is on this machine, or is installed now.

    Returns:
        None if no agent has that id.

    Raises:
        ExplainedError: the agent cannot be installed or read.
    """
    if (here := await agent_here(agent_id, context)) is not None:
        return here
    entry = _entry(agent_id, context)
    return None if entry is None else await provision(entry, context)


async def agent_here(agent_id: str, context: RegistryContext) -> StartCommand | None:
    """Command of an agent that can start now, without a download or an installation.

    Raises:
        ExplainedError: its record cannot be read.
    """
    if context.has_agent(agent_id):
        return await obtain_agent(agent_id, context)
    if (entry := _entry(agent_id, context)) is None:
        return None
    directories = usual_path(context.env).split(os.pathsep)
    if (program := look_up(program_name(entry), directories)) is None:
        return None
    arguments, env = way_arguments(entry)
    return StartCommand(Command((str(program), *arguments), dict(env), agent_id))


def known_ids(context: RegistryContext) -> list[str]:
    """Ids of all agents except the built-in ones, without using the network."""
    installed = context.bin_directory
    here = [place.name for place in installed.iterdir()] if installed.is_dir() else []
    added = [agent.id for agent in context.added.all()]
    listed = [entry.id for entry in _here(context).index.agents]
    return sorted({*added, *here, *listed})


def _entry(agent_id: str, context: RegistryContext) -> RegistryEntry | None:
    return next((each for each in _here(context).index.agents if each.id == agent_id), None)


def _here(context: RegistryContext) -> LoadedIndex:
    try:
        return context.index.here()
    except (ExplainedError, OSError):
        return snapshot()


_ADAPTER: Final = "-acp"
"""Suffix of adapter ids, after the name of the adapted agent."""

_LISTED: Final = "`symposium agents list` shows the known agents"


class UnknownAgentError(SpecError):
    """No agent has this id."""


@dataclass(frozen=True, slots=True)
class ChosenAgent:
    """An agent.

    Attributes:
        spec: its SPEC.
        note: advice for the user, such as about a failed installation; often empty.
    """

    spec: str
    note: str = ""


async def choose(written: str, context: RegistryContext) -> ChosenAgent:
    """Resolve the name that the user wrote; install an agent of the registry if needed.

    Raises:
        UnknownAgentError: no agent has this id.
        ExplainedError: the agent cannot be installed or read.
    """
    if not may_be_id(written):
        return ChosenAgent(written)
    name = written.strip()
    obtained = await known_agent(name, context)
    if obtained is None:
        # `codex` does not speak ACP, but an adapter with its name does (users ).
        obtained = await known_agent(f"{name}{_ADAPTER}", context)
    if obtained is not None:
        return _chosen(obtained)
    if look_up(name, context.env.get("PATH", os.defpath).split(os.pathsep)) is not None:
        return ChosenAgent(written)
    raise UnknownAgentError(
        f"{name!r} is neither a built-in agent ({', '.join(built_in_agents())}), nor an added, "
        "installed, or registry agent, nor a program on PATH",
        f"{_guess(name, context)}{_LISTED}",
    )


async def choose_here(written: str, context: RegistryContext) -> ChosenAgent:
    """Resolve the id that another agent wrote, among the agents on this machine.

    An agent cannot start a command line of its own or install anything.

    Raises:
        UnknownAgentError: no agent on this machine has this id.
        ExplainedError: the agent's record cannot be read.
    """
    name = written.strip()
    if is_built_in(name):
        return ChosenAgent(name)
    for each in (name, f"{name}{_ADAPTER}"):
        if looks_like_id(each) and (obtained := await agent_here(each, context)) is not None:
            return _chosen(obtained)
    raise UnknownAgentError(
        f"{written!r} is not the id of an agent on this machine",
        f"{_guess(name, context)}{_LISTED}; only the user installs or adds agents",
    )


def _chosen(obtained: StartCommand) -> ChosenAgent:
    return ChosenAgent(command_json(obtained.command), obtained.note)


def _guess(name: str, context: RegistryContext) -> str:
    ids = [*built_in_agents(), *known_ids(context)]
    near = [each for each in ids if each.startswith(name.lower())] or near_names(name, ids)
    return f"did you mean {' or '.join(near[:3])}? " if near else ""
