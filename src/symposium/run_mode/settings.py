"""Settings of run mode, and the components of a config.

Structs, not dataclasses: these are made at every start, and dataclasses take ten times as long.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from symposium.chain.restart_policy import RUN_MODE, RestartPolicy
from symposium.chain.running_chain import ChainSettings
from symposium.config.user_config import Config, ModEntry
from symposium.planning.chain_spec import ChainSpec
from symposium.planning.planned_chain import Refine, as_planned
from symposium.run_mode.menu_ports import Directory

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
