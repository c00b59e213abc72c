"""Values, states, and errors of a task.

TaskspaceError            a task cannot be created, found, changed, or removed
├── UnknownTaskspaceError the task does not exist
├── AbsentError           a clone, a directory, or a branch does not exist
├── RefusedNameError      a name, a path, or an id is not valid
├── LimitError            a child would exceed the limits of its parent
├── StageError            a step of a creation, removal, or landing failed; has the steps done
└── NotSafeError          a deletion would lose work without the user's consent
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from localio.errors import ExplainedError
from symposium.errors import BadValueError, NotFoundError, SymposiumError


class TaskspaceError(SymposiumError):
    """A task cannot be created, found, changed, or removed."""


class UnknownTaskspaceError(TaskspaceError, NotFoundError):
    """The task does not exist."""


class AbsentError(TaskspaceError, NotFoundError):
    """A clone, a directory, or a branch does not exist."""


class RefusedNameError(TaskspaceError, BadValueError):
    """A name, a path, or an id is not valid."""


class LimitError(TaskspaceError):
    """A child would exceed the limits of its parent."""


class NotSafeError(TaskspaceError):
    """A deletion would lose work without the user's consent."""


class StageError(TaskspaceError):
    """A step failed; the steps before it were undone, or wait for a retry.

    Attributes:
        stage: the failed step, as in `create.worktree`.
        completed: the steps done before it.
    """

    def __init__(self, stage: str, completed: Sequence[str], reason: Exception) -> None:
        self.stage = stage
        self.completed = tuple(completed)
        hint = reason.hint if isinstance(reason, ExplainedError) else ""
        said = reason.message if isinstance(reason, ExplainedError) else str(reason)
        super().__init__(f"{stage} failed: {said}", hint)


MAX_NAME: Final = 200
"""Maximum characters of a name; longer texts belong in the description."""

MAX_TEXT: Final = 1 << 20
"""Maximum characters of a description, a prompt, or a log entry."""

_MAX_SLUG: Final = 40


class TaskState(StrEnum):
    """State of a task, which decides the actions it allows."""

    CREATING = "creating"
    SETUP_FAILED = "setup-failed"
    READY = "ready"
    FINISHED = "finished"
    DELETING = "deleting"
    ARCHIVED = "archived"
    MISSING = "missing"


class Layout(StrEnum):
    """Location of tasks: beside a clone, in a seed project, in a checkout's `.symposium`."""

    BESIDE = "beside"
    PROJECT = "project"
    EMBEDDED = "embedded"


class Category(StrEnum):
    """Kind of progress of a log entry (bus-mcp-taskspaces §3.6)."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    MILESTONE = "milestone"
    QUESTION = "question"


ICONS: Final = {
    Category.INFO: "\N{INFORMATION SOURCE}\N{VARIATION SELECTOR-16}",
    Category.WARN: "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}",
    Category.ERROR: "\N{CROSS MARK}",
    Category.MILESTONE: "\N{WHITE HEAVY CHECK MARK}",
    Category.QUESTION: "\N{BLACK QUESTION MARK ORNAMENT}",
}
"""The icon of each category, which is also accepted for its name."""

_SYNONYMS: Final = {
    **{icon: category for category, icon in ICONS.items()},
    **{icon.rstrip("\N{VARIATION SELECTOR-16}"): category for category, icon in ICONS.items()},
    **{category.value: category for category in Category},
}


def category_of(word: str) -> Category:
    """The category that a word or icon means; `info` for any other (§3.6)."""
    return _SYNONYMS.get(word.strip().lower(), Category.INFO)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the children and the spending of a task; a child's never exceed its parent's.

    Attributes:
        depth: number of generations below it.
        children: number of tasks that it and its descendants may create.
        minutes: None for no limit.
        costs: by currency; no limit on other currencies.
        turns: of agents; None for no limit.
    """

    depth: int = 2
    children: int = 8
    minutes: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class Ports:
    """A block of ports that belongs to one task only."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Taskspace:
    """A worktree, a branch, an agent, and a purpose.

    Attributes:
        id: a UUID in lower case.
        project: the clone's root, or the directory of a seed project.
        worktree: absolute.
        branch: its short name; empty for the root taskspace of an embedded project.
        base: the full ref it started from; empty when it was adopted and none is known.
        reason: reason of its state, for the user.
        initial_prompt: the first prompt of its agent; None once the agent has updated it.
        prompt_archive: the same, kept for the user.
        landed: the commit that has landed last, and `landed_at` when; empty before the first.
        declined: the digest of the setup that the user declined; empty for none.
        unknown: fields of other programs in its file, preserved.
    """

    id: str
    project: str
    layout: Layout
    name: str
    worktree: str
    branch: str
    created_at: str
    description: str = ""
    base: str = ""
    base_commit: str = ""
    activated_at: str = ""
    standing: TaskState = TaskState.CREATING
    reason: str = ""
    initial_prompt: str | None = None
    prompt_archive: str | None = None
    collaborator: str | None = None
    agent: str | None = None
    is_name_locked: bool = False
    parent: str | None = None
    limits: Limits = Limits()
    spawned: int = 0
    ports: Ports | None = None
    result: str | None = None
    archived_at: str | None = None
    landed: str = ""
    landed_at: str = ""
    declined: str = ""
    unknown: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of progress.

    Attributes:
        number: rises within the journal.
        at: ISO-8601, UTC.
        acknowledged_at: when the user saw it; the category does not change.
        evidence: a commit, a test, a file: its proof.
    """

    number: int
    id: str
    taskspace: str
    at: str
    category: Category
    message: str
    evidence: str = ""
    acknowledged_at: str | None = None


def canonical_id(text: str) -> str:
    """A task's id in lower case.

    Raises:
        RefusedNameError: it is not a UUID.
    """
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise RefusedNameError(f"{text[:80]!r} is not a task id", "an id is a UUID")
    return str(UUID(text))


def checked_name(text: str) -> str:
    """A valid name on a single line.

    Raises:
        RefusedNameError: it is too long or contains control characters.
    """
    if len(text) > MAX_NAME:
        reason = f"the name has {len(text)} characters; the limit is {MAX_NAME}"
        raise RefusedNameError(reason, "move details to the description")
    return _printable(text, "a name", allowed="")


def required_name(text: str) -> str:
    """A valid, visible name on a single line.

    Raises:
        RefusedNameError: it is blank, too long, or contains control characters.
    """
    if not text.strip():
        raise RefusedNameError("the name is blank", "describe the task in a few words")
    return checked_name(text)


def checked_text(text: str, what: str) -> str:
    """A text without control characters other than line ends and tabs.

    Raises:
        RefusedNameError: it is too long or contains others.
    """
    if len(text) > MAX_TEXT:
        raise RefusedNameError(f"{what} of {len(text)} characters; at most {MAX_TEXT}", "")
    return _printable(text, what, allowed="\n\r\t")


def _printable(text: str, what: str, *, allowed: str) -> str:
    if text.isprintable():
        # Nearly every text; a look at each character takes fifty times as long.
        return text
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs"} and character not in allowed:
            reason = f"{what} contains the control character U+{ord(character):04X}"
            raise RefusedNameError(reason, "remove it")
    return text


def slug_of(name: str) -> str:
    """Form of a name for paths and branches: letters, digits, and dashes."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:_MAX_SLUG].strip("-") or "task"
