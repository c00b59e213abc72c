"""One rule, and the actions that rules match."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final, Protocol, TypeAlias


class Access(Enum):
    """What happens to a file."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class RunScript:
    """Run this in a shell.

    Attributes:
        text: the script.
        is_exact: whether it is what will run, not a title made for people.
        directory: where it runs; None for the root of the workspace.
        doubts: what else the call asks for that no rule can judge.
    """

    text: str
    is_exact: bool = True
    directory: str | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TouchFile:
    """Read or write a file; the path may be relative to the workspace."""

    access: Access
    path: str


@dataclass(frozen=True, slots=True)
class ToolAction:
    """Anything else: a tool, by its title or name, of one of ACP's kinds."""

    name: str
    kind: str


Action: TypeAlias = RunScript | TouchFile | ToolAction


@dataclass(frozen=True, slots=True)
class PolicyWorkspace:
    """Where an agent works.

    Attributes:
        root: the directory of the session.
        others: further directories that it was given.
    """

    root: Path
    others: tuple[Path, ...] = ()

    def resolved(self, path: str) -> Path:
        """The file that a path leads to, links followed; it need not exist.

        Raises:
            ValueError: no file can have that name.
        """
        return (self.root / path).resolve()

    def is_path(self, path: str) -> bool:
        """Whether a file can have that name; one with a NUL byte, or a loop of links, cannot."""
        try:
            self.resolved(path)
        except (ValueError, OSError, RuntimeError):
            return False
        return True

    def holds(self, path: str) -> bool:
        """Whether it leads to a place inside; a link that leads out does not."""
        if not self.is_path(path):
            return False
        target = self.resolved(path)
        return any(
            target.is_relative_to(directory.resolve()) for directory in (self.root, *self.others)
        )


OUTSIDE: Final = "outside-workspace"
"""Stands for every path that leads out of the workspace."""

INSIDE: Final = "inside-workspace"
"""Every path in the workspace; to allow writing, only those that are not in `.git`."""

_PATTERN: Final = re.compile(r"[*?\[]")
_SHORT_OPTION: Final = re.compile(r"-[A-Za-z0-9]")


class Word(Protocol):
    """One word: as it was written, and as the program gets it; None where that is unknown."""

    @property
    def source(self) -> str:
        """As it was written."""
        ...

    @property
    def text(self) -> str | None:
        """As the program gets it."""
        ...


class CommandRule(Protocol):
    """A command of a script. The parser of scripts makes it, and is not loaded to read rules."""

    @property
    def words(self) -> Sequence[Word]:
        """The program first."""
        ...

    @property
    def assignments(self) -> Sequence[object]:
        """The variables that are set for it alone."""
        ...

    @property
    def texts(self) -> Sequence[str] | None:
        """All words as the program gets them; None if one of them is unknown."""
        ...


class Effect(Enum):
    """What becomes of what a rule speaks of, the milder first."""

    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


STRICTNESS: Final = (Effect.ALLOW, Effect.ASK, Effect.FORBID)
"""The effects, the milder first."""


UNRULED: Final = "no rule speaks of it"


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
class Rule:
    """One rule of a policy file.

    Attributes:
        name: what it is called where it has decided.
        effect: what it says.
        command: the words a command begins with; each may hold `*`.
        options: at least one of these stands among the other words, if any are named.
        files: what happens to which files: patterns, `outside-workspace` or `inside-workspace`.
        tool: a pattern for names of tools.
        anywhere: whether arguments of an allowed command may lead out of the workspace.
        accepts: options of an allowed command that its table lacks, in the tables' vocabulary.
        match: examples that it speaks of.
        not_match: examples that it does not.
    """

    name: str
    effect: Effect
    command: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    files: tuple[Access, tuple[str, ...]] | None = None
    tool: str | None = None
    anywhere: bool = False
    accepts: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()

    def matches_command(self, command: CommandRule, *, is_direct: bool) -> bool:
        """Whether it holds for this command.

        To allow, all words must be known, and begin as the rule says. To ask or forbid, the words
        need only come in this order, so that `git -C x push` is still a push.
        """
        if not self.command or not command.words:
            return False
        if self.effect is Effect.ALLOW:
            texts = command.texts
            if texts is None or not is_direct:
                return False
            return _begins(texts, self.command) and self._has_option(texts)
        known = tuple(word.text if word.text is not None else word.source for word in command.words)
        named = (PurePosixPath(known[0]).name, *known[1:])
        is_meant = fnmatchcase(named[0], self.command[0]) and _in_order(named, self.command)
        return is_meant and self._has_option(named)

    def named_places(self, texts: Sequence[str]) -> frozenset[int]:
        """The places of the words that the rule names exactly, without a pattern."""
        begin = {at for at, word in enumerate(self.command) if not _PATTERN.search(word)}
        others = {at for at, text in enumerate(texts) if at and text in self.options}
        return frozenset(begin | others)

    def speaks_of_file(
        self,
        access: Access,
        path: str,
        workspace: PolicyWorkspace,
        *,
        besides_outside: bool = False,
    ) -> bool:
        """Whether it holds for this access to this path.

        Args:
            access: what happens to the file.
            path: the file.
            workspace: where the agent works.
            besides_outside: leave out the pattern `outside-workspace`.
        """
        if self.files is None or self.files[0] is not access:
            return False
        if not workspace.is_path(path):
            # No file has this name: no rule allows it, and every other rule holds for it.
            return self.effect is not Effect.ALLOW
        patterns = [each for each in self.files[1] if not (besides_outside and each == OUTSIDE)]
        if self.effect is Effect.ALLOW and access is Access.WRITE and is_of_git(path, workspace):
            patterns = [each for each in patterns if each != INSIDE]
        return any(_is_path(pattern, path, workspace) for pattern in patterns)

    def speaks_of_tool(self, name: str) -> bool:
        """Whether it holds for this tool."""
        return self.tool is not None and fnmatchcase(name, self.tool)

    def _has_option(self, texts: Sequence[str]) -> bool:
        if not self.options:
            return True
        return any(_is_option(option, text) for option in self.options for text in texts[1:])


def strictest(rules: Sequence[Rule], what: str) -> Reason:
    """What the strictest of the rules that speak of a part says; asked where none does."""
    rule = max(rules, key=lambda each: STRICTNESS.index(each.effect), default=None)
    if rule is None:
        return Reason(Effect.ASK, what, None, UNRULED)
    return Reason(rule.effect, what, rule.name)


def is_of_git(path: str, workspace: PolicyWorkspace) -> bool:
    """Whether a file is git's own: git runs the programs that such files name."""
    parts = {*PurePosixPath(path).parts, *workspace.resolved(path).parts}
    return ".git" in {part.lower() for part in parts}


def _begins(texts: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(texts) >= len(pattern) and all(map(fnmatchcase, texts, pattern))


def _in_order(texts: Sequence[str], pattern: Sequence[str]) -> bool:
    rest = iter(texts)
    return all(any(fnmatchcase(text, each) for text in rest) for each in pattern)


def _is_option(option: str, text: str) -> bool:
    """Whether a word is that option, also cut short, with its value, or among short ones."""
    if option.startswith("--"):
        name = text.partition("=")[0]
        return name == option or (len(name) > len("--") and option.startswith(name))
    if _SHORT_OPTION.fullmatch(option):
        return bool(re.match(r"-[A-Za-z0-9]", text)) and option[1] in text.partition("=")[0]
    return fnmatchcase(text, option)


def _is_path(pattern: str, path: str, workspace: PolicyWorkspace) -> bool:
    if pattern == OUTSIDE:
        return not workspace.holds(path)
    if pattern == INSIDE:
        return workspace.holds(path)
    target = workspace.resolved(path)
    if pattern.startswith(("/", "~")):
        return fnmatchcase(str(target), str(PurePosixPath(pattern)))
    root = workspace.root.resolve()
    shown = str(target.relative_to(root)) if target.is_relative_to(root) else str(target)
    return fnmatchcase(shown, pattern) or fnmatchcase(f"/{shown}", f"*/{pattern}")
