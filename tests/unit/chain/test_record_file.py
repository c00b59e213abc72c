"""A file that is recorded into: new, private, whole lines, and never in the way."""

import asyncio
import errno
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from symposium.chain.record_files import FLUSH_BYTES, RecordingError, new_file
from symposium.chain.trace import open_trace


@pytest.mark.requirement("conductor.trace-file", "cli.run-with-trace-dir")
async def test_a_trace_is_a_new_private_file_named_by_time_and_process(tmp_path: Path) -> None:
    directory = tmp_path / "not" / "there"

    trace = open_trace(directory)
    trace.close()

    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{os.getpid()}\.jsons", trace.file.path.name)
    assert mode_of(trace.file.path) == 0o600
    assert mode_of(directory) == 0o700


@pytest.mark.requirement("cli.run-with-trace-dir-collision")
def test_recordings_of_the_same_second_have_separate_files(tmp_path: Path) -> None:
    files = [new_file(tmp_path, "now", ".jsons") for _ in range(3)]
    for file in files:
        file.close()

    assert [file.path.name for file in files] == ["now.jsons", "now-2.jsons", "now-3.jsons"]


@pytest.mark.requirement("conductor.trace-file")
def test_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "now.jsons").symlink_to(tmp_path / "precious")

    new_file(tmp_path, "now", ".jsons").close()

    assert not (tmp_path / "precious").exists()


@pytest.mark.requirement("conductor.trace-file")
async def test_lines_are_written_at_the_end_of_the_turn(tmp_path: Path) -> None:
    file = new_file(tmp_path, "now", ".jsons")

    file.write(b"one")
    file.write(b"two")
    before = read(file.path)
    turned = asyncio.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    await turned.wait()

    assert (before, read(file.path)) == (b"", b"one\ntwo\n")
    file.close()


@pytest.mark.requirement("conductor.trace-file")
async def test_long_turn_writes_early_and_close_writes_the_rest(tmp_path: Path) -> None:
    file = new_file(tmp_path, "now", ".jsons")

    file.write(b"x" * (FLUSH_BYTES + 1))
    long = read(file.path)
    file.write(b"rest")
    file.close()
    file.close()
    file.write(b"too late")

    assert long == b"x" * (FLUSH_BYTES + 1) + b"\n"
    assert read(file.path) == long + b"rest\n"


@pytest.mark.requirement("conductor.record-without-loop")
def test_without_a_loop_a_line_is_written_at_once(tmp_path: Path) -> None:
    file = new_file(tmp_path, "now", ".log")

    file.write(b"one")
    written = read(file.path)
    file.close()

    assert written == b"one\n"


def read(path: Path) -> bytes:
    return path.read_bytes()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("conductor.trace-write-error")
@pytest.mark.parametrize("place", ["file", "file/below", "closed"])
def test_a_directory_that_cannot_be_written_to_is_an_error_at_the_start(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir(mode=0o500)
    if place == "closed" and os.geteuid() == 0:
        pytest.skip("root may write anywhere")

    with pytest.raises(RecordingError, match=re.escape(str(tmp_path / place))) as caught:
        new_file(tmp_path / place, "now", ".jsons")

    assert "directory" in caught.value.hint


@contextmanager
def no_file_longer_than(size: int) -> Generator[None, None, None]:
    """Fail longer writes with `EFBIG`, like a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handled)


@pytest.mark.requirement("conductor.trace-write-error")
async def test_full_disk_stops_the_recording_after_a_whole_line_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = new_file(tmp_path, "now", ".jsons")
    file.write(b"first")
    file.flush()

    with no_file_longer_than(20):
        file.write(b"second" * 10)
        file.flush()
        file.write(b"third")
        file.flush()

    assert read(file.path) == b"first\n"
    assert not file.is_open
    assert len(caplog.records) == 1
    assert os.strerror(errno.EFBIG) in caplog.text


WRITER = """
import asyncio, sys
from pathlib import Path
from symposium.chain.record_files import new_file

async def main():
    file = new_file(Path(sys.argv[1]), "now", ".jsons")
    number = 0
    while True:
        number += 1
        file.write(b'{"number":%d,"filler":"%b"}' % (number, b"x" * 500))
        if number == 1000:
            print("ready", flush=True)
        await asyncio.sleep(0)

asyncio.run(main())
"""


@pytest.mark.requirement("conductor.trace-crash-safe")
def test_recording_survives_a_kill_in_whole_lines(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()

    lines = (tmp_path / "now.jsons").read_bytes().split(b"\n")
    assert len(lines) >= 1000
    assert all(line.endswith(b'"}') for line in lines[:-1])
    assert lines[-1] == b""
