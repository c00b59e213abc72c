"""Find conflicts between live tasks, uncommitted work included (users.md B-10)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.git import Git, GitRunError
from symposium.tasks.creation import base_of
from symposium.tasks.engine_context import EngineContext, subject_of
from symposium.tasks.merges import Conflict, dry_merge
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.repository import Repository, commit_of
from symposium.tasks.snapshots.store import directory_of

BASE = "base"
"""Marks the base branch in an overlap, in place of the id of a task."""

_ADDED: Final = "A"
_DELETED: Final = "D"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two tasks that changed the same lines.

    Attributes:
        first: the id of a task.
        second: the id of another, or `base`.
        problem: reason why the comparison failed; empty on success.
    """

    first: str
    second: str
    conflicts: tuple[Conflict, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Side:
    """A task or a base branch in a comparison.

    Attributes:
        id: of the taskspace, or `base`.
        commit: its complete tree.
        own: the paths changed since it left its base, with the kind of change (git-diff(1),
            `--name-status`); None if unknown.
    """

    id: str
    commit: str
    own: Mapping[str, str] | None = None


class OverlapDetector:
    """Compare tasks of one clone; unchanged ones are not compared again."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._known: dict[tuple[str, str], tuple[Conflict, ...]] = {}
        self._own: dict[tuple[str, str], Mapping[str, str] | None] = {}
        self._commits: dict[Path, set[str]] = {}

    async def find_overlaps(
        self, taskspaces: Sequence[Taskspace], repository: Repository
    ) -> list[Overlap]:
        """Each pair that may conflict, and each task with its base.

        Raises:
            TaskspaceError: a worktree cannot be read.
        """
        sides: list[_Side] = []
        overlaps: list[Overlap] = []
        commits: set[str] = set()
        for taskspace in taskspaces:
            subject = subject_of(self._context, taskspace, repository)
            # No snapshot: an undo returns to the start of a tool call, not to the time of a check.
            work = await self._context.snapshots.work_commit(subject)
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
        """Drop data of commits that are neither a task's current work nor a base."""
        gone = self._commits.get(clone, set()) - commits
        self._commits[clone] = commits
        for known in (self._known, self._own) if gone else ():
            for pair in [each for each in known if not gone.isdisjoint(each)]:
                del known[pair]

    async def _own_paths(
        self, repository: Repository, tip: str, work: str
    ) -> Mapping[str, str] | None:
        """Paths changed since it left its base, without the changes of the base."""
        pair = tip, work
        if pair not in self._own:
            git = self._seeing(repository)
            words = ("diff-tree", "-r", "--name-status", "--no-renames", "-z", "--merge-base")
            done = await git.run(*words, tip, work)
            # Without a common ancestor the comparison itself reports that.
            paths = dict(zip(done.names[1::2], done.names[::2], strict=True))
            self._own[pair] = paths if done.code == 0 else None
        return self._own[pair]

    def _seeing(self, repository: Repository) -> Git:
        """Git in the clone, which also reads the store of its snapshots."""
        objects = directory_of(self._context.state, repository.common) / "objects"
        return repository.git.with_variables({"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects)})

    async def _compare(self, repository: Repository, first: _Side, second: _Side) -> list[Overlap]:
        pair = first.commit, second.commit
        if pair not in self._known:
            try:
                git = self._seeing(repository)
                self._known[pair] = (await dry_merge(git, *pair)).conflicts
            except (GitRunError, TaskspaceError) as error:
                return [Overlap(first.id, second.id, problem=error.message)]
        # A change of only one task conflicts with the other's base, and is reported there.
        conflicts = tuple(
            each
            for each in self._known[pair]
            if _touches(first, each.path) == _touches(second, each.path)
        )
        return [Overlap(first.id, second.id, conflicts)] if conflicts else []


def _pairs(sides: Sequence[_Side]) -> list[tuple[_Side, _Side]]:
    """Pairs whose merge may conflict; none for tasks that change different files.

    Two sides conflict in a path that both changed, or where one has a file and the other a
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
    """The folders above a path, without the topmost one: git never detects a move of that."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _touches(side: _Side, path: str) -> bool:
    """Whether a side has changed a path, or a path above or below it."""
    if side.own is None or path in side.own:
        return True
    return any(each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in side.own)
