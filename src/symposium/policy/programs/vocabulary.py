"""The vocabulary in which a program is described: what its options and operands do.

A table names options in one text, separated by spaces:

    -a          a flag; `-abc` stands for three flags
    --all       a long flag
    --color?    a flag with an optional value, which must be a plain word
    -n=value    takes a value; the kind after `=` says what the program does with it
    -NUM        a number, as in `head -5`

Operands are kinds in their order; `*` marks the one that takes any number: `read* write`.

Environment variables are known by name: those that change only how a program prints.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

ANY_OPTION: Final = "*"
"""Among the options that a rule accepts: all of them."""

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


class Kind(Enum):
    """What a program does with an option or with the text that it takes."""

    FLAG = "flag"
    OPTIONAL = "optional"
    VALUE = "value"
    """Text that selects nothing but the program's own behavior."""
    NAME = "name"
    """A plain word; anything with `=`, spaces or leading punctuation is asked."""
    NUMBER = "number"
    READ = "read"
    WRITE = "write"
    """A path that the program is there to write."""
    REMOVE = "remove"
    """A path that it deletes or moves away."""
    OUTPUT = "output"
    """A path written beside the program's purpose: judged as a redirect is."""
    ENTER = "enter"
    """A directory from which later paths are resolved."""
    RUN = "run"
    """A command, a script, or code: asked unless a rule names it."""
    MODULE = "module"
    """Code that is found by name, and takes all words that follow."""
    REVISION = "revision"
    """A revision of git, with or without a path, or a path."""
    REMOTE = "remote"
    """A named remote of git; an address is asked."""
    CLONE = "clone"
    """An address or a path that git clones."""
    URL = "url"
    DATA = "data"
    """Text, or `@` and a file to read."""
    FORMAT = "format"
    """`+` and a format."""
    SED = "sed"
    AWK = "awk"
    JQ = "jq"
    UNKNOWN = "unknown"
    """A word of a program without a table; a path in it can be read or written."""


PATHS: Final = frozenset({Kind.READ, Kind.WRITE, Kind.REMOVE, Kind.OUTPUT, Kind.ENTER})


class Style(Enum):
    """How a program reads its options."""

    GNU = "gnu"
    """Short ones bundle, long ones take `=`."""
    WORDS = "words"
    """Each option is one word: `find -name`, `go -run`, `dd if=`."""
    BUNDLE = "bundle"
    """As GNU, and the first word may be a bundle without a dash: `tar xf`."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program, or one subcommand.

    Attributes:
        options: the options that are known.
        operands: the kinds of its operands; by the option that changes them, "" for none.
        when: options that mean something else beside another: `{"-c": "-f=output"}` for tar.
        implies: what an option does without naming a path: `{"-O": "output"}` writes here.
        commands: the subcommands; the first operand selects one.
        stops: whether options end at the first operand.
        rest: what reads the words after `--`; None where they are operands.
        names_hosts: whether a path with a colon names another machine.
        about: what is asked although the program is known.
    """

    options: str = ""
    operands: str | Mapping[str, str] = ""
    when: Mapping[str, str] = field(default_factory=dict[str, str])
    implies: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: "Mapping[str, Program]" = field(default_factory=dict[str, "Program"])
    style: Style = Style.GNU
    stops: bool = False
    rest: "Program | None" = None
    names_hosts: bool = False
    about: str = ""


@cache
def option_kinds(text: str, style: Style = Style.GNU) -> Mapping[str, Kind]:
    """The kind of each option that a text in this vocabulary names.

    Raises:
        ValueError: a part of the text is not in the vocabulary.
    """
    kinds: dict[str, Kind] = {}
    for token in text.split():
        found = _TOKEN.fullmatch(token)
        if found is None or (found["optional"] and found["kind"]):
            raise ValueError(f"`{token}` is not an option, such as -n=value")
        name = found["name"]
        kind = Kind(found["kind"] or ("optional" if found["optional"] else "flag"))
        is_bundle = style is not Style.WORDS and re.fullmatch(r"-[^-]{2,}", name) is not None
        if is_bundle and name != "-NUM":
            if kind is not Kind.FLAG:
                raise ValueError(f"`{token}` bundles options that take values")
            kinds |= {f"-{letter}": kind for letter in name[1:]}
        else:
            kinds[name] = kind
    return MappingProxyType(kinds)


def operand_kinds(text: str, count: int) -> tuple[Kind | None, ...]:
    """The kind of each of that many operands; None for one that is not expected."""
    slots = text.split()
    star = next((at for at, slot in enumerate(slots) if slot.endswith("*")), None)
    kinds = [Kind(slot.removesuffix("*")) for slot in slots]
    if star is None:
        return tuple(kinds[at] if at < len(kinds) else None for at in range(count))
    tail = kinds[star + 1 :]
    head = kinds[:star]
    if count < len(head) + len(tail):
        # Too few: what comes last is what the program writes.
        return tuple((*head, *tail)[-count:]) if count and tail else tuple(head[:count])
    middle = [kinds[star]] * (count - len(head) - len(tail))
    return (*head, *middle, *tail)


def is_harmless(name: str, value: str | None) -> bool:
    """Whether a variable leaves open neither what runs nor which files are read.

    Every other variable is in doubt: of most programs, no list of the dangerous ones is complete.

    Args:
        name: its name.
        value: its value; None if only a running shell could know it.
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
