"""Fits a clause to a pattern and says which words each element took.

Every run of words between two gaps goes to the first place where it fits. That never loses a fit,
since an earlier place only leaves more room, so there is no way back to try: the time grows with
the length of the clause and of the pattern, not with their combinations.
"""

from collections.abc import Sequence

from symposium.agents.eliza.script import Gap, OneOf, Pattern


def decompose(pattern: Pattern, words: Sequence[str]) -> tuple[slice, ...] | None:
    """The words of each element as a slice, or None where the clause does not fit.

    Args:
        pattern: as `parse_pattern` makes it.
        words: of the clause, in lower case.
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
