"""Analyze the words of a command: files that it reads and writes, and commands that it runs."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.shell import Redirect, Script, ShellWord, SimpleCommand, read_script
from symposium.permissions.programs.catalog import module_program, program_for, system_program
from symposium.permissions.programs.vocabulary import (
    KnownProgram,
    Meanings,
    Style,
    Use,
    WordKind,
    Words,
    is_harmless,
    operand_kinds,
    option_kinds,
)
from symposium.permissions.rules import program_of

_UNKNOWN: Final = KnownProgram("", "unknown*")


@dataclass(frozen=True, slots=True)
class Understanding:
    """Analysis of a command.

    Attributes:
        uses: effects of its words.
        doubts: reasons why the analysis is incomplete; empty if every word is known.
    """

    uses: tuple[Use, ...]
    doubts: tuple[str, ...]


def understand(
    words: Sequence[str], named: AbstractSet[int] = frozenset(), accepts: Sequence[str] = ()
) -> Understanding:
    """Analyze a command with the table of its program.

    Without a table, plain words are accepted, and each option is a doubt.

    Args:
        words: program and arguments.
        named: positions of words in the rule itself, which are never doubts.
        accepts: additional options in the vocabulary of the tables, or `*` for any.
    """
    state = Words(words, named, accepts)
    _read(state, program_for(words[0]), 1, words[0])
    return Understanding(tuple(state.uses), tuple(dict.fromkeys(state.doubts)))


def _read(words: Words, program: KnownProgram | None, start: int, name: str) -> None:
    """Analyze the words from a position on as those of a program or subcommand."""
    _Pass(words, program or _UNKNOWN, name).read(start)


@dataclass(frozen=True, slots=True)
class _Taken:
    """An option with its value, and the position of the value's word."""

    name: str
    kind: WordKind
    value: str
    at: int


class _Pass:
    """Analyzes the words of one program, up to a subcommand."""

    def __init__(self, words: Words, program: KnownProgram, name: str) -> None:
        self._words = words
        self._meanings = Meanings(words, program, name)
        self._program = program
        self._name = name
        self._kinds: Mapping[str, WordKind] = {
            **option_kinds(program.options, program.style),
            **words.accepted,
        }
        self._flags: set[str] = set()
        self._taken: list[_Taken] = []

    def read(self, start: int) -> None:
        operands, rest = self._scan(start)
        program, words = self._program, self._words
        self._overrule()
        for taken in self._taken:
            if taken.kind is WordKind.ENTER:
                self._meanings.text(WordKind.READ, taken.value, taken.at, taken.name)
                words.bases = (*words.bases, *(_joined(b, taken.value) for b in words.bases))
        for taken in self._taken:
            if taken.kind is not WordKind.MODULE:
                self._meanings.text(taken.kind, taken.value, taken.at, taken.name)
        for option, kind in program.implies.items():
            if not option or option in self._flags:
                words.use(WordKind(kind), ".", -1, option)
        module = next((each for each in self._taken if each.kind is WordKind.MODULE), None)
        if module is not None:
            self._module(module.value, module.at, rest)
        elif program.commands:
            self._command(operands)
        else:
            self._operands(operands, rest)

    def _scan(self, start: int) -> tuple[list[int], int]:
        """Note the options; return the operands and the position of the remaining words."""
        words, program = self._words.given, self._program
        operands: list[int] = []
        at = self._old_bundle(start)
        while at < len(words):
            if words[at] == "--" and program.style is not Style.WORDS:
                if program.rest is None:
                    operands += range(at + 1, len(words))
                else:
                    _read(self._words, program.rest, at + 1, f"{self._name} --")
                return operands, len(words)
            count = self._option(at)
            if any(each.kind is WordKind.MODULE for each in self._taken):
                return operands, at + count
            if count == 0:
                operands.append(at)
                if program.stops or program.commands:
                    return operands, at + 1
            at += count or 1
        return operands, at

    def _old_bundle(self, start: int) -> int:
        """Analyze the first word of `tar xf a`; return the position after its values."""
        words = self._words.given
        is_bundle = self._program.style is Style.BUNDLE and start < len(words)
        if not is_bundle or words[start].startswith("-"):
            return start
        at = start + 1
        for letter in words[start]:
            kind = self._kinds.get(f"-{letter}")
            if kind is None:
                self._meanings.unknown_option(f"-{letter}", start)
            elif kind is WordKind.FLAG:
                self._flags.add(f"-{letter}")
            else:
                self._take(f"-{letter}", kind, None, at - 1)
                at += 1
        return at

    def _option(self, at: int) -> int:
        """Analyze an option; return its number of words, 0 for an operand."""
        text = self._words.given[at]
        name, equals, value = text.partition("=")
        is_word = self._program.style is Style.WORDS or name in self._words.accepted
        is_whole = is_word or text.startswith("--")
        if text in self._kinds and is_whole:
            return self._take(text, self._kinds[text], None, at)
        if name in self._kinds and equals and is_whole:
            return self._take(name, self._kinds[name], value, at)
        if not text.startswith("-") or text == "-":
            return 0
        return self._meanings.unknown_option(name, at) if is_whole else self._letters(at)

    def _letters(self, at: int) -> int:
        """Analyze short options in one word: `-la`, `-n5`, `-xf FILE`."""
        text = self._words.given[at]
        if text[1:].isdigit() and "-NUM" in self._kinds:
            return 1
        for place, letter in enumerate(text[1:], start=1):
            kind = self._kinds.get(f"-{letter}")
            rest = text[place + 1 :]
            if kind is None:
                return self._meanings.unknown_option(f"-{letter}", at)
            if kind is WordKind.FLAG:
                self._flags.add(f"-{letter}")
            else:
                return self._take(f"-{letter}", kind, rest or None, at)
        return 1

    def _take(self, name: str, kind: WordKind, value: str | None, at: int) -> int:
        self._flags.add(name)
        words = self._words.given
        if kind is WordKind.FLAG:
            if value is not None:
                self._words.doubt(at, f"`{name}` of `{self._name}` takes no value")
            return 1
        if kind is WordKind.OPTIONAL:
            self._meanings.text(kind, value or "", at, name)
            return 1
        count, place = (1, at) if value is not None else (2, at + 1)
        if place >= len(words):
            self._words.doubts.append(f"`{name}` lacks a value")
            return 1
        self._taken.append(_Taken(name, kind, value if value is not None else words[place], place))
        return count

    def _overrule(self) -> None:
        """Change the meaning of options that depend on others."""
        program = self._program
        for option, changed in program.when.items():
            if option in self._flags:
                kinds = option_kinds(changed, program.style)
                self._taken = [
                    _Taken(each.name, kinds.get(each.name, each.kind), each.value, each.at)
                    for each in self._taken
                ]

    def _command(self, operands: list[int]) -> None:
        if not operands:
            return
        words, at = self._words, operands[0]
        name = f"{self._name} {words.given[at]}"
        command = self._program.commands.get(words.given[at])
        if command is None:
            words.doubt(at, f"`{name}` is not a known subcommand")
        _read(words, command, at + 1, name)

    def _module(self, text: str, at: int, rest: int) -> None:
        """Note code that a rule must name; the following words are its own."""
        self._words.doubt(at, f"no rule names `{text}`, which `{self._name}` would run")
        self._words.use(WordKind.UNKNOWN, text, at, "")
        _read(self._words, module_program(text), rest, text)

    def _operands(self, operands: list[int], rest: int) -> None:
        places = (
            [*operands, *range(rest, len(self._words.given))] if self._program.stops else operands
        )
        spec, by = self._operand_spec()
        kinds = operand_kinds(spec, len(places))
        for place, kind in zip(places, kinds, strict=True):
            text = self._words.given[place]
            if kind is WordKind.MODULE:
                self._module(text, place, place + 1)
                return
            if kind is None:
                self._words.doubt(place, f"`{text}` is not expected by `{self._name}`")
            self._meanings.text(kind or WordKind.UNKNOWN, text, place, by)

    def _operand_spec(self) -> tuple[str, str]:
        """Kinds of the operands, and the options that determine them."""
        operands = self._program.operands
        if isinstance(operands, str):
            return operands, ""
        for options, spec in operands.items():
            if options and self._flags.issuperset(options.split()):
                return spec, options
        return operands.get("", ""), ""


def _joined(base: str, directory: str) -> str:
    return directory if directory.startswith("/") or not base else f"{base}/{directory}"


DEEPEST: Final = 8
"""Maximum depth of nested scripts; deeper ones are doubts."""

MAX_COMMANDS: Final = 2000
"""Maximum number of analyzed commands; more are a doubt."""

FARTHEST: Final = 64
"""Number of words after `sudo` and the like at which its command may start."""

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

_PLAIN_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_PLAIN_FLAGS: Final = re.compile(r"-[eluxvco]+")
_PLAIN_SETTINGS: Final = frozenset({"errexit", "nounset", "pipefail", "noglob", "xtrace"})
_SETTING: Final = re.compile(r"^[\w.*-]+=!?")
"""Prefix of the command in tar's `exec=COMMAND` and git's `alias.x=!COMMAND`."""

_HOME: Final = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")

_WRAPPERS: Final = frozenset(
    {
        *("sudo", "doas", "su", "runuser", "env", "nohup", "nice", "ionice", "chrt", "taskset"),
        *("time", "timeout", "stdbuf", "unbuffer", "setsid", "script", "strace", "ltrace"),
        *("command", "builtin", "exec", "eval", "source", ".", "trap", "coproc", "busybox"),
        *("xargs", "parallel", "watch", "entr", "flock", "ssh"),
        *("chroot", "unshare", "nsenter", "systemd-run"),
    }
)
_FINDERS: Final = {"find": ("-exec", "-ok", "-delete"), "fd": ("-x", "-X", "--exec")}
_READ_AS_SCRIPT: Final = frozenset({"trap", "su", "ssh", "watch", "script", "parallel"})


@dataclass(frozen=True, slots=True)
class FoundCommand:
    """A command of a script, or one that another command runs.

    Attributes:
        is_direct: whether the script runs it directly; another program may add arguments, or change
            the user or the environment.
    """

    command: SimpleCommand
    is_direct: bool


@dataclass(frozen=True, slots=True)
class Everything:
    """All commands that a script would run.

    Attributes:
        found: commands, without the shells in `shells`.
        shells: calls of a shell with a script, whose commands are among the others.
        redirects: redirects of all commands.
        doubts: parts that cannot be analyzed.
    """

    found: tuple[FoundCommand, ...]
    shells: tuple[SimpleCommand, ...]
    redirects: tuple[Redirect, ...]
    doubts: tuple[str, ...]


def all_commands(text: str) -> Everything:
    """All commands of a script, including those run by other commands."""
    walk = _Walk([], [], [], [])
    walk.script(read_script(text), depth=0, is_direct=True)
    return Everything(
        tuple(walk.found),
        tuple(walk.shells),
        tuple(walk.redirects),
        tuple(dict.fromkeys(walk.doubts)),
    )


def program_name(command: SimpleCommand) -> str | None:
    """File name of the program; None if unknown."""
    if not command.words or command.words[0].text is None:
        return None
    return program_of(command.words[0].text)


@dataclass(frozen=True, slots=True)
class _Walk:
    found: list[FoundCommand]
    shells: list[SimpleCommand]
    redirects: list[Redirect]
    doubts: list[str]

    def script(self, script: Script, *, depth: int, is_direct: bool) -> None:
        self.doubts.extend(script.doubts)
        self.redirects.extend(script.redirects)
        for command in script.commands:
            self.command(command, depth=depth, is_direct=is_direct)

    def command(self, command: SimpleCommand, *, depth: int, is_direct: bool) -> None:
        if depth > DEEPEST or len(self.found) > MAX_COMMANDS:
            self.doubts.append("it runs nested scripts that are too deep or too many to analyze")
            return
        name = program_name(command)
        self.doubts.extend(_changed_environment(command))
        script = _shell_script(name, command)
        if script is not None:
            self.shells.append(command)
            if not _is_plain_shell(command):
                self.doubts.append(f"`{command.source}` is not a plain call of a shell")
            self.script(read_script(script), depth=depth + 1, is_direct=is_direct)
            return
        self.found.append(FoundCommand(command, is_direct))
        if name is None and command.words:
            self.doubts.append(f"the program `{command.words[0].source}` is unknown before it runs")
        elif name in SHELLS:
            self.doubts.append(f"`{name}` runs code that cannot be analyzed here")
        elif name in _WRAPPERS or _finds_and_runs(name, command):
            self._wrapped(name, command, depth)
        else:
            self._run_by_options(command, depth)

    def _run_by_options(self, command: SimpleCommand, depth: int) -> None:
        """Analyze commands in options, such as `tar --to-command` and `git -c alias.x=!…`."""
        uses = understand(guessed_words(command)).uses if command.words else ()
        for use in uses:
            if use.kind is WordKind.RUN:
                for text in dict.fromkeys((use.text, _SETTING.sub("", use.text))):
                    self.script(read_script(text), depth=depth + 1, is_direct=False)

    def _wrapped(self, name: str | None, command: SimpleCommand, depth: int) -> None:
        """Analyze each word as a possible start: options differ between wrappers."""
        self.doubts.append(f"`{name}` runs another command")
        rest = command.words[1:]
        if name == "eval":
            script = " ".join(word.text or word.source for word in rest)
            self.script(read_script(script), depth=depth + 1, is_direct=False)
        for at, word in enumerate(rest[:FARTHEST]):
            if word.text is None or word.text.startswith("-"):
                continue
            inner = SimpleCommand(_plain(rest[at : at + FARTHEST]))
            self.found.append(FoundCommand(inner, is_direct=False))
            nested = _shell_script(program_name(inner), inner)
            if nested is None and (name in _READ_AS_SCRIPT or " " in word.text):
                nested = word.text
            if nested is not None:
                self.script(read_script(nested), depth=depth + 1, is_direct=False)


def _shell_script(name: str | None, command: SimpleCommand) -> str | None:
    """Return the script of `bash -c SCRIPT`, `bash -lc SCRIPT`, or `bash -co pipefail SCRIPT`.

    The script is the first word after all options. Each `o` or `O` in a word of options takes one
    of the following words, as do `--rcfile` and `--init-file`.
    """
    if name not in SHELLS:
        return None
    values, has_script, are_options_over = 0, False, False
    for text in (word.text for word in command.words[1:]):
        if values:
            values -= 1
        elif text is None or are_options_over or text[:1] not in ("-", "+"):
            return text if has_script else None
        elif text in ("-", "--"):
            are_options_over = True
        elif text.startswith("--"):
            values = int(text in _LONG_OPTIONS_WITH_VALUE)
        else:
            values = sum(letter in "oO" for letter in text)
            has_script = has_script or (text[0] == "-" and "c" in text)
    return None


_LONG_OPTIONS_WITH_VALUE: Final = frozenset({"--rcfile", "--init-file"})


def _is_plain_shell(command: SimpleCommand) -> bool:
    """Whether it is a known shell whose options do not affect the script."""
    texts = [word.text for word in command.words]
    if system_program(texts[0] or "") not in _PLAIN_SHELLS:
        return False
    for at, text in enumerate(texts[1:], start=1):
        if text in _PLAIN_SETTINGS and re.fullmatch(r"-[eluxv]*o", texts[at - 1] or ""):
            continue
        if not _PLAIN_FLAGS.fullmatch(text or " "):
            return False
        if "c" in (text or ""):
            follows = texts[at + 1] if at + 1 < len(texts) else None
            return "o" not in (text or "") and (follows or "-")[:1] not in "-+"
    return False


def _changed_environment(command: SimpleCommand) -> list[str]:
    return [
        f"`{name}` can change what runs"
        for name, value in command.assignments
        if not is_harmless(name, value.text)
    ]


def guessed_words(command: SimpleCommand) -> tuple[str, ...]:
    """Words as the program receives them; source text where only a shell knows the value."""
    return tuple(
        word.text if word.text is not None else _HOME.sub(str(Path.home()), word.source)
        for word in command.words
    )


def _finds_and_runs(name: str | None, command: SimpleCommand) -> bool:
    options = _FINDERS.get(name or "", ())
    return any((word.text or "").startswith(options) for word in command.words[1:] if options)


def _plain(words: tuple[ShellWord, ...]) -> tuple[ShellWord, ...]:
    return tuple(word for word in words if word.text not in {";", "+", "{}", "--"})
