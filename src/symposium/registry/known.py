"""From the id of an agent, as `symposium agents list` shows it, to the command that starts it."""

import os

from localio.errors import ExplainedError
from localio.processes import look_up, usual_path
from peerwire.transports.command import Command
from symposium.registry.detect import program_name, way_arguments
from symposium.registry.entries import Entry
from symposium.registry.index import Loaded, snapshot
from symposium.registry.starting import Obtained, obtain, obtain_agent
from symposium.registry.surroundings import Surroundings


async def known_agent(agent_id: str, around: Surroundings) -> Obtained | None:
    """The agent of that id: added, installed, on this machine, or else installed now.

    Returns:
        None where there is none of that id.

    Raises:
        ExplainedError: it cannot be had.
    """
    if (here := await agent_here(agent_id, around)) is not None:
        return here
    entry = _entry(agent_id, around)
    return None if entry is None else await obtain(entry, around)


async def agent_here(agent_id: str, around: Surroundings) -> Obtained | None:
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
    return Obtained(Command((str(program), *arguments), dict(env), agent_id))


def known_ids(around: Surroundings) -> list[str]:
    """The ids of all agents but the built-in ones, without asking the network."""
    installed = around.bin_directory
    here = [place.name for place in installed.iterdir()] if installed.is_dir() else []
    added = [agent.id for agent in around.added.all()]
    listed = [entry.id for entry in _here(around).index.agents]
    return sorted({*added, *here, *listed})


def _entry(agent_id: str, around: Surroundings) -> Entry | None:
    return next((each for each in _here(around).index.agents if each.id == agent_id), None)


def _here(around: Surroundings) -> Loaded:
    try:
        return around.index.here()
    except (ExplainedError, OSError):
        return snapshot()
