"""From the id of an agent, as `symposium agents list` shows it, to the command that starts it."""

import os

from peerwire.transports.command import Command
from symposium.errors import SymposiumError
from symposium.registry.detect import program_name, way_arguments
from symposium.registry.index import Loaded, snapshot
from symposium.registry.path_probe import look_up, usual_path
from symposium.registry.starting import Obtained, obtain, obtain_agent
from symposium.registry.surroundings import Surroundings


async def known_agent(agent_id: str, around: Surroundings) -> Obtained | None:
    """The agent of that id: added, installed, on this machine, or else installed now.

    Returns:
        None where there is none of that id.

    Raises:
        SymposiumError: it cannot be had.
    """
    if around.has_agent(agent_id):
        return await obtain_agent(agent_id, around)
    entries = {entry.id: entry for entry in _here(around).index.agents}
    if (entry := entries.get(agent_id)) is None:
        return None
    directories = usual_path(around.env).split(os.pathsep)
    if (program := look_up(program_name(entry), directories)) is not None:
        arguments, env = way_arguments(entry)
        return Obtained(Command((str(program), *arguments), dict(env), agent_id))
    return await obtain(entry, around)


def known_ids(around: Surroundings) -> list[str]:
    """The ids of all agents but the built-in ones, without asking the network."""
    installed = around.bin_directory
    here = [place.name for place in installed.iterdir()] if installed.is_dir() else []
    added = [agent.id for agent in around.added.all()]
    listed = [entry.id for entry in _here(around).index.agents]
    return sorted({*added, *here, *listed})


def _here(around: Surroundings) -> Loaded:
    try:
        return around.index.here()
    except (SymposiumError, OSError):
        return snapshot()
