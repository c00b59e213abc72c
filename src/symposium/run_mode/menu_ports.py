"""Agents and mods to choose from, and the ports of the menu."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry


class AgentChoice(Struct, frozen=True):
    """Agent that the user can choose.

    Attributes:
        name: name in the menu.
        description: summary of one line.
        agent: value for the config; always a startable agent.
        labels: other forms of the same agent that the menu recognizes.
        is_here: whether it starts without a download.
    """

    name: str
    description: str
    agent: str | ComponentSource
    labels: tuple[str, ...] = ()
    is_here: bool = True


class AgentChoices(Struct, frozen=True):
    """The available agents; `warning` is the reason why some may be missing."""

    agents: Sequence[AgentChoice]
    warning: str | None = None


class ModChoice(Struct, frozen=True):
    """Mod that the user can enable.

    Attributes:
        name: name in the menu.
        description: summary of one line.
        entry: entry for the config.
    """

    name: str
    description: str
    entry: ModEntry


class ModChoices(Struct, frozen=True):
    """The available mods; `warning` is the reason why some may be missing."""

    mods: Sequence[ModChoice]
    warning: str | None = None


class Directory(Protocol):
    """Source of the agents to choose from."""

    async def choices(self) -> AgentChoices:
        """Return the available agents without waiting; never raises."""
        ...

    async def mods(self) -> ModChoices:
        """Return the available mods without waiting; never raises."""
        ...

    async def older(self, workspace: str) -> Config | None:
        """Return the config of an older layout for a workspace, or None."""
        ...

    async def refresh(self) -> None:
        """Refresh the list in the background, for later requests."""
        ...


class MenuPort(Protocol):
    """The agents and mods on offer, and the actions of the menu."""

    async def agents(self, *, is_fresh: bool = False) -> AgentChoices:
        """The agents on offer; looked up again if `is_fresh`."""
        ...

    async def mods(self) -> ModChoices:
        """The mods on offer."""
        ...

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command that changes nothing; None for anything else."""
        ...

    async def save(self, config: Config) -> Sequence[str]:
        """Save the config and use it; return messages for the user.

        Raises:
            ConfigChangedError: the file has changed since the menu was opened.
            NotStartedError: it is saved, but its agent does not start.
            ExplainedError: it could not be written.
        """
        ...

    async def overwrite(self, config: Config) -> Sequence[str]:
        """Save the config even if the file has changed."""
        ...

    def cancelled(self) -> str:
        """Return the message for leaving without saving."""
        ...
