"""One bus and its clients, all in this process, which also publishes. Linux only."""

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.bus.speakers import STAMP, Frame, Speaker
from bench.processes import processor_seconds

START_TIME: Final = 20.0
"""Timeout in seconds until a server listens."""

STALL: Final = 3.0
"""Seconds without a delivery after which a measurement is aborted."""

READ: Final = 256 * 1024

now = time.monotonic_ns


class StalledError(Exception):
    """Deliveries have stopped."""


class Rig:
    """A server and its clients; a context manager."""

    def __init__(self, speaker: Speaker, receivers: int) -> None:
        self.speaker = speaker
        self.receivers = receivers
        self._folder = Path(tempfile.mkdtemp(prefix="bus"))
        self._buffer = bytearray(READ)
        self._view = memoryview(self._buffer)
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self.lost = 0
        """Clients that the server has disconnected."""
        self.cpu = 0.0
        """Microseconds of the server's processor time a delivery in the last run at full speed."""

    def __enter__(self) -> Self:
        (self._folder / "run").mkdir(mode=0o700)
        port = _free_port()
        environment = {**os.environ, "SYMPOSIUM_HOME": str(self._folder)}
        self._server = subprocess.Popen(
            self.speaker.command(self._folder, port),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self._publisher = self._first(port)
        self._publisher.settimeout(0)
        for number in range(1, self.receivers + 1):
            sock = self.speaker.connect(self._folder, port, number)
            sock.settimeout(0)
            self._sockets[sock.fileno()] = sock
            self._poll.register(sock.fileno(), select.EPOLLIN)
        self._poll.register(self._publisher.fileno(), select.EPOLLIN)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for sock in (self._publisher, *self._sockets.values()):
            sock.close()
        with suppress(OSError):
            os.killpg(self._server.pid, signal.SIGKILL)
        self._server.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop_reading(self) -> None:
        """Make one client stop reading."""
        fd = next(reversed(self._sockets))
        self._poll.unregister(fd)

    def memory(self) -> float:
        """Memory of the server in MB."""
        pages = int(Path(f"/proc/{self._server.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def flat_out(self, frame: Frame, receivers: int, seconds: float, window: int) -> float:
        """Messages a second with at most `window` messages in flight.

        Raises:
            StalledError: deliveries have stopped.
        """
        each = frame.length * receivers
        got = sent = 0
        spent = processor_seconds(self._server.pid)
        began = last_read = now()
        end = began + int(seconds * 1e9)
        while (moment := now()) < end:
            room = window - (sent - got // each)
            if room > 0:
                self._publish(b"".join([frame.make(moment) for _ in range(room)]))
                sent += room
            if more := self._read(0.2):
                got += more
                last_read = now()
            elif now() - last_read > STALL * 1e9:
                raise StalledError(f"{self.speaker.name}: {got // each} of {sent} arrived")
        rate = got / each / ((now() - began) / 1e9)
        spent = processor_seconds(self._server.pid) - spent
        self.cpu = spent * 1e6 / max(1, got // frame.length)
        self._drain(sent * each - got)
        return rate

    def paced(self, frame: Frame, receivers: int, seconds: float, rate: float) -> list[float]:
        """The latency of each delivery in microseconds, at so many messages a second."""
        each = frame.length * receivers
        latencies: list[float] = []
        step = int(1e9 / rate)
        got = sent = 0
        due = now()
        end = due + int(seconds * 1e9)
        while (moment := now()) < end:
            if moment >= due:
                self._publish(frame.make(moment))
                sent += 1
                due = max(due + step, moment - 10 * step)
                got += self._read(0, latencies, frame)
            else:
                got += self._read((due - moment) / 1e9, latencies, frame)
        self._drain(sent * each - got)
        return latencies

    def _first(self, port: int) -> socket.socket:
        end = time.monotonic() + START_TIME
        while True:
            try:
                return self.speaker.connect(self._folder, port, 0)
            except OSError:
                if time.monotonic() > end or self._server.poll() is not None:
                    raise
                time.sleep(0.02)

    def _publish(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._publisher.send(rest) :]
            except BlockingIOError:
                select.select([], [self._publisher], [], 0.01)

    def _read(
        self, timeout: float, latencies: list[float] | None = None, frame: Frame | None = None
    ) -> int:
        """Read available bytes; return how many bytes the receivers got."""
        got = 0
        own = self._publisher.fileno()
        for fd, _ in self._poll.poll(timeout):
            if fd == own:
                # Answers to the publisher are not deliveries.
                self._publisher.recv_into(self._view)
                continue
            try:
                count = self._sockets[fd].recv_into(self._view)
            except BlockingIOError:
                continue
            except ConnectionError:
                count = 0
            if not count:
                self.lost += 1
                self._poll.unregister(fd)
                continue
            got += count
            if latencies is not None and frame is not None and count % frame.length == 0:
                moment = now()
                for at in range(frame.offset, count, frame.length):
                    sent = int(self._buffer[at : at + STAMP])
                    latencies.append((moment - sent) / 1e3)
        return got

    def _drain(self, missing: int) -> None:
        while missing > 0 and (got := self._read(0.5)):
            missing -= got


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
