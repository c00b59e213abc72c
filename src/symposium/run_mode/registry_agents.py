"""Agents and mods of the registry; imported only when needed."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from localio.processes import usual_path
from peerwire.transports.command import command_json
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry
from symposium.registry.index import registry_context
from symposium.registry.listing import How, KnownAgent, RegistryDirectory
from symposium.registry.provision import obtain_source, provision
from symposium.run_mode.menu_ports import AgentChoice, AgentChoices, ModChoice, ModChoices

_ORDER: Final[tuple[How, ...]] = (
    "on this machine",
    "added",
    "installed",
    "built in",
    "registry",
    "unavailable",
)
"""Order of agents: installed ones first (users A-1)."""


async def registry_choices(
    programs_here: Callable[[str], Mapping[str, AgentChoice]],
) -> AgentChoices:
    """List all known agents without network access.

    Args:
        programs_here: finds known agents on a PATH, by program.
    """
    listing = await RegistryDirectory(registry_context(os.environ)).choices()
    agents = sorted(
        listing.agents, key=lambda agent: (not agent.is_installed, _ORDER.index(agent.how))
    )
    listed = [_choice(agent) for agent in agents]
    # Keep local programs that the registry does not list; identify the others by their program.
    placed = {Path(agent.place).name for agent in agents if agent.place}
    found = programs_here(usual_path(os.environ))
    more = [choice for program, choice in found.items() if program not in placed]
    first = sum(agent.how == "on this machine" for agent in agents)
    warnings = filter(None, (listing.warning, _age_of_list()))
    return AgentChoices([*listed[:first], *more, *listed[first:]], "; ".join(warnings) or None)


def _age_of_list() -> str:
    """Describe the age of the agent list if it is old; else empty."""
    try:
        loaded = registry_context(os.environ).index.here()
    except (ExplainedError, OSError):
        return ""  # the listing has the reason
    if loaded.is_fresh or loaded.problem:
        return ""
    return f"{loaded.in_short()}; an update is running, `list` shows its result"


def registry_mods() -> ModChoices:
    """List the mods of the registry without network access."""
    try:
        loaded = registry_context(os.environ).index.here()
    except (ExplainedError, OSError) as error:
        return ModChoices([], f"the registry could not be read: {error}")
    return ModChoices(
        [
            ModChoice(
                entry.id,
                f"{entry.description} ({entry.version})",
                ModEntry(entry.id, source=ComponentSource("registry", entry.id)),
            )
            for entry in loaded.index.mods
        ]
    )


async def refresh_registry() -> None:
    """Update the stored registry index if it is old."""
    await RegistryDirectory(registry_context(os.environ)).refresh()


async def obtained(source: ComponentSource) -> str:
    """Return the start command of a source as a SPEC; install it if necessary.

    Raises:
        ExplainedError: the source cannot be installed.
    """
    context = registry_context(os.environ)
    if source.kind == "registry" and not context.has_agent(source.display_name):
        loaded = await context.index.current()
        mods = {entry.id: entry for entry in loaded.index.mods}
        if (mod := mods.get(source.display_name)) is not None:
            return command_json((await provision(mod, context)).command)
    return command_json((await obtain_source(source, context)).command)


def _choice(agent: KnownAgent) -> AgentChoice:
    version = f" ({agent.version})" if agent.how == "registry" and agent.version else ""
    built_in = "Built in: " if agent.how == "built in" else ""
    described = f"{built_in}{agent.description}{version}"
    labels = (agent.id, *agent.labels)
    return AgentChoice(agent.name, described, agent.agent, labels, agent.is_installed)
