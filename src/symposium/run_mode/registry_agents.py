"""The registry, as run mode uses it; imported only when an agent is chosen or needed from it."""

import os
from typing import Final

from peerwire.transports.command import command_json
from symposium.config.component_source import ComponentSource
from symposium.registry.directory import How, KnownAgent, RegistryDirectory
from symposium.registry.starting import obtain_source
from symposium.registry.surroundings import surroundings
from symposium.run_mode.menu_text import AgentChoice, AgentChoices

_ORDER: Final[tuple[How, ...]] = (
    "on this machine",
    "added",
    "installed",
    "built in",
    "registry",
    "unavailable",
)
"""What is here already comes first (users A-1)."""


async def registry_choices() -> AgentChoices:
    """Every agent known, without asking the network."""
    listing = await RegistryDirectory(surroundings(os.environ)).choices()
    agents = sorted(listing.agents, key=lambda agent: _ORDER.index(agent.how))
    return AgentChoices([_choice(agent) for agent in agents], listing.warning)


async def refresh_registry() -> None:
    """Renew our copy of the registry, if it is old."""
    await RegistryDirectory(surroundings(os.environ)).refresh()


async def obtained(source: ComponentSource) -> str:
    """What starts a component of that source, as a SPEC; installed first if need be.

    Raises:
        SymposiumError: it cannot be had.
    """
    return command_json((await obtain_source(source, surroundings(os.environ))).command)


def _choice(agent: KnownAgent) -> AgentChoice:
    version = f" ({agent.version})" if agent.how == "registry" and agent.version else ""
    return AgentChoice(
        agent.name, f"{agent.description}{version}", agent.agent, (agent.id, *agent.labels)
    )
