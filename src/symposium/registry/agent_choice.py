"""From what is written to name an agent to the SPEC that starts it: one rule for all who ask.

Command lines, paths, JSON and the names of built-ins are SPECs already. An id that `symposium
agents list` shows becomes the command of that agent (users A-14, A-15).
"""

import os
from dataclasses import dataclass
from typing import Final

from localio.processes import look_up
from localio.text import near_names
from peerwire.transports.command import command_json
from symposium.errors import SpecError
from symposium.registry.agent_ids import (
    built_in_agents,
    is_built_in,
    looks_like_id,
    may_be_id,
)
from symposium.registry.known import agent_here, known_agent, known_ids
from symposium.registry.starting import Obtained
from symposium.registry.surroundings import Surroundings

_ADAPTER: Final = "-acp"
"""How the ids of adapters end, behind the name of what they adapt."""

_LISTED: Final = "`symposium agents list` shows those there are"


class UnknownAgentError(SpecError):
    """Nobody is called so."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """An agent.

    Attributes:
        spec: starts it.
        note: what whoever asked should know, as that it could not be installed; often empty.
    """

    spec: str
    note: str = ""


async def choose(written: str, around: Surroundings) -> Chosen:
    """The agent that a person means; one of the registry that is not here yet is installed.

    Raises:
        UnknownAgentError: nobody is called so.
        ExplainedError: the agent cannot be had.
    """
    if not may_be_id(written):
        return Chosen(written)
    name = written.strip()
    obtained = await known_agent(name, around)
    if obtained is None:
        # `codex` speaks no ACP, but has an adapter of its name (users ).
        obtained = await known_agent(f"{name}{_ADAPTER}", around)
    if obtained is not None:
        return _chosen(obtained)
    if look_up(name, around.env.get("PATH", os.defpath).split(os.pathsep)) is not None:
        return Chosen(written)
    raise UnknownAgentError(
        f"{name!r} is neither a built-in agent ({', '.join(built_in_agents())}), nor one that "
        "was added, installed or is in the registry, nor a program on PATH",
        f"{_guess(name, around)}{_LISTED}",
    )


async def choose_here(written: str, around: Surroundings) -> Chosen:
    """The agent that another agent means: by an id, and only one that is here.

    What an agent writes starts no command of its own making, and installs nothing.

    Raises:
        UnknownAgentError: no agent that is here has this id.
        ExplainedError: the agent cannot be had.
    """
    name = written.strip()
    if is_built_in(name):
        return Chosen(name)
    for each in (name, f"{name}{_ADAPTER}"):
        if looks_like_id(each) and (obtained := await agent_here(each, around)) is not None:
            return _chosen(obtained)
    raise UnknownAgentError(
        f"{written!r} is the id of no agent that is here",
        f"{_guess(name, around)}{_LISTED}; a person installs or adds one",
    )


def _chosen(obtained: Obtained) -> Chosen:
    return Chosen(command_json(obtained.command), obtained.note)


def _guess(name: str, around: Surroundings) -> str:
    ids = [*built_in_agents(), *known_ids(around)]
    near = [each for each in ids if each.startswith(name.lower())] or near_names(name, ids)
    return f"did you mean {' or '.join(near[:3])}? " if near else ""
