"""The hash-chained audit log of permissions.

Each line is a JSON object: `seq` counts from 1 without gaps across all files, `prev` is the hash of
the previous line, and `hash` covers the line without this member. The chain detects accidents and
single changes; a user with write access can still replace the whole log.

Several processes may write; a lock keeps the chain consistent.
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

FIRST_HASH: Final = "0" * 64
"""Value of `prev` in the first line."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """End of the log, stored in a separate file to detect missing last lines.

    Attributes:
        first: number of the oldest line.
        seq: number of the last line; 0 for none.
        hash: hash of the last line.
    """

    first: int = 1
    seq: int = 0
    hash: str = FIRST_HASH


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem in the log.

    Attributes:
        place: file and line.
        reason: description of the problem.
    """

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line with its place."""

    place: str
    text: bytes


def hashed_line(entry: Mapping[str, Any], mark: Checkpoint) -> tuple[bytes, Checkpoint]:
    """Line of an entry after this checkpoint, and the next checkpoint."""
    seq = mark.seq + 1
    text = encode_value({"seq": seq, **entry, "prev": mark.hash})
    own = hashlib.sha256(text).hexdigest()
    return b'%b,"hash":"%b"}' % (text[:-1], own.encode()), Checkpoint(mark.first, seq, own)


def moved_on(mark: Checkpoint, lines: Sequence[bytes]) -> Checkpoint:
    """Checkpoint after the last of these lines, if they continue this one."""
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
    """The first problem in the lines, and missing last lines."""
    expected, before = (1 if mark is None else mark.first), None
    is_marked = mark is None or mark.seq < expected
    for line in lines:
        entry = _read(line.text)
        if entry is None:
            return [Fault(line.place, "not a JSON object on one line")]
        fault = _fault(entry, expected, before)
        if fault is not None:
            return [Fault(line.place, fault)]
        before = str(entry["hash"])
        if mark is not None and expected == mark.seq:
            if before != mark.hash:
                return [Fault(line.place, "not the last line that was written")]
            is_marked = True
        expected += 1
    if not is_marked and mark is not None:
        place = lines[-1].place if lines else "the first line"
        gone = f"the log ends at line {expected - 1}; {mark.seq} lines were written"
        return [Fault(place, gone)]
    return []


def _fault(entry: Mapping[str, Any], expected: int, before: str | None) -> str | None:
    members = {name: value for name, value in entry.items() if name != "hash"}
    if entry.get("hash") != _hash(members):
        return "changed: the hash does not match the content"
    if entry.get("seq") != expected:
        return f"has number {entry.get('seq')} instead of {expected}"
    is_first = expected == 1
    if (is_first and entry.get("prev") != FIRST_HASH) or before not in {None, entry.get("prev")}:
        return "does not follow the previous line"
    return None


def _hash(members: Mapping[str, Any]) -> str:
    return hashlib.sha256(encode_value(members)).hexdigest()


def _read(text: bytes) -> Mapping[str, Any] | None:
    try:
        value: Any = decode_value(text)
    except ValueError:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


MAX_LOG_BYTES: Final = 1024 * 1024
"""Size at which a file is rotated, in bytes."""

MAX_STORED: Final = 8
"""Maximum number of rotated files."""

_TAIL: Final = 128
"""Number of bytes at a file's end that contain the last hash."""

_MARK_SIZE: Final = 159
"""Padded size of the checkpoint, in bytes; fits numbers of twenty digits."""

_NOW: Final = "audit.ndjson"
_ASIDE: Final = re.compile(r"audit\.(\d{12})\.ndjson")
_MARK: Final = "audit.mark"
_LOCK: Final = "audit.lock"


def utc_now() -> str:
    """Current time in the format of the log."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class AuditLog:
    """The audit log in one directory.

    Args:
        folder: created on first use, for the owner only.
        redactor: removes secrets.
        clock: returns the current time.
        largest: size at which a file is rotated, in bytes.
    """

    def __init__(
        self,
        folder: Path,
        redactor: Redactor | None = None,
        *,
        clock: Callable[[], str] = utc_now,
        largest: int = MAX_LOG_BYTES,
    ) -> None:
        self._folder = folder
        self._redactor = redactor or Redactor()
        self._clock = clock
        self._largest = largest

    def write(self, *entries: Mapping[str, Any]) -> None:
        """Append a line with the current time for each entry.

        Raises:
            OSError: the log cannot be written.
        """
        plain = decode_value(self._redactor.json(encode_value([dict(each) for each in entries])))
        with self._locked():
            mark = self._rotate(self._last_written())
            # Under the lock, so that times increase from line to line.
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
        """Write the checkpoint; after a power failure, it may not match the lines.

        It is overwritten with one write of constant size: replacing the file takes milliseconds on
        some file systems and would block the event loop.
        """
        handle = os.open(self._folder / _MARK, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE_MODE)
        try:
            os.pwrite(handle, _mark_text(mark), 0)
        finally:
            os.close(handle)

    def entries(self) -> list[dict[str, Any]]:
        """All readable entries, oldest first."""
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
        """Problems in the log; empty if it is intact."""
        if not self._folder.exists():
            return []
        lines, mark = self._lines(), self._mark()
        if mark is None and lines:
            return [Fault(str(self._folder / _MARK), "missing; the last lines may be missing, too")]
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

    def _rotate(self, mark: Checkpoint) -> Checkpoint:
        """Rotate a full file, and delete the oldest one if there are too many."""
        if not self._now.exists() or self._now.stat().st_size < self._largest:
            return mark
        # A rotated file must end at the checkpoint.
        self._move(mark)
        # Named after the number of its last line.
        self._now.rename(self._folder / f"audit.{mark.seq:012}.ndjson")
        for path in self._rotated()[:-MAX_STORED]:
            mark = Checkpoint(_number(path) + 1, mark.seq, mark.hash)
            self._move(mark)
            path.unlink()
        return mark

    def _last_written(self) -> Checkpoint:
        """Checkpoint of the last line; a killed process may not have updated the file."""
        marked = self._mark() or Checkpoint()
        if _tail(self._now).endswith(b'"hash":"%b"}\n' % marked.hash.encode()):
            return marked
        try:
            text = self._now.read_bytes()
        except FileNotFoundError:
            return marked
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            # An incomplete line of a killed process; its write was never confirmed.
            os.truncate(self._now, whole)
        return moved_on(marked, text[:whole].splitlines())

    def _lines(self) -> list[AuditLine]:
        found: list[AuditLine] = []
        for path in [*self._rotated(), self._now]:
            if path.exists():
                texts = path.read_bytes().splitlines()
                found += [AuditLine(f"{path}:{at}", text) for at, text in enumerate(texts, 1)]
        return found

    def _rotated(self) -> Sequence[Path]:
        files = self._folder.glob("audit.*.ndjson")
        return sorted(path for path in files if _ASIDE.fullmatch(path.name))

    def _mark(self) -> Checkpoint | None:
        try:
            value: Any = decode_value((self._folder / _MARK).read_bytes())
            return Checkpoint(int(value["first"]), int(value["seq"]), str(value["hash"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _tail(path: Path) -> bytes:
    """End of a file, including the end of its last line; empty if it does not exist."""
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
