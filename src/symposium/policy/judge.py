"""What a policy says of an action, and which rule says it.

Of all that applies the strictest holds, and a script is judged as a whole: one forbidden command
forbids it, and it is allowed only if every command in it is. What no rule speaks of is asked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from symposium.policy.actions import Access, Action, CallTool, RunScript, TouchFile, Workspace
from symposium.policy.rules import Effect, Rule
from symposium.policy.script import Redirect, SimpleCommand
from symposium.policy.unwrapped import Everything, everything_in, program_name

UNRULED: Final = "no rule speaks of it"

_STRICTNESS: Final = (Effect.ALLOW, Effect.ASK, Effect.FORBID)
_HARMLESS_TARGETS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})
_WRITERS: Final = frozenset(
    {
        *("rm", "rmdir", "unlink", "shred", "truncate"),
        *("mv", "cp", "install", "ln", "tee", "dd"),
        *("touch", "mkdir", "chmod", "chown", "chgrp"),
    }
)
_MOVES: Final = frozenset({"cd", "pushd", "popd"})


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one part of an action is judged so.

    Attributes:
        effect: what follows for the part.
        what: the part: a command, a redirect, a path, a tool.
        rule: the name of the rule; None where none decided.
        why: the same for a person, where no rule decided.
    """

    effect: Effect
    what: str
    rule: str | None
    why: str = ""

    def __str__(self) -> str:
        by = f"rule {self.rule}" if self.rule is not None else self.why
        return f"{self.effect.value}: {self.what} ({by})"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of an action.

    Attributes:
        effect: the strictest of the reasons.
        reasons: one for each part, in the order of the action.
    """

    effect: Effect
    reasons: tuple[Reason, ...]

    @property
    def decisive(self) -> Reason | None:
        """The first reason of that effect, one of a rule before one without."""
        ours = [reason for reason in self.reasons if reason.effect is self.effect]
        return next((each for each in ours if each.rule is not None), next(iter(ours), None))

    @property
    def rule(self) -> str | None:
        """The rule that decided; None where nothing but the lack of one did."""
        return None if self.decisive is None else self.decisive.rule


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one user, in the order of the file."""

    rules: tuple[Rule, ...] = ()

    def judge(self, actions: Sequence[Action], workspace: Workspace) -> Judgement:
        """Judge what is to be done at once, as a whole."""
        reasons = [reason for each in actions for reason in self._reasons(each, workspace)]
        if not reasons:
            reasons = [Reason(Effect.ASK, "nothing that is known", None, UNRULED)]
        strictest = max((each.effect for each in reasons), key=_STRICTNESS.index)
        return Judgement(strictest, tuple(reasons))

    def _reasons(self, action: Action, workspace: Workspace) -> Iterable[Reason]:
        match action:
            case RunScript():
                return self._script(action, workspace)
            case TouchFile(access, path):
                return [self._file(access, path, workspace, path)]
            case CallTool(name, kind):
                rules = [rule for rule in self.rules if rule.speaks_of_tool(name)]
                return [_strictest(rules, name or kind)]

    def _script(self, action: RunScript, workspace: Workspace) -> list[Reason]:
        everything = everything_in(action.text)
        reasons: list[Reason] = []
        for found in everything.found:
            rules = [
                rule
                for rule in self.rules
                if rule.speaks_of_command(found.command, is_direct=found.is_direct)
            ]
            if rules or found.is_direct:
                reasons.append(_strictest(rules, found.command.source))
            is_free = any(rule.effect is Effect.ALLOW and rule.anywhere for rule in rules)
            if not is_free:
                reasons += self._arguments(found.command, everything, workspace)
        reasons += [
            reason
            for each in everything.redirects
            for reason in self._redirect(each, everything, workspace)
        ]
        doubts = [Reason(Effect.ASK, action.text, None, doubt) for doubt in everything.doubts]
        if not action.is_exact:
            doubts.append(Reason(Effect.ASK, action.text, None, "only its title is known"))
        return [*reasons, *doubts]

    def _arguments(
        self, command: SimpleCommand, everything: Everything, workspace: Workspace
    ) -> list[Reason]:
        """What its arguments, taken for paths, lead to: only what a rule speaks of."""
        writes = program_name(command) in _WRITERS
        reasons: list[Reason] = []
        for word in command.words[1:]:
            path = word.text.rpartition("=")[2] if word.text and "=" in word.text else word.text
            if path is None or not ("/" in path or path == ".." or (writes and path[:1] != "-")):
                continue
            if _moves(everything) and not path.startswith("/"):
                continue
            reason = self._file(Access.WRITE, path, workspace, command.source)
            if reason.rule is None or reason.effect is Effect.ALLOW:
                continue
            # Nobody knows what an unknown program does with a path: it is asked, not forbidden.
            effect = reason.effect if writes else Effect.ASK
            reasons.append(Reason(effect, f"{command.source} ({path})", reason.rule))
        return reasons

    def _redirect(
        self, redirect: Redirect, everything: Everything, workspace: Workspace
    ) -> list[Reason]:
        what = f"{redirect.operator} {redirect.target.source}"
        path = redirect.target.text
        if path is None:
            return [Reason(Effect.ASK, what, None, "where it writes cannot be known")]
        if path in _HARMLESS_TARGETS:
            return []
        if _moves(everything) and not path.startswith("/"):
            return [Reason(Effect.ASK, what, None, "the script changes its directory")]
        return [self._file(Access.WRITE, path, workspace, what)]

    def _file(self, access: Access, path: str, workspace: Workspace, what: str) -> Reason:
        rules = [rule for rule in self.rules if rule.speaks_of_file(access, path, workspace)]
        return _strictest(rules, f"{access.value} {path}" if what == path else what)


def _moves(everything: Everything) -> bool:
    return any(program_name(found.command) in _MOVES for found in everything.found)


def _strictest(rules: Sequence[Rule], what: str) -> Reason:
    if not rules:
        return Reason(Effect.ASK, what, None, UNRULED)
    rule = max(rules, key=lambda each: _STRICTNESS.index(each.effect))
    return Reason(rule.effect, what, rule.name)
