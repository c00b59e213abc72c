"""Which live taskspaces would conflict, uncommitted work included (users.md B-10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from symposium.taskspaces.creation import base_of
from symposium.taskspaces.failures import TaskspaceError
from symposium.taskspaces.git.neutral import neutral
from symposium.taskspaces.git.repository import Repository, commit_of
from symposium.taskspaces.ground import Ground
from symposium.taskspaces.landing.merge_tree import Conflict, dry_merge
from symposium.taskspaces.model import Taskspace
from symposium.taskspaces.subjects import subject_of

BASE = "base"
"""Stands for the base branch where an overlap has another taskspace."""


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


class Radar:
    """Compares taskspaces of one clone; what did not change is not compared again."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[tuple[str, str], tuple[Conflict, ...]] = {}
        self._own: dict[tuple[str, str], bool] = {}

    async def look(self, taskspaces: Sequence[Taskspace], repository: Repository) -> list[Overlap]:
        """Every pair of them, and each with its base.

        Raises:
            TaskspaceError: a worktree cannot be read.
        """
        works: dict[str, str] = {}
        overlaps: list[Overlap] = []
        for taskspace in taskspaces:
            subject = subject_of(self._ground, taskspace, repository)
            # No snapshot: an undo goes back to where a tool began, not to where we looked.
            work = await self._ground.snapshots.look(subject)
            base = base_of(taskspace)
            tip = await commit_of(repository.git, base.ref) if base else None
            if tip and not await self._has_own(repository, tip, work):
                continue
            works[taskspace.id] = work
            if tip:
                overlaps += await self._compare(repository, (taskspace.id, work), (BASE, tip))
        for first, second in combinations(works.items(), 2):
            overlaps += await self._compare(repository, first, second)
        return overlaps

    async def _has_own(self, repository: Repository, tip: str, work: str) -> bool:
        """Whether it has changed anything since it left its base; what the base did is not its."""
        pair = tip, work
        if pair not in self._own:
            git = await neutral(repository.git)
            done = await git.run("diff-tree", "--quiet", "--merge-base", tip, work)
            # Where nothing is in common, the comparison itself says so.
            self._own[pair] = done.code != 0
        return self._own[pair]

    async def _compare(
        self, repository: Repository, first: tuple[str, str], second: tuple[str, str]
    ) -> list[Overlap]:
        pair = first[1], second[1]
        if pair not in self._known:
            try:
                git = await neutral(repository.git)
                self._known[pair] = (await dry_merge(git, *pair)).conflicts
            except TaskspaceError as error:
                return [Overlap(first[0], second[0], problem=error.message)]
        conflicts = self._known[pair]
        return [Overlap(first[0], second[0], conflicts)] if conflicts else []
