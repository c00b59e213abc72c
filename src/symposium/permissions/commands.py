"""Judge a script: its commands and the files that they use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from localio.shell import READS, WRITES, Redirect, SimpleCommand
from symposium.permissions.programs.arguments import (
    Everything,
    FoundCommand,
    all_commands,
    guessed_words,
    program_name,
    understand,
)
from symposium.permissions.programs.vocabulary import Use, WordKind
from symposium.permissions.rules import (
    STRICTNESS,
    Access,
    Effect,
    PolicyWorkspace,
    Reason,
    Rule,
    RunScript,
    is_of_git,
    strictest,
)

_STREAMS: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_HARMLESS: Final = _STREAMS | {"-"}
_DUPLICATES: Final = frozenset({">&", "<&"})
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")
_MOVES: Final = frozenset({"cd", "pushd", "popd"})
_ACCESSES: Final = {
    WordKind.READ: (Access.READ,),
    WordKind.WRITE: (Access.WRITE,),
    WordKind.REMOVE: (Access.WRITE,),
    WordKind.OUTPUT: (Access.WRITE,),
    WordKind.UNKNOWN: (Access.READ, Access.WRITE),
}
_OUTSIDE: Final = "it is outside the workspace"
_UNRULED_WRITE: Final = "no rule on files allows this"


@dataclass(frozen=True, slots=True)
class Directories:
    """The directories in which a command of a script can run.

    Attributes:
        paths: directories that the script enters; the initial one first.
        is_known: False if a directory depends on the running shell.
    """

    paths: tuple[str, ...]
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Touch:
    """Judgment of one use of a path.

    Attributes:
        effect: ask or forbid; allowed uses are not listed.
        path: the path.
        rule: name of the deciding rule; None if none decided.
        why: reason, if no rule decided.
    """

    effect: Effect
    path: str
    rule: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class PathReach:
    """Judges paths by the rules on files.

    Attributes:
        rules: all rules; those for other subjects are ignored.
        workspace: the agent's workspace.
        directories: directories of the commands.
    """

    rules: Sequence[Rule]
    workspace: PolicyWorkspace
    directories: Directories

    def ruled(self, use: Use, *, is_free: bool) -> Iterator[Touch]:
        """Objections of the file rules to a use; with is_free, it may be outside."""
        for path in self._paths(use):
            for access in _ACCESSES[use.kind]:
                rule = self._rule(access, path, is_free=is_free)
                if rule is None or rule.effect is Effect.ALLOW:
                    continue
                # The effect of an unknown program on a path is unknown, so ask.
                effect = Effect.ASK if use.kind is WordKind.UNKNOWN else rule.effect
                yield Touch(effect, path, rule.name)

    def unruled(self, use: Use, allows: Rule) -> Iterator[Touch]:
        """Reasons to ask about a use, although a rule allows the command and none objects."""
        if not self._is_path(use) or use.text in _HARMLESS:
            return
        if not self.workspace.is_path(use.text):
            yield Touch(Effect.ASK, use.text, None, "not a valid file name")
        elif not self.directories.is_known and not use.text.startswith("/"):
            yield Touch(Effect.ASK, use.text, None, "the script changes its directory")
        for path in self._paths(use):
            why = self._why(use, path, allows) if self.workspace.is_path(path) else None
            if why is not None:
                yield Touch(Effect.ASK, path, None, why)

    def redirect(self, redirect: Redirect) -> Touch | None:
        """Objection to a redirect; None if a rule allows it or it is harmless."""
        path, what = redirect.target.text, f"{redirect.operator} {redirect.target.source}"
        if path is None:
            return Touch(Effect.ASK, what, None, "its target is unknown")
        if path.startswith(_NETWORK):
            return Touch(Effect.ASK, what, None, "it connects to another machine")
        # `>&-` closes a stream; `> -` writes a file with this name.
        if path in (_HARMLESS if redirect.operator in _DUPLICATES else _STREAMS):
            return None
        found: list[Touch] = []
        if not self.directories.is_known and not path.startswith("/"):
            found.append(Touch(Effect.ASK, what, None, "the script changes its directory"))
        for place in self._placed((path,)):
            if redirect.operator in READS:
                found += self._redirected(Access.READ, place, what)
            if redirect.operator in WRITES:
                found += self._redirected(Access.WRITE, place, what)
        return max(found, key=lambda each: STRICTNESS.index(each.effect), default=None)

    def _redirected(self, access: Access, path: str, what: str) -> list[Touch]:
        rule = self._rule(access, path, is_free=False)
        if rule is not None:
            return [] if rule.effect is Effect.ALLOW else [Touch(rule.effect, what, rule.name)]
        if access is Access.WRITE:
            return [Touch(Effect.ASK, what, None, _UNRULED_WRITE)]
        return [] if self.workspace.holds(path) else [Touch(Effect.ASK, what, None, _OUTSIDE)]

    def _why(self, use: Use, path: str, allows: Rule) -> str | None:
        if use.kind is WordKind.REMOVE and not use.is_named and self._is_root(path):
            return "it removes the workspace itself"
        rules = [self._rule(access, path, is_free=False) for access in _ACCESSES[use.kind]]
        why: str | None = None
        if all(rule is not None for rule in rules):
            return why
        if use.kind is WordKind.OUTPUT and not set(use.by.split()) & {
            *allows.command,
            *allows.options,
        }:
            why = f"`{use.by or 'the last word'}` writes it, and no rule on files allows this"
        elif use.is_named:
            return why
        elif not self.workspace.holds(path) and not allows.anywhere:
            why = _OUTSIDE
        elif Access.WRITE in _ACCESSES[use.kind] and is_of_git(path, self.workspace):
            why = "git runs programs that files in `.git` name"
        return why

    def _is_root(self, path: str) -> bool:
        target = self.workspace.resolved(path)
        return self.workspace.root.resolve().is_relative_to(target)

    def _rule(self, access: Access, path: str, *, is_free: bool) -> Rule | None:
        speaking = [
            rule
            for rule in self.rules
            if rule.matches_file(
                access,
                path,
                self.workspace,
                ignore_outside=is_free and rule.effect is not Effect.FORBID,
            )
        ]
        return max(speaking, key=lambda each: STRICTNESS.index(each.effect), default=None)

    def _paths(self, use: Use) -> Iterable[str]:
        if not self._is_path(use) or use.text in _HARMLESS:
            return ()
        return self._placed(_joined(base, use.text) for base in use.bases)

    def _placed(self, paths: Iterable[str]) -> list[str]:
        """Absolute paths, for each directory of the script."""
        return list(
            dict.fromkeys(_joined(base, path) for path in paths for base in self.directories.paths)
        )

    def _is_path(self, use: Use) -> bool:
        if use.kind is WordKind.UNKNOWN:
            return "/" in use.text or use.text.startswith(".")
        return use.kind in _ACCESSES


def directories_of(everything: Everything, start: str, workspace: PolicyWorkspace) -> Directories:
    """Directories that a script enters with `cd`."""
    paths = [start]
    moves = [each.command for each in everything.found if program_name(each.command) in _MOVES]
    for command in moves:
        texts = command.texts
        words = [each for each in texts or () if each not in {"-P", "-L", "--"}]
        is_plain = texts is not None and len(words) == len(("cd", "directory")) and texts[0] == "cd"
        if not is_plain or words[1].startswith("-") or not workspace.is_path(words[1]):
            return Directories(tuple(paths), is_known=False)
        # A relative step up may be repeated or skipped, so its target is unknown.
        is_up = not words[1].startswith("/") and ".." in PurePosixPath(words[1]).parts
        if is_up:
            return Directories(tuple(paths), is_known=False)
        paths += [_joined(base, words[1]) for base in list(paths)]
        if len(paths) > _MAX_DIRECTORIES:
            return Directories(tuple(paths), is_known=False)
    return Directories(tuple(dict.fromkeys(paths)))


_MAX_DIRECTORIES: Final = 64


def _joined(base: str, path: str) -> str:
    return path if not base or path.startswith("/") else f"{base}/{path}"


def judge_script(
    rules: Sequence[Rule], action: RunScript, workspace: PolicyWorkspace
) -> Sequence[Reason]:
    """Judge each command, each redirect, and each unknown part."""
    everything = all_commands(action.text)
    start = action.directory or ""
    reach = PathReach(rules, workspace, directories_of(everything, start, workspace))
    reasons = [each for shell in everything.shells for each in _shell(shell, rules)]
    reasons += [each for found in everything.found for each in _command(found, reach)]
    touches = [reach.redirect(each) for each in everything.redirects]
    reasons += [_touched(each.path, each) for each in touches if each is not None]
    doubts = [*everything.doubts, *action.doubts]
    if not workspace.holds(start):
        doubts.append(f"it runs in {start}, outside the workspace")
    if not reach.directories.is_known:
        doubts.append("it changes to an unknown directory")
    if not action.is_exact:
        doubts.append("only its title is known")
    return [*reasons, *(Reason(Effect.ASK, action.text, None, doubt) for doubt in doubts)]


def _shell(command: SimpleCommand, rules: Sequence[Rule]) -> Sequence[Reason]:
    """Objection of the rules to the shell itself; a rule that allows it allows no script."""
    objecting = [rule for rule in rules if rule.matches_command(command, is_direct=False)]
    return [strictest(objecting, command.source)] if objecting else []


def _command(found: FoundCommand, reach: PathReach) -> Sequence[Reason]:
    command = found.command
    rules = [
        rule for rule in reach.rules if rule.matches_command(command, is_direct=found.is_direct)
    ]
    if rules and all(rule.effect is Effect.ALLOW for rule in rules):
        options = [_allowed(command, rule, reach) for rule in rules]
        return next((each for each in options if len(each) == 1), options[0])
    ruled = _ruled(command, _uses(command), reach)
    if rules or (found.is_direct and not _enters(command, reach)):
        return [strictest(rules, command.source), *ruled]
    return ruled


def _allowed(command: SimpleCommand, rule: Rule, reach: PathReach) -> Sequence[Reason]:
    """Remaining questions about an allowed command; the rule itself if none remain."""
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
    command: SimpleCommand, uses: Iterable[Use], reach: PathReach, *, is_free: bool = False
) -> Sequence[Reason]:
    """Objections of the file rules to the paths of a command."""
    return [
        _touched(f"{command.source} ({touch.path})", touch)
        for use in uses
        for touch in reach.ruled(use, is_free=is_free)
    ]


def _enters(command: SimpleCommand, reach: PathReach) -> bool:
    """Whether it only enters a directory of the workspace, which requires no rule."""
    texts = command.texts
    if texts is None or texts[:1] != ("cd",) or not reach.directories.is_known:
        return False
    return all(map(reach.workspace.holds, reach.directories.paths))


def _touched(what: str, touch: Touch) -> Reason:
    return Reason(touch.effect, what, touch.rule, touch.why)
