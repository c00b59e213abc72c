"""What a policy says of an action, and which rule says it.

Of all that applies the strictest holds, and a script is judged as a whole: one forbidden command
forbids it, and it is allowed only if every command in it is. What no rule speaks of is asked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from symposium.policy.actions import Action, CallTool, RunScript, TouchFile, Workspace
from symposium.policy.rules import STRICTNESS, UNRULED, Effect, Reason, Rule, strictest


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
        effect = max((each.effect for each in reasons), key=STRICTNESS.index)
        return Judgement(effect, tuple(reasons))

    def _reasons(self, action: Action, workspace: Workspace) -> Iterable[Reason]:
        match action:
            case RunScript():
                from symposium.policy.commands import (  # noqa: PLC0415 - no start reads a script
                    judge_script,
                )

                return judge_script(self.rules, action, workspace)
            case TouchFile(access, path):
                rules = [
                    rule for rule in self.rules if rule.speaks_of_file(access, path, workspace)
                ]
                return [strictest(rules, f"{access.value} {path}")]
            case CallTool(name, kind):
                rules = [rule for rule in self.rules if rule.speaks_of_tool(name)]
                return [strictest(rules, name or kind)]
