"""Vocabulary of the program tables: options, operands, and their meaning.

A table lists options in one text, separated by spaces:

    -a          a flag; `-abc` is three flags
    --all       a long flag
    --color?    a flag with an optional value, which must be a plain word
    -n=value    takes a value; the kind after `=` is its meaning
    -NUM        a number, as in `head -5`

Operands are listed by kind, in order; `*` marks the repeatable one: `read* write`.

Environment variables that only change a program's output are listed by name.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

ANY_OPTION: Final = "*"
"""Accepts all options in a rule."""

_TOKEN: Final = re.compile(r"(?P<name>[^?=]+|=)(?P<optional>\?)?(?:=(?P<kind>[a-z]+))?")

_HARMLESS: Final = frozenset(
    {
        *("LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "CI", "DEBIAN_FRONTEND"),
        *("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "PY_COLORS", "COLORTERM"),
        *("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_LITERAL_PATHSPECS"),
        *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8"),
        *(
            "PYTHONIOENCODING",
            "RUST_BACKTRACE",
            "RUST_LOG",
            "CARGO_TERM_COLOR",
            "CARGO_INCREMENTAL",
        ),
        *("NODE_ENV", "NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_COLOR", "NPM_CONFIG_FUND"),
        *("GOOS", "GOARCH", "CGO_ENABLED", "SOURCE_DATE_EPOCH", "PIP_NO_INPUT"),
        *("PIP_DISABLE_PIP_VERSION_CHECK", "HYPOTHESIS_PROFILE", "POSIXLY_CORRECT"),
    }
)
_HARMLESS_NAME: Final = re.compile(r"LC_[A-Z]+")
_PLAIN_VALUE: Final = re.compile(r"[\w.,:@+= -]*")
_ZONE: Final = re.compile(r"[A-Za-z]\w*(?:/[A-Za-z][\w+-]*)*")
_PAGERS: Final = frozenset({"PAGER", "GIT_PAGER", "MANPAGER"})


class WordKind(Enum):
    """Meaning of an option or of its value to a program."""

    FLAG = "flag"
    OPTIONAL = "optional"
    VALUE = "value"
    """Text that only affects the program's own output."""
    NAME = "name"
    """Plain word; with `=`, spaces, or leading punctuation, ask."""
    NUMBER = "number"
    READ = "read"
    WRITE = "write"
    """Path that the program writes as its purpose."""
    REMOVE = "remove"
    """Path that the program deletes or moves."""
    OUTPUT = "output"
    """Path written in addition to the program's purpose: judged like a redirect."""
    ENTER = "enter"
    """Directory for resolving later paths."""
    RUN = "run"
    """Command, script, or code: ask unless a rule names it."""
    MODULE = "module"
    """Code found by name; takes all following words."""
    REVISION = "revision"
    """Revision of git, with or without a path, or a path."""
    REMOTE = "remote"
    """Named remote of git; ask about addresses."""
    CLONE = "clone"
    """Address or path for `git clone`."""
    URL = "url"
    DATA = "data"
    """Text, or `@` and an input file."""
    FORMAT = "format"
    """`+` and a format."""
    SED = "sed"
    AWK = "awk"
    JQ = "jq"
    UNKNOWN = "unknown"
    """Word of a program without a table; a path may be read or written."""


PATHS: Final = frozenset(
    {WordKind.READ, WordKind.WRITE, WordKind.REMOVE, WordKind.OUTPUT, WordKind.ENTER}
)


class Style(Enum):
    """Option syntax of a program."""

    GNU = "gnu"
    """Short options can be bundled; long ones accept `=`."""
    WORDS = "words"
    """Each option is one word: `find -name`, `go -run`, `dd if=`."""
    BUNDLE = "bundle"
    """As GNU, with an optional first bundle without a dash: `tar xf`."""


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program or subcommand.

    Attributes:
        options: known options.
        operands: kinds of operands, by the option that changes them; "" for none.
        when: changed meanings with another option: `{"-c": "-f=output"}` for tar.
        implies: effect of an option without a path: `{"-O": "output"}` writes here.
        commands: subcommands; the first operand selects one.
        stops: whether options end at the first operand.
        rest: program for words after `--`; None if they are operands.
        names_hosts: whether a path with a colon names another machine.
        about: uses of the program that still require a question.
    """

    options: str = ""
    operands: str | Mapping[str, str] = ""
    when: Mapping[str, str] = field(default_factory=dict[str, str])
    implies: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: "Mapping[str, KnownProgram]" = field(default_factory=dict[str, "KnownProgram"])
    style: Style = Style.GNU
    stops: bool = False
    rest: "KnownProgram | None" = None
    names_hosts: bool = False
    about: str = ""


@cache
def option_kinds(text: str, style: Style = Style.GNU) -> Mapping[str, WordKind]:
    """Kind of each option in a text of this vocabulary.

    Raises:
        ValueError: a part of the text is invalid.
    """
    kinds: dict[str, WordKind] = {}
    for token in text.split():
        found = _TOKEN.fullmatch(token)
        if found is None or (found["optional"] and found["kind"]):
            raise ValueError(f"`{token}` is not an option, such as -n=value")
        name = found["name"]
        kind = WordKind(found["kind"] or ("optional" if found["optional"] else "flag"))
        is_bundle = style is not Style.WORDS and re.fullmatch(r"-[^-]{2,}", name) is not None
        if is_bundle and name != "-NUM":
            if kind is not WordKind.FLAG:
                raise ValueError(f"`{token}` bundles options that take values")
            kinds |= {f"-{letter}": kind for letter in name[1:]}
        else:
            kinds[name] = kind
    return MappingProxyType(kinds)


def operand_kinds(text: str, count: int) -> tuple[WordKind | None, ...]:
    """Kind of each operand, for this number of operands; None for unexpected ones."""
    slots = text.split()
    star = next((at for at, slot in enumerate(slots) if slot.endswith("*")), None)
    kinds = [WordKind(slot.removesuffix("*")) for slot in slots]
    if star is None:
        return tuple(kinds[at] if at < len(kinds) else None for at in range(count))
    tail = kinds[star + 1 :]
    head = kinds[:star]
    if count < len(head) + len(tail):
        # With too few operands, the last one is the output.
        return tuple((*head, *tail)[-count:]) if count and tail else tuple(head[:count])
    middle = [kinds[star]] * (count - len(head) - len(tail))
    return (*head, *middle, *tail)


def is_harmless(name: str, value: str | None) -> bool:
    """Whether a variable affects neither the commands that run nor the files read.

    Other variables are doubts: no list of dangerous ones is complete.

    Args:
        name: its name.
        value: its value; None if known only to the shell.
    """
    if value is None:
        return False
    if name in _PAGERS:
        return value in {"", "cat"}
    if name == "TZ":
        return value == "" or _ZONE.fullmatch(value) is not None
    is_known = name in _HARMLESS or _HARMLESS_NAME.fullmatch(name) is not None
    # A locale or terminal with a slash in its name is read from that file.
    return is_known and _PLAIN_VALUE.fullmatch(value) is not None


_SED_SIMPLE: Final = frozenset("dpqQxhHgGnNDPlzF=")
_SED_ADDRESS: Final = re.compile(r"[\d$~+,! \tIM]")
_SED_LABEL: Final = re.compile(r"[\w.-]*")
_SED_FLAGS: Final = re.compile(r"[gpiImM0-9]*")
_AWK_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_AWK_RUNS: Final = re.compile(r"system|getline|ARGV|@|\\\n|(?<!\|)\|(?!\|)")
_STRINGS: Final = re.compile(r"\"((?:\\.|[^\"\\])*)\"", re.DOTALL)


def texts_within(program: str) -> tuple[str, ...]:
    """Quoted texts in a program, which it may run as commands."""
    return tuple(_STRINGS.findall(program))


def awk_is_plain(program: str) -> bool:
    """Whether an awk program runs nothing and reads and writes no other files."""
    if _AWK_RUNS.search(program):
        return False
    # A quote in a regular expression makes text boundaries ambiguous; then check everything.
    code = program if "/" in program else _AWK_TEXT.sub('""', program)
    return not ("print" in code and ">" in code)


def jq_is_plain(program: str) -> bool:
    """Whether a jq program loads no modules."""
    return re.search(r"\b(?:import|include)\b", program) is None


def sed_is_plain(program: str) -> bool:
    """Whether a sed script runs nothing and reads and writes no other files.

    It recognizes a subset of the language and rejects everything else.
    """
    at = 0
    while at < len(program):
        character = program[at]
        if character in " \t\n;{}" or _SED_ADDRESS.match(character):
            at += 1
        elif character in "/\\":
            at += character == "\\"
            end = _sed_part(program, at + 1, program[at : at + 1])
            if end is None:
                return False
            at = end
        else:
            end = _sed_command(program, at)
            if end is None:
                return False
            at = end
    return True


def _sed_command(program: str, at: int) -> int | None:
    """Position after one command; None if it does more than transform its input."""
    command = program[at]
    if command in "aic":
        return _sed_text(program, at)
    if command in ":btT":
        label = _SED_LABEL.match(program, at + 1 + (program[at + 1 : at + 2] == " "))
        return at + 1 if label is None else label.end()
    if command in _SED_SIMPLE:
        return at + 1
    return _sed_change(program, at) if command in "sy" else None


def _sed_change(program: str, at: int) -> int | None:
    """Position after `s///` or `y///`; None if it does more than that."""
    delimiter = program[at + 1 : at + 2]
    middle = _sed_part(program, at + 2, delimiter)
    end = None if middle is None else _sed_part(program, middle, delimiter)
    if end is None:
        return None
    flags = _SED_FLAGS.match(program, end) if program[at] == "s" else None
    end = end if flags is None else flags.end()
    return end if program[end : end + 1] in {"", " ", "\t", "\n", ";", "}"} else None


def _sed_part(program: str, at: int, delimiter: str) -> int | None:
    """Position after the closing delimiter of a part; None if versions of sed differ."""
    if delimiter in {"", "\n", "\\"}:
        return None
    start = at
    while at < len(program):
        if program[at] == "\\":
            at += 2
        elif program[at] == delimiter:
            part = re.sub(r"\\.", "", program[start:at], flags=re.DOTALL)
            # Some versions treat a delimiter in brackets as a plain character.
            is_open = part.rfind("[") > part.rfind("]") or re.search(r"\[\^?\]", part)
            return None if is_open else at + 1
        else:
            at += 1
    return None


def _sed_text(program: str, at: int) -> int:
    """Position after the text of `a`, `i`, or `c`; it ends at a line without a backslash."""
    while at < len(program) and program[at] != "\n":
        at += 2 if program[at] == "\\" else 1
    return at


_NUMBER: Final = re.compile(r"[+-]?[\d.]+[A-Za-z]{0,2}")
_NAME: Final = re.compile(r"[\w@%.][\w.:/@%+,-]*")
_OPTIONAL: Final = re.compile(r"[\w.,:%@+-]*")
_ADDRESS: Final = re.compile(r"(?:https?|ssh|git)://[^\s-]\S*|[\w.]+@[\w.]+:[^:\s]\S*")
_URL: Final = re.compile(r"https?://[^\s@]+|[\w.]+(?::\d+)?(?:/[^\s@]*)?")
_SED_RUNS: Final = re.compile(r"e\s+([^;\n}]+)")

_PLAIN: Final = {
    WordKind.NUMBER: _NUMBER,
    WordKind.NAME: _NAME,
    WordKind.URL: _URL,
    WordKind.OPTIONAL: _OPTIONAL,
}
_LANGUAGES: Final = {
    WordKind.SED: sed_is_plain,
    WordKind.AWK: awk_is_plain,
    WordKind.JQ: jq_is_plain,
}


@dataclass(frozen=True, slots=True)
class Use:
    """Use of an argument by a command: a path, or something that it runs.

    Attributes:
        kind: READ, WRITE, REMOVE, OUTPUT, UNKNOWN, or RUN.
        by: option with this meaning; empty for an operand.
        bases: directories for resolving the path.
        is_named: whether the rule contains the text.
    """

    kind: WordKind
    text: str
    by: str = ""
    bases: tuple[str, ...] = ("",)
    is_named: bool = False


class Words:
    """Words of a command, with the results of their analysis.

    Args:
        given: words, starting with the program.
        named: positions of words in the rule itself.
        accepts: additional options of the rule.
    """

    def __init__(
        self, given: Sequence[str], named: AbstractSet[int], accepts: Sequence[str]
    ) -> None:
        self.given = given
        self.named = named
        self.accepts_any = ANY_OPTION in accepts
        texts = " ".join(each for each in accepts if each != ANY_OPTION)
        self.accepted = option_kinds(texts, Style.WORDS)
        self.uses: list[Use] = []
        self.doubts: list[str] = []
        self.bases: tuple[str, ...] = ("",)

    def use(self, kind: WordKind, text: str, at: int, by: str) -> None:
        """Note the use of a text in the word at this position."""
        self.uses.append(Use(kind, text, by, self.bases, at in self.named))

    def doubt(self, at: int, text: str) -> None:
        """Note why the word at this position is unknown, unless the rule names it."""
        if at not in self.named:
            self.doubts.append(text)


class Meanings:
    """Notes how one program uses its words.

    Args:
        words: receives the notes.
        program: its table.
        name: name in doubts.
    """

    def __init__(self, words: Words, program: KnownProgram, name: str) -> None:
        self._words = words
        self._program = program
        self._name = name

    def text(self, kind: WordKind, text: str, at: int, by: str) -> None:
        """Note the use of a text of this kind."""
        words = self._words
        if kind in PATHS and kind is not WordKind.ENTER:
            self._path(kind, text, at, by)
        elif kind is WordKind.RUN:
            words.doubt(at, f"`{self._name}` would run `{text}`")
            words.use(WordKind.RUN, text, at, by)
        elif kind in _PLAIN:
            if not _PLAIN[kind].fullmatch(text):
                words.doubt(at, f"`{text}` is unusual for `{self._name}`")
            if kind is WordKind.NAME and "/" in text:
                words.use(WordKind.UNKNOWN, text, at, by)
        elif kind in _LANGUAGES:
            self._language(kind, text, at, by)
        else:
            self._special(kind, text, at, by)

    def _path(self, kind: WordKind, text: str, at: int, by: str) -> None:
        if self._program.names_hosts and ":" in text:
            self._words.doubt(at, f"`{text}` can name another machine")
        self._words.use(kind, text, at, by)

    def _language(self, kind: WordKind, text: str, at: int, by: str) -> None:
        if _LANGUAGES[kind](text):
            return
        words = self._words
        words.doubt(at, f"the program `{text}` may do more than transform its input")
        inner = _SED_RUNS.findall(text) if kind is WordKind.SED else texts_within(text)
        for each in inner:
            words.use(WordKind.RUN, each, at, by)

    def _special(self, kind: WordKind, text: str, at: int, by: str) -> None:
        words = self._words
        match kind:
            case WordKind.UNKNOWN:
                self._unknown_word(text, at, by)
            case WordKind.REVISION | WordKind.REMOTE | WordKind.CLONE:
                self._of_git(kind, text, at, by)
            case WordKind.DATA if text.startswith("@"):
                self._path(WordKind.READ, text[1:], at, by)
            case WordKind.DATA if "%output" in text:
                words.doubt(at, f"`{text}` writes a file")
            case WordKind.FORMAT if not text.startswith("+"):
                words.doubt(at, f"`{text}` sets the clock")
            case _:
                pass

    def _of_git(self, kind: WordKind, text: str, at: int, by: str) -> None:
        """Note a revision, which may contain a path or name a repository."""
        words = self._words
        if kind is WordKind.REVISION:
            words.use(WordKind.READ, text, at, by)
            if ":" in text:
                words.use(WordKind.READ, text.partition(":")[2] or ".", at, by)
        elif kind is WordKind.CLONE:
            words.use(WordKind.WRITE, ".", -1, by)
        if kind is not WordKind.REVISION and ":" not in text:
            words.use(WordKind.UNKNOWN, text, at, by)
        elif kind is WordKind.REMOTE or (kind is WordKind.CLONE and not _ADDRESS.fullmatch(text)):
            words.doubt(at, f"`{text}` is an address that no rule names")

    def _unknown_word(self, text: str, at: int, by: str) -> None:
        words = self._words
        if text.startswith("-") and text != "-":
            self.unknown_option(text, at)
            return
        if "=" in text and not words.accepts_any:
            words.doubt(at, f"the effect of `{text}` on `{self._name}` is unknown")
        words.use(WordKind.UNKNOWN, text, at, by)
        if "=" in text:
            words.use(WordKind.UNKNOWN, text.partition("=")[2], at, by)

    def unknown_option(self, name: str, at: int) -> int:
        """Note an option without a table entry; return its number of words."""
        text = self._words.given[at]
        if not self._words.accepts_any:
            self._words.doubt(at, f"`{name}` is not a known option of `{self._name}`")
        for part in (text.partition("=")[2], "/" + text.partition("/")[2]):
            if part.strip("/"):
                self._words.use(WordKind.UNKNOWN, part, at, name)
        return 1
