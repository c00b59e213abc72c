"""What views are shown of taskspaces: values of messages between them and the engine."""

from enum import Enum
from typing import Final

from msgspec import Struct

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
