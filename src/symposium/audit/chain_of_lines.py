"""Lines that name each other by their hashes, so that none can be changed, dropped or moved; pure.

A line is a JSON object. Its `seq` counts from 1 without holes over all files, its `prev` is the
hash of the line before, its `hash` that of the line itself without it. Whoever may write the file
may write it anew as a whole: this finds accidents and single lies, not a forger of everything.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from peerwire.jsonrpc.values import decode_value, encode_value

NOTHING: Final = "0" * 64
"""What the very first line names as the one before."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the lines stood: kept apart from them, or the last ones could be dropped unseen.

    Attributes:
        first: the number of the oldest line that is still there.
        seq: the number of the last line; 0 for none.
        hash: its hash.
    """

    first: int = 1
    seq: int = 0
    hash: str = NOTHING


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the lines.

    Attributes:
        place: the file and line.
        reason: what was found, and what ought to be.
    """

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line where it stands."""

    place: str
    text: bytes


def sealed(entry: Mapping[str, Any], mark: Mark) -> tuple[bytes, Mark]:
    """The line of an entry behind this mark, and the mark after it."""
    seq = mark.seq + 1
    text = encode_value({"seq": seq, **entry, "prev": mark.hash})
    own = hashlib.sha256(text).hexdigest()
    return b'%b,"hash":"%b"}' % (text[:-1], own.encode()), Mark(mark.first, seq, own)


def moved_on(mark: Mark, lines: Sequence[bytes]) -> Mark:
    """The mark behind the last of the lines that follow it, one after the other."""
    behind: list[Mapping[str, Any]] = []
    for text in reversed(lines):
        entry = _read(text)
        if entry is None or entry.get("hash") == mark.hash:
            break
        behind.append(entry)
    for entry in reversed(behind):
        if _fault(entry, mark.seq + 1, mark.hash) is not None:
            break
        mark = Mark(mark.first, mark.seq + 1, str(entry["hash"]))
    return mark


def faults(lines: Sequence[Line], mark: Mark | None) -> list[Fault]:
    """What is wrong: the first fault of the lines, and whether the last ones are there."""
    expected, before = (1 if mark is None else mark.first), None
    is_marked = mark is None or mark.seq < expected
    for line in lines:
        entry = _read(line.text)
        if entry is None:
            return [Fault(line.place, "it is no JSON object on one line")]
        fault = _fault(entry, expected, before)
        if fault is not None:
            return [Fault(line.place, fault)]
        before = str(entry["hash"])
        if mark is not None and expected == mark.seq:
            if before != mark.hash:
                return [Fault(line.place, "it is not the line that was written last")]
            is_marked = True
        expected += 1
    if not is_marked and mark is not None:
        place = lines[-1].place if lines else "the first line"
        gone = f"the lines end at {expected - 1}, and {mark.seq} were written"
        return [Fault(place, gone)]
    return []


def _fault(entry: Mapping[str, Any], expected: int, before: str | None) -> str | None:
    members = {name: value for name, value in entry.items() if name != "hash"}
    if entry.get("hash") != _hash(members):
        return "it has been changed: its hash is not that of what it says"
    if entry.get("seq") != expected:
        return f"it is number {entry.get('seq')}, where {expected} ought to stand"
    is_first = expected == 1
    if (is_first and entry.get("prev") != NOTHING) or before not in {None, entry.get("prev")}:
        return "it does not follow the line before it"
    return None


def _hash(members: Mapping[str, Any]) -> str:
    return hashlib.sha256(encode_value(members)).hexdigest()


def _read(text: bytes) -> Mapping[str, Any] | None:
    try:
        value: Any = decode_value(text)
    except ValueError:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None
