"""What a merge would do, without touching anything (git-merge-tree(1), `--write-tree`)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from symposium.git.program import Done, Git, GitCommandError
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.landing.side_lines import (
    LineRange,
    hunks_between,
    marked_ranges,
    own_ranges,
)

MOST_FILES: Final = 200
"""Conflicts that are told with their lines; of the rest only the names."""


_MERGE: Final = ("-c", "merge.conflictStyle=merge", "merge-tree", "--write-tree", "-z")

_USAGE: Final = 129
"""The exit code of a git that does not know an option."""

_BEFORE: Final = "1"
_OURS: Final = "2"
_THEIRS: Final = "3"
"""The stages of a path in conflict (git-read-tree(1), `3-Way Merge`)."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file that two sides have changed in ways that do not fit.

    Attributes:
        kind: `content`, or what else stands against a merge: `deleted`, `added`, `binary`,
            `renamed`.
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
    done = await _merge(git, "--no-messages", ours, theirs)
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
    if done.code and not conflicts:
        conflicts = await _placeless(git, ours, theirs)
    return DryMerge(tree, tuple(conflicts))


async def merged_tree(git: Git, ours: str, theirs: str) -> str | None:
    """The files of a merge of two commits; None where they conflict.

    Commits without a common ancestor are merged, too, as a rebase does with a first commit.

    Raises:
        GitError: git cannot.
    """
    done = await _merge(git, "--no-messages", "--allow-unrelated-histories", ours, theirs)
    return None if done.code else done.names[0]


async def _merge(git: Git, *words: str) -> Done:
    """Run `git merge-tree`; its exit code is 1 for a conflict (git-merge-tree(1)).

    Raises:
        GitError: git cannot.
    """
    done = await git.run(*_MERGE, *words)
    if done.code == _USAGE:
        reason = "this git has no `merge-tree --write-tree`, so it cannot compare branches"
        raise TaskspaceError(reason, "install git 2.38 or newer")
    if done.code not in {0, 1}:
        raise GitCommandError(("merge-tree", *words[-2:]), done.code, done.said)
    return done


async def _placeless(git: Git, ours: str, theirs: str) -> list[Conflict]:
    """Conflicts that leave no path in two versions, as a folder that became two: git tells them."""
    done = await git.run(*_MERGE, "--messages", ours, theirs)
    fields = done.out.partition(b"\0\0")[2].split(b"\0")
    found: list[Conflict] = []
    while fields[0].isdigit():
        count = int(fields[0])
        paths, kind = fields[1 : count + 1], fields[count + 1]
        if kind.startswith(b"CONFLICT"):
            found += [Conflict(os.fsdecode(path), "renamed") for path in paths]
        fields = fields[count + 3 :]
    return found


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
