"""Parse a script: keywords, decomposition patterns, and reassemblies.

Blank lines separate the blocks of keywords. A block begins with the rank and the words that match
the keyword. Each pattern has its own line, with its reassemblies indented below it:

    5: remember recall
    * i remember +
        So you remember $4. Who else does?
    *
        !next

A pattern is words in lower case. `*` matches any number of words, `+` at least one, `a|b` either
word, `@name` a word of that class. Its elements are numbered from 1.

A reassembly is an answer; `$4` is replaced by the words of element 4, with pronouns swapped.
`=name` instead uses the rules of that keyword, and `!next` tries the next keyword of the clause.

The values are structs, because nine dataclasses would multiply the import time of this module.
The conversation is in engine.py, and the script in doctor.py.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import TypeAlias

from msgspec import Struct


class ScriptError(ValueError):
    """A script breaks its notation: a mistake of its author, never of the person who talks."""


class Gap(Struct, frozen=True):
    """Any words, at least `minimum` of them."""

    minimum: int


class OneOf(Struct, frozen=True):
    """Exactly one word, out of these."""

    words: frozenset[str]


Element: TypeAlias = Gap | OneOf
Pattern: TypeAlias = tuple[Element, ...]


class Say(Struct, frozen=True):
    """An answer: texts, and numbers of elements to insert."""

    parts: tuple[str | int, ...]


class RuleLink(Struct, frozen=True):
    """Use the rules of another keyword."""

    keyword: str


class NextKeyword(Struct, frozen=True):
    """Skip this keyword and try the next one of the clause."""


Reassembly: TypeAlias = Say | RuleLink | NextKeyword


class ElizaRule(Struct, frozen=True):
    """Answers, used in rotation, to a clause that matches the pattern."""

    pattern: Pattern
    reassemblies: tuple[Reassembly, ...]


class Keyword(Struct, frozen=True):
    """A word worth answering to; of several in a clause the highest rank is tried first."""

    name: str
    rank: int
    rules: str
    """The lines of its block, parsed when the keyword is first heard."""


class ElizaScript(Struct, frozen=True):
    """Everything an engine says and listens for."""

    keywords: Mapping[str, Keyword]
    """By every word that calls the keyword up."""
    classes: Mapping[str, str]
    """Words by the class's name, separated by spaces."""
    contractions: Mapping[str, str]
    """Replaced before a keyword is looked for."""
    remembered: str
    """The keyword whose clauses are kept for a moment when nothing else fits."""
    memory: str
    """Rules that say what is said of such a clause then."""
    fallbacks: tuple[str, ...]
    """Said when nothing fits and nothing is remembered."""
    silence: tuple[str, ...]
    """Said when there was not one word."""


def parse_keywords(*texts: str) -> dict[str, Keyword]:
    """The keywords of blocks by every word that calls them up; their rules are left for later.

    Raises:
        ScriptError: a block without a rank, or a word that two keywords claim.
    """
    keywords: dict[str, Keyword] = {}
    for text in texts:
        for block in text.rstrip().split("\n\n"):
            head, _, rules = block.partition("\n")
            rank, colon, names = head.partition(": ")
            if not (colon and rank.isdecimal() and names):
                raise ScriptError(f"a block begins with `RANK: word word`, not {head!r}")
            name, *_ = words = names.split()
            keyword = Keyword(name, int(rank), rules)
            for word in words:
                if word in keywords:
                    raise ScriptError(f"{word!r} calls up two keywords")
                keywords[word] = keyword
    return keywords


def parse_pattern(text: str, classes: Mapping[str, str]) -> Pattern:
    """The elements of a pattern.

    Raises:
        ScriptError: no element, an unknown class, or two gaps side by side.
    """
    pattern = tuple(_parse_element(part, classes) for part in text.split())
    if not pattern:
        raise ScriptError("a pattern needs at least one element; `*` fits everything")
    for left, right in pairwise(pattern):
        if isinstance(left, Gap) and isinstance(right, Gap):
            raise ScriptError(f"two gaps side by side in {text!r}: which words are whose?")
    return pattern


def _parse_element(text: str, classes: Mapping[str, str]) -> Element:
    match text:
        case "*":
            return Gap(0)
        case "+":
            return Gap(1)
        case _ if text.startswith("@"):
            if text[1:] not in classes:
                raise ScriptError(f"no class is called {text!r}; there are {sorted(classes)}")
            return OneOf(frozenset(classes[text[1:]].split()))
        case _:
            return OneOf(frozenset(text.split("|")))


def parse_reassembly(text: str) -> Reassembly:
    """Parse one reassembly.

    Raises:
        ScriptError: a `$` without a number.
    """
    if text == "!next":
        return NextKeyword()
    if text.startswith("="):
        return RuleLink(text[1:])
    first, *rest = text.split("$")
    parts: list[str | int] = [first]
    for piece in rest:
        tail = piece.lstrip("0123456789")
        if tail == piece:
            raise ScriptError(f"`$` without the number of an element in {text!r}")
        parts += [int(piece[: len(piece) - len(tail)]), tail]
    return Say(tuple(part for part in parts if part != ""))


def compile_rules(text: str, script: ElizaScript) -> tuple[ElizaRule, ...]:
    """The rules of one keyword, ready for use.

    Raises:
        ScriptError: a rule breaks the notation, names an element its pattern lacks, or a keyword
            the script lacks.
    """
    rules: list[tuple[Pattern, list[Reassembly]]] = []
    for line in text.splitlines():
        if not line.startswith(" "):
            rules.append((parse_pattern(line, script.classes), []))
        elif rules:
            pattern, reassemblies = rules[-1]
            reassembly = parse_reassembly(line.strip())
            _check(reassembly, pattern, script)
            reassemblies.append(reassembly)
    if not (rules and all(reassemblies for _, reassemblies in rules)):
        raise ScriptError(f"a pattern without an answer below it: {text!r}")
    return tuple(ElizaRule(pattern, tuple(reassemblies)) for pattern, reassemblies in rules)


def _check(reassembly: Reassembly, pattern: Pattern, script: ElizaScript) -> None:
    match reassembly:
        case Say(parts):
            for part in parts:
                if isinstance(part, int) and not 0 < part <= len(pattern):
                    raise ScriptError(f"no element {part} in a pattern of {len(pattern)}")
        case RuleLink(keyword):
            if keyword not in script.keywords:
                raise ScriptError(f"a link to {keyword!r}, which is no keyword")
        case NextKeyword():
            pass
