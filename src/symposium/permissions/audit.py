"""The hash-chained log of permissions.

A line is a JSON object. Its `seq` counts from 1 without holes over all files, its `prev` is the
hash of the line before, its `hash` that of the line itself without it. Whoever may write the file
may write it anew as a whole: this finds accidents and single lies, not a forger of everything.

Several hosts write at a time; a lock makes each line follow the one before.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from localio.files import PRIVATE_FILE_MODE
from localio.redaction import Redactor
from peerwire.jsonrpc.values import decode_value, encode_value

NOTHING: Final = "0" * 64
"""What the very first line names as the one before."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
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
class AuditLine:
    """One line where it stands."""

    place: str
    text: bytes


def hashed_line(entry: Mapping[str, Any], mark: Checkpoint) -> tuple[bytes, Checkpoint]:
    """The line of an entry behind this mark, and the mark after it."""
    seq = mark.seq + 1
    text = encode_value({"seq": seq, **entry, "prev": mark.hash})
    own = hashlib.sha256(text).hexdigest()
    return b'%b,"hash":"%b"}' % (text[:-1], own.encode()), Checkpoint(mark.first, seq, own)


def moved_on(mark: Checkpoint, lines: Sequence[bytes]) -> Checkpoint:
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
        mark = Checkpoint(mark.first, mark.seq + 1, str(entry["hash"]))
    return mark


def faults(lines: Sequence[AuditLine], mark: Checkpoint | None) -> list[Fault]:
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


LARGEST: Final = 1024 * 1024
"""Bytes at which a file is put aside."""

MAX_STORED: Final = 8
"""Files put aside that are kept."""

_TAIL: Final = 128
"""Bytes of a file's end that hold the hash of its last line."""

_MARK_SIZE: Final = 159
"""Bytes of the mark, filled up: numbers of twenty digits have room."""

_NOW: Final = "audit.ndjson"
_ASIDE: Final = re.compile(r"audit\.(\d{12})\.ndjson")
_MARK: Final = "audit.mark"
_LOCK: Final = "audit.lock"


def utc_now() -> str:
    """The time, as it stands in a line."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class AuditLog:
    """The record in one directory.

    Args:
        folder: made when first written to, for its owner alone.
        redactor: takes secrets out of what is written.
        clock: says what time it is.
        largest: bytes at which a file is put aside.
    """

    def __init__(
        self,
        folder: Path,
        redactor: Redactor | None = None,
        *,
        clock: Callable[[], str] = utc_now,
        largest: int = LARGEST,
    ) -> None:
        self._folder = folder
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._largest = largest

    def write(self, *entries: Mapping[str, Any]) -> None:
        """Add a line for each, with the time that it is written at.

        Raises:
            OSError: they cannot be written.
        """
        plain = decode_value(self._redactor.json(encode_value([dict(each) for each in entries])))
        with self._locked():
            mark = self._put_aside(self._last_written())
            # Read under the lock: a writer that waited has a later time than the one before it.
            now = self._clock()
            lines: list[bytes] = []
            for entry in plain:
                line, mark = hashed_line({"ts": now, **entry}, mark)
                lines.append(line + b"\n")
            handle = os.open(self._now, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE_MODE)
            with os.fdopen(handle, "ab") as file:
                file.write(b"".join(lines))
            self._move(mark)

    def _move(self, mark: Checkpoint) -> None:
        """Write the mark; that it and the lines survive a loss of power together is not promised.

        In its place, in one write of always as many bytes: a new file under the same name takes
        milliseconds on some file systems, and the host does nothing else meanwhile.
        """
        handle = os.open(self._folder / _MARK, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE_MODE)
        try:
            os.pwrite(handle, _mark_text(mark), 0)
        finally:
            os.close(handle)

    def entries(self) -> list[dict[str, Any]]:
        """Every entry that can be read, oldest first."""
        found: list[dict[str, Any]] = []
        for line in self._lines():
            try:
                value = decode_value(line.text)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(cast("dict[str, Any]", value))
        return found

    def verify(self) -> list[Fault]:
        """What is wrong with the record; nothing, if it is as it was written."""
        if not self._folder.exists():
            return []
        lines, mark = self._lines(), self._mark()
        if mark is None and lines:
            return [Fault(str(self._folder / _MARK), "it is gone; the last lines may be, too")]
        return faults(lines, mark)

    @property
    def _now(self) -> Path:
        return self._folder / _NOW

    @contextmanager
    def _locked(self) -> Generator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT, PRIVATE_FILE_MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _put_aside(self, mark: Checkpoint) -> Checkpoint:
        """Put the file aside if it is full, and let the oldest go if there are too many."""
        if not self._now.exists() or self._now.stat().st_size < self._largest:
            return mark
        # Behind the mark nothing may stand in a file that is not written to any more.
        self._move(mark)
        # Named by the number of its last line.
        self._now.rename(self._folder / f"audit.{mark.seq:012}.ndjson")
        for path in self._aside()[:-MAX_STORED]:
            mark = Checkpoint(_number(path) + 1, mark.seq, mark.hash)
            self._move(mark)
            path.unlink()
        return mark

    def _last_written(self) -> Checkpoint:
        """The mark of the last line: a host that died in between has not moved it on."""
        marked = self._mark() or Checkpoint()
        if _tail(self._now).endswith(b'"hash":"%b"}\n' % marked.hash.encode()):
            return marked
        try:
            text = self._now.read_bytes()
        except FileNotFoundError:
            return marked
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            # It died inside a line, which nobody was told is written.
            os.truncate(self._now, whole)
        return moved_on(marked, text[:whole].splitlines())

    def _lines(self) -> list[AuditLine]:
        found: list[AuditLine] = []
        for path in [*self._aside(), self._now]:
            if path.exists():
                texts = path.read_bytes().splitlines()
                found += [AuditLine(f"{path}:{at}", text) for at, text in enumerate(texts, 1)]
        return found

    def _aside(self) -> Sequence[Path]:
        files = self._folder.glob("audit.*.ndjson")
        return sorted(path for path in files if _ASIDE.fullmatch(path.name))

    def _mark(self) -> Checkpoint | None:
        try:
            value: Any = decode_value((self._folder / _MARK).read_bytes())
            return Checkpoint(int(value["first"]), int(value["seq"]), str(value["hash"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _tail(path: Path) -> bytes:
    """The end of a file, with the end of its last line; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            return file.read()
    except FileNotFoundError:
        return b""


def _mark_text(mark: Checkpoint) -> bytes:
    members = {"first": mark.first, "seq": mark.seq, "hash": mark.hash}
    return encode_value(members).ljust(_MARK_SIZE) + b"\n"


def _number(path: Path) -> int:
    found = _ASIDE.fullmatch(path.name)
    assert found is not None
    return int(found[1])
