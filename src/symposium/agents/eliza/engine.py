"""One conversation by Weizenbaum's algorithm (Communications of the ACM 9/1, 1966).

The first clause with a keyword in it is answered, the rest is not heard. Its keywords are tried,
the one of highest rank first; the first pattern that fits takes its reassemblies in rotation.
Without a keyword that fits, something said earlier is brought up again, else a fallback.
"""

import os
from collections import deque
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from symposium.agents.eliza.decompose import decompose
from symposium.agents.eliza.doctor import DOCTOR
from symposium.agents.eliza.listening import Clause, clauses, turned_around
from symposium.agents.eliza.script import (
    Keyword,
    Link,
    NextKeyword,
    Rule,
    Say,
    Script,
    compile_rules,
)

DETERMINISTIC_SEED = 0
"""Every rotation begins with the first answer of its rule, as `--deterministic` promises."""

MEMORY_SIZE = 16
"""Remarks kept for later; an older one is forgotten first."""

_MEMORY = "*memory*"
_SILENCE = "*silence*"
_FALLBACK = "*fallback*"
"""No word is spelled like these, so no keyword is called so."""

_Choice = TypeVar("_Choice")
_Place: TypeAlias = tuple[str, int]
"""A rule: the name of its keyword, or of a list of answers, and its number there."""


class Eliza:
    """Answers remarks of one person; the same seed and the same remarks give the same answers.

    Args:
        seed: where the rotations begin; None for another beginning every time.
        script: what to listen for and to say.
    """

    def __init__(self, seed: int | None = None, *, script: Script = DOCTOR) -> None:
        self._seed = int.from_bytes(os.urandom(4)) if seed is None else seed
        self._script = script
        self._rules: dict[str, tuple[Rule, ...]] = {}
        self._said: dict[_Place, int] = {}
        self._memory: deque[str] = deque(maxlen=MEMORY_SIZE)

    def reply(self, text: str) -> str:
        """The answer to one remark, whatever it holds: printable text, never empty."""
        heard_words = False
        for clause in clauses(text, self._script.contractions):
            heard_words = True
            if stack := self._keywords_in(clause):
                return self._answer(clause, stack) or self._without_keyword()
        if not heard_words:
            return self._next_of((_SILENCE, 0), self._script.silence)
        return self._without_keyword()

    def _keywords_in(self, clause: Clause) -> Sequence[Keyword]:
        """A keyword of higher rank than all before it goes to the front, others to the end."""
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
                    case Link(name):
                        trying = self._script.keywords[name]
                    case _:
                        trying = None
        return None

    def _first_that_fits(self, keyword: Keyword, clause: Clause) -> str | Link | None:
        for number, rule in enumerate(self._compiled(keyword)):
            spans = decompose(rule.pattern, clause.keys)
            if spans is None:
                continue
            match self._next_of((keyword.name, number), rule.reassemblies):
                case Say(parts):
                    return _render(parts, [clause.words[span] for span in spans])
                case Link() as link:
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

    def _compiled(self, keyword: Keyword) -> tuple[Rule, ...]:
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
        turned_around(components[part - 1]) if isinstance(part, int) else part for part in parts
    )
    answer = " ".join(said.split())
    return answer[:1].upper() + answer[1:]
