"""Trial merges without a worktree, and the conflicting lines of both sides."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from localio.git import Git, GitCommandError, GitResult
from symposium.tasks.model import TaskspaceError

_HUNK: Final = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

_AS_IS: Final = ("--no-ext-diff", "--no-textconv", "--text", "--no-color", "--inter-hunk-context=0")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file, both counted from 1 and both included; `last` < `first` for none."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SideHunk:
    """A hunk of a diff from one side's file to the merged one.

    Attributes:
        gone: number of lines of the side that are not in the merged file.
        at: the first line of the merged file that the side lacks; without one, the line
            before (diff's unified form with no context).
        come: number of such lines.
    """

    gone: int
    at: int
    come: int


def marked_ranges(text: bytes) -> tuple[tuple[LineRange, ...], tuple[LineRange, ...]]:
    """Lines between the conflict markers, for either side."""
    ours: list[LineRange] = []
    theirs: list[LineRange] = []
    side, begun, between = "", 0, 0
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.startswith(b"<<<<<<< ") and not side:
            side, begun = "ours", number
        elif line == b"=======" and side == "ours":
            side, between = "theirs", number
        elif line.startswith(b">>>>>>> ") and side == "theirs":
            ours.append(LineRange(begun + 1, between - 1))
            theirs.append(LineRange(between + 1, number - 1))
            side = ""
    return tuple(ours), tuple(theirs)


async def hunks_between(git: Git, side: str, merged: str) -> list[SideHunk]:
    """Differences between the file of a side and the merged one, with conflict markers.

    Raises:
        TaskspaceError: git is not installed, or times out.
    """
    done = await git.run("diff", "-U0", *_AS_IS, side, merged)
    return [
        SideHunk(_count(found[2]), int(found[3]), _count(found[4]))
        for found in _HUNK.finditer(done.out)
    ]


def own_ranges(hunks: Sequence[SideHunk], ranges: Sequence[LineRange]) -> tuple[LineRange, ...]:
    """The ranges of the merged file in line numbers of the side."""
    found: list[LineRange] = []
    for each in ranges:
        first = each.first - sum(_more_before(hunk, each.first) for hunk in hunks)
        found.append(LineRange(first, first + each.last - each.first))
    return tuple(found)


def _more_before(hunk: SideHunk, line: int) -> int:
    """Lines that a hunk adds before a line of the merged file."""
    come = min(max(line - hunk.at, 0), hunk.come)
    is_whole = line >= hunk.at + max(hunk.come, 1)
    return come - hunk.gone if is_whole else come


def _count(number: bytes | None) -> int:
    return 1 if number is None else int(number)


MAX_FILES: Final = 200
"""Number of conflicts that are reported with their lines; the rest by name only."""


_MERGE: Final = ("-c", "merge.conflictStyle=merge", "merge-tree", "--write-tree", "-z")

_USAGE: Final = 129
"""The exit code of git for an unknown option."""

_BEFORE: Final = "1"
_STAGE_OURS: Final = "2"
_THEIRS: Final = "3"
"""The stages of a path in conflict (git-read-tree(1), `3-Way Merge`)."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file with conflicting changes of both sides.

    Attributes:
        kind: `content`, or another reason for the conflict: `deleted`, `added`, `binary`,
            `renamed`.
        ours: the conflicting lines on the first side.
        theirs: the same on the second side.
    """

    path: str
    kind: str
    ours: tuple[LineRange, ...] = ()
    theirs: tuple[LineRange, ...] = ()


@dataclass(frozen=True, slots=True)
class DryMerge:
    """Result of a trial merge; `tree` has the merged files."""

    tree: str
    conflicts: tuple[Conflict, ...]


async def dry_merge(git: Git, ours: str, theirs: str) -> DryMerge:
    """Merge two commits; writes objects only.

    Raises:
        GitRunError: git failed, for example without a common ancestor.
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
            if number < MAX_FILES
            else Conflict(path, "content")
        )
    if done.code and not conflicts:
        conflicts = await _placeless(git, ours, theirs)
    return DryMerge(tree, tuple(conflicts))


async def merged_tree(git: Git, ours: str, theirs: str) -> str | None:
    """The files of a merge of two commits; None where they conflict.

    Commits without a common ancestor are merged, too, as a rebase does with a first commit.

    Raises:
        GitRunError: git cannot.
    """
    done = await _merge(git, "--no-messages", "--allow-unrelated-histories", ours, theirs)
    return None if done.code else done.names[0]


async def _merge(git: Git, *words: str) -> GitResult:
    """Run `git merge-tree`; its exit code is 1 for a conflict (git-merge-tree(1)).

    Raises:
        GitRunError: git cannot.
    """
    done = await git.run(*_MERGE, *words)
    if done.code == _USAGE:
        reason = "this git has no `merge-tree --write-tree`, so it cannot compare branches"
        raise TaskspaceError(reason, "install git 2.38 or newer")
    # A name of no commit, such as HEAD on a branch without commits, is 1, too, without output.
    if done.code not in {0, 1} or not done.out:
        raise GitCommandError(("merge-tree", *words[-2:]), done.code, done.said)
    return done


async def _placeless(git: Git, ours: str, theirs: str) -> list[Conflict]:
    """Conflicts without a path in two versions, such as a split folder, as git reports them."""
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
    if not {_STAGE_OURS, _THEIRS} <= stages.keys():
        return Conflict(path, "deleted" if _BEFORE in stages else "added")
    merged = f"{tree}:{path}"
    done = await git.run("cat-file", "blob", merged)
    if done.code:
        return Conflict(path, "content")
    ours, theirs = marked_ranges(done.out)
    if not ours:
        return Conflict(path, "binary")
    # Between conflict markers are a side's own lines; above them can be lines that merged.
    return Conflict(
        path,
        "content",
        own_ranges(await hunks_between(git, stages[_STAGE_OURS], merged), ours),
        own_ranges(await hunks_between(git, stages[_THEIRS], merged), theirs),
    )
