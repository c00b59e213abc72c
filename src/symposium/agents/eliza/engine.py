"""Weizenbaum's algorithm: keywords, decomposition, reassembly.

Each run of words between two gaps is matched at its first possible position. An earlier position
only leaves more room, so no backtracking is needed: the time grows with the lengths of the clause
and the pattern, not with their combinations.

Eliza answers the first clause that contains a keyword and ignores the rest. Its keywords are tried
from the highest rank down; the first matching pattern uses its reassemblies in rotation. If no
keyword matches, Eliza returns to an earlier remark, or uses a fallback.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from symposium.agents.eliza.doctor import DOCTOR
from symposium.agents.eliza.script import (
    ElizaRule,
    ElizaScript,
    Gap,
    Keyword,
    NextKeyword,
    OneOf,
    Pattern,
    RuleLink,
    Say,
    compile_rules,
)


def decompose(pattern: Pattern, words: Sequence[str]) -> tuple[slice, ...] | None:
    """Match a pattern; return the words of each element as a slice, or None.

    Args:
        pattern: result of `parse_pattern`.
        words: words of the clause, in lower case.
    """
    spans: list[slice] = []
    taken = 0
    pieces = _pieces(pattern)
    for number, (gap, run) in enumerate(pieces, start=1):
        last = len(words) - len(run)
        earliest = taken if gap is None else taken + gap.minimum
        latest = earliest if gap is None else last
        if number == len(pieces):  # the last run ends where the clause ends
            earliest, latest = max(earliest, last), min(latest, last)
        start = _first_fit(run, words, range(earliest, min(latest, last) + 1))
        if start is None:
            return None
        if gap is not None:
            spans.append(slice(taken, start))
        spans += [slice(index, index + 1) for index in range(start, start + len(run))]
        taken = start + len(run)
    return tuple(spans)


def _pieces(pattern: Pattern) -> list[tuple[Gap | None, list[OneOf]]]:
    pieces: list[tuple[Gap | None, list[OneOf]]] = []
    for element in pattern:
        match element:
            case Gap():
                pieces.append((element, []))
            case OneOf():
                if not pieces:
                    pieces.append((None, []))
                pieces[-1][1].append(element)
    return pieces


def _first_fit(run: Sequence[OneOf], words: Sequence[str], starts: range) -> int | None:
    for start in starts:
        here = words[start : start + len(run)]
        if all(word in one.words for one, word in zip(run, here, strict=True)):
            return start
    return None


MAX_TEXT = 65_536
"""Maximum characters read of one remark, which bounds the time to answer it."""

MAX_CLAUSE = 200
"""Maximum words of a clause; a longer one is split, which bounds the work on each."""

_TYPESET_APOSTROPHE = chr(0x2019)
_ENDS = frozenset(',;:!?()[]{}"\n\r|…。')
_GAPS = frozenset("`~@$%^&*=<>/\\“”«»")

_TURNED = {
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "am": "are",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
}
_TURNED_PAIRS = {
    ("i", "am"): ("you", "are"),
    ("am", "i"): ("are", "you"),
    ("i", "was"): ("you", "were"),
    ("was", "i"): ("were", "you"),
    ("you", "are"): ("I", "am"),
    ("are", "you"): ("am", "I"),
    ("you", "were"): ("I", "was"),
    ("were", "you"): ("was", "I"),
}
_BEFORE_SUBJECT = frozenset(
    (
        *("and", "because", "but", "or", "so", "though", "until", "while"),
        *("as", "if", "since", "than", "that", "then", "whether"),
        *("how", "what", "when", "where", "who", "why"),
        *("can", "could", "did", "do", "does", "might", "must", "shall", "should", "will", "would"),
        *("hope", "know", "say", "suppose", "think", "wish"),
    )
)
"""After these words, and at the start, `you` is a subject; elsewhere it is an object."""


class Clause(Struct, frozen=True):
    """Words up to a punctuation mark or "but"."""

    words: tuple[str, ...]
    """The words as typed."""
    keys: tuple[str, ...]
    """The words in lower case."""


def clauses(text: str, contractions: Mapping[str, str]) -> Iterator[Clause]:
    """Split a remark into clauses with at least one word each.

    A word is printable, so control characters and lone surrogates never occur in an answer.
    """
    words: list[str] = []
    for word in _words(text[:MAX_TEXT]):
        if word is None or word.lower() == "but" or len(words) >= MAX_CLAUSE:
            if words:
                yield _clause(words)
            words = []
        if word is not None and word.lower() != "but":
            words += contractions.get(word.lower(), word).split()
    if words:
        yield _clause(words)


def _clause(words: Sequence[str]) -> Clause:
    return Clause(tuple(words), tuple(word.lower() for word in words))


def _words(text: str) -> Iterator[str | None]:
    """Yield the words, and None at the end of a clause."""
    letters: list[str] = []
    for letter, following in zip(text, text[1:] + "\n", strict=False):
        ends = letter in _ENDS or (letter == "." and not following.isalnum())
        if not ends and letter not in _GAPS and letter.isprintable() and not letter.isspace():
            letters.append("'" if letter == _TYPESET_APOSTROPHE else letter)
            continue
        if word := "".join(letters).strip("'-."):
            yield word
        letters.clear()
        if ends:
            yield None
    if word := "".join(letters).strip("'-."):
        yield word


def with_swapped_pronouns(words: Sequence[str]) -> str:
    """Swap first and second person: I becomes you, your becomes my."""
    keys = [word.lower() for word in words]
    turned: list[str] = []
    index = 0
    while index < len(words):
        pair = _TURNED_PAIRS.get(tuple(keys[index : index + 2]))  # pyright: ignore[reportArgumentType] - a shorter tuple is found nowhere
        if pair is not None:
            turned += pair
            index += 2
            continue
        if keys[index] == "you":
            is_subject = index == 0 or keys[index - 1] in _BEFORE_SUBJECT
            turned.append("I" if is_subject else "me")
        else:
            turned.append(_TURNED.get(keys[index], words[index]))
        index += 1
    return " ".join(turned)


DETERMINISTIC_SEED = 0
"""Seed of `--deterministic`: every rotation begins with the first answer of its rule."""

MEMORY_SIZE = 16
"""Maximum remarks to return to; the oldest is dropped first."""

_MEMORY = "*memory*"
_SILENCE = "*silence*"
_FALLBACK = "*fallback*"
"""Names that no keyword can have, because no word contains an asterisk."""

_Choice = TypeVar("_Choice")
_Place: TypeAlias = tuple[str, int]
"""A rule: the name of its keyword or list of answers, and its index there."""


class Eliza:
    """Answer remarks; the same seed and the same remarks give the same answers.

    Args:
        seed: start of the rotations; None for a random one.
        script: keywords and answers.
    """

    def __init__(self, seed: int | None = None, *, script: ElizaScript = DOCTOR) -> None:
        self._seed = int.from_bytes(os.urandom(4)) if seed is None else seed
        self._script = script
        self._rules: dict[str, tuple[ElizaRule, ...]] = {}
        self._said: dict[_Place, int] = {}
        self._memory: deque[str] = deque(maxlen=MEMORY_SIZE)

    def reply(self, text: str) -> str:
        """Answer any remark with printable text, never empty."""
        has_words = False
        for clause in clauses(text, self._script.contractions):
            has_words = True
            if stack := self._keywords_in(clause):
                return self._answer(clause, stack) or self._without_keyword()
        if not has_words:
            return self._next_of((_SILENCE, 0), self._script.silence)
        return self._without_keyword()

    def _keywords_in(self, clause: Clause) -> Sequence[Keyword]:
        """Put a keyword of the highest rank so far first, any other last."""
        stack: deque[Keyword] = deque()
        found: set[str] = set()
        for key in clause.keys:
            keyword = self._script.keywords.get(key)
            if keyword is None or keyword.name in found:
                continue
            found.add(keyword.name)
            if stack and keyword.rank > stack[0].rank:
                stack.appendleft(keyword)
            else:
                stack.append(keyword)
        return stack

    def _answer(self, clause: Clause, stack: Sequence[Keyword]) -> str | None:
        self._remember(clause, stack[0])
        for keyword in stack:
            followed: set[str] = set()
            trying: Keyword | None = keyword
            while trying is not None and trying.name not in followed:
                followed.add(trying.name)  # links that lead back here end the attempt
                match self._first_that_fits(trying, clause):
                    case str(answer):
                        return answer
                    case RuleLink(name):
                        trying = self._script.keywords[name]
                    case _:
                        trying = None
        return None

    def _first_that_fits(self, keyword: Keyword, clause: Clause) -> str | RuleLink | None:
        for number, rule in enumerate(self._compiled(keyword)):
            spans = decompose(rule.pattern, clause.keys)
            if spans is None:
                continue
            match self._next_of((keyword.name, number), rule.reassemblies):
                case Say(parts):
                    return _render(parts, [clause.words[span] for span in spans])
                case RuleLink() as link:
                    return link
                case NextKeyword():
                    return None
        return None

    def _remember(self, clause: Clause, top: Keyword) -> None:
        if top.name != self._script.remembered:
            return
        memory = Keyword(_MEMORY, 0, self._script.memory)
        if isinstance(kept := self._first_that_fits(memory, clause), str):
            self._memory.append(kept)

    def _without_keyword(self) -> str:
        if self._memory:
            return self._memory.popleft()
        return self._next_of((_FALLBACK, 0), self._script.fallbacks)

    def _compiled(self, keyword: Keyword) -> tuple[ElizaRule, ...]:
        rules = self._rules.get(keyword.name)
        if rules is None:
            rules = self._rules[keyword.name] = compile_rules(keyword.rules, self._script)
        return rules

    def _next_of(self, place: _Place, choices: Sequence[_Choice]) -> _Choice:
        said = self._said.get(place)
        if said is None:
            said = self._seed * int.from_bytes(f"{place[0]} {place[1]}".encode())
        self._said[place] = (said + 1) % len(choices)
        return choices[said % len(choices)]


def _render(parts: Sequence[str | int], components: Sequence[Sequence[str]]) -> str:
    said = "".join(
        with_swapped_pronouns(components[part - 1]) if isinstance(part, int) else part
        for part in parts
    )
    answer = " ".join(said.split())
    return answer[:1].upper() + answer[1:]
