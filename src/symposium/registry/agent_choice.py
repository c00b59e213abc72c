"""From the name of an agent to the command that starts it.

Command lines, paths, JSON and the names of built-ins are SPECs already. An id that `symposium
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


async def known_agent(agent_id: str, around: RegistryContext) -> StartCommand | None:
    """The agent of that id: added, installed, on this machine, or else installed now.

    Returns:
        None if no agent has that id.

    Raises:
        ExplainedError: it cannot be had.
    """
    if (here := await agent_here(agent_id, around)) is not None:
        return here
    entry = _entry(agent_id, around)
    return None if entry is None else await provision(entry, around)


async def agent_here(agent_id: str, around: RegistryContext) -> StartCommand | None:
    """The agent of that id if it can be started as things are: nothing is fetched or installed.

    Raises:
        ExplainedError: it was added or installed, and its record cannot be read.
    """
    if around.has_agent(agent_id):
        return await obtain_agent(agent_id, around)
    if (entry := _entry(agent_id, around)) is None:
        return None
    directories = usual_path(around.env).split(os.pathsep)
    if (program := look_up(program_name(entry), directories)) is None:
        return None
    arguments, env = way_arguments(entry)
    return StartCommand(Command((str(program), *arguments), dict(env), agent_id))


def known_ids(around: RegistryContext) -> list[str]:
    """The ids of all agents but the built-in ones, without asking the network."""
    installed = around.bin_directory
    here = [place.name for place in installed.iterdir()] if installed.is_dir() else []
    added = [agent.id for agent in around.added.all()]
    listed = [entry.id for entry in _here(around).index.agents]
    return sorted({*added, *here, *listed})


def _entry(agent_id: str, around: RegistryContext) -> RegistryEntry | None:
    return next((each for each in _here(around).index.agents if each.id == agent_id), None)


def _here(around: RegistryContext) -> LoadedIndex:
    try:
        return around.index.here()
    except (ExplainedError, OSError):
        return snapshot()


_ADAPTER: Final = "-acp"
"""How the ids of adapters end, behind the name of what they adapt."""

_LISTED: Final = "`symposium agents list` shows those there are"


class UnknownAgentError(SpecError):
    """No agent has this id."""


@dataclass(frozen=True, slots=True)
class ChosenAgent:
    """An agent.

    Attributes:
        spec: starts it.
        note: advice for the user, such as a failed installation; often empty.
    """

    spec: str
    note: str = ""


async def choose(written: str, around: RegistryContext) -> ChosenAgent:
    """The agent that a person means; one of the registry that is not here yet is installed.

    Raises:
        UnknownAgentError: no agent has this id.
        ExplainedError: the agent cannot be had.
    """
    if not may_be_id(written):
        return ChosenAgent(written)
    name = written.strip()
    obtained = await known_agent(name, around)
    if obtained is None:
        # `codex` speaks no ACP, but has an adapter of its name (users ).
        obtained = await known_agent(f"{name}{_ADAPTER}", around)
    if obtained is not None:
        return _chosen(obtained)
    if look_up(name, around.env.get("PATH", os.defpath).split(os.pathsep)) is not None:
        return ChosenAgent(written)
    raise UnknownAgentError(
        f"{name!r} is neither a built-in agent ({', '.join(built_in_agents())}), nor one that "
        "was added, installed or is in the registry, nor a program on PATH",
        f"{_guess(name, around)}{_LISTED}",
    )


async def choose_here(written: str, around: RegistryContext) -> ChosenAgent:
    """The agent that another agent means: by an id, and only one that is here.

    What an agent writes starts no command of its own making, and installs nothing.

    Raises:
        UnknownAgentError: no agent that is here has this id.
        ExplainedError: the agent cannot be had.
    """
    name = written.strip()
    if is_built_in(name):
        return ChosenAgent(name)
    for each in (name, f"{name}{_ADAPTER}"):
        if looks_like_id(each) and (obtained := await agent_here(each, around)) is not None:
            return _chosen(obtained)
    raise UnknownAgentError(
        f"{written!r} is the id of no agent that is here",
        f"{_guess(name, around)}{_LISTED}; a person installs or adds one",
    )


def _chosen(obtained: StartCommand) -> ChosenAgent:
    return ChosenAgent(command_json(obtained.command), obtained.note)


def _guess(name: str, around: RegistryContext) -> str:
    ids = [*built_in_agents(), *known_ids(around)]
    near = [each for each in ids if each.startswith(name.lower())] or near_names(name, ids)
    return f"did you mean {' or '.join(near[:3])}? " if near else ""
