"""Which protocols git may use to reach a remote, as the user allows them."""

from collections.abc import Mapping
from typing import Final

_USUAL: Final = frozenset({"file", "git", "http", "https", "ssh"})
"""Protocols of git itself; any other starts a program that the URL of a remote names."""

_NEVER: Final = frozenset({"ext", "fd"})
"""The URL is a command, or an open file (git-remote-ext(1), git-remote-fd(1))."""


def allowed_protocols(rules: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """A value for `GIT_ALLOW_PROTOCOL` (git(1)).

    Args:
        rules: the user's own `protocol.<name>.allow`, by name; none of them a clone's.
        environment: where the user may allow less by `GIT_ALLOW_PROTOCOL`.
    """
    added = {name for name, rule in rules.items() if rule == "always"}
    refused = {name for name, rule in rules.items() if rule == "never"}
    found = (_USUAL | added) - refused - _NEVER
    narrowed = environment.get("GIT_ALLOW_PROTOCOL")
    if narrowed is not None:
        found &= set(narrowed.split(":"))
    return ":".join(sorted(found))
