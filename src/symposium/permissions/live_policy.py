"""The current policy: its file is read again after each change."""

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
"""Built-in rule: ask before writing to the policy file."""

_TICK: Final = 100_000_000
"""Minimum age of an unchanged file in nanoseconds: younger ones may change within one tick."""


def guarded(policy: Policy, file: Path) -> Policy:
    """The rules of a file, and one that protects the file itself, also through links."""
    pattern = glob.escape(str(file.resolve()))
    own = Rule(OWN_FILE, Effect.ASK, files=(Access.WRITE, (pattern,)))
    return Policy((*policy.rules, own))


class LivePolicy:
    """A policy file that is reloaded while an agent runs.

    A change applies to the next decision. While the file is unusable, everything is forbidden.
    After
    a deletion, the previous rules stay: an agent must not get rid of them this way.

    Args:
        file: path of the policy; may not exist.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: tuple[int, ...] | None = None
        self._policy = Policy()
        self._error: PolicyError | None = None

    def now(self) -> Policy:
        """The last rules that were read; `problem` tells whether they are valid."""
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
        """Why the rules cannot be read; None if they are valid."""
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
        """Properties that reveal a change; None if the file must be read."""
        try:
            found = self._file.stat()
        except OSError:
            return None
        if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) < _TICK:
            return None
        # The inode's change time covers mode and owner, too.
        return (
            *(found.st_mtime_ns, found.st_ctime_ns),
            *(found.st_size, found.st_ino, found.st_dev),
        )
