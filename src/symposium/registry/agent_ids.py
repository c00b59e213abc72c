"""Which of the words that name an agent may be ids; the rest of the registry is slow to import."""

import re
from typing import Final

from localio.plugins import has_module, names_in

_AGENTS: Final = "symposium.agents"
_MODS: Final = "symposium.mods"
"""Mods are no agents; that is for whoever reads the SPEC to say."""

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
