"""Mods and agents by name, built-in or installed, and labels of agents.

A look-up imports only the named module. Mods of other distributions are read only for names that
no built-in mod has.
"""

import logging
import re
from collections.abc import Callable
from typing import Final

from localio.plugins import has_module, module_name, names_in, only_object
from peerwire.errors import LocalError
from peerwire.transports.command import CommandError, parse_command, shown
from symposium.chain.mod import AgentSpec, ComponentSpec

ENTRY_POINTS: Final = "symposium.components"
"""Entry point group for mods of distributions: name = `module:spec`."""

_MODS: Final = "symposium.mods"
_AGENTS: Final = "symposium.agents"


_log = logging.getLogger(__name__)

OTHER_NAMES: Final = {"sparkle": "guidance"}
"""Names of built-in mods in configs of the reference (acp-host §4.1)."""


def find_mod(name: str) -> ComponentSpec | None:
    """The mod with this name; None for an unknown name.

    Raises:
        LocalError: the mod of an installed distribution cannot be loaded.
    """
    name = OTHER_NAMES.get(name, name)
    if has_module(_MODS, name):
        spec = only_object(f"{_MODS}.{module_name(name)}", ComponentSpec)
        return spec if spec.name == name else None
    return _installed_mod(name)


def find_agent(name: str) -> AgentSpec | None:
    """The built-in agent with this name; None for an unknown name."""
    if not has_module(_AGENTS, name):
        return None
    spec = only_object(f"{_AGENTS}.{module_name(name)}.agent", AgentSpec)
    return spec if spec.name == name else None


def builtin_mods() -> list[ComponentSpec]:
    """All built-in mods by name; imports all of them."""
    return [only_object(f"{_MODS}.{module_name(name)}", ComponentSpec) for name in mod_names()]


def builtin_agents() -> list[AgentSpec]:
    """All built-in agents by name; imports all of them."""
    return [
        only_object(f"{_AGENTS}.{module_name(name)}.agent", AgentSpec) for name in agent_names()
    ]


def mod_names() -> list[str]:
    """Names of built-in mods, sorted; imports none."""
    return names_in(_MODS)


def agent_names() -> list[str]:
    """Names of built-in agents, sorted; imports none."""
    return names_in(_AGENTS)


def installed_mod_names() -> list[str]:
    """Names of mods in installed distributions, sorted; loads none."""
    return sorted({name for name, _, _ in _installed()})


def installed_mods() -> list[ComponentSpec]:
    """All mods in installed distributions, by name; logs those that cannot be loaded."""
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


def _installed() -> list[tuple[str, str, Callable[[], object]]]:
    """Name, place, and loader of each installed mod."""
    from importlib.metadata import entry_points

    found = entry_points(group=ENTRY_POINTS)
    return [(entry.name, entry.value, entry.load) for entry in found]


def _installed_mod(name: str) -> ComponentSpec | None:
    entries = [(value, load) for found, value, load in _installed() if found == name]
    if not entries:
        return None
    if len(entries) > 1:
        places = " and ".join(value for value, _ in entries)
        raise LocalError(f"several distributions offer a mod named {name}: {places}")
    place = f"mod {name} ({entries[0][0]})"
    try:
        spec = entries[0][1]()
    except (ImportError, AttributeError) as error:
        raise LocalError(f"could not load {place}: {error}") from error
    if not isinstance(spec, ComponentSpec):
        raise LocalError(f"{place} is not a ComponentSpec")
    return spec


_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
"""Syntax of an id; command lines, paths, and JSON do not match."""


def may_be_id(written: str) -> bool:
    """Whether it can only be an id: not a command line, path, JSON, or name of a built-in."""
    name = written.strip()
    return looks_like_id(name) and not (is_built_in(name) or has_module(_MODS, name))


def looks_like_id(name: str) -> bool:
    """Whether a name has the syntax of an id."""
    return _ID.fullmatch(name) is not None


def is_built_in(name: str) -> bool:
    """Whether a built-in agent has this name; imports none."""
    return has_module(_AGENTS, name)


def built_in_agents() -> list[str]:
    """Names of built-in agents, sorted; imports none."""
    return names_in(_AGENTS)


_HIDDEN: Final = "…"


def agent_label(agent: str) -> str:
    """The id if the agent was chosen by one, otherwise its command line.

    Values of environment variables are hidden: they may be API keys.
    """
    try:
        command = parse_command(agent)
    except CommandError:
        # Invalid command lines are reported when the agent starts.
        return shown((agent,))
    if command.name:
        return command.name
    return " ".join([*(f"{name}={_HIDDEN}" for name in command.env), shown(command.argv)])
