"""Settings of run mode, choices, and ports.

Structs, not dataclasses: these are made at every start, and dataclasses take ten times as long.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from symposium.chain.recovery import RestartPolicy
from symposium.chain.runner import ChainSettings
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.planning.chain_spec import ChainSpec
from symposium.planning.planned_chain import Refine, as_planned


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


PauseScope: TypeAlias = Literal["session", "conductor"]
"""What the menu freezes: its session, or (the seed's letter) all of the same conductor (D7)."""

START_TIMEOUT: Final = 10.0
"""Seconds: an agent that is there answers in less, one that is to be installed takes minutes."""

IDLE_TIMEOUT: Final = 600.0
"""Seconds that a chain without sessions is kept."""


class Composition(Struct, frozen=True):
    """Components of a config.

    Attributes:
        chain: the components.
        mods: the names of those mods that are in it, from the editor's side.
        notes: what could not be had, for the user.
    """

    chain: ChainSpec
    mods: Sequence[str] = ()
    notes: Sequence[str] = ()


Compose: TypeAlias = Callable[[Config], Awaitable[Composition]]
"""Make the components of a config; raises an error if its agent cannot be installed."""


class Directory(Protocol):
    """Source of the agents to choose from."""

    async def choices(self) -> AgentChoices:
        """The agents on offer; what is at hand at once, never an exception."""
        ...

    async def mods(self) -> ModChoices:
        """The mods on offer; the same."""
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
        compose: makes components of configs.
        directory: the agents on offer.
        default_mods: what a first config enables.
        pause: what the menu freezes.
        idle_timeout: seconds that a chain is kept after its last session has been closed.
        quiet_grace: seconds that open requests get to be answered once the editor has ended.
        start_timeout: seconds that the editor waits for a chain, from the start's beginning.
        chain_settings: how each chain is made.
        names: where names of sessions are kept that agents do not know; None for nowhere.
        revival: how agents that die are brought back, and turns ended that are cancelled.
        refine: looks at the plan of each chain once more, when its agent has answered.
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
    revival: RestartPolicy = field(default_factory=RestartPolicy)
    refine: Refine = as_planned
