"""Messages about worktrees: snapshot, undo, land, overlaps, delete, restore."""

from typing import ClassVar

from msgspec import Struct

from symposium.bus.messages.tasks import SnapshotView, TaskView
from symposium.bus.protocol import (
    AGENTS,
    USER_ROLES,
    Announcement,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
    Role,
)


class Snapped(BusReply, frozen=True):
    """The new snapshot, or the last one if nothing has changed since."""

    snapshot: SnapshotView


class SnapshotTaskspace(BusRequest[Snapped], frozen=True, kw_only=True):
    """Save tree, index, and untracked files of a taskspace.

    Attributes:
        called_at: for the state before a tool call that did not wait for its snapshot: time of the
            call, in seconds since 1970; null otherwise.
    """

    about: ClassVar = MessageSpec(
        "snapshot_taskspace",
        sent_by=USER_ROLES | AGENTS,
        target=MessageTarget.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §3",
    )
    taskspace_uuid: str
    reason: str = ""
    called_at: float | None = None


class Undone(BusReply, frozen=True):
    """Result of an undo: the new state and the old one; `restore` of that reverts it."""

    now: SnapshotView
    before: SnapshotView
    lines: tuple[str, ...]


class UndoTaskspace(BusRequest[Undone], frozen=True, kw_only=True):
    """Restore the tree to the previous state, or to a snapshot."""

    about: ClassVar = MessageSpec(
        "undo_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=300.0,
        version=2,
        source="issue part 3 §3",
    )
    taskspace_uuid: str
    snapshot: str | None = None


class Landing(BusReply, frozen=True):
    """Outcome of a landing, with lines for the user.

    Attributes:
        outcome: `landed`, `conflict`, `checks_failed`, or `resolving`: the task's agent resolves
            the conflicts. All but `landed` leave the base unchanged.
        commit: the landed commit.
    """

    outcome: str
    lines: tuple[str, ...]
    commit: str | None = None


class LandTaskspace(BusRequest[Landing], frozen=True, kw_only=True):
    """Fetch, rebase or merge, run checks, and fast-forward; a failure leaves the tree unchanged.

    Attributes:
        join: `rebase` or `merge`.
        is_pushed: push the base afterwards; never by force.
        resolve_conflicts: let the task's agent resolve conflicts. The result becomes an inbox item
            of kind `landing`, and lands once the user approves it.
        environment: as in `create_taskspace`, for an agent that is restarted.
    """

    about: ClassVar = MessageSpec(
        "land_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=1800.0,
        version=2,
        source="users B-11",
    )
    taskspace_uuid: str
    join: str = "rebase"
    is_pushed: bool = False
    resolve_conflicts: bool = False
    environment: str | None = None


class LandingShown(BusReply, frozen=True):
    """Stage of the landing, and the last landed commit.

    Attributes:
        stage: `asked` or `working` (the agent resolves), `ready` or `failed` (an item in the inbox
            waits for the user); empty where no landing waits.
        landed: last landed commit of the task; empty for none.
        landed_at: time of that landing in ISO 8601, UTC.
    """

    stage: str = ""
    landed: str = ""
    landed_at: str = ""


class ShowLanding(BusRequest[LandingShown], frozen=True, kw_only=True):
    """Show the progress of a landing after `land_taskspace` answered `resolving`."""

    about: ClassVar = MessageSpec(
        "show_landing",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 4, 7",
    )
    taskspace_uuid: str


class ConflictView(Struct, frozen=True):
    """A file with conflicting changes in two taskspaces.

    Attributes:
        kind: `content`, or another obstacle to a merge: `deleted`, `added`, `binary`.
        first: first and last line of the conflict, in the first version.
        second: the same in the second version.
    """

    path: str
    kind: str
    first: tuple[tuple[int, int], ...] = ()
    second: tuple[tuple[int, int], ...] = ()


class OverlapView(Struct, frozen=True):
    """Conflicts of two taskspaces, or of one with its base.

    Attributes:
        first: id of a taskspace.
        second: id of the other one, or `base`.
        lines: description for the user, with line numbers of the first one.
        conflicts: conflicts by file.
        problem: why the two could not be compared; empty if they could.
    """

    first: str
    second: str
    lines: tuple[str, ...]
    conflicts: tuple[ConflictView, ...] = ()
    problem: str = ""


class Overlaps(BusReply, frozen=True):
    """All conflicts that a merge would have now."""

    overlaps: tuple[OverlapView, ...]


class FindOverlaps(BusRequest[Overlaps], frozen=True, kw_only=True):
    """Simulate merges of all live taskspaces of a project, without changes.

    Attributes:
        project: absolute path of the project.
    """

    about: ClassVar = MessageSpec(
        "find_overlaps",
        sent_by=USER_ROLES | AGENTS,
        target=MessageTarget.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="users B-10",
    )
    project: str


class Removal(BusReply, frozen=True):
    """Report of the removal, in lines for the user."""

    lines: tuple[str, ...]


class RemoveTaskspace(BusRequest[Removal], frozen=True, kw_only=True):
    """Delete a taskspace; an archive is kept for 14 days to restore it.

    Attributes:
        only_if_safe: refuse if anything would be lost or is unknown.
        branch: `auto`, `keep`, or `drop` its branch.
        archived_for_good: keep no archive; the deletion cannot be undone.
    """

    about: ClassVar = MessageSpec(
        "remove_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=300.0,
        version=2,
        source="bus §3.7, users B-8",
    )
    taskspace_uuid: str
    only_if_safe: bool = False
    branch: str = "auto"
    archived_for_good: bool = False


class SafetyReport(BusReply, frozen=True):
    """Findings, in lines for the user; `is_safe` only if everything is known."""

    is_safe: bool
    lines: tuple[str, ...]
    unknowns: tuple[str, ...] = ()


class ReportTaskspace(BusRequest[SafetyReport], frozen=True, kw_only=True):
    """Report what deleting a taskspace would lose; changes nothing."""

    about: ClassVar = MessageSpec(
        "report_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=120.0,
        is_idempotent=True,
        version=2,
        source="bus §3.7",
    )
    taskspace_uuid: str


class Restored(BusReply, frozen=True):
    """The taskspace, and parts that could not be restored, in lines for the user."""

    taskspace: TaskView
    lines: tuple[str, ...]


class RestoreTaskspace(BusRequest[Restored], frozen=True, kw_only=True):
    """Restore a deleted taskspace: tree, index, branch, and log."""

    about: ClassVar = MessageSpec(
        "restore_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=300.0,
        version=2,
        source="users B-8",
    )
    taskspace_uuid: str


class Collected(BusReply, frozen=True):
    """Removed items, or candidates, in lines for the user."""

    lines: tuple[str, ...]
    orphans: tuple[str, ...] = ()


class CollectTaskspaces(BusRequest[Collected], frozen=True, kw_only=True):
    """Remove expired archives and snapshots, and list orphaned worktrees.

    Attributes:
        is_applied: remove them; False: only list them.
        project: also list worktrees of this project that belong to no taskspace.
    """

    about: ClassVar = MessageSpec(
        "collect_taskspaces",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=300.0,
        version=2,
        source="issue part 3 §6",
    )
    is_applied: bool = False
    project: str | None = None


class TaskspaceWillDelete(Announcement, frozen=True, kw_only=True):
    """Ask editors to close files of a taskspace: its deletion has begun.

    Nothing is deleted yet; editors do not respond.
    """

    about: ClassVar = MessageSpec(
        "taskspace_will_delete",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        source="bus §1.10",
    )
    taskspace_uuid: str
    project_path: str = ""
