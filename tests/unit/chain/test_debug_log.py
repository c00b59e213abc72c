"""The debug log: lines of each connection."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from localio.redaction import REDACTED, Redactor
from peerwire.jsonrpc.transport import Listener, OversizedLine
from peerwire.testing import LinePeer
from peerwire.transports.memory import memory_pair
from symposium.chain.debug_log import DebugLog, open_debug_log
from symposium.chain.record_files import new_file

pytestmark = pytest.mark.requirement("conductor.debug-log")


def log_in(directory: Path, *moments: float) -> DebugLog:
    clock = iter([0.0, *moments])
    return DebugLog(new_file(directory, "now", ".log"), Redactor(), clock=lambda: next(clock))


def lines_of(log: DebugLog) -> list[str]:
    log.close()
    return log.file.path.read_text().splitlines()


async def test_a_log_begins_with_its_header_and_names_who_said_what_when(tmp_path: Path) -> None:
    log = log_in(tmp_path, 0.001, 0.0129, 1.5, 1.5, 1.5)
    ours, theirs = memory_pair()
    peer = LinePeer(theirs)
    tapped = log.tap(ours, 0, "arrow")
    near = LinePeer(tapped)

    tapped.send(b'{"id":1}')
    await peer.lines.count(1)
    peer.write(b'{"id":1,"result":null}')
    await near.lines.count(1)
    log.on_stderr("arrow", b"\x1b[31mred\x1b[0m \x1b]0;title\x07words\r\n")
    log.on_stderr("unknown", b"x")
    log.line("C", "←", b"no json\nat all")

    assert lines_of(log) == [
        "=== Conductor Debug Log ===",
        '0 → +1ms {"id":1}',
        '0 ← +12ms {"id":1,"result":null}',
        "0 ! +1500ms red words",
        "unknown ! +1500ms x",
        "C ← +1500ms no json at all",
    ]


async def test_messages_are_unchanged_and_logged_without_secrets(
    tmp_path: Path,
) -> None:
    log = log_in(tmp_path, *[0.0] * 4)
    ours, theirs = memory_pair(limit=60)
    peer = LinePeer(theirs)
    tapped = log.tap(ours)
    near = LinePeer(tapped)
    secret, broken = b'{"token":"hunter2"}', b'{"token":"hunter2"'

    tapped.send(secret)
    peer.write(broken, b"x" * 100)
    log.on_stderr("x", b"API_KEY=hunter2")
    await peer.lines.count(1)
    await near.lines.count(2)
    await tapped.aclose()
    await peer.ends.count(1)

    assert peer.lines.items == [secret]
    assert near.lines.items[0] == broken
    assert isinstance(near.lines.items[1], OversizedLine)
    lines = lines_of(log)
    assert "hunter2" not in "".join(lines)
    assert f'C → +0ms {{"token":"{REDACTED}"}}' in lines


async def test_two_logs_of_one_second_are_two_files(tmp_path: Path) -> None:
    logs = [open_debug_log(tmp_path) for _ in range(2)]
    for log in logs:
        log.close()

    assert logs[0].file.path != logs[1].file.path


class CallRecorder:
    """Transport and listener that record their calls."""

    backlog = 7

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.listener: Listener | None = None

    def start(self, listener: Listener) -> None:
        """Keep the listener."""
        self.listener = listener

    def send(self, line: bytes) -> None:
        """Record a line to write."""
        self.calls.append(line)

    def pause_reading(self) -> None:
        """Record the call."""
        self.calls.append("pause")

    def resume_reading(self) -> None:
        """Record the call."""
        self.calls.append("resume")

    async def drain(self) -> None:
        """Record the call."""
        self.calls.append("drain")

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Record the call."""
        self.calls.append(grace)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Record read lines."""
        self.calls += lines

    def writing_paused(self) -> None:
        """Record the call."""
        self.calls.append("paused")

    def writing_resumed(self) -> None:
        """Record the call."""
        self.calls.append("resumed")

    def ended(self, error: Exception | None) -> None:
        """Record the call."""
        self.calls.append(error)


async def test_a_logged_connection_forwards_every_call(tmp_path: Path) -> None:
    log = log_in(tmp_path, *[0.0] * 2)
    transport, reader = CallRecorder(), CallRecorder()
    tapped, lost = log.tap(transport), ConnectionError()

    tapped.start(reader)
    tapped.send(b"1")
    tapped.pause_reading()
    tapped.resume_reading()
    await tapped.drain()
    await tapped.aclose(grace=3.0)
    assert transport.listener is not None
    transport.listener.lines_received([b"2"])
    transport.listener.writing_paused()
    transport.listener.writing_resumed()
    transport.listener.ended(lost)

    assert tapped.backlog == 7
    assert transport.calls == [b"1", "pause", "resume", "drain", 3.0]
    assert reader.calls == [b"2", "paused", "resumed", lost]
    log.close()
