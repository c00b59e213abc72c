"""What a merge would do, without touching anything (git-merge-tree(1), `--write-tree`)."""

from dataclasses import dataclass
from typing import Final

from symposium.taskspaces.failures import GitError
from symposium.taskspaces.git.program import Git

MOST_FILES: Final = 200
"""Conflicts that are told with their lines; of the rest only the names."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a file, both counted from 1 and both included; `last` < `first` for none."""

    first: int
    last: int


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
    stages: dict[str, set[str]] = {}
    for entry in entries:
        facts, _, path = entry.partition("\t")
        stages.setdefault(path, set()).add(facts.split(" ")[2])
    conflicts: list[Conflict] = []
    for number, (path, found) in enumerate(sorted(stages.items())):
        conflicts.append(
            await _conflict(git, tree, path, found)
            if number < MOST_FILES
            else Conflict(path, "content")
        )
    return DryMerge(tree, tuple(conflicts))


async def _conflict(git: Git, tree: str, path: str, stages: set[str]) -> Conflict:
    if not {"2", "3"} <= stages:
        return Conflict(path, "deleted" if "1" in stages else "added")
    done = await git.run("cat-file", "blob", f"{tree}:{path}")
    if done.code:
        return Conflict(path, "content")
    ours, theirs = marked_ranges(done.out)
    return Conflict(path, "content" if ours else "binary", ours, theirs)


def marked_ranges(text: bytes) -> tuple[tuple[LineRange, ...], tuple[LineRange, ...]]:
    """The lines between conflict markers, as each side counts its own."""
    ours: list[LineRange] = []
    theirs: list[LineRange] = []
    line_of = {"ours": 1, "theirs": 1}
    started = {"ours": 1, "theirs": 1}
    side = ""
    for line in text.split(b"\n"):
        if line.startswith(b"<<<<<<< ") and not side:
            side, started = "ours", dict(line_of)
        elif line == b"=======" and side == "ours":
            side = "theirs"
        elif line.startswith(b">>>>>>> ") and side == "theirs":
            ours.append(LineRange(started["ours"], line_of["ours"] - 1))
            theirs.append(LineRange(started["theirs"], line_of["theirs"] - 1))
            side = ""
        elif side:
            line_of[side] += 1
        else:
            line_of = {name: number + 1 for name, number in line_of.items()}
    return tuple(ours), tuple(theirs)
