"""Decision of the policy on one action of an agent.

This module is imported at every start; the parsers behind a decision are not.
"""

import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from msgspec import Struct

from symposium.errors import SymposiumError

UNREADABLE: Final = "policy-unreadable"
"""Rule shown for an unusable policy file, which forbids everything."""


class PolicyError(SymposiumError):
    """An unusable policy file: none of its rules count, and nothing is allowed."""


class Verdict(Struct, frozen=True):
    """Decision on one action.

    Attributes:
        effect: strictest applicable effect.
        rule: deciding rule; None if no rule matches.
        what: deciding part, such as one command of a script.
        actions: judged actions, to recognize them again.
        problem: why the rules are unreadable; empty if they are valid.
    """

    effect: Literal["allow", "ask", "forbid"]
    rule: str | None = None
    what: str = ""
    actions: tuple[Hashable, ...] = ()
    problem: str = ""

    def refusal(self) -> str:
        """One sentence for the user and the agent about a rejection."""
        if self.problem:
            return f"Refused, because your rules cannot be read: {self.problem}"
        part = f": `{self.what}`" if self.what else ""
        return f"Refused by the rule `{self.rule}` of policy.toml{part}"


class RuleLocation(Struct, frozen=True):
    """Directories of a session: its own, and additional ones."""

    root: Path
    others: tuple[Path, ...] = ()


class Judges(Protocol):
    """Judges actions by the current rules."""

    def problem(self) -> PolicyError | None:
        """Why the rules cannot be read; None if they are valid."""
        ...

    def limits(self) -> int:
        """Number of rules; 0 if none of them asks or forbids."""
        ...

    def of_call(self, call: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge a tool call from a permission request or an update."""
        ...

    def of_terminal(self, params: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge the params of `terminal/create`."""
        ...

    def of_file(self, path: str, place: RuleLocation, *, writes: bool) -> Verdict:
        """Judge one access to a file."""
        ...


def exists(file: Path | str) -> bool:
    """Whether a file exists, including unreadable ones and broken links."""
    try:
        # Called for each permission request: `Path.lstat` is some microseconds slower.
        os.lstat(file)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
