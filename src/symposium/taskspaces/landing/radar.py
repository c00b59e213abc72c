"""Which live taskspaces would conflict, uncommitted work included (users.md B-10)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.git.program import Git, GitRunError
from symposium.taskspaces.creation import base_of
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.repository import Repository, commit_of
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.landing.merge_tree import Conflict, dry_merge
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.snapshots.store import directory_of
from symposium.taskspaces.subjects import subject_of

BASE = "base"
"""Stands for the base branch where an overlap has another taskspace."""

_ADDED: Final = "A"
_DELETED: Final = "D"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two that have changed the same lines.

    Attributes:
        first: a taskspace's id.
        second: another's, or `base`.
        problem: why the two could not be compared; empty when they could.
    """

    first: str
    second: str
    conflicts: tuple[Conflict, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Side:
    """What a taskspace, or a base branch, brings into a comparison.

    Attributes:
        id: of the taskspace, or `base`.
        commit: its whole tree.
        own: the paths that it has changed since it left its base, with how (git-diff(1),
            `--name-status`); None where that is not known.
    """

    id: str
    commit: str
    own: Mapping[str, str] | None = None


class Radar:
    """Compares taskspaces of one clone; what did not change is not compared again."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[tuple[str, str], tuple[Conflict, ...]] = {}
        self._own: dict[tuple[str, str], Mapping[str, str] | None] = {}
        self._commits: dict[Path, set[str]] = {}

    async def look(self, taskspaces: Sequence[Taskspace], repository: Repository) -> list[Overlap]:
        """Each pair of them that may conflict, and each with its base.

        Raises:
            TaskspaceError: a worktree cannot be read.
        """
        sides: list[_Side] = []
        overlaps: list[Overlap] = []
        commits: set[str] = set()
        for taskspace in taskspaces:
            subject = subject_of(self._ground, taskspace, repository)
            # No snapshot: an undo goes back to where a tool began, not to where we looked.
            work = await self._ground.snapshots.look(subject)
            base = base_of(taskspace)
            tip = await commit_of(repository.git, base.ref) if base else None
            commits |= {work, tip} if tip else {work}
            own = await self._own_paths(repository, tip, work) if tip else None
            if own is not None and not own:
                continue
            side = _Side(taskspace.id, work, own)
            sides.append(side)
            if tip:
                overlaps += await self._compare(repository, side, _Side(BASE, tip))
        for first, second in _pairs(sides):
            overlaps += await self._compare(repository, first, second)
        self._forget(repository.common, commits)
        return overlaps

    def _forget(self, clone: Path, commits: set[str]) -> None:
        """Drop what is known of commits that are no task's work any longer, and no base."""
        gone = self._commits.get(clone, set()) - commits
        self._commits[clone] = commits
        for known in (self._known, self._own) if gone else ():
            for pair in [each for each in known if not gone.isdisjoint(each)]:
                del known[pair]

    async def _own_paths(
        self, repository: Repository, tip: str, work: str
    ) -> Mapping[str, str] | None:
        """What it has changed since it left its base: what the base did is not its."""
        pair = tip, work
        if pair not in self._own:
            git = self._seeing(repository)
            words = ("diff-tree", "-r", "--name-status", "--no-renames", "-z", "--merge-base")
            done = await git.run(*words, tip, work)
            # Where nothing is in common, the comparison itself says so.
            paths = dict(zip(done.names[1::2], done.names[::2], strict=True))
            self._own[pair] = paths if done.code == 0 else None
        return self._own[pair]

    def _seeing(self, repository: Repository) -> Git:
        """Git in the clone, which also reads the store of its snapshots."""
        objects = directory_of(self._ground.state, repository.common) / "objects"
        return repository.git.told({"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects)})

    async def _compare(self, repository: Repository, first: _Side, second: _Side) -> list[Overlap]:
        pair = first.commit, second.commit
        if pair not in self._known:
            try:
                git = self._seeing(repository)
                self._known[pair] = (await dry_merge(git, *pair)).conflicts
            except (GitRunError, TaskspaceError) as error:
                return [Overlap(first.id, second.id, problem=error.message)]
        # What only one of them has changed stands against the other's base, and is told there.
        conflicts = tuple(
            each
            for each in self._known[pair]
            if _touches(first, each.path) == _touches(second, each.path)
        )
        return [Overlap(first.id, second.id, conflicts)] if conflicts else []


def _pairs(sides: Sequence[_Side]) -> list[tuple[_Side, _Side]]:
    """Those of which a merge may conflict: of many tasks that change other files, none.

    Two sides conflict in a path that both have changed, or where one has a file and the other a
    folder. One that moves a folder conflicts with another that adds a file to it. A side whose own
    paths are not known may conflict with any other.
    """
    owners, movers = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for number, side in enumerate(sides):
        own = side.own or {}
        moves = _ADDED in own.values()
        for path, how in own.items():
            owners[path].add(number)
            if how == _DELETED and moves:
                for folder in _above(path):
                    movers[folder].add(number)
    found: set[tuple[int, int]] = set()
    unknown = {number for number, side in enumerate(sides) if side.own is None}
    for number, side in enumerate(sides):
        others = set(range(len(sides))) if side.own is None else set(unknown)
        for path, how in (side.own or {}).items():
            others |= owners[path]
            for folder in _above(path):
                others |= owners.get(folder, set())
                if how == _ADDED:
                    others |= movers.get(folder, set())
        found |= {(min(number, other), max(number, other)) for other in others - {number}}
    return [(sides[first], sides[second]) for first, second in sorted(found)]


def _above(path: str) -> list[str]:
    """The folders that a path lies in, but the topmost one: git takes no move of that for one."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _touches(side: _Side, path: str) -> bool:
    """Whether a side has changed a path, or what stands above or below it."""
    if side.own is None or path in side.own:
        return True
    return any(each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in side.own)
