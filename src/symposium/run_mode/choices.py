"""Choices of the menu: agents, and mods to add.

Structs, not dataclasses: these are made at every start, and dataclasses take ten times as long.
"""

from collections.abc import Sequence

from msgspec import Struct

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry


class AgentChoice(Struct, frozen=True):
    """One agent that can be chosen.

    Attributes:
        name: what the menu shows.
        description: one line.
        agent: what the config will say; always something that can be started.
        labels: other writings of the same choice, by which the menu recognizes it.
        is_here: whether it starts without anything being fetched.
    """

    name: str
    description: str
    agent: str | ComponentSource
    labels: tuple[str, ...] = ()
    is_here: bool = True


class AgentChoices(Struct, frozen=True):
    """The agents on offer; `warning` says why some may be missing."""

    agents: Sequence[AgentChoice]
    warning: str | None = None


class ModChoice(Struct, frozen=True):
    """One mod that can be added.

    Attributes:
        name: what the menu shows.
        description: one line.
        entry: what the config will say.
    """

    name: str
    description: str
    entry: ModEntry


class ModChoices(Struct, frozen=True):
    """The mods on offer; `warning` says why some may be missing."""

    mods: Sequence[ModChoice]
    warning: str | None = None
