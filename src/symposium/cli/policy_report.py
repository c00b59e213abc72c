"""Report on the user's rules: whether they are in force, and what is wrong with them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from localio.text import one_line
from symposium.config.paths import policy_file
from symposium.policy.actions import Workspace
from symposium.policy.examples import prove
from symposium.policy.judge import Policy
from symposium.policy.policy_file import load_policy
from symposium.policy.rules import Effect
from symposium.policy.verdict import PolicyError

_WIDTH = 200


class PolicyReport(Struct, frozen=True):
    """The user's rules.

    Attributes:
        file: where they are, or would be.
        policy: the rules; None where there is no file, or one that cannot be used.
        error: why the file cannot be used.
    """

    file: Path
    policy: Policy | None = None
    error: PolicyError | None = None

    def line(self) -> str:
        """One line, for a status."""
        if self.error is not None:
            return f"policy  UNREADABLE, no agent starts: {one_line(str(self.error), width=_WIDTH)}"
        if self.policy is None:
            return f"policy  none (no {self.file})"
        return f"policy  {counted(len(self.policy.rules), 'rule')} ({self.file})"

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        rules = None if self.policy is None else len(self.policy.rules)
        error = None if self.error is None else str(self.error)
        return {"file": str(self.file), "rules": rules, "error": error}

    def problems(self) -> Sequence[tuple[bool, str]]:
        """Each problem of the rules, and whether it is an error."""
        if self.error is not None:
            return [(True, str(self.error))]
        policy = self.policy or Policy()
        return [(each.is_error, each.text) for each in prove(policy, Workspace(Path.cwd()))]


def policy_report(file: Path | None = None) -> PolicyReport:
    """The rules in a file, by default the user's own."""
    place = file or policy_file()
    try:
        return PolicyReport(place, load_policy(place))
    except PolicyError as error:
        return PolicyReport(place, error=error)


def terminal_warning() -> str | None:
    """What to print where an agent gets a terminal; None where no rule limits agents."""
    policy = policy_report().policy
    if policy is None or all(rule.effect is Effect.ALLOW for rule in policy.rules):
        return None
    return (
        "policy.toml does not apply to this agent: it runs in a terminal and does not ask "
        "Symposium; docs/how-to/policy.md says what helps"
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
