"""Own standard streams as a transport: every kind, and restored afterwards."""

import os
import signal
import socket
import subprocess
import sys
import tty
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from peerwire.errors import TransportError
from peerwire.testing import LineRecorder
from peerwire.transports.fd import stdio_transport

ECHO = """if True:
    import asyncio, os, sys
    from peerwire.errors import TransportError
    from peerwire.testing import LineRecorder
    from peerwire.transports.fd import stdio_transport

    async def main():
        try:
            transport = stdio_transport()
        except TransportError as error:
            sys.exit(str(error))
        recorder = LineRecorder()
        transport.start(recorder)
        print("stray print")
        os.write(1, b"stray write\\n")
        await recorder.end() if sys.argv[1] == "all" else await recorder.received(1)
        for line in recorder.lines:
            transport.send(line)
        if sys.stderr is not None:
            transport.send(b'{"blocking":%d}' % os.get_blocking(2))
        await transport.aclose()
        print("after")

    asyncio.run(main())
"""
"""Sends back its input, lets other code print, and prints itself after it has closed."""

COMMAND = ["/usr/bin/env", "-u", "PYTHONUNBUFFERED", sys.executable, "-c", ECHO, "all"]
LINES = b"".join(b'{"n":%d}\n' % n for n in range(1000))
EXPECTED = LINES + b'{"blocking":1}\nafter\n'
STRAY = b"stray write\nstray print\n"


@pytest.mark.requirement("process.stdio-only-protocol")
def test_prints_of_other_code_go_to_stderr() -> None:
    done = subprocess.run(COMMAND, input=LINES, capture_output=True, check=True)

    assert (done.stdout, done.stderr) == (EXPECTED, STRAY)


@pytest.mark.requirement("process.stdio-regular-file")
def test_streams_may_be_plain_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(LINES)
    (tmp_path / "out").write_bytes(b"kept\n")

    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("ab") as stdout:
        subprocess.run(COMMAND, stdin=stdin, stdout=stdout, check=True)

    assert (tmp_path / "out").read_bytes() == b"kept\n" + EXPECTED


@pytest.mark.requirement("process.stdio-closed")
@pytest.mark.parametrize("stdin", ["</dev/null", "<&-"])
@pytest.mark.parametrize("stderr", ["2>&1", "2>/dev/null", "2>&-"])
def test_empty_or_closed_input_has_ended(stdin: str, stderr: str) -> None:
    script = f'exec "$@" {stdin} {stderr}'

    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *COMMAND], capture_output=True, check=True
    )

    blocking = b"" if stderr == "2>&-" else b'{"blocking":1}\n'
    stray = b"stray write\n" if stderr == "2>&1" else b""
    late = b"stray print\n" if stderr == "2>&1" else b""
    assert done.stdout == stray + blocking + late + b"after\n"


@pytest.mark.requirement("process.stdio-closed")
def test_closed_output_is_a_clear_error() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND], capture_output=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == (
        b"standard output is closed, and answers go there; start this program with it open\n"
    )


@pytest.mark.requirement("process.stdio-blocking-mode-restored")
def test_streams_may_be_sockets() -> None:
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(COMMAND, stdin=(fd := theirs.fileno()), stdout=fd) as process,
    ):
        ours.sendall(LINES)
        ours.shutdown(socket.SHUT_WR)
        assert process.wait() == 0
        assert os.get_blocking(theirs.fileno())
        theirs.close()
        received = b"".join(iter(lambda: ours.recv(1 << 16), b""))

    assert received == EXPECTED


@pytest.mark.requirement("process.stdio-blocking-mode-restored")
def test_streams_may_be_one_terminal_that_is_restored() -> None:
    keyboard, terminal = os.openpty()
    tty.setraw(terminal)
    command = [*COMMAND[:-1], "first"]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.write(keyboard, b"{}\n")
        assert process.wait() == 0
    assert os.get_blocking(terminal)
    shown = os.read(keyboard, 1000)
    os.close(keyboard)
    os.close(terminal)

    assert shown == b'stray print\nstray write\n{}\n{"blocking":1}\nafter\n'


@pytest.mark.requirement("process.stdio-kinds")
def test_streams_may_be_named_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    script = 'exec "$@" <"$0"'
    command = ["/bin/sh", "-c", script, str(tmp_path / "in"), *COMMAND]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        (tmp_path / "in").write_bytes(LINES)
        stdout, _ = process.communicate()

    assert stdout == EXPECTED


@pytest.mark.skipif(sys.platform != "linux", reason="a mode of one's own needs Linux's /proc")
@pytest.mark.requirement("process.stdio-blocking-mode-restored")
def test_kill_leaves_a_pipe_unchanged() -> None:
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    command = [*COMMAND[:-1], "first"]
    with subprocess.Popen(command, stdin=read_in, stdout=write_out) as process:
        os.write(write_in, b"{}\n")
        assert os.read(read_out, 3) == b"{}\n"
        process.send_signal(signal.SIGKILL)
    modes = [os.get_blocking(read_in), os.get_blocking(write_out)]
    for fd in (read_in, write_in, read_out, write_out):
        os.close(fd)

    assert modes == [True, True]


@contextmanager
def standard_streams() -> Generator[tuple[int, int], None, None]:
    """Replace the standard streams of this process with pipes; return the other ends."""
    saved = os.dup(0), os.dup(1)
    (stdin, source), (sink, stdout) = os.pipe(), os.pipe()
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.close(stdin)
    os.close(stdout)
    try:
        yield source, sink
    finally:
        for fd, old in enumerate(saved):
            os.dup2(old, fd)
            os.close(old)
        for fd in (source, sink):
            os.close(fd)


@pytest.mark.requirement("process.stdio-kinds")
async def test_streams_are_taken_until_the_close() -> None:
    with standard_streams() as (source, sink):
        os.write(source, b"1\n")
        messages = LineRecorder()
        transport = stdio_transport()
        transport.start(messages)
        assert await messages.received(1) == [b"1"]
        assert os.read(0, 1) == b""
        transport.send(b"2")
        await transport.aclose()
        os.write(1, b"3\n")
        os.write(source, b"4\n")

        assert os.read(sink, 100) == b"2\n3\n"
        assert os.read(0, 100) == b"4\n"


@pytest.mark.requirement("process.stdio-kinds")
async def test_streams_closed_before_the_start_are_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with standard_streams():
        monkeypatch.setattr(sys, "__stdin__", None)
        monkeypatch.setattr(sys, "stdout", None)
        messages = LineRecorder()
        transport = stdio_transport()
        transport.start(messages)
        assert await messages.end() is None
        transport.close()

        monkeypatch.setattr(sys, "__stdout__", None)
        with pytest.raises(TransportError, match="standard output is closed"):
            stdio_transport()


@pytest.mark.requirement("process.stdio-reader-gone")
async def test_peer_that_does_not_read_is_detected_by_a_write() -> None:
    with standard_streams() as (_, sink):
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, sink)
        os.close(null)
        messages = LineRecorder()
        transport = stdio_transport()
        transport.start(messages)

        transport.send(b"1")

        assert isinstance(await messages.end(), BrokenPipeError)
        transport.close()
