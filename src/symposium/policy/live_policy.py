"""The policy as the file says now: read again when the file has changed."""

from pathlib import Path
from typing import Final

from symposium.policy.actions import Access
from symposium.policy.judge import Policy
from symposium.policy.policy_file import PolicyError, load_policy
from symposium.policy.rules import Effect, Rule

UNREADABLE: Final = "policy-unreadable"
"""The rule that stands for a file that cannot be read: everything is asked."""

_ASK_ALL: Final = Policy(
    (
        Rule(UNREADABLE, Effect.ASK, command=("*",)),
        Rule(UNREADABLE, Effect.ASK, files=(Access.WRITE, ("*",))),
        Rule(UNREADABLE, Effect.ASK, tool="*"),
    )
)


class LivePolicy:
    """A policy file that is followed.

    Args:
        file: where it is, or would be.

    Attributes:
        error: why it cannot be read; None while it can.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.error: PolicyError | None = None
        self._seen: tuple[int, int, int] | None = None
        self._policy = Policy()

    def now(self) -> Policy:
        """The rules as they stand; a file that cannot be read asks for everything."""
        stamp = self._stamp()
        if stamp == self._seen:
            return self._policy
        self._seen = stamp
        self.error = None
        try:
            self._policy = load_policy(self.file) or Policy()
        except PolicyError as error:
            self.error = error
            self._policy = _ASK_ALL
        return self._policy

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.file.stat()
        except OSError:
            # Not there: an empty policy. There and unreachable: reading it says so.
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
