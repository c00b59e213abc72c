"""Policy rules, and the actions that they match."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final, Protocol, TypeAlias


class Access(Enum):
    """Kind of access to a file."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class RunScript:
    """Run a script in a shell.

    Attributes:
        text: script.
        is_exact: whether it is the exact script, rather than a title.
        directory: working directory; None for the root of the workspace.
        doubts: other parts of the call that no rule can judge.
    """

    text: str
    is_exact: bool = True
    directory: str | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TouchFile:
    """Read or write a file; a relative path starts at the workspace."""

    access: Access
    path: str


@dataclass(frozen=True, slots=True)
class ToolAction:
    """Call a tool, identified by its title or name, of one of ACP's kinds."""

    name: str
    kind: str


Action: TypeAlias = RunScript | TouchFile | ToolAction


@dataclass(frozen=True, slots=True)
class PolicyWorkspace:
    """Directories of an agent.

    Attributes:
        root: directory of the session.
        others: additional directories.
    """

    root: Path
    others: tuple[Path, ...] = ()

    def resolved(self, path: str) -> Path:
        """File at a path with resolved links; may not exist.

        Raises:
            ValueError: the path is not a valid file name.
        """
        return (self.root / path).resolve()

    def is_path(self, path: str) -> bool:
        """Whether a path is valid; NUL bytes and link loops are not."""
        try:
            self.resolved(path)
        except (ValueError, OSError, RuntimeError):
            return False
        return True

    def holds(self, path: str) -> bool:
        """Whether a path is inside the workspace after resolving links."""
        if not self.is_path(path):
            return False
        target = self.resolved(path)
        return any(
            target.is_relative_to(directory.resolve()) for directory in (self.root, *self.others)
        )


OUTSIDE: Final = "outside-workspace"
"""Pattern for every path outside the workspace."""

INSIDE: Final = "inside-workspace"
"""Pattern for every path in the workspace; for allowed writes, without `.git`."""

_PATTERN: Final = re.compile(r"[*?\[]")
_SHORT_OPTION: Final = re.compile(r"-[A-Za-z0-9]")


class Word(Protocol):
    """One word: source text and value, which may be unknown (None)."""

    @property
    def source(self) -> str:
        """The word as written in the command line, with its quotes."""
        ...

    @property
    def text(self) -> str | None:
        """Value as the program receives it."""
        ...


class CommandRule(Protocol):
    """A command of a script, made by the script parser, which is not imported to read rules."""

    @property
    def words(self) -> Sequence[Word]:
        """Words, starting with the program."""
        ...

    @property
    def assignments(self) -> Sequence[object]:
        """Variables set only for this command."""
        ...

    @property
    def texts(self) -> Sequence[str] | None:
        """Values of all words; None if one is unknown."""
        ...


class Effect(Enum):
    """Effect of a rule, the mildest first."""

    ALLOW = "allow"
    ASK = "ask"
    FORBID = "forbid"


STRICTNESS: Final = (Effect.ALLOW, Effect.ASK, Effect.FORBID)
"""Effects, the mildest first."""


UNRULED: Final = "no rule matches"


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason for the judgment of one part of an action.

    Attributes:
        effect: effect for the part.
        what: the part: a command, a redirect, a path, or a tool.
        rule: name of the deciding rule; None if none decided.
        why: reason for the user, if no rule decided.
    """

    effect: Effect
    what: str
    rule: str | None
    why: str = ""

    def __str__(self) -> str:
        by = f"rule {self.rule}" if self.rule is not None else self.why
        return f"{self.effect.value}: {self.what} ({by})"


def program_of(word: str) -> str:
    """File name of a command's first word; the command `.` is its own name."""
    return PurePosixPath(word).name or word


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy file.

    Attributes:
        name: name of the rule.
        effect: its effect.
        command: first words of a command; each may contain `*`.
        options: at least one must be among the other words, unless empty.
        files: access and file patterns, `outside-workspace`, or `inside-workspace`.
        tool: pattern for tool names.
        anywhere: whether arguments of an allowed command may be outside the workspace.
        accepts: additional options of an allowed command, in the tables' vocabulary.
        match: examples that the rule matches.
        not_match: examples that the rule does not match.
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
        """Whether the rule matches a command.

        To allow, all words must be known and start with those of the rule. To ask or forbid, the
        words only need this order, so that `git -C x push` is still a push.
        """
        if not self.command or not command.words:
            return False
        if self.effect is Effect.ALLOW:
            texts = command.texts
            if texts is None or not is_direct:
                return False
            return _begins(texts, self.command) and self._has_option(texts)
        known = tuple(word.text if word.text is not None else word.source for word in command.words)
        named = (program_of(known[0]), *known[1:])
        is_meant = fnmatchcase(named[0], self.command[0]) and _in_order(named, self.command)
        return is_meant and self._has_option(named)

    def named_places(self, texts: Sequence[str]) -> frozenset[int]:
        """Positions of words that the rule contains exactly, without a pattern."""
        begin = {at for at, word in enumerate(self.command) if not _PATTERN.search(word)}
        others = {at for at, text in enumerate(texts) if at and text in self.options}
        return frozenset(begin | others)

    def matches_file(
        self,
        access: Access,
        path: str,
        workspace: PolicyWorkspace,
        *,
        ignore_outside: bool = False,
    ) -> bool:
        """Whether the rule matches this access to a path.

        Args:
            access: kind of access.
            path: path of the file.
            workspace: the agent's workspace.
            ignore_outside: ignore the pattern `outside-workspace`.
        """
        if self.files is None or self.files[0] is not access:
            return False
        if not workspace.is_path(path):
            # Not a valid file name: no allow rule matches it, and every other rule does.
            return self.effect is not Effect.ALLOW
        patterns = [each for each in self.files[1] if not (ignore_outside and each == OUTSIDE)]
        if self.effect is Effect.ALLOW and access is Access.WRITE and is_of_git(path, workspace):
            patterns = [each for each in patterns if each != INSIDE]
        return any(_is_path(pattern, path, workspace) for pattern in patterns)

    def matches_tool(self, name: str) -> bool:
        return self.tool is not None and fnmatchcase(name, self.tool)

    def _has_option(self, texts: Sequence[str]) -> bool:
        if not self.options:
            return True
        return any(_is_option(option, text) for option in self.options for text in texts[1:])


def strictest(rules: Sequence[Rule], what: str) -> Reason:
    """Judgment by the strictest matching rule; ask if none matches."""
    rule = max(rules, key=lambda each: STRICTNESS.index(each.effect), default=None)
    if rule is None:
        return Reason(Effect.ASK, what, None, UNRULED)
    return Reason(rule.effect, what, rule.name)


def is_of_git(path: str, workspace: PolicyWorkspace) -> bool:
    """Whether a file belongs to git, which runs programs named in such files."""
    parts = {*PurePosixPath(path).parts, *workspace.resolved(path).parts}
    return ".git" in {part.lower() for part in parts}


def _begins(texts: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(texts) >= len(pattern) and all(map(fnmatchcase, texts, pattern))


def _in_order(texts: Sequence[str], pattern: Sequence[str]) -> bool:
    rest = iter(texts)
    return all(any(fnmatchcase(text, each) for text in rest) for each in pattern)


def _is_option(option: str, text: str) -> bool:
    """Whether a word is an option: also abbreviated, with a value, or bundled."""
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
