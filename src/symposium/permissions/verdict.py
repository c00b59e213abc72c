"""Verdict of the user's rules on one action of an agent.

Loaded at every start, whether there are rules or not: the parsers behind a verdict are not.
"""

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from symposium.errors import SymposiumError

UNREADABLE: Final = "policy-unreadable"
"""The rule in place of an unusable file: it forbids everything."""


class PolicyError(SymposiumError):
    """A policy file that cannot be used: none of its rules counts, and it allows nothing."""


class Verdict(Struct, frozen=True):
    """Outcome for one action.

    Attributes:
        effect: the strictest of what applies.
        rule: the rule that decided; None where no rule applies.
        what: the part that decided, such as one command of a script.
        actions: what was judged, to be recognized when it comes again.
        problem: why no rule could be read; empty while they can.
    """

    effect: Literal["allow", "ask", "forbid"]
    rule: str | None = None
    what: str = ""
    actions: tuple[Hashable, ...] = ()
    problem: str = ""

    def refusal(self) -> str:
        """One sentence for the user and the agent."""
        if self.problem:
            return f"Refused, because your rules cannot be read: {self.problem}"
        part = f": `{self.what}`" if self.what else ""
        return f"Refused by the rule `{self.rule}` of policy.toml{part}"


class RuleLocation(Struct, frozen=True):
    """Directories of a session: its own, and additional ones."""

    root: Path
    others: tuple[Path, ...] = ()


class Judges(Protocol):
    """Judges by the rules as they stand."""

    def problem(self) -> PolicyError | None:
        """Why the rules cannot be read; None while they can."""
        ...

    def limits(self) -> int:
        """Number of rules; 0 if none of them asks or forbids."""
        ...

    def of_call(self, call: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge a tool call, as a question or an update describes it."""
        ...

    def of_terminal(self, params: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge the params of `terminal/create`."""
        ...

    def of_file(self, path: str, place: RuleLocation, *, writes: bool) -> Verdict:
        """Judge one access to a file."""
        ...


def exists(file: Path | str) -> bool:
    """Whether there is something to read, also where it cannot be read."""
    try:
        # Asked at each question of an agent: `Path.lstat` takes some microseconds more.
        os.lstat(file)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
