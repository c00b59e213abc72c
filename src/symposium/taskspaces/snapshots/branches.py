"""What the clone has that a worktree may lose: branches, and what was stashed."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.taskspaces.git.program import Git
from symposium.taskspaces.snapshots.state import Stashed
from symposium.taskspaces.snapshots.subject import Subject

_LINE: Final = re.compile(rb"[0-9a-f]+ ([0-9a-f]+) [^\t]*\t(.*)")

IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "symposium",
    "GIT_AUTHOR_EMAIL": "symposium@localhost",
    "GIT_COMMITTER_NAME": "symposium",
    "GIT_COMMITTER_EMAIL": "symposium@localhost",
}
"""Who makes our hidden commits; the user's name is for the user's."""

_LONG_AGO: Final = {"GIT_AUTHOR_DATE": "1000000000 +0000", "GIT_COMMITTER_DATE": "1000000000 +0000"}


@dataclass(frozen=True, slots=True)
class Kept:
    """The branches and the stash of a clone."""

    branches: dict[str, str]
    stash: tuple[Stashed, ...]


async def branches_and_stash(subject: Subject) -> Kept:
    """As they are now."""
    listed = await subject.clone().text(
        "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/stash"
    )
    lines = [line.partition(" ") for line in listed.splitlines()]
    found = {ref: id_ for id_, _, ref in lines}
    top = found.pop("refs/stash", None)
    return Kept(dict(sorted(found.items())), stashed(subject.common, top))


def stashed(common: Path, top: str | None) -> tuple[Stashed, ...]:
    """The entries of the stash, newest last; `top` is the newest, should its log be lost."""
    found = logged(common)
    if top and not any(entry.commit == top for entry in found):
        found.append(Stashed(top, "stash"))
    return tuple(found) if top else ()


def logged(common: Path) -> list[Stashed]:
    """What the stash's log lists, newest last."""
    try:
        lines = (common / "logs" / "refs" / "stash").read_bytes().splitlines()
    except OSError:
        lines = []
    return [
        Stashed(match[1].decode(), os.fsdecode(match[2]))
        for match in map(_LINE.fullmatch, lines)
        if match
    ]


async def anchor(git: Git, ids: set[str]) -> str | None:
    """A commit whose parents are those of these that are commits; the same for the same ones."""
    asked = "".join(f"{id_}\n" for id_ in sorted(ids)).encode()
    checked = (await git.ask("cat-file", "--batch-check", stdin=asked)).text.splitlines()
    commits = [line.split(" ")[0] for line in checked if line.split(" ")[1] == "commit"]
    if not commits:
        return None
    tree = (await git.ask("mktree")).text
    parents = [word for commit in commits for word in ("-p", commit)]
    made = git.told({**IDENTITY, **_LONG_AGO})
    return await made.text("commit-tree", "-m", "symposium anchor", *parents, tree)
