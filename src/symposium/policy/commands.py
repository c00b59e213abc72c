"""Judge a script: each command in it by its words, and the files that it reaches."""

from collections.abc import Iterable, Sequence

from localio.shell import SimpleCommand
from symposium.policy.actions import RunScript, Workspace
from symposium.policy.programs.arguments import understand
from symposium.policy.programs.meanings import Use
from symposium.policy.reach import Reach, Touch, directories_of
from symposium.policy.rules import Effect, Reason, Rule, strictest
from symposium.policy.unwrapped import Found, everything_in, guessed_words


def judge_script(
    rules: Sequence[Rule], action: RunScript, workspace: Workspace
) -> Sequence[Reason]:
    """What the rules say of each command, each redirect, and of what cannot be known."""
    everything = everything_in(action.text)
    start = action.directory or ""
    reach = Reach(rules, workspace, directories_of(everything, start, workspace))
    reasons = [each for found in everything.found for each in _command(found, reach)]
    touches = [reach.redirect(each) for each in everything.redirects]
    reasons += [_touched(each.path, each) for each in touches if each is not None]
    doubts = [*everything.doubts, *action.doubts]
    if not workspace.holds(start):
        doubts.append(f"it runs in {start}, outside the workspace")
    if not reach.directories.is_known:
        doubts.append("it changes to a directory that is not known")
    if not action.is_exact:
        doubts.append("only its title is known")
    return [*reasons, *(Reason(Effect.ASK, action.text, None, doubt) for doubt in doubts)]


def _command(found: Found, reach: Reach) -> Sequence[Reason]:
    command = found.command
    rules = [
        rule for rule in reach.rules if rule.speaks_of_command(command, is_direct=found.is_direct)
    ]
    if rules and all(rule.effect is Effect.ALLOW for rule in rules):
        options = [_allowed(command, rule, reach) for rule in rules]
        return next((each for each in options if len(each) == 1), options[0])
    ruled = _ruled(command, _uses(command), reach)
    if rules or (found.is_direct and not _enters(command, reach)):
        return [strictest(rules, command.source), *ruled]
    return ruled


def _allowed(command: SimpleCommand, rule: Rule, reach: Reach) -> Sequence[Reason]:
    """What a rule that allows a command leaves to ask; just its own word if nothing."""
    texts, what = guessed_words(command), command.source
    known = understand(texts, rule.named_places(texts), rule.accepts)
    reasons = [Reason(Effect.ALLOW, what, rule.name)]
    reasons += _ruled(command, known.uses, reach, is_free=rule.anywhere)
    for use in known.uses:
        reasons += [_touched(f"{what} ({each.path})", each) for each in reach.unruled(use, rule)]
    return [*reasons, *(Reason(Effect.ASK, what, None, doubt) for doubt in known.doubts)]


def _uses(command: SimpleCommand) -> Sequence[Use]:
    return understand(guessed_words(command)).uses if command.words else ()


def _ruled(
    command: SimpleCommand, uses: Iterable[Use], reach: Reach, *, is_free: bool = False
) -> Sequence[Reason]:
    """What the rules on files say against the paths of a command."""
    return [
        _touched(f"{command.source} ({touch.path})", touch)
        for use in uses
        for touch in reach.ruled(use, is_free=is_free)
    ]


def _enters(command: SimpleCommand, reach: Reach) -> bool:
    """Whether it only enters a directory of the workspace, which needs no rule."""
    texts = command.texts
    if texts is None or texts[:1] != ("cd",) or not reach.directories.is_known:
        return False
    return all(map(reach.workspace.holds, reach.directories.paths))


def _touched(what: str, touch: Touch) -> Reason:
    return Reason(touch.effect, what, touch.rule, touch.why)
