"""What a deletion would lose; pure values. What is not known is never safe (architecture D11)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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
"""Worth telling; the work is elsewhere too."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is there.

    Attributes:
        count: how many files, commits, processes.
        detail: one line for people.
        samples: a few of them by name.
    """

    risk: Risk
    count: int
    detail: str
    samples: tuple[str, ...] = ()

    @property
    def loses(self) -> bool:
        """Whether a deletion without an archive would lose it."""
        return self.risk not in _LOSES_NOTHING


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that could not be found out."""

    risk: Risk
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    taskspace: str
    findings: tuple[Finding, ...] = ()
    unknowns: tuple[Unknown, ...] = ()

    @property
    def is_safe(self) -> bool:
        """Whether nothing would be lost, and all of it is known."""
        return not self.unknowns and not any(finding.loses for finding in self.findings)

    @property
    def lines(self) -> tuple[str, ...]:
        """For people, one for each."""
        return (
            *(finding.detail for finding in self.findings),
            *(f"not known: {unknown.risk}: {unknown.reason}" for unknown in self.unknowns),
        )
