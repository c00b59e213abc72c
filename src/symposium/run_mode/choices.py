"""What can be chosen in the chat: agents, and mods to be added."""

from collections.abc import Sequence
from dataclasses import dataclass

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """One agent that can be chosen.

    Attributes:
        name: what the menu shows.
        description: one line.
        agent: what the config will say; always something that can be started.
        labels: other writings of the same choice, by which the menu recognizes it.
    """

    name: str
    description: str
    agent: str | ComponentSource
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentChoices:
    """The agents on offer; `warning` says why some may be missing."""

    agents: Sequence[AgentChoice]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class ModChoice:
    """One mod that can be added.

    Attributes:
        name: what the menu shows.
        description: one line.
        entry: what the config will say.
    """

    name: str
    description: str
    entry: ModEntry


@dataclass(frozen=True, slots=True)
class ModChoices:
    """The mods on offer; `warning` says why some may be missing."""

    mods: Sequence[ModChoice]
    warning: str | None = None
