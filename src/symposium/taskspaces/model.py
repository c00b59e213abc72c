"""What a taskspace is; pure values."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from symposium.taskspaces.failures import RefusedNameError

LONGEST_NAME: Final = 200
"""Characters of a name; more is a description."""

LONGEST_TEXT: Final = 1 << 20
"""Characters of a description, a prompt or a log entry."""

_LONGEST_SLUG: Final = 40


class Standing(StrEnum):
    """What can be done with a taskspace now."""

    CREATING = "creating"
    SETUP_FAILED = "setup-failed"
    READY = "ready"
    FINISHED = "finished"
    DELETING = "deleting"
    ARCHIVED = "archived"
    MISSING = "missing"


class Layout(StrEnum):
    """Where taskspaces are: beside a clone, in a seed project, in a checkout's `.symposium`."""

    BESIDE = "beside"
    PROJECT = "project"
    EMBEDDED = "embedded"


class Category(StrEnum):
    """What kind of progress an entry of the log tells (bus-mcp-taskspaces §3.6)."""

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
    """What a taskspace may still spawn and spend; a child's are never more than its parent's.

    Attributes:
        depth: how many generations may come after it.
        children: how many taskspaces it and all that it spawns may make.
        minutes: None for no bound.
        costs: by currency; no bound on those that are not in it.
        turns: of agents; None for no bound.
    """

    depth: int = 2
    children: int = 8
    minutes: float | None = None
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class Ports:
    """A block of ports that no other taskspace has."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Taskspace:
    """A worktree, a branch, an agent and a purpose.

    Attributes:
        id: a UUID in lower case.
        project: the clone's root, or the directory of a seed project.
        worktree: absolute.
        branch: its short name; empty for the root taskspace of an embedded project.
        base: the full ref it started from; empty when it was adopted and none is known.
        reason: why it stands as it does, for people.
        initial_prompt: what its agent is to do first; None once the agent has updated it.
        prompt_archive: the same, kept for people.
        landed: the commit that has landed last, and `landed_at` when; empty before the first.
        declined: the digest of the set-up that a person has said no to; empty for none.
        unknown: what others wrote into its file, kept.
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
    standing: Standing = Standing.CREATING
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
        acknowledged_at: when a person saw it; the category stays what it was.
        evidence: a commit, a test, a file: what proves it.
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
    """A taskspace's id in lower case.

    Raises:
        RefusedNameError: it is no UUID.
    """
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise RefusedNameError(f"{text[:80]!r} is no taskspace id", "an id is a UUID")
    return str(UUID(text))


def checked_name(text: str) -> str:
    """A name that fits on a line.

    Raises:
        RefusedNameError: it is too long or holds control characters.
    """
    if len(text) > LONGEST_NAME:
        reason = f"a name of {len(text)} characters; at most {LONGEST_NAME}"
        raise RefusedNameError(reason, "put the rest into the description")
    return _printable(text, "a name", allowed="")


def required_name(text: str) -> str:
    """A name that fits on a line and can be seen there.

    Raises:
        RefusedNameError: it is blank, too long or holds control characters.
    """
    if not text.strip():
        raise RefusedNameError("a name of nothing but spaces", "name what it is about")
    return checked_name(text)


def checked_text(text: str, what: str) -> str:
    """A text without control characters other than line ends and tabs.

    Raises:
        RefusedNameError: it is too long or holds others.
    """
    if len(text) > LONGEST_TEXT:
        raise RefusedNameError(f"{what} of {len(text)} characters; at most {LONGEST_TEXT}", "")
    return _printable(text, what, allowed="\n\r\t")


def _printable(text: str, what: str, *, allowed: str) -> str:
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs"} and character not in allowed:
            reason = f"{what} holds the control character U+{ord(character):04X}"
            raise RefusedNameError(reason, "leave it out")
    return text


def slug_of(name: str) -> str:
    """What a name becomes in paths and branches: letters, digits and dashes."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:_LONGEST_SLUG].strip("-") or "task"
