"""Switches off what a repository's own configuration would run, where we act on our own account.

An agent can write to the configuration of its clone; what it writes there must not run in ours.
What the user configured for all repositories stays (git-config(1), `--show-scope`).
"""

import re
from dataclasses import replace
from typing import Final

from symposium.taskspaces.git.program import Git

_RISKY: Final = (
    (re.compile(r"filter\..*\.(clean|smudge|process)"), ""),
    (re.compile(r"filter\..*\.required"), "false"),
    (re.compile(r"diff\..*\.(command|textconv)"), ""),
    (re.compile(r"merge\..*\.driver"), "false"),
    (re.compile(r"core\.sshcommand"), "ssh"),
    (re.compile(r"core\.gitproxy"), ""),
    (re.compile(r"credential\.(.*\.)?helper"), ""),
    (re.compile(r"gpg\.(.*\.)?program"), "gpg"),
    (re.compile(r"remote\..*\.(uploadpack)"), "git-upload-pack"),
    (re.compile(r"remote\..*\.(receivepack)"), "git-receive-pack"),
    (re.compile(r"trailer\..*\.(cmd|command)"), ""),
    (re.compile(r"protocol\.ext\.allow"), "never"),
)
"""Keys that name a program, and what they become unless the user set them for all repositories."""

_THEIRS: Final = frozenset({"local", "worktree"})


async def neutral(git: Git) -> Git:
    """The same git, deaf to the programs that this repository's configuration names.

    Raises:
        TaskspaceError: git cannot be run there.
    """
    done = await git.run("config", "--list", "-z", "--show-scope")
    everywhere: dict[str, str] = {}
    here: set[str] = set()
    fields = done.names
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope in _THEIRS:
            here.add(key)
        elif scope != "command":
            everywhere[key] = value
    return replace(git, settings=(*git.settings, *_overrides(here, everywhere)))


def _overrides(here: set[str], everywhere: dict[str, str]) -> list[str]:
    found: list[str] = []
    for key in sorted(here):
        for pattern, harmless in _RISKY:
            if pattern.fullmatch(key.lower()):
                found.append(f"{key}={everywhere.get(key, harmless)}")
                break
    return found
