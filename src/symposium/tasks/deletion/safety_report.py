"""Work that a deletion would lose, and the lines that the user reads about it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from localio.text import one_line


class Risk(StrEnum):
    """One cell of the matrix (bus-mcp-taskspaces §3.7)."""

    UNCOMMITTED = "uncommitted"
    UNTRACKED = "untracked"
    IGNORED = "ignored"
    REBUILT = "rebuilt"
    UNPUSHED = "unpushed"
    NOT_IN_BASE = "not-in-base"
    DETACHED = "detached"
    BASE = "base"
    STASH = "stash"
    SUBMODULE = "submodule"
    OPERATION = "operation"
    LOCKED = "locked"
    BRANCH_ELSEWHERE = "branch-elsewhere"
    AGENT = "agent"
    AGENT_IDLE = "agent-idle"
    PROCESSES = "processes"
    WATCHED = "watched"


_LOSES_NOTHING: Final = frozenset(
    {Risk.NOT_IN_BASE, Risk.BRANCH_ELSEWHERE, Risk.WATCHED, Risk.REBUILT, Risk.AGENT_IDLE}
)
"""Reported, but the work is also elsewhere."""


_COUNTED: Final = frozenset(
    {Risk.UNCOMMITTED, Risk.UNTRACKED, Risk.IGNORED, Risk.STASH, Risk.PROCESSES, Risk.WATCHED}
)
"""Their details are numbers."""

_NAME_WIDTH: Final = 60
"""Maximum characters of a name in a line."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Work or activity in the worktree.

    Attributes:
        count: number of files, commits, or processes.
        detail: one line for the user.
        samples: a few of them by name.
    """

    risk: Risk
    count: int
    detail: str
    samples: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The detail, with some names where it is a number of them."""
        if self.risk not in _COUNTED or not self.samples:
            return self.detail
        names = ", ".join(one_line(name, width=_NAME_WIDTH) for name in self.samples)
        more = self.count - len(self.samples)
        return f"{self.detail}: {names}{f', and {more} more' if more > 0 else ''}"

    @property
    def loses(self) -> bool:
        """Whether a deletion without an archive would lose it."""
        return self.risk not in _LOSES_NOTHING


@dataclass(frozen=True, slots=True)
class Unknown:
    """A check that failed."""

    risk: Risk
    reason: str


@dataclass(frozen=True, slots=True)
class DeletionReport:
    """Results of all checks."""

    taskspace: str
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether nothing would be lost and no check failed."""
        return not self.unknowns and not any(finding.loses for finding in self.findings)

    @property
    def lines(self) -> tuple[str, ...]:
        """Text for the user, one line per entry."""
        return (
            *(finding.line for finding in self.findings),
            *(f"not known: {unknown.risk}: {unknown.reason}" for unknown in self.unknowns),
        )
