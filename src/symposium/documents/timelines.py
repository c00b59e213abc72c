"""Timelines of sessions: recording and storage.

The text of a turn is recorded once, at its end, and a tool call after it completes. A timeline is
for reading; a trace contains every message.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import DecodeError, Struct, ValidationError, json

from localio.redaction import Redactor, secret_values
from peerwire.jsonrpc.values import as_object, as_objects, decode_value, encode_value
from symposium.config.paths import paths
from symposium.documents.task_prompt import user_words
from symposium.errors import NotFoundError

VERSION: Final = 1
"""Version of the format; unchanged when members are added."""


class TimelineEntry(Struct, frozen=True, omit_defaults=False):
    """An event of a session.

    Attributes:
        v: version of the format.
        seq: number in the timeline, from 1 without gaps.
        ts: time in ISO 8601, UTC.
        type: `session`, `prompt`, `said`, `plan`, `tool`, `permission`, `stop`, or `link`.
        data: data by type; see docs/reference/timelines.md.
    """

    v: int
    seq: int
    ts: str
    type: str
    data: dict[str, Any]


_DECODER: Final = json.Decoder(TimelineEntry)


def read_entries(text: bytes) -> Sequence[TimelineEntry]:
    """Entries of a timeline; incomplete or malformed lines are skipped."""
    entries: list[TimelineEntry] = []
    for line in text.split(b"\n"):
        try:
            entries.append(_DECODER.decode(line))
        except (DecodeError, ValidationError):
            continue
    return entries


def write_entry(entry: TimelineEntry) -> bytes:
    """Line of an entry, with its newline."""
    return json.encode(entry) + b"\n"


def texts(data: Mapping[str, Any], *names: str) -> list[str]:
    """Values of these members that are strings."""
    return [value for name in names if isinstance(value := data.get(name), str)]


MAX_TIMELINE_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of a timeline, in bytes; beyond it, only questions and links are added."""

MAX_TIMELINES: Final = 500
"""Maximum number of timelines; the oldest are deleted first."""

_SUFFIX: Final = ".jsonl"
_ALWAYS: Final = frozenset({"session", "prompt", "link"})


@dataclass(frozen=True, slots=True)
class Summary:
    """A timeline in a list.

    Attributes:
        session: the agent's session id.
        cwd: directory of the session.
        agent: name of the agent.
        started: start time in ISO 8601, UTC.
        goal: the user's words in the first prompt; may be empty.
        file: file of the timeline.
    """

    session: str
    cwd: str
    agent: str
    started: str
    goal: str
    file: Path


class Timeline:
    """File of one session; made by `TimelineStore.open`."""

    def __init__(self, file: Path, redactor: Redactor) -> None:
        self._file = file
        self._seq = 0
        self._size = 0
        self._end = b""
        self._redactor = redactor

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append an entry without secrets; written when this returns.

        Raises:
            OSError: the file cannot be written.
        """
        handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            flock(handle, LOCK_EX)
            size = os.fstat(handle).st_size
            if kind not in _ALWAYS and size > MAX_TIMELINE_BYTES:
                return
            if size != self._size:
                # Another process appended to it, or it existed before.
                text = self._file.read_bytes()
                self._seq = len(read_entries(text))
                self._end = b"" if text.endswith(b"\n") or not text else b"\n"
            self._seq += 1
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            clean = decode_value(self._redactor.json(encode_value(dict(data))))
            line = write_entry(TimelineEntry(VERSION, self._seq, now, kind, clean))
            self._size = size + os.write(handle, self._end + line)
            self._end = b""
        finally:
            os.close(handle)


class TimelineStore:
    """Timelines of one user.

    Args:
        directory: directory of the files; default: in the user's directory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or paths().home / "timelines"

    def open(self, session_id: str) -> Timeline:
        """Open the timeline of a session for appending.

        Raises:
            OSError: the directory cannot be created.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._file(session_id)
        if not file.exists():
            self._make_room()
        # Not earlier: the secrets of the chain's programs are known only now.
        return Timeline(file, Redactor(secret_values(os.environ)))

    def read(self, session_id: str) -> Sequence[TimelineEntry]:
        """Entries of a session.

        Raises:
            NotFoundError: it has no timeline.
        """
        file = self._file(session_id)
        if not file.exists():
            raise NotFoundError(
                f"no timeline of session {session_id}",
                "`symposium timeline list` shows all timelines",
            )
        return self._entries(file)

    def origin(self, session_id: str) -> Sequence[TimelineEntry]:
        """First session of a series of hand-overs; the session itself if not handed over.

        Raises:
            NotFoundError: it has no timeline.
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
        """Timelines, latest first; optionally of one directory."""
        found = [_summary(file, self._entries(file)) for file in self._files()]
        wanted = None if cwd is None else str(cwd)
        return [each for each in found if each is not None and wanted in {None, each.cwd}]

    def _file(self, session_id: str) -> Path:
        # The session id comes from the agent and must not choose the path.
        name = sha256(session_id.encode(errors="surrogatepass")).hexdigest()[:32]
        return self._directory / f"{name}{_SUFFIX}"

    def _files(self) -> list[Path]:
        """Timeline files, latest first; empty if there is no directory."""
        try:
            files = [each for each in self._directory.iterdir() if each.suffix == _SUFFIX]
            return sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True)
        except FileNotFoundError:
            return []

    def _entries(self, file: Path) -> Sequence[TimelineEntry]:
        try:
            return read_entries(file.read_bytes())
        except FileNotFoundError:
            return []

    def _make_room(self) -> None:
        for file in self._files()[MAX_TIMELINES - 1 :]:
            file.unlink(missing_ok=True)


def _handed_from(entries: Sequence[TimelineEntry]) -> str | None:
    found = [
        text for entry in entries if entry.type == "link" for text in texts(entry.data, "from")
    ]
    return found[0] if found else None


def _summary(file: Path, entries: Sequence[TimelineEntry]) -> Summary | None:
    begin = next((entry for entry in entries if entry.type == "session"), None)
    if begin is None:
        return None
    goal = next((entry.data.get("text", "") for entry in entries if entry.type == "prompt"), "")
    session, cwd, agent = (*texts(begin.data, "session", "cwd", "agent"), "", "", "")[:3]
    return Summary(session, cwd, agent, begin.ts, user_words(str(goal)), file)


TimelineItem: TypeAlias = tuple[str, dict[str, Any]]
"""Type and data of an entry."""

MAX_TEXT: Final = 16 * 1024
"""Maximum length of a text, in characters: start of a prompt, end of an answer."""

MAX_OUTPUT: Final = 2 * 1024
"""Maximum length of a tool call's output, in characters; its end is stored."""

_OVER: Final = frozenset({"completed", "failed"})


class TurnObserver:
    """Observe one session.

    Attributes:
        held: number of stored characters of the agent's text in this turn.
    """

    def __init__(self) -> None:
        self.held = 0
        self._said: deque[str] = deque()
        self._plan: list[Any] | None = None
        self._calls: dict[str, dict[str, Any]] = {}

    def prompted(self, params: Mapping[str, Any]) -> Iterator[TimelineItem]:
        """Handle a prompt of the user."""
        pieces: list[str] = []
        for block in as_objects(params.get("prompt")):
            if _is_for_models(block):
                continue
            text, uri = block.get("text"), block.get("uri")
            if isinstance(text, str):
                pieces.append(text)
            elif isinstance(uri, str):
                pieces.append(f"[{block.get('type')}: {uri}]")
            else:
                pieces.append(f"[{block.get('type')}]")
        yield "prompt", {"text": "\n".join(pieces)[:MAX_TEXT]}

    def updated(self, update: Mapping[str, Any]) -> Iterator[TimelineItem]:
        """Handle an update of the agent."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                text = as_object(update.get("content")).get("text")
                if isinstance(text, str):
                    self._keep(text)
            case "plan":
                self._plan = [
                    {name: entry.get(name) for name in ("content", "status", "priority")}
                    for entry in as_objects(update.get("entries"))
                ]
            case "tool_call" | "tool_call_update":
                yield from self._tool_call(update)
            case _:
                pass

    def stopped(self, reason: str) -> Iterator[TimelineItem]:
        """Handle the end of a turn."""
        said = "".join(self._said)[-MAX_TEXT:]
        if said:
            yield "said", {"text": said}
        if self._plan is not None:
            yield "plan", {"entries": self._plan}
        for call in self._calls.values():
            yield "tool", call
        self._said.clear()
        self.held = 0
        self._plan = None
        self._calls.clear()
        yield "stop", {"reason": reason}

    def _keep(self, text: str) -> None:
        self._said.append(text)
        self.held += len(text)
        while self.held - len(self._said[0]) > MAX_TEXT:
            self.held -= len(self._said.popleft())

    def _tool_call(self, update: Mapping[str, Any]) -> Iterator[TimelineItem]:
        call_id = update.get("toolCallId")
        if not isinstance(call_id, str):
            return
        call = self._calls.setdefault(call_id, {"id": call_id})
        for name in ("title", "kind", "status"):
            if isinstance(update.get(name), str):
                call[name] = update[name]
        command = as_object(update.get("rawInput")).get("command")
        if isinstance(command, str | list):
            call["command"] = command
        output = "\n".join(_outputs(update.get("content")))
        if output:
            call["output"] = output[-MAX_OUTPUT:]
        if call.get("status") in _OVER:
            yield "tool", self._calls.pop(call_id)


def _outputs(content: Any) -> Iterator[str]:
    for each in as_objects(content):
        text = as_object(each.get("content")).get("text")
        if isinstance(text, str):
            yield text
        elif each.get("type") == "diff":
            yield f"[diff: {each.get('path')}]"


def _is_for_models(block: Mapping[str, Any]) -> bool:
    """Whether a block is for the agent only, such as guidance, and not the user's words."""
    return as_object(block.get("annotations")).get("audience") == ["assistant"]
