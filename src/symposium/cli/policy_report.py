"""Report on the user's policy rules: whether they are in force, and their errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from localio.text import one_line
from symposium.config.paths import policy_file
from symposium.permissions.policy import Policy, load_policy, prove
from symposium.permissions.rules import Effect, PolicyWorkspace
from symposium.permissions.verdict import PolicyError

_WIDTH = 200


class PolicyReport(Struct, frozen=True):
    """The user's rules.

    Attributes:
        file: the policy file, which may be missing.
        policy: the rules; None if the file is missing or invalid.
        error: the error of an invalid file.
    """

    file: Path
    policy: Policy | None = None
    error: PolicyError | None = None

    def line(self) -> str:
        """Format one line for `symposium status`."""
        if self.error is not None:
            return f"policy  UNREADABLE, no agent starts: {one_line(str(self.error), width=_WIDTH)}"
        if self.policy is None:
            return f"policy  none (no {self.file})"
        return f"policy  {counted(len(self.policy.rules), 'rule')} ({self.file})"

    def as_json(self) -> dict[str, Any]:
        """Format the report for programs."""
        rules = None if self.policy is None else len(self.policy.rules)
        error = None if self.error is None else str(self.error)
        return {"file": str(self.file), "rules": rules, "error": error}

    def problems(self) -> Sequence[tuple[bool, str]]:
        """List each problem of the rules, and whether it is an error."""
        if self.error is not None:
            return [(True, str(self.error))]
        policy = self.policy or Policy()
        return [(each.is_error, each.text) for each in prove(policy, PolicyWorkspace(Path.cwd()))]


def policy_report(file: Path | None = None) -> PolicyReport:
    """Load the rules of a file. Default: the user's policy file."""
    place = file or policy_file()
    try:
        return PolicyReport(place, load_policy(place))
    except PolicyError as error:
        return PolicyReport(place, error=error)


def terminal_warning() -> str | None:
    """Return a warning for an agent in a terminal; None if no rule limits agents."""
    policy = policy_report().policy
    if policy is None or all(rule.effect is Effect.ALLOW for rule in policy.rules):
        return None
    return (
        "policy.toml does not apply to this agent: it runs in a terminal and does not ask "
        'Symposium; see the page "Decide what agents may do"'
    )


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
