"""Announcements of changes: tasks, their logs, sessions and snapshots, the inbox."""

from typing import ClassVar

from symposium.bus.messages.tasks import (
    InboxItem,
    NoteKind,
    SettledItem,
    SnapshotView,
    TaskLog,
    TaskView,
)
from symposium.bus.protocol import Announcement, MessageSpec, MessageTarget, Role


class InboxChanged(Announcement, frozen=True, kw_only=True):
    """Announce new and settled items of the inbox.

    Attributes:
        waiting: number of items in the inbox.
    """

    about: ClassVar = MessageSpec(
        "inbox_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G2",
    )
    added: tuple[InboxItem, ...] = ()
    settled: tuple[SettledItem, ...] = ()
    waiting: int = 0


class SessionNoted(Announcement, frozen=True, kw_only=True):
    """Announce an event of a session, for lists that do not query its server.

    Attributes:
        session: id of the session; for a task, the id of the taskspace.
        seq: number of the last event of the session.
        text: title of the question, beginning of the prompt, or reason for the end.
    """

    about: ClassVar = MessageSpec(
        "session_noted",
        sent_by=frozenset({Role.HOST}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G2",
    )
    session: str
    seq: int
    kind: NoteKind
    text: str = ""


class SnapshotTaken(Announcement, frozen=True, kw_only=True):
    """Announce a new snapshot of a taskspace."""

    about: ClassVar = MessageSpec(
        "snapshot_taken",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    snapshot: SnapshotView


class TaskLogged(Announcement, frozen=True, kw_only=True):
    """Announce a new line in the log of a taskspace."""

    about: ClassVar = MessageSpec(
        "task_logged",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    entry: TaskLog


class TaskOutput(Announcement, frozen=True, kw_only=True):
    """Announce a stage, or an output line of a setup command or a check."""

    about: ClassVar = MessageSpec(
        "task_output",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    stage: str | None = None
    line: str | None = None


class TaskspaceChanged(Announcement, frozen=True, kw_only=True):
    """Announce the view of a taskspace; at most four per second, always the latest.

    Attributes:
        cause: last event, such as `logged`, `asked`, or `turn ended`.
    """

    about: ClassVar = MessageSpec(
        "taskspace_changed",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace: TaskView
    cause: str


class TaskspaceGone(Announcement, frozen=True, kw_only=True):
    """Announce the deletion of a taskspace; an archived one can be restored."""

    about: ClassVar = MessageSpec(
        "taskspace_gone",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        version=2,
        source="spec app 3.2, G1",
    )
    taskspace_uuid: str
    is_archived: bool
