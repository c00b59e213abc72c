"""Mods and agents by name, built in or installed, and the labels of agents.

A look-up imports the one module that it names. What other distributions offer is read only for a
name that is no built-in's.
"""

import logging
import re
from collections.abc import Iterable
from typing import Final, Protocol

from localio.plugins import has_module, module_name, names_in, only_object
from peerwire.errors import LocalError
from peerwire.transports.command import CommandError, parse_command, shown
from symposium.chain.mod import AgentSpec, ComponentSpec

ENTRY_POINTS: Final = "symposium.components"
"""The group of entry points by which a distribution offers its mods: name = `module:spec`."""

_MODS: Final = "symposium.mods"
_AGENTS: Final = "symposium.agents"


_log = logging.getLogger(__name__)

OTHER_NAMES: Final = {"sparkle": "guidance"}
"""Names by which configs of the reference call a mod of ours (acp-host §4.1)."""


class _EntryPoint(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    def load(self) -> object: ...


def find_mod(name: str) -> ComponentSpec | None:
    """The mod of that name; None where there is none.

    Raises:
        LocalError: an installed distribution offers it, and it cannot be had.
    """
    name = OTHER_NAMES.get(name, name)
    if has_module(_MODS, name):
        spec = only_object(f"{_MODS}.{module_name(name)}", ComponentSpec)
        return spec if spec.name == name else None
    return _installed_mod(name)


def find_agent(name: str) -> AgentSpec | None:
    """The built-in agent of that name; None where there is none."""
    if not has_module(_AGENTS, name):
        return None
    spec = only_object(f"{_AGENTS}.{module_name(name)}.agent", AgentSpec)
    return spec if spec.name == name else None


def builtin_mods() -> list[ComponentSpec]:
    """Every built-in mod, by name; imports them all."""
    return [only_object(f"{_MODS}.{module_name(name)}", ComponentSpec) for name in mod_names()]


def builtin_agents() -> list[AgentSpec]:
    """Every built-in agent, by name; imports them all."""
    return [
        only_object(f"{_AGENTS}.{module_name(name)}.agent", AgentSpec) for name in agent_names()
    ]


def mod_names() -> list[str]:
    """The names of the built-in mods, sorted; imports none."""
    return names_in(_MODS)


def agent_names() -> list[str]:
    """The names of the built-in agents, sorted; imports none."""
    return names_in(_AGENTS)


def installed_mod_names() -> list[str]:
    """The names of the mods that installed distributions offer, sorted; loads none."""
    return sorted({entry.name for entry in _installed()})


def installed_mods() -> list[ComponentSpec]:
    """Every mod that installed distributions offer, by name; one that cannot be had is logged."""
    found: list[ComponentSpec] = []
    for name in installed_mod_names():
        if has_module(_MODS, name):
            continue
        try:
            spec = _installed_mod(name)
        except LocalError as error:
            _log.warning("skipped an installed mod: %s", error)
            continue
        if spec is not None and spec.name == name:
            found.append(spec)
    return found


def _installed() -> Iterable[_EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slower than all else at start

    return entry_points(group=ENTRY_POINTS)


def _installed_mod(name: str) -> ComponentSpec | None:
    entries = [entry for entry in _installed() if entry.name == name]
    if not entries:
        return None
    if len(entries) > 1:
        places = " and ".join(entry.value for entry in entries)
        raise LocalError(f"several distributions offer a mod called {name}: {places}")
    place = f"the mod {name} ({entries[0].value})"
    try:
        spec = entries[0].load()
    except (ImportError, AttributeError) as error:
        raise LocalError(f"{place} cannot be loaded: {error}") from error
    if not isinstance(spec, ComponentSpec):
        raise LocalError(f"{place} is no ComponentSpec")
    return spec


_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
"""What an id may look like; command lines, paths and JSON do not."""


def may_be_id(written: str) -> bool:
    """Whether it is no SPEC as it stands: no command line, path, JSON, or name of a built-in."""
    name = written.strip()
    return looks_like_id(name) and not (is_built_in(name) or has_module(_MODS, name))


def looks_like_id(name: str) -> bool:
    """Whether an id could be written so."""
    return _ID.fullmatch(name) is not None


def is_built_in(name: str) -> bool:
    """Whether an agent of ours is called so; imports none."""
    return has_module(_AGENTS, name)


def built_in_agents() -> list[str]:
    """The names of the agents that come with us, sorted; imports none."""
    return names_in(_AGENTS)


_HIDDEN: Final = "…"


def agent_label(agent: str) -> str:
    """The id where it was chosen by one, else its command line.

    What its variables are set to is hidden: keys are given to agents that way.
    """
    try:
        command = parse_command(agent)
    except CommandError:
        # It was taken down before it was checked; whoever starts it says what is wrong.
        return shown((agent,))
    if command.name:
        return command.name
    return " ".join([*(f"{name}={_HIDDEN}" for name in command.env), shown(command.argv)])
