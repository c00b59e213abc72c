"""What a program does with one word: a path, a command, an address, a script of sed."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from symposium.policy.programs.little_languages import (
    awk_is_plain,
    jq_is_plain,
    sed_is_plain,
    texts_within,
)
from symposium.policy.programs.vocabulary import (
    ANY_OPTION,
    PATHS,
    Kind,
    Program,
    Style,
    option_kinds,
)

_NUMBER: Final = re.compile(r"[+-]?[\d.]+[A-Za-z]{0,2}")
_NAME: Final = re.compile(r"[\w@%.][\w.:/@%+,-]*")
_OPTIONAL: Final = re.compile(r"[\w.,:%@+-]*")
_ADDRESS: Final = re.compile(r"(?:https?|ssh|git)://[^\s-]\S*|[\w.]+@[\w.]+:[^:\s]\S*")
_URL: Final = re.compile(r"https?://[^\s@]+|[\w.]+(?::\d+)?(?:/[^\s@]*)?")
_SED_RUNS: Final = re.compile(r"e\s+([^;\n}]+)")

_PLAIN: Final = {
    Kind.NUMBER: _NUMBER,
    Kind.NAME: _NAME,
    Kind.URL: _URL,
    Kind.OPTIONAL: _OPTIONAL,
}
_LANGUAGES: Final = {Kind.SED: sed_is_plain, Kind.AWK: awk_is_plain, Kind.JQ: jq_is_plain}


@dataclass(frozen=True, slots=True)
class Use:
    """What a command does with one text: a path, or something that it runs.

    Attributes:
        kind: one of READ, WRITE, REMOVE, OUTPUT, UNKNOWN and RUN.
        by: the option that makes it so; empty for an operand.
        bases: directories from which a path is resolved.
        is_named: whether the rule itself names the text.
    """

    kind: Kind
    text: str
    by: str = ""
    bases: tuple[str, ...] = ("",)
    is_named: bool = False


class Words:
    """The words of a command, and what has been found of them.

    Args:
        given: the words, the program first.
        named: the places of words that the rule itself names.
        accepts: options that the rule adds to the tables.
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

    def use(self, kind: Kind, text: str, at: int, by: str) -> None:
        """Note what is done with a text of the word at that place."""
        self.uses.append(Use(kind, text, by, self.bases, at in self.named))

    def doubt(self, at: int, text: str) -> None:
        """Note why the word at that place is not known; the rule may name it."""
        if at not in self.named:
            self.doubts.append(text)


class Meanings:
    """Notes what one program does with its words.

    Args:
        words: where it is noted.
        program: its table.
        name: what doubts call it.
    """

    def __init__(self, words: Words, program: Program, name: str) -> None:
        self._words = words
        self._program = program
        self._name = name

    def text(self, kind: Kind, text: str, at: int, by: str) -> None:
        """Note what is done with one text of that kind."""
        words = self._words
        if kind in PATHS and kind is not Kind.ENTER:
            self._path(kind, text, at, by)
        elif kind is Kind.RUN:
            words.doubt(at, f"`{self._name}` would run `{text}`")
            words.use(Kind.RUN, text, at, by)
        elif kind in _PLAIN:
            if not _PLAIN[kind].fullmatch(text):
                words.doubt(at, f"`{text}` is unusual for `{self._name}`")
            if kind is Kind.NAME and "/" in text:
                words.use(Kind.UNKNOWN, text, at, by)
        elif kind in _LANGUAGES:
            self._language(kind, text, at, by)
        else:
            self._special(kind, text, at, by)

    def _path(self, kind: Kind, text: str, at: int, by: str) -> None:
        if text == "-":
            return
        if self._program.names_hosts and ":" in text:
            self._words.doubt(at, f"`{text}` can name another machine")
        self._words.use(kind, text, at, by)

    def _language(self, kind: Kind, text: str, at: int, by: str) -> None:
        if _LANGUAGES[kind](text):
            return
        words = self._words
        words.doubt(at, f"the program `{text}` can do more than transform its input")
        inner = _SED_RUNS.findall(text) if kind is Kind.SED else texts_within(text)
        for each in inner:
            words.use(Kind.RUN, each, at, by)

    def _special(self, kind: Kind, text: str, at: int, by: str) -> None:
        words = self._words
        match kind:
            case Kind.UNKNOWN:
                self._unknown_word(text, at, by)
            case Kind.REVISION | Kind.REMOTE | Kind.CLONE:
                self._of_git(kind, text, at, by)
            case Kind.DATA if text.startswith("@"):
                self._path(Kind.READ, text[1:], at, by)
            case Kind.DATA if "%output" in text:
                words.doubt(at, f"`{text}` writes a file")
            case Kind.FORMAT if not text.startswith("+"):
                words.doubt(at, f"`{text}` sets the clock")
            case _:
                pass

    def _of_git(self, kind: Kind, text: str, at: int, by: str) -> None:
        """Note a revision, which can name a path of it, or a repository."""
        words = self._words
        if kind is Kind.REVISION:
            words.use(Kind.READ, text, at, by)
            if ":" in text:
                words.use(Kind.READ, text.partition(":")[2] or ".", at, by)
        elif kind is Kind.CLONE:
            words.use(Kind.WRITE, ".", -1, by)
        if kind is not Kind.REVISION and ":" not in text:
            words.use(Kind.UNKNOWN, text, at, by)
        elif kind is Kind.REMOTE or (kind is Kind.CLONE and not _ADDRESS.fullmatch(text)):
            words.doubt(at, f"`{text}` is an address that no rule names")

    def _unknown_word(self, text: str, at: int, by: str) -> None:
        words = self._words
        if text.startswith("-") and text != "-":
            self.unknown_option(text, at)
            return
        if "=" in text and not words.accepts_any:
            words.doubt(at, f"what `{self._name}` does with `{text}` is not known")
        words.use(Kind.UNKNOWN, text, at, by)
        if "=" in text:
            words.use(Kind.UNKNOWN, text.partition("=")[2], at, by)

    def unknown_option(self, name: str, at: int) -> int:
        """Note an option that no table has; return the number of words it takes."""
        text = self._words.given[at]
        if not self._words.accepts_any:
            self._words.doubt(at, f"`{name}` is not a known option of `{self._name}`")
        for part in (text.partition("=")[2], "/" + text.partition("/")[2]):
            if part.strip("/"):
                self._words.use(Kind.UNKNOWN, part, at, name)
        return 1
