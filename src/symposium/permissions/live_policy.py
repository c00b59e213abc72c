"""The policy as its file says now: read again when the file has changed."""

import glob
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from symposium.permissions.policy import Policy, load_policy
from symposium.permissions.rules import Access, Action, Effect, PolicyWorkspace, Rule, TouchFile
from symposium.permissions.tool_calls import action_of_terminal, actions_of
from symposium.permissions.verdict import UNREADABLE, PolicyError, RuleLocation, Verdict

OWN_FILE: Final = "policy-file"
"""The rule that no file needs to have: who writes to the policy file is asked about."""

_TICK: Final = 100_000_000
"""Nanoseconds: a file that is younger may change again without another time."""


def guarded(policy: Policy, file: Path) -> Policy:
    """The rules of a file, and one for the file itself, wherever links lead."""
    pattern = glob.escape(str(file.resolve()))
    own = Rule(OWN_FILE, Effect.ASK, files=(Access.WRITE, (pattern,)))
    return Policy((*policy.rules, own))


class LivePolicy:
    """A policy file that is followed for as long as one agent runs.

    A change counts for the next question. While the file cannot be used, everything is forbidden.
    A file that is deleted leaves the rules that it had: an agent must not get rid of them so.

    Args:
        file: where it is, or would be.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: tuple[int, ...] | None = None
        self._policy = Policy()
        self._error: PolicyError | None = None

    def now(self) -> Policy:
        """The rules that were read last; see `problem` for whether they still count."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen:
            return self._policy
        self._seen = stamp
        try:
            loaded = load_policy(self._file)
        except PolicyError as error:
            self._error = error
            return self._policy
        self._error = None
        self._policy = self._policy if loaded is None else loaded
        return self._policy

    def problem(self) -> PolicyError | None:
        """Why the rules cannot be read; None while they can."""
        self.now()
        return self._error

    def limits(self) -> int:
        """Number of rules; 0 if none of them asks or forbids."""
        rules = self.now().rules
        return 0 if all(rule.effect is Effect.ALLOW for rule in rules) else len(rules)

    def of_call(self, call: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge a tool call, as a question or an update describes it."""
        return self._judge(actions_of(call), place)

    def of_terminal(self, params: Mapping[str, Any], place: RuleLocation) -> Verdict:
        """Judge the params of `terminal/create`."""
        return self._judge([action_of_terminal(params)], place)

    def of_file(self, path: str, place: RuleLocation, *, writes: bool) -> Verdict:
        """Judge one access to a file."""
        return self._judge([TouchFile(Access.WRITE if writes else Access.READ, path)], place)

    def _judge(self, actions: Sequence[Action], place: RuleLocation) -> Verdict:
        policy = self.now()
        if self._error is not None:
            return Verdict("forbid", UNREADABLE, problem=str(self._error))
        workspace = PolicyWorkspace(place.root, place.others)
        judgement = guarded(policy, self._file).judge(actions, workspace)
        reason = judgement.decisive
        what = "" if reason is None else reason.what
        return Verdict(judgement.effect.value, judgement.rule, what, tuple(actions))

    def _stamp(self) -> tuple[int, ...] | None:
        """By what a change shows; None where nothing does, and the file must be read."""
        try:
            found = self._file.stat()
        except OSError:
            return None
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _TICK:
            return None
        # The inode's time changes with its mode and its owner, too.
        return (
            *(found.st_mtime_ns, found.st_ctime_ns),
            *(found.st_size, found.st_ino, found.st_dev),
        )
