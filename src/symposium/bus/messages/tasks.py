"""Messages about tasks and the inbox: create, adopt, list, show, rename, retry."""

from enum import Enum
from typing import ClassVar, Final

from msgspec import Struct

from symposium.bus.protocol import (
    AGENTS,
    USER_ROLES,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
)

SESSION_SERVER: Final = "keeper"
"""The name under which the session server of a task's agent connects to the bus."""


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
        number: rises within the journal.
        at: ISO 8601, UTC.
        category: `info`, `warn`, `error`, `milestone` or `question`.
        acknowledged_at: when a person saw it.
    """

    number: int
    at: str
    category: str
    message: str
    evidence: str = ""
    acknowledged_at: str | None = None


class TaskView(Struct, frozen=True):
    """A taskspace as a list shows it.

    Attributes:
        standing: what can be done with it; `reason` says why.
        state: what it is doing, in the words of users §8.5.
        agent: its id, or the command line of one that has none; None for no agent.
        session: how that agent's session stands: `running`, `exited`, `lost`; None for none.
        ports: the first and the number of those it may use.
        waiting: questions that nobody has answered.
        last: the last line of progress.
        conflicts: where it changes the same lines as others, as of the last look.
        landed: the commit that has landed last, and `landed_at` when; its state says `landed` as
            long as there is nothing new in it.
        spent: what its agent has spent, and of what budget; empty before its first turn.
        costs: what its agent has told that it cost, by currency; empty if nothing.
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


class SnapshotView(Struct, frozen=True):
    """A state of a worktree that can be brought back.

    Attributes:
        tree: git's name for the files that are not ignored.
        tip: the commit of HEAD; empty before the first.
    """

    ref: str
    at: float
    reason: str
    tree: str = ""
    tip: str = ""


class InboxChoice(Struct, frozen=True):
    """One way to answer.

    Attributes:
        kind: of a permission: `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    """

    id: str
    name: str
    kind: str = ""


class InboxCall(Struct, frozen=True):
    """What an agent asks to be allowed, as far as it shows it.

    Attributes:
        kind: of the tool call: `edit`, `execute` and so on; empty where the agent names none.
        title: the agent's own.
        paths: the files that it is about.
        command: what it would have a shell run.
        diff: what would come and go, file by file.
        lines: what a person should read first: the change, the script, the arguments.
        is_cut: whether there are more lines than are told.
    """

    kind: str = ""
    title: str = ""
    paths: tuple[str, ...] = ()
    command: str = ""
    diff: str = ""
    lines: tuple[str, ...] = ()
    is_cut: bool = False


class InboxItem(Struct, frozen=True):
    """Something that waits for a person.

    Attributes:
        id: to answer it by.
        kind: `permission`, `question`, `login`, `budget`, `delete`, `trust`, `failed`,
            `landing` or `done`.
        taskspace: whose it is, and `name` what that is called.
        at: since when, ISO 8601, UTC.
        text: what is asked.
        choices: what can be answered; for a question any text can, for a budget so much more.
        call: of a permission: what it is for; of a landing: its files and its diff.
        put_off_at: since when a person has put it off; empty where nobody has.
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
    """An item that does not wait any more.

    Attributes:
        item: its id.
        by: who answered it; empty if it went without an answer in the inbox.
        at: when, ISO 8601, UTC.
        answer: what was answered.
    """

    item: str
    by: str = ""
    at: str = ""
    answer: str = ""


class TaskMade(BusReply, frozen=True):
    """The taskspace as it stands now."""

    taskspace: TaskView


class CreateTaskspace(BusRequest[TaskMade], frozen=True, kw_only=True):
    """Make a taskspace; the stages and what the set-up writes come as news.

    Attributes:
        project: a directory in the clone, or of a seed project; absolute.
        name: what it is called; `is_name_locked` keeps agents from changing that.
        task: what its agent is to do first.
        agent: `claude` and the like for a terminal; an id of `symposium agents list`, or a SPEC,
            for an agent that speaks ACP.
        base: the branch to start from; the project's own if not given.
        environment: the socket where the agent's environment is lent; the daemon's if not given.
        budget: what it and all that it spawns may spend, as in `3usd,20min,30turns`;
            `3eur` bounds what is told in that currency.
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
    """Make a worktree that is there a taskspace; nothing in it is changed.

    Attributes:
        worktree: its directory, absolute.
        name: what it is called; by its branch if not given.
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
    """A page of the list: the taskspace used last first, archived ones last.

    Attributes:
        total: the number of taskspaces on all pages.
    """

    taskspaces: tuple[TaskView, ...]
    total: int = 0


class ListTaskspaces(BusRequest[Tasks], frozen=True, kw_only=True):
    """List the taskspaces, or a page of the list.

    Attributes:
        project: absolute path of a project, to list only its taskspaces.
        after: number of taskspaces to leave out at the start.
        limit: most taskspaces to list. Default: all.
        is_archived: whether archived taskspaces are listed.
        is_urgent_first: whether those with an item in the inbox come first.
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

    The first of these that fits any taskspace decides; archived ones count where no other fits.
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
        id: its file name, or the name of a prompt.
        layer: who wrote it; empty for a prompt.
        sha256: the hash of its content at that time.
        at: when it was last read, ISO 8601, UTC.
        count: how often.
    """

    id: str
    layer: str
    sha256: str
    at: str
    count: int


class TaskShown(BusReply, frozen=True):
    """One taskspace, its progress and its snapshots, the oldest first.

    Attributes:
        recipe: what its set-up files ask for, each line with its file, and `digest` of all of it.
        guesses: what its lock files suggest, where no file asks for anything; never run unasked.
        guidance: the texts that its agents have read, the first first.
    """

    taskspace: TaskView
    log: tuple[TaskLog, ...]
    snapshots: tuple[SnapshotView, ...]
    recipe: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()
    digest: str = ""
    guidance: tuple[GuidanceReading, ...] = ()


class ShowTaskspace(BusRequest[TaskShown], frozen=True, kw_only=True):
    """Show a taskspace; that a person has seen its questions is not assumed.

    Attributes:
        log: lines of progress, the newest.
        is_whole: False leaves out its snapshots and its set-up, which git is run for.
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
    """Try the set-up again; an agent that has ended or was lost is started again.

    Attributes:
        agent: gives it this one, as `create_taskspace` names it; the one it has if not given.
        environment: as in `create_taskspace`.
        trusted: the digest of what the set-up files asked for when a person said yes to it, as
            `show_taskspace` tells it; empty where nobody has.
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
    """All that waits, the most urgent first."""

    items: tuple[InboxItem, ...]


class ListInbox(BusRequest[Inbox], frozen=True, kw_only=True):
    """List what waits for a person, in all taskspaces."""

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
    """What came of it, for people."""

    text: str


class AnswerInbox(BusRequest[InboxAnswered], frozen=True, kw_only=True):
    """Answer an item; one that was answered already is an error that says by whom and when.

    Attributes:
        item: its id.
        answer: the id of a choice, or for a question any text.
        by: who answers, for those who come later.
        environment: as in `create_taskspace`, for what the answer starts.
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
    """Say "not now" to an item: it stays, nobody is told of it any more, and nothing is answered.

    Attributes:
        item: its id.
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
