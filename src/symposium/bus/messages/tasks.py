"""Messages about tasks and the inbox: create, adopt, list, show, rename, retry."""

from enum import Enum
from typing import ClassVar, Final

from msgspec import Struct

from symposium.bus.activity_words import Activity, activity_of
from symposium.bus.protocol import (
    AGENTS,
    USER_ROLES,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
)

SESSION_SERVER: Final = "keeper"
"""Name of the session server of a task's agent on the bus."""


class NoteKind(Enum):
    """Events of a session that its server announces."""

    STARTED = "started"
    ASKED = "asked"
    SETTLED = "settled"
    TURN_STARTED = "turn started"
    TURN_ENDED = "turn ended"
    LOGIN = "login"
    EXITED = "exited"


class TaskLog(Struct, frozen=True):
    """One line of progress.

    Attributes:
        number: increases within the log.
        at: time in ISO 8601, UTC.
        category: `info`, `warn`, `error`, `milestone`, or `question`.
        acknowledged_at: time when the user saw it.
    """

    number: int
    at: str
    category: str
    message: str
    evidence: str = ""
    acknowledged_at: str | None = None


class TaskView(Struct, frozen=True):
    """A taskspace in a list.

    Attributes:
        standing: state of the taskspace; `reason` explains it.
        state: a word of `Activity`, or one of a newer version.
        agent: id of the agent, or its command line if it has no id; None for no agent.
        session: state of the agent's session: `running`, `exited`, or `lost`; None for none.
        ports: first port and number of ports reserved for it.
        waiting: number of open questions.
        last: last line of progress.
        conflicts: overlapping changes with other taskspaces, at the last check.
        landed: last landed commit, and `landed_at` its time; the state is `landed` until there are
            new changes.
        spent: spending of its agent, and the budget; empty before its first turn.
        costs: costs reported by its agent, by currency; empty if none.
    """

    id: str
    name: str
    description: str
    project: str
    worktree: str
    branch: str
    base: str
    standing: str
    state: str
    created_at: str
    activated_at: str
    reason: str = ""
    agent: str | None = None
    session: str | None = None
    collaborator: str | None = None
    parent: str | None = None
    ports: tuple[int, int] | None = None
    waiting: int = 0
    last: TaskLog | None = None
    archived_at: str | None = None
    conflicts: tuple[str, ...] = ()
    spent: str = ""
    costs: dict[str, float] = {}
    landed: str = ""
    landed_at: str = ""

    @property
    def activity(self) -> Activity | None:
        """The word of `state`; None for one of a newer version."""
        return activity_of(self.state)


class SnapshotView(Struct, frozen=True):
    """A restorable state of a worktree.

    Attributes:
        tree: git tree of the files that are not ignored.
        tip: commit of HEAD; empty before the first commit.
    """

    ref: str
    at: float
    reason: str
    tree: str = ""
    tip: str = ""


class InboxChoice(Struct, frozen=True):
    """One possible answer.

    Attributes:
        kind: for a permission: `allow_once`, `allow_always`, `reject_once`, or `reject_always`.
    """

    id: str
    name: str
    kind: str = ""


class InboxCall(Struct, frozen=True):
    """A tool call that needs permission, as described by the agent.

    Attributes:
        kind: kind of the tool call, such as `edit` or `execute`; empty if the agent sends none.
        title: title by the agent.
        paths: affected files.
        command: shell command, if any.
        diff: removed and added lines by file.
        lines: most important lines: the change, the script, or the arguments.
        is_cut: whether `lines` is truncated.
    """

    kind: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    diff: str = ""
    lines: tuple[str, ...] = ()
    is_cut: bool = False


class InboxItem(Struct, frozen=True):
    """An item that waits for the user.

    Attributes:
        id: id of the item.
        kind: `permission`, `question`, `login`, `budget`, `delete`, `trust`, `failed`,
            `landing` or `done`.
        taskspace: id of the taskspace; `name` is its name.
        at: creation time in ISO 8601, UTC.
        text: the question.
        choices: possible answers; a question accepts any text, a budget accepts an amount.
        call: for a permission, the tool call; for a landing, its files and its diff.
        put_off_at: time when the user snoozed it; empty if not snoozed.
    """

    id: str
    kind: str
    taskspace: str
    name: str
    at: str
    text: str
    choices: tuple[InboxChoice, ...] = ()
    call: InboxCall | None = None
    put_off_at: str = ""


class SettledItem(Struct, frozen=True):
    """An item that left the inbox.

    Attributes:
        item: id of the item.
        by: user or agent that answered; empty if it was removed without an answer.
        at: time in ISO 8601, UTC.
        answer: the answer.
    """

    item: str
    by: str = ""
    at: str = ""
    answer: str = ""


class TaskMade(BusReply, frozen=True):
    """The taskspace after the change."""

    taskspace: TaskView


class CreateTaskspace(BusRequest[TaskMade], frozen=True, kw_only=True):
    """Create a taskspace; its stages and the output of its setup are sent as progress.

    Attributes:
        project: absolute path in the clone or in a seed project.
        name: name of the taskspace; with `is_name_locked`, agents cannot change it.
        task: first prompt of its agent.
        agent: terminal agent such as `claude`; or an id from `symposium agents list` or a SPEC for
            an agent that speaks ACP.
        base: start branch; default: the project's default branch.
        environment: socket that provides the agent's environment; default: the daemon's
        environment.
        budget: limit for it and its descendants, such as `3usd,20min,30turns`; `3eur` limits the
            costs in that currency.
    """

    about: ClassVar = MessageSpec(
        "create_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=900.0,
        version=2,
        source="issue part 3 §6",
    )
    project: str
    name: str
    task: str | None = None
    description: str = ""
    agent: str | None = None
    base: str | None = None
    collaborator: str | None = None
    ports: int = 5
    is_name_locked: bool = False
    budget: str | None = None
    environment: str | None = None


class AdoptTaskspace(BusRequest[TaskMade], frozen=True, kw_only=True):
    """Make an existing worktree a taskspace without changing it.

    Attributes:
        worktree: absolute path of its directory.
        name: name of the taskspace; default: from its branch.
    """

    about: ClassVar = MessageSpec(
        "adopt_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=60.0,
        version=2,
        source="issue part 3 §2",
    )
    worktree: str
    name: str | None = None


class Tasks(BusReply, frozen=True):
    """A page of the list: last used first, archived last.

    Attributes:
        total: the number of taskspaces on all pages.
    """

    taskspaces: tuple[TaskView, ...]
    total: int = 0


class ListTaskspaces(BusRequest[Tasks], frozen=True, kw_only=True):
    """List the taskspaces, or a page of the list.

    Attributes:
        project: absolute path of a project, to list only its taskspaces.
        after: number of taskspaces to skip.
        limit: maximum number of taskspaces; default: all.
        is_archived: whether archived taskspaces are listed.
        is_urgent_first: whether taskspaces with an item in the inbox come first.
    """

    about: ClassVar = MessageSpec(
        "list_taskspaces",
        sent_by=USER_ROLES | AGENTS,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §6",
    )
    project: str | None = None
    after: int = 0
    limit: int | None = None
    is_archived: bool = True
    is_urgent_first: bool = False


class FindTaskspace(BusRequest[Tasks], frozen=True, kw_only=True):
    """Find taskspaces by an id, a name, a branch, or the beginning of an id.

    The first of these that matches decides; archived taskspaces count only if no other matches.
    """

    about: ClassVar = MessageSpec(
        "find_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="issue part 4, 3",
    )
    named: str


class GuidanceReading(Struct, frozen=True):
    """A text that an agent of the taskspace has read.

    Attributes:
        id: file name of the text, or name of a prompt.
        layer: origin of the text; empty for a prompt.
        sha256: hash of its content at that time.
        at: time of the last reading in ISO 8601, UTC.
        count: number of readings.
    """

    id: str
    layer: str
    sha256: str
    at: str
    count: int


class TaskShown(BusReply, frozen=True):
    """One taskspace with its progress and snapshots, oldest first.

    Attributes:
        recipe: commands of its setup files, with their file; `digest` is their hash.
        guesses: suggestions from lock files if there are no setup files; never run automatically.
        guidance: texts that its agents have read, oldest first.
    """

    taskspace: TaskView
    log: tuple[TaskLog, ...]
    snapshots: tuple[SnapshotView, ...]
    recipe: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    digest: str = ""
    guidance: tuple[GuidanceReading, ...] = ()


class ShowTaskspace(BusRequest[TaskShown], frozen=True, kw_only=True):
    """Show a taskspace; does not mark its questions as seen.

    Attributes:
        log: maximum number of lines of progress, newest kept.
        is_whole: False leaves out snapshots and setup, which need git.
    """

    about: ClassVar = MessageSpec(
        "show_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="issue part 3 §6",
    )
    taskspace_uuid: str
    log: int = 50
    is_whole: bool = True


class RenameTaskspace(BusRequest[TaskMade], frozen=True, kw_only=True):
    """Rename a taskspace; the name is locked."""

    about: ClassVar = MessageSpec(
        "rename_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-2",
    )
    taskspace_uuid: str
    name: str


class RetryTaskspace(BusRequest[TaskMade], frozen=True, kw_only=True):
    """Repeat the setup; restart an exited or lost agent.

    Attributes:
        agent: new agent, as in `create_taskspace`; default: unchanged.
        environment: as in `create_taskspace`.
        trusted: digest of the setup files that the user approved, from `show_taskspace`; empty if
            not approved.
    """

    about: ClassVar = MessageSpec(
        "retry_taskspace",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=900.0,
        version=2,
        source="users B-3, B-7",
    )
    taskspace_uuid: str
    trusted: str = ""
    agent: str | None = None
    environment: str | None = None


class Inbox(BusReply, frozen=True):
    """All items that wait for the user, most urgent first."""

    items: tuple[InboxItem, ...]


class ListInbox(BusRequest[Inbox], frozen=True, kw_only=True):
    """List all items that wait for the user, in all taskspaces."""

    about: ClassVar = MessageSpec(
        "list_inbox",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-5",
    )


class InboxAnswered(BusReply, frozen=True):
    """Result of the answer, as text for the user."""

    text: str


class AnswerInbox(BusRequest[InboxAnswered], frozen=True, kw_only=True):
    """Answer an item; if it is already answered, the error names the answer's author and time.

    Attributes:
        item: id of the item.
        answer: id of a choice; for a question, any text.
        by: author, for later errors.
        environment: as in `create_taskspace`, for agents that the answer starts.
    """

    about: ClassVar = MessageSpec(
        "answer_inbox",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=900.0,
        version=2,
        source="users B-5",
    )
    item: str
    answer: str
    by: str = ""
    environment: str | None = None


class PutOffInbox(BusRequest[InboxAnswered], frozen=True, kw_only=True):
    """Snooze an item: it stays without further notifications, and is not answered.

    Attributes:
        item: id of the item.
    """

    about: ClassVar = MessageSpec(
        "put_off_inbox",
        sent_by=USER_ROLES,
        target=MessageTarget.ENGINE,
        budget=30.0,
        is_idempotent=True,
        version=2,
        source="users B-5",
    )
    item: str
