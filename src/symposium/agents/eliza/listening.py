"""From what a person typed to clauses of words, and from their words to ours."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

LONGEST_TEXT = 65_536
"""Characters of one remark that are read; nobody waits for the end of a longer one."""

LONGEST_CLAUSE = 200
"""Words after which a clause ends though no mark ends it: what bounds the work on one."""

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
"""After these, and at the start, `you` does something; after any other word it is done to."""


class Clause(Struct, frozen=True):
    """Words up to a mark of punctuation or "but"."""

    words: tuple[str, ...]
    """As they were typed."""
    keys: tuple[str, ...]
    """The same in lower case."""


def clauses(text: str, contractions: Mapping[str, str]) -> Iterator[Clause]:
    """The clauses of a remark in order, each with at least one word.

    A word is printable, so control characters and lone surrogates never come back in an answer.
    """
    words: list[str] = []
    for word in _words(text[:LONGEST_TEXT]):
        if word is None or word.lower() == "but" or len(words) >= LONGEST_CLAUSE:
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
    """The words, and None where a clause ends."""
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


def turned_around(words: Sequence[str]) -> str:
    """Someone's words as the other one says them: I becomes you, your becomes my."""
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
