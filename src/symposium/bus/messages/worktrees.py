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
    """The state that is kept: a new one, or the last where nothing has changed since."""

    snapshot: SnapshotView


class SnapshotTaskspace(BusRequest[Snapped], frozen=True, kw_only=True):
    """Keep tree, index and untracked files of a taskspace as they are now.

    Attributes:
        called_at: seconds since 1970 at which a tool call was heard of that is kept late, since
            its agent did not wait; null for any other state.
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
    """Bring the tree back to the state before this one, or to a snapshot."""

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
    """The outcome, for people in lines.

    Attributes:
        outcome: `landed`, `conflict`, `checks_failed`, or `resolving`: the task's agent resolves
            the conflicts. All but `landed` leave the base unchanged.
        commit: the one that has landed.
    """

    outcome: str
    lines: tuple[str, ...]
    commit: str | None = None


class LandTaskspace(BusRequest[Landing], frozen=True, kw_only=True):
    """Fetch, try, rebase or merge, check, fast-forward; what fails leaves the tree untouched.

    Attributes:
        join: `rebase` or `merge`.
        is_pushed: push the base afterwards; never by force.
        resolve_conflicts: let the task's agent resolve conflicts. The result waits in the inbox
            as an item of kind `landing`, and lands once the user approves it.
        environment: as in `create_taskspace`, for an agent that is started again.
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
    """The stage of the landing, and the commit that has landed last.

    Attributes:
        stage: `asked` or `working` (the agent resolves), `ready` or `failed` (an item in the inbox
            waits for the user); empty where no landing waits.
        landed: the commit of the task that has landed last; empty for none.
        landed_at: when it landed, ISO 8601, UTC.
    """

    stage: str = ""
    landed: str = ""
    landed_at: str = ""


class ShowLanding(BusRequest[LandingShown], frozen=True, kw_only=True):
    """Show how far the landing of a taskspace is, after `land_taskspace` answered `resolving`."""

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
    """One file that two have changed in ways that do not fit.

    Attributes:
        kind: `content`, or what else stands against a merge: `deleted`, `added`, `binary`.
        first: the lines in question as the first one counts them: from, to.
        second: as the second one does.
    """

    path: str
    kind: str
    first: tuple[tuple[int, int], ...] = ()
    second: tuple[tuple[int, int], ...] = ()


class OverlapView(Struct, frozen=True):
    """Two taskspaces, or one and its base, and where they would conflict.

    Attributes:
        first: a taskspace's id.
        second: another's, or `base`.
        lines: for people, as the first one counts lines.
        conflicts: the same for programs, each file once.
        problem: why the two could not be compared; empty when they could.
    """

    first: str
    second: str
    lines: tuple[str, ...]
    conflicts: tuple[ConflictView, ...] = ()
    problem: str = ""


class Overlaps(BusReply, frozen=True):
    """All that would conflict now."""

    overlaps: tuple[OverlapView, ...]


class FindOverlaps(BusRequest[Overlaps], frozen=True, kw_only=True):
    """Merge all live taskspaces of a project in thought; nothing is changed.

    Attributes:
        project: its absolute path.
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
    """Delete a taskspace; an archive is made, from which it can be brought back for 14 days.

    Attributes:
        only_if_safe: refuse where something could be lost, or is not known.
        branch: `auto`, `keep` or `drop`: what becomes of its branch.
        archived_for_good: keep no archive; there is no way back then.
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
    """Look at what deleting a taskspace would lose; nothing is changed."""

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
    """Bring a taskspace back that was deleted: tree, index, branch and log."""

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
        is_applied: do it; else only say what would be done.
        project: also look for worktrees of this project that are no taskspaces.
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
    """Let editors close what they have open of a taskspace: its deletion has begun.

    Nothing is deleted yet, and no request waits for an answer.
    """

    about: ClassVar = MessageSpec(
        "taskspace_will_delete",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        source="bus §1.10",
    )
    taskspace_uuid: str
    project_path: str = ""
