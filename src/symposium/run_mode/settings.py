"""Settings of run mode, choices, and ports.

Structs, not dataclasses: these are made at every start, and dataclasses take ten times as long.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct

from symposium.chain.restart_policy import RUN_MODE, RestartPolicy
from symposium.chain.runner import ChainSettings
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.planning.chain_spec import ChainSpec
from symposium.planning.planned_chain import Refine, as_planned


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


PauseScope: TypeAlias = Literal["session", "conductor"]
"""Scope that the menu pauses: its session, or, as in the seed, all of its conductor (D7)."""

START_TIMEOUT: Final = 10.0
"""Seconds; an installed agent answers sooner, an installation takes minutes."""

IDLE_TIMEOUT: Final = 600.0
"""Seconds until a chain without sessions is stopped."""


class Composition(Struct, frozen=True):
    """Components of a config.

    Attributes:
        chain: the components.
        mods: names of its mods, in order from the editor.
        notes: notes for the user about unavailable mods.
    """

    chain: ChainSpec
    mods: Sequence[str] = ()
    notes: Sequence[str] = ()


Compose: TypeAlias = Callable[[Config], Awaitable[Composition]]
"""Make the components of a config; raises an error if its agent cannot be installed."""


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


def unrecorded(chain: ChainSpec) -> ChainSettings:
    """Return the settings of a chain that is not recorded."""
    del chain
    return ChainSettings()


class RunSettings(Struct, frozen=True):
    """Settings of run mode.

    Attributes:
        config: the config file.
        compose: makes the components of a config.
        directory: source of available agents.
        default_mods: mods of a first config.
        pause: scope that the menu pauses.
        idle_timeout: seconds until a chain without sessions is stopped.
        quiet_grace: seconds for open requests after the editor disconnected.
        start_timeout: seconds that the editor waits for the start of a chain.
        chain_settings: settings of each chain.
        names: folder of stored session ids; None for no storage.
        restart_policy: settings for restarting agents and for canceled turns.
        refine: revises the plan of each chain after its agent answered.
    """

    config: Path
    compose: Compose
    directory: Directory
    default_mods: Sequence[ModEntry] = ()
    pause: PauseScope = "session"
    idle_timeout: float = IDLE_TIMEOUT
    quiet_grace: float = 1.0
    start_timeout: float = START_TIMEOUT
    chain_settings: Callable[[ChainSpec], ChainSettings] = unrecorded
    names: Path | None = None
    restart_policy: RestartPolicy = RUN_MODE
    refine: Refine = as_planned
