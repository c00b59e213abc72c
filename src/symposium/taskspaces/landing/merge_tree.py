"""What a merge would do, without touching anything (git-merge-tree(1), `--write-tree`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from symposium.taskspaces.failures import GitError
from symposium.taskspaces.git.program import Git
from symposium.taskspaces.landing.side_lines import (
    LineRange,
    hunks_between,
    marked_ranges,
    own_ranges,
)

MOST_FILES: Final = 200
"""Conflicts that are told with their lines; of the rest only the names."""


_BEFORE: Final = "1"
_OURS: Final = "2"
_THEIRS: Final = "3"
"""The stages of a path in conflict (git-read-tree(1), `3-Way Merge`)."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file that two sides have changed in ways that do not fit.

    Attributes:
        kind: `content`, or what else stands against a merge: `deleted`, `added`, `binary`.
        ours: the lines in question on the first side.
        theirs: on the second.
    """

    path: str
    kind: str
    ours: tuple[LineRange, ...] = ()
    theirs: tuple[LineRange, ...] = ()


@dataclass(frozen=True, slots=True)
class DryMerge:
    """What would come of it; `tree` is what there would be."""

    tree: str
    conflicts: tuple[Conflict, ...]


async def dry_merge(git: Git, ours: str, theirs: str) -> DryMerge:
    """Merge two commits into objects alone.

    Raises:
        GitError: git cannot, as without a common ancestor.
    """
    words = ("-c", "merge.conflictStyle=merge", "merge-tree", "--write-tree", "-z", "--no-messages")
    done = await git.run(*words, ours, theirs)
    if done.code not in {0, 1}:
        raise GitError(("merge-tree", ours, theirs), done.code, done.said)
    tree, *entries = done.names
    stages: dict[str, dict[str, str]] = {}
    for entry in entries:
        facts, _, path = entry.partition("\t")
        _, blob, stage = facts.split(" ")
        stages.setdefault(path, {})[stage] = blob
    conflicts: list[Conflict] = []
    for number, (path, found) in enumerate(sorted(stages.items())):
        conflicts.append(
            await _conflict(git, tree, path, found)
            if number < MOST_FILES
            else Conflict(path, "content")
        )
    return DryMerge(tree, tuple(conflicts))


async def _conflict(git: Git, tree: str, path: str, stages: Mapping[str, str]) -> Conflict:
    if not {_OURS, _THEIRS} <= stages.keys():
        return Conflict(path, "deleted" if _BEFORE in stages else "added")
    merged = f"{tree}:{path}"
    done = await git.run("cat-file", "blob", merged)
    if done.code:
        return Conflict(path, "content")
    ours, theirs = marked_ranges(done.out)
    if not ours:
        return Conflict(path, "binary")
    # Between the marks of a conflict are a side's own lines, above them also what fitted.
    return Conflict(
        path,
        "content",
        own_ranges(await hunks_between(git, stages[_OURS], merged), ours),
        own_ranges(await hunks_between(git, stages[_THEIRS], merged), theirs),
    )
