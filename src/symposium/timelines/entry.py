"""One line of a timeline."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import DecodeError, Struct, ValidationError, json

VERSION: Final = 1
"""Of the lines; members may be added without a new one."""


class Entry(Struct, frozen=True, omit_defaults=False):
    """One thing that happened.

    Attributes:
        v: the version of the form.
        seq: counts from 1 in each timeline, without holes.
        ts: when, UTC, ISO 8601.
        type: `session`, `prompt`, `said`, `plan`, `tool`, `permission`, `stop` or `link`.
        data: what of that type is told; see docs/reference/timelines.md.
    """

    v: int
    seq: int
    ts: str
    type: str
    data: dict[str, Any]


_DECODER: Final = json.Decoder(Entry)


def read_entries(text: bytes) -> Sequence[Entry]:
    """The entries of a timeline; a line that was cut off, or that is none of ours, is left out."""
    entries: list[Entry] = []
    for line in text.split(b"\n"):
        try:
            entries.append(_DECODER.decode(line))
        except (DecodeError, ValidationError):
            continue
    return entries


def write_entry(entry: Entry) -> bytes:
    """The line of an entry, with its newline."""
    return json.encode(entry) + b"\n"


def texts(data: Mapping[str, Any], *names: str) -> list[str]:
    """Those of these members that are texts."""
    return [value for name in names if isinstance(value := data.get(name), str)]
