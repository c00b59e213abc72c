"""Changes in a worktree are detected with and without reports of the kernel."""

import logging
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, tree_of

from symposium.tasks.engine_context import subject_of
from symposium.tasks.model import Taskspace
from symposium.tasks.projects import open_project
from symposium.tasks.snapshots import watched_files
from symposium.tasks.snapshots.capture import CACHE
from symposium.tasks.snapshots.file_metadata import decode
from symposium.tasks.snapshots.inotify import Noticed, Watch, WatchError
from symposium.tasks.snapshots.objects import Objects
from symposium.tasks.snapshots.scan import Scan
from symposium.tasks.snapshots.snapshots import Snapshots


def run(commands: str, worktree: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=worktree, check=True, capture_output=True)


CHANGES = {
    "a file written": "echo x > README.md",
    "a file of the same size and time": (
        "t=$(stat -c %y README.md); printf '# SampXe\\n' > README.md; touch -d \"$t\" README.md"
    ),
    "a file made": "echo x > new",
    "a file deleted": "rm README.md",
    "a mode": "chmod 600 README.md",
    "a mode of a folder": "chmod 700 src",
    "a folder made with files": "mkdir -p a/b/c; echo x > a/b/c/d; echo y > a/e",
    "a folder renamed, then changed": "mv src source; echo x >> source/app.py",
    "a folder renamed and back": "mv src x; echo x >> x/app.py; mv x src",
    "a folder replaced": "cp -r src copy; rm -r src; mv copy src; echo x >> src/app.py",
    "a folder moved into another": "mkdir deep; mv src deep/; echo x >> deep/src/app.py",
    "a folder for a file": "rm README.md; mkdir README.md; echo x > README.md/x",
    "a link": "ln -sf src link",
    "an ignored file": "mkdir build; echo x > build/out",
    "all ignored": "echo '*' > .gitignore; echo x > another",
    "a write through a mapping": "python3 -c \"import mmap; f = open('README.md', 'r+b');"
    " m = mmap.mmap(f.fileno(), 0); m[0:2] = b'xx'; m.close(); f.close()\"",
    "a commit": "git commit -q --allow-empty -m x",
    "a tag": "git tag x",
    "a staged file": "echo x > README.md; git add README.md",
    "an attribute": "python3 -c \"import os; os.setxattr('README.md', 'user.a', b'x')\"",
}


@pytest.fixture
async def made(scene: Scene) -> Taskspace:
    """A task with one snapshot."""
    made = await scene.make()
    await scene.engine.history.snapshot(made.id, "first")
    return made


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every scan of all files."""
    seen: list[str] = []
    walk = Scan.walk

    def noted(scan: Scan) -> None:
        seen.append(str(scan.mirror.root))
        walk(scan)

    monkeypatch.setattr(Scan, "walk", noted)
    return seen


@pytest.mark.requirement("snapshots.watched")
@pytest.mark.parametrize("way", CHANGES)
async def test_change_is_in_the_next_snapshot_without_a_full_scan(
    way: str, scene: Scene, made: Taskspace, walks: list[str]
) -> None:
    worktree = Path(made.worktree)
    before = tree_of(worktree)

    run(CHANGES[way], worktree)
    taken = await scene.engine.history.snapshot(made.id, "tool call")
    changed = tree_of(worktree)
    looked = list(walks)
    run("rm -rf ./src ./README.md", worktree)
    await scene.engine.history.restore(made.id, taken.ref)

    assert looked == []
    assert tree_of(worktree) == changed
    assert before != changed or way.startswith(
        ("a mode of", "a commit", "a tag", "an attr", "a mode")
    )


@pytest.mark.requirement("snapshots.watched")
@pytest.mark.parametrize("way", CHANGES)
async def test_change_makes_a_new_state(way: str, scene: Scene, made: Taskspace) -> None:
    first = await scene.engine.history.snapshot(made.id, "one")

    run(CHANGES[way], Path(made.worktree))
    second = await scene.engine.history.snapshot(made.id, "two")

    assert first.key != second.key


@pytest.mark.requirement("snapshots.watched")
async def test_file_created_before_its_folder_is_watched_is_detected(
    scene: Scene, made: Taskspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = Path(made.worktree)
    add = Watch.add

    def raced(watch: Watch, root: str, folder: str) -> None:
        if folder == "new":
            (worktree / "new/before").write_text("made before the watch", encoding="utf-8")
        add(watch, root, folder)
        if folder == "new":
            (worktree / "new/after").write_text("made after the watch", encoding="utf-8")

    monkeypatch.setattr(Watch, "add", raced)
    (worktree / "new").mkdir()
    await scene.engine.history.snapshot(made.id, "tool call")
    before = tree_of(worktree)
    run("rm -r new", worktree)

    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before


def overflown(watch: Watch) -> Noticed:
    """Report an overflow of the queue."""
    del watch
    return Noticed(is_whole=False)


@pytest.mark.requirement("snapshots.overflow")
async def test_overflow_causes_a_full_scan(
    scene: Scene, made: Taskspace, walks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await scene.engine.history.snapshot(made.id, "one")
    (Path(made.worktree) / "README.md").write_text("x", encoding="utf-8")
    monkeypatch.setattr(Watch, "read", overflown)

    second = await scene.engine.history.snapshot(made.id, "two")

    assert walks
    assert first.key != second.key


@pytest.mark.requirement("snapshots.overflow")
def test_overflow_of_the_queue_is_noticed(tmp_path: Path) -> None:
    watch = Watch()
    watch.add(str(tmp_path), "")
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text(encoding="ascii"))
    for number in range(most // 2 + 10):
        file = tmp_path / f"{number % 2}"
        file.touch()
        file.unlink()

    noticed = watch.read()

    watch.close()
    assert not noticed.is_whole


def refused(watch: Watch, *_: str) -> None:
    """Fail like a system whose limit of watches is reached."""
    del watch
    raise WatchError("inotify_add_watch: No space left on device")


def no_inotify(watch: Watch) -> None:
    """Fail like a system without inotify."""
    del watch
    raise WatchError("darwin has no inotify")


@pytest.mark.requirement("snapshots.unwatched")
@pytest.mark.parametrize(("name", "broken"), [("add", refused), ("__init__", no_inotify)])
async def test_every_snapshot_scans_all_files_and_logs_it_without_a_watch(
    name: str,
    broken: Callable[..., None],
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Watch, name, broken)
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / "a").mkdir()
    (worktree / "a/b").write_text("x", encoding="utf-8")
    with caplog.at_level(logging.WARNING, watched_files.__name__):
        await scene.engine.history.snapshot(made.id, "one")
    before = tree_of(worktree)
    run("rm -r a src", worktree)

    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before
    assert "reading every file at each snapshot" in caplog.text


@pytest.mark.requirement("snapshots.watched")
async def test_undo_scans_all_files_regardless_of_reports(
    scene: Scene, made: Taskspace, walks: list[str]
) -> None:
    (Path(made.worktree) / "README.md").write_text("x", encoding="utf-8")

    await scene.engine.history.undo(made.id)

    assert walks == [made.worktree]


@pytest.mark.requirement("snapshots.undo-processes")
async def test_undo_of_changed_and_deleted_files_starts_one_git_process(
    scene: Scene, made: Taskspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree, log = Path(made.worktree), tmp_path / "log"
    before = tree_of(worktree)
    run("echo x > README.md; rm src/app.py", worktree)
    for folder in (scene.clone / ".git" / "objects").glob("**"):
        # The objects of a clone that has just been written to are looked at in full.
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")

    await scene.engine.history.undo(made.id)

    started = log.read_text(encoding="utf-8").splitlines()
    assert ["cat-file --batch-check" in line for line in started] == [True]
    assert tree_of(worktree) == before


@pytest.mark.requirement("snapshots.undo-processes")
async def test_file_that_comes_back_after_a_change_of_ignore_rules_follows_the_new_ones(
    scene: Scene, made: Taskspace
) -> None:
    worktree, history = Path(made.worktree), scene.engine.history
    run("echo x > notes", worktree)
    await history.snapshot(made.id, "made")
    run("rm notes", worktree)
    await history.snapshot(made.id, "deleted")
    run("echo notes > .gitignore", worktree)
    without = await history.snapshot(made.id, "new rules")
    run("echo x > notes", worktree)
    ignored = await history.snapshot(made.id, "back")

    assert ignored.tree == without.tree
    assert ignored.key != without.key


@pytest.mark.requirement("snapshots.watched")
async def test_build_folder_is_not_watched(scene: Scene, made: Taskspace) -> None:
    worktree = Path(made.worktree)
    (worktree / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    (worktree / "node_modules/a/b").mkdir(parents=True)
    (worktree / "node_modules/a/b/c").write_text("x", encoding="utf-8")
    first = await scene.engine.history.snapshot(made.id, "one")

    (worktree / "node_modules/a/b/c").write_text("y", encoding="utf-8")
    second = await scene.engine.history.snapshot(made.id, "two")

    assert first == second


@pytest.mark.requirement("snapshots.saved-when-changed")
async def test_known_state_of_a_worktree_is_saved_only_after_a_change(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    run("mkdir -p a/b c/d e; for each in a a/b c c/d e; do echo x > $each/file; done", worktree)
    opened = await open_project(Path(made.project))
    subject = subject_of(scene.engine.records.context, made, opened.repository)
    snapshots = Snapshots()

    async def saved() -> int:
        """Inode of the saved file; each save creates a new file."""
        await snapshots.work_commit(subject)
        snapshots.close()
        return (subject.shadow / CACHE).stat().st_ino

    last, now, left = 0, await saved(), 100
    # A file that was read just after it was written is read again.
    while now != last and left:
        last, now, left = now, await saved(), left - 1
    (worktree / "c/d/file").write_text("changed\n", encoding="utf-8")
    changed = await saved()

    assert now == last
    assert changed != now


@pytest.mark.requirement("snapshots.links")
async def test_hard_links_are_known_after_a_scan_of_unchanged_files(
    scene: Scene, made: Taskspace
) -> None:
    worktree = Path(made.worktree)
    run("echo x > one; ln one two", worktree)
    written = (worktree / "one").stat().st_ctime
    await scene.engine.history.snapshot(made.id, "linked")
    # A file that was read just after it was written counts as changed.
    while time.time() < written + 0.1:
        await scene.engine.history.snapshot(made.id, "again")
    await scene.engine.history.snapshot(made.id, "unchanged")
    run("echo y > other", worktree)
    undone = await scene.engine.history.undo(made.id)
    run("cp two copy; mv copy two", worktree)

    await scene.engine.history.restore(made.id, undone.before.ref)

    assert (worktree / "one").samefile(worktree / "two")


@pytest.mark.requirement("snapshots.inside")
def test_nested_folders_and_repositories_are_found_after_each_change(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    mirror, objects = decode(root, b""), Objects(tmp_path / "objects", "sha1")
    for commands in (
        "mkdir -p a/b c/.git; echo x > c/.git/HEAD",
        "mkdir -p a/b/d/.git; echo x > a/b/d/.git/HEAD",
        "mv c a/b/c; echo x > a/new",
        "rm -r a/b/d/.git; mkdir a/b/d/e",
        "rm -r a/b; echo x > a/b",
    ):
        run(commands, root)
        Scan(mirror).walk()
        mirror.build(objects, lambda _: None)
        found = {each.path: each.is_repository for each in mirror.top.below()}
        here = {str(each.relative_to(root)): each for each in root.rglob("*") if each.is_dir()}

        assert found == {"": False, **{path: (at / ".git").exists() for path, at in here.items()}}
