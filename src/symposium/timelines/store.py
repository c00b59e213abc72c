"""Where timelines are: one file a session, for the user alone, appended to as whole lines."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from localio.redaction import Redactor, secret_values
from peerwire.jsonrpc.values import decode_value, encode_value
from symposium.config.paths import paths
from symposium.errors import NotFoundError
from symposium.task_prompt import user_words
from symposium.timelines.entry import VERSION, Entry, read_entries, texts, write_entry

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of one timeline; of a longer session only what asks and links is added."""

MOST: Final = 500
"""Timelines that are kept; the oldest go first."""

_SUFFIX: Final = ".jsonl"
_ALWAYS: Final = frozenset({"session", "prompt", "link"})


@dataclass(frozen=True, slots=True)
class Summary:
    """One timeline in a list.

    Attributes:
        session: the session's id, as the agent gave it.
        cwd: its directory.
        agent: who answered in it.
        started: when, UTC, ISO 8601.
        goal: the user's words in the first prompt; empty where there was none.
        file: where it is kept.
    """

    session: str
    cwd: str
    agent: str
    started: str
    goal: str
    file: Path


class Timeline:
    """One session's file; made by `TimelineStore.open`."""

    def __init__(self, file: Path, redactor: Redactor) -> None:
        self._file = file
        self._seq = 0
        self._size = 0
        self._end = b""
        self._redactor = redactor

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append one entry, less its secrets; on return it is the system's to keep.

        Raises:
            OSError: it cannot be written.
        """
        handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            flock(handle, LOCK_EX)
            size = os.fstat(handle).st_size
            if kind not in _ALWAYS and size > LARGEST:
                return
            if size != self._size:
                # Somebody else has added to it, or it was there before us.
                text = self._file.read_bytes()
                self._seq = len(read_entries(text))
                self._end = b"" if text.endswith(b"\n") or not text else b"\n"
            self._seq += 1
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            clean = decode_value(self._redactor.json(encode_value(dict(data))))
            line = write_entry(Entry(VERSION, self._seq, now, kind, clean))
            self._size = size + os.write(handle, self._end + line)
            self._end = b""
        finally:
            os.close(handle)


class TimelineStore:
    """All timelines of one user.

    Args:
        directory: where they are; by default in the user's directory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or paths().home / "timelines"

    def open(self, session_id: str) -> Timeline:
        """The timeline of a session, to add to.

        Raises:
            OSError: the directory cannot be made.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._file(session_id)
        if not file.exists():
            self._make_room()
        # Not before: what the chain's programs are given is known by now.
        return Timeline(file, Redactor(secret_values(os.environ)))

    def read(self, session_id: str) -> Sequence[Entry]:
        """What happened in a session.

        Raises:
            NotFoundError: nothing is kept of it.
        """
        file = self._file(session_id)
        if not file.exists():
            raise NotFoundError(
                f"no timeline is kept of the session {session_id}",
                "`symposium timeline list` shows those that are",
            )
        return self._entries(file)

    def origin(self, session_id: str) -> Sequence[Entry]:
        """The session at the beginning of a row of hand-overs; the session itself if it is none.

        Raises:
            NotFoundError: nothing is kept of it.
        """
        entries = self.read(session_id)
        seen = {session_id}
        while (before := _handed_from(entries)) is not None and before not in seen:
            seen.add(before)
            earlier = self._entries(self._file(before))
            if not earlier:
                break
            entries = earlier
        return entries

    def summaries(self, cwd: Path | None = None) -> Sequence[Summary]:
        """What there is, the latest first; of one directory, if one is named."""
        found = [_summary(file, self._entries(file)) for file in self._files()]
        wanted = None if cwd is None else str(cwd)
        return [each for each in found if each is not None and wanted in {None, each.cwd}]

    def _file(self, session_id: str) -> Path:
        # An agent names its sessions as it likes: the name must not choose the path.
        name = sha256(session_id.encode(errors="surrogatepass")).hexdigest()[:32]
        return self._directory / f"{name}{_SUFFIX}"

    def _files(self) -> list[Path]:
        """The latest first."""
        try:
            files = [each for each in self._directory.iterdir() if each.suffix == _SUFFIX]
            return sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
        except FileNotFoundError:
            return []

    def _entries(self, file: Path) -> Sequence[Entry]:
        try:
            return read_entries(file.read_bytes())
        except FileNotFoundError:
            return []

    def _make_room(self) -> None:
        for file in self._files()[MOST - 1 :]:
            file.unlink(missing_ok=True)


def _handed_from(entries: Sequence[Entry]) -> str | None:
    found = [
        text for entry in entries if entry.type == "link" for text in texts(entry.data, "from")
    ]
    return found[0] if found else None


def _summary(file: Path, entries: Sequence[Entry]) -> Summary | None:
    begin = next((entry for entry in entries if entry.type == "session"), None)
    if begin is None:
        return None
    goal = next((entry.data.get("text", "") for entry in entries if entry.type == "prompt"), "")
    session, cwd, agent = (*texts(begin.data, "session", "cwd", "agent"), "", "", "")[:3]
    return Summary(session, cwd, agent, begin.ts, user_words(str(goal)), file)
