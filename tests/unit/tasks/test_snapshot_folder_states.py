"""The names and states of a folder are read in one go, and each change is detected."""

import ctypes
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.support.task_harness import Scene, git, store_of

from symposium.tasks.snapshots import file_contents, folder_states
from symposium.tasks.snapshots.file_contents import SnapshotReading, stamp_of
from symposium.tasks.snapshots.file_metadata import File, Mirror, decode
from symposium.tasks.snapshots.folder_states import FolderReader
from symposium.tasks.snapshots.objects import Objects
from symposium.tasks.snapshots.scan import Scan

FILES = 600


def run(commands: str, directory: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=directory, check=True, capture_output=True)


def without_statx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_states, "_statx", None)


def with_failing_statx(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        return -1

    monkeypatch.setattr(folder_states, "_statx", fail)


def with_statx(_: pytest.MonkeyPatch) -> None:
    if not hasattr(ctypes.CDLL(None), "statx"):
        # As on macOS, where folders are read as in the other two cases.
        pytest.skip("the system has no statx(2)")


WAYS = (with_statx, without_statx, with_failing_statx)


@pytest.mark.requirement("snapshots.folder-states")
@pytest.mark.parametrize("way", WAYS)
def test_states_of_a_folder_are_those_of_the_system(
    way: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way(monkeypatch)
    raw = os.fsencode(tmp_path)
    for number in range(FILES):
        (tmp_path / f"{number}").write_bytes(b"x" * number)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("missing")
    (tmp_path / "other").hardlink_to(tmp_path / "1")
    (tmp_path / "2").chmod(0o4751)
    os.utime(tmp_path / "3", ns=(1, -1_500_000_000))
    os.utime(tmp_path / "4", ns=(1, 2**33 * 1_000_000_000 + 999_999_999))
    Path(os.fsdecode(raw + b"/\xff\xfe")).touch()
    os.mkfifo(tmp_path / "pipe")

    read = FolderReader().read(str(tmp_path))

    states = {each: (tmp_path / each).lstat() for each in read.names}
    assert sorted(read.names) == sorted(os.listdir(tmp_path))  # noqa: PTH208 - names
    assert list(read.states()) == [
        (name, state.st_nlink, state.st_mode, stamp_of(state)) for name, state in states.items()
    ]
    assert bool(read.digest) == (way is with_statx)


@pytest.mark.requirement("snapshots.folder-states")
@pytest.mark.parametrize("way", WAYS)
def test_empty_folder_has_no_states(
    way: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way(monkeypatch)
    read = FolderReader().read(str(tmp_path))
    assert (read.names, list(read.states())) == ([], [])


def rewrite(folder: Path) -> None:
    """Write other content of the same size, and restore its time."""
    before = (folder / "b").stat()
    (folder / "b").write_bytes(b"Y")
    os.utime(folder / "b", ns=(before.st_atime_ns, before.st_mtime_ns))


def exchange(folder: Path) -> None:
    """Give two files each other's name."""
    (folder / "a").rename(folder / "c")
    (folder / "b").rename(folder / "a")
    (folder / "c").rename(folder / "b")


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": rewrite,
    "mode": lambda folder: (folder / "a").chmod(0o600),
    "name": lambda folder: (folder / "a").rename(folder / "c"),
    "exchanged": exchange,
    "new": lambda folder: (folder / "c").touch(),
    "deleted": lambda folder: (folder / "a").unlink(),
    "linked": lambda folder: (folder.parent / "c").hardlink_to(folder / "a"),
    "inside": lambda folder: (folder / "inner" / "c").touch(),
}


def wait_for_tick(folder: Path, probe: Path) -> None:
    """Return when the file system gives new files another time than the files of a folder."""
    last = max(each.lstat().st_ctime_ns for each in folder.iterdir())
    while True:
        probe.unlink(missing_ok=True)
        probe.touch()
        if probe.lstat().st_ctime_ns > last:
            return


@pytest.mark.requirement("snapshots.folder-states")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_digest_of_a_folder_changes_with_each_change(
    change: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_statx(monkeypatch)
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "a").write_bytes(b"x")
    (folder / "b").write_bytes(b"y")
    reader = FolderReader()
    before = reader.read(str(folder)).digest
    (folder / "a").read_bytes()
    same = reader.read(str(folder)).digest
    wait_for_tick(folder, tmp_path / "probe")
    change(folder)

    assert before == same
    assert reader.read(str(folder)).digest != before


@pytest.mark.requirement("snapshots.folder-states")
def test_digest_contains_names_on_a_file_system_whose_times_survive_a_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def states_without_times(*_: object) -> int:
        return 0

    monkeypatch.setattr(folder_states, "_statx", states_without_times)
    (tmp_path / "a").touch()
    reader = FolderReader()
    before = reader.read(str(tmp_path)).digest
    (tmp_path / "a").rename(tmp_path / "b")

    assert reader.read(str(tmp_path)).digest != before


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    root = tmp_path / "root"
    root.mkdir()
    return decode(root, b"")


def looked(mirror: Mirror) -> list[str]:
    """Look at all files; the paths of those that are read again."""
    scan = Scan(mirror)
    scan.walk()
    objects = Objects(mirror.root.parent / "objects", "sha1")
    SnapshotReading(mirror, objects).read(scan.pending, {})
    mirror.build(objects, lambda _: None)
    return sorted(each.path for each in scan.pending)


@pytest.mark.requirement("snapshots.folder-states")
@pytest.mark.parametrize("way", WAYS)
def test_scan_of_unchanged_folders_detects_the_next_change(
    way: Callable[[pytest.MonkeyPatch], None],
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    way(monkeypatch)
    monkeypatch.setattr(file_contents, "_RACY", 0)
    run("mkdir -p a/b c; echo x > a/b/file; echo x > c/file; echo x > file", mirror.root)
    assert looked(mirror) == ["a/b/file", "c/file", "file"]
    assert looked(mirror) == []
    digests = {each.path: each.digest for each in mirror.top.below()}
    assert looked(mirror) == []
    assert digests == {each.path: each.digest for each in mirror.top.below()}
    assert all(digests.values()) == (way is with_statx)

    wait_for_tick(mirror.root / "a" / "b", mirror.root.parent / "probe")
    run("echo y > a/b/file; echo x > a/b/new; rm -r c", mirror.root)

    assert looked(mirror) == ["a/b/file", "a/b/new"]
    assert "c" not in mirror.top.entries


@pytest.mark.requirement("snapshots.folder-states")
def test_folder_that_is_left_out_and_then_taken_is_read(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest is that of files which the mirror has no longer."""
    monkeypatch.setattr(file_contents, "_RACY", 0)
    run("mkdir a; echo x > a/file", mirror.root)
    for _ in range(3):
        looked(mirror)
    folder = mirror.top.at("a")
    assert folder is not None
    folder.entries.clear()
    folder.changed()

    assert looked(mirror) == ["a/file"]


@pytest.mark.requirement("snapshots.folder-states")
def test_recently_changed_file_or_folder_leaves_no_digest(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_contents, "_RACY", 10**15)
    run("mkdir -p a/b c; echo x > c/file", mirror.root)

    assert [looked(mirror) for _ in range(3)] == [["c/file"]] * 3
    folders = {each.path: each for each in mirror.top.below()}
    assert [folders[each].digest for each in ("", "a", "c")] == [0, 0, 0]


class SlowObjects(Objects):
    """A store in which the process waits after it has read a file."""

    waited = 0

    def put_file(self, file: BinaryIO, size: int) -> str:
        """Read, and wait for a second."""
        self.waited += 1_000_000_000
        return super().put_file(BytesIO(file.read()), size)


@pytest.mark.requirement("snapshots.folder-states")
def test_recently_changed_file_is_not_trusted_when_the_process_waits_after_the_read(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = SlowObjects(mirror.root.parent / "objects", "sha1")
    (mirror.root / "file").write_bytes(b"x")
    written = (mirror.root / "file").stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: written + 1000 + objects.waited)
    scan = Scan(mirror)
    scan.walk()

    SnapshotReading(mirror, objects).read(scan.pending, {})

    file = mirror.top.entries["file"]
    assert isinstance(file, File)
    assert (file.id.hex(), file.stamp) == (objects.put("blob", b"x"), 0)


@pytest.mark.requirement("snapshots.large-trees")
async def test_only_names_of_the_rules_are_compared_with_tracked_files(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    worktree, log = Path(made.worktree), tmp_path / "log"
    run("echo '*.log' > .gitignore; echo x > kept.log; git add -f kept.log", worktree)
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *check-ignore*) ;; *) exec {shutil.which("git")} "$@";; esac\n'
        f'tee {log} | {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    first = await scene.engine.history.snapshot(made.id, "first")
    run("echo x > new.log; echo x > new", worktree)

    second = await scene.engine.history.snapshot(made.id, "second")

    assert first.work != second.work
    listed = git("ls-tree", "--name-only", second.work, cwd=store_of(scene)).split()
    assert {"kept.log", "new", "new.log"} & set(listed) == {"kept.log", "new"}
    assert sorted(log.read_bytes().split(b"\0")) == [b"", b"./new.log"]
