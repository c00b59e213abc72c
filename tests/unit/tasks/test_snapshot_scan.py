"""Looks at files, without git: the test says what git ignores."""

import hashlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

import pytest

from symposium.tasks.snapshots.exclusions import Bounds
from symposium.tasks.snapshots.file_contents import SnapshotReading
from symposium.tasks.snapshots.file_metadata import Mirror, decode, encode
from symposium.tasks.snapshots.inotify import Noticed, Watch
from symposium.tasks.snapshots.objects import FOLDER, Objects, entries_of
from symposium.tasks.snapshots.scan import Scan

_LIMITS = Bounds(file=100, files=3, folder=30)


class Scanned:
    """A folder, and what is known of it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "root"
        self.root.mkdir()
        self.objects = Objects(place / "objects", "sha1")
        self.mirror: Mirror = decode(self.root, b"")
        self.ignored: Collection[str] = ()
        self.asked: list[dict[str, list[str]]] = []

    def write(self, *paths: str, size: int = 1) -> None:
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("x" * size, encoding="utf-8")

    def look(self, noticed: Noticed | None = None, watch: Watch | None = None) -> None:
        """Take in all files, or those that were noticed."""
        scan = Scan(self.mirror, watch, _LIMITS)
        self.asked = []
        if noticed is None:
            scan.walk()
        else:
            scan.visit(noticed)
        self._finish(scan)

    def recheck(self) -> None:
        """Take in other rules of what git ignores."""
        self.asked = []
        self._finish(Scan(self.mirror, None, _LIMITS, has_new_rules=True))

    def _finish(self, scan: Scan) -> None:
        if scan.has_new_rules:
            scan.recheck_all()
            assert not scan.has_new_rules
        while scan.unknown:
            asked, scan.unknown = scan.unknown, {}
            self.asked.append({where: sorted(paths) for where, paths in asked.items()})
            scan.apply_ignored(asked, frozenset(self.ignored))
        scan.exclude_large_folders()
        reading = SnapshotReading(self.mirror, self.objects, scan.bounds, ("*.keep",))
        for each in reading.read(scan.pending, {}):
            scan.drop(each.folder, each.folder.path, each.name)

    def saved(self) -> set[str]:
        """The saved files, by path; those that git ignores with a `!`."""
        everything = set(self._files(self.mirror.build(self.objects, lambda _: None), b"+"))
        work = set(self._files(self.mirror.top.work, b""))
        assert work <= everything
        return work | {f"!{path}" for path in everything - work}

    def _files(self, tree: str | None, prefix: bytes, start: str = "") -> list[str]:
        if tree is None:
            return []
        loose = self.objects.loose(tree)
        assert loose is not None
        found: list[str] = []
        for each in entries_of(loose[1], 20):
            if prefix and each.name == b"-":
                continue
            path = start + each.name.removeprefix(prefix).decode()
            if each.mode == FOLDER:
                found += self._files(each.id, prefix, f"{path}/")
            else:
                found.append(path)
        return found


def blob_of(size: int) -> str:
    """The id of a file that `write` makes."""
    content = b"blob %d\0" % size + b"x" * size
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@pytest.fixture
def scanned(tmp_path: Path) -> Scanned:
    return Scanned(tmp_path)


@pytest.mark.requirement("snapshots.ignored-work")
def test_ignored_build_folder_is_saved_once_no_build_recreates_it(scanned: Scanned) -> None:
    scanned.ignored = {"pkg/target", "pkg/target/out"}
    scanned.write("pkg/Makefile", "pkg/target/out", "pkg/build/tracked", "pkg/node_modules/a")
    scanned.look()
    with_build = scanned.saved()
    (scanned.root / "pkg/Makefile").unlink()
    scanned.look()
    before = scanned.saved()
    scanned.recheck()

    assert with_build == {"pkg/Makefile", "pkg/build/tracked", "pkg/node_modules/a"}
    assert before == {"pkg/build/tracked", "pkg/node_modules/a"}
    assert scanned.saved() == {*before, "!pkg/target/out"}
    assert scanned.mirror.unkept == {}


@pytest.mark.requirement("snapshots.ignored-work")
def test_change_in_a_folder_that_a_build_recreates_is_not_read(scanned: Scanned) -> None:
    scanned.ignored = {"node_modules"}
    scanned.write("node_modules/a/b", "c")
    scanned.look()
    scanned.write("node_modules/new", "node_modules/a/new", size=7)
    scanned.look(Noticed({"node_modules": {"new", "a"}, "node_modules/a": {"new"}}))

    assert scanned.saved() == {"c"}
    assert not scanned.objects.has(blob_of(7))


@pytest.mark.requirement("snapshots.permissions")
@pytest.mark.parametrize("is_noticed", [True, False])
@pytest.mark.parametrize("folder", ["", "in", "in/deep"])
def test_new_mode_of_a_folder_is_part_of_the_next_tree(
    scanned: Scanned, folder: str, *, is_noticed: bool
) -> None:
    scanned.write("in/deep/a")
    trees: list[str] = []
    for mode in (0o755, 0o711, 0o755):
        (scanned.root / folder).chmod(mode)
        where, _, name = folder.rpartition("/")
        scanned.look(Noticed({where: {name}}) if trees and is_noticed else None)
        trees.append(scanned.mirror.build(scanned.objects, lambda _: None))

    assert trees[0] == trees[2] != trees[1]


@pytest.mark.requirement("snapshots.inside")
def test_git_is_asked_about_each_repository_by_itself_and_never_about_its_git_folder(
    scanned: Scanned,
) -> None:
    scanned.write("a", ".git/HEAD", "in/.git/HEAD", "in/.git/refs/x", "in/b", "in/sub/c")
    scanned.look()
    assert scanned.asked == [{"": ["a", "in"], "in": ["in/b", "in/sub", "in/sub/c"]}]
    saved = {"a", "in/.git/HEAD", "in/.git/refs/x", "in/b", "in/sub/c"}
    assert {path.removeprefix("!") for path in scanned.saved()} == saved

    scanned.write("in/.git/refs/y", "in/.git/new", "in/sub/d", ".git/index")
    scanned.look(
        Noticed(
            {"in/.git/refs": {"y"}, "in/.git": {"new"}, "in/sub": {"d"}, "": {".git"}, "no": {"e"}}
        )
    )
    assert scanned.asked == [{"in": ["in/sub/d"]}]
    saved |= {"in/.git/refs/y", "in/.git/new", "in/sub/d"}
    assert {path.removeprefix("!") for path in scanned.saved()} == saved

    scanned.recheck()
    assert scanned.asked == [{"": ["a", "in"], "in": ["in/b", "in/sub", "in/sub/c", "in/sub/d"]}]


def look_at_ignored_folders(scanned: Scanned) -> None:
    """Some at a limit, some above."""
    scanned.ignored = {"at", "many", "large", "big", "big.keep", "log"}
    scanned.write("at/a/1", "at/a/2", "at/3", size=10)
    scanned.write("many/a/1", "many/a/2", "many/b/3", "many/4", size=1)
    scanned.write("large/1", "large/b/2", size=15)
    scanned.write("large/3", size=1)
    scanned.write("free/1", "free/2", "free/3", "free/4", size=200)
    scanned.write("big", "big.keep", "log/in/.git/big", "log/in/big", size=101)
    scanned.look()


@pytest.mark.requirement("snapshots.ignored-work")
def test_uppermost_ignored_folder_has_the_limit_and_other_files_have_none(
    scanned: Scanned,
) -> None:
    look_at_ignored_folders(scanned)

    assert scanned.saved() == {
        *("!at/a/1", "!at/a/2", "!at/3", "!big.keep"),
        *("free/1", "free/2", "free/3", "free/4"),
    }
    assert scanned.mirror.unkept == {
        "many": "git ignores it, and it has 4 files, 4 bytes",
        "large": "git ignores it, and it has 3 files, 31 bytes",
        "log": "git ignores it, and it has 2 files, 202 bytes",
        "big": "git ignores it, and it has 101 bytes",
    }
    assert not scanned.objects.has(blob_of(15)), "nothing of it is read"


@pytest.mark.requirement("snapshots.ignored-work")
def test_ignored_folder_that_is_within_the_limits_again_is_saved_after_new_rules(
    scanned: Scanned,
) -> None:
    look_at_ignored_folders(scanned)
    scanned.write("at/4")
    scanned.look(Noticed({"at": {"4"}}, {"at/4"}))
    scanned.write("big", size=100)
    scanned.look(Noticed({"": {"big"}}))
    assert scanned.mirror.unkept["at"] == "git ignores it, and it has 4 files, 31 bytes"
    assert scanned.saved() == {
        *("!big", "!big.keep", "free/1", "free/2", "free/3", "free/4"),
    }
    scanned.mirror = decode(scanned.root, encode(scanned.mirror))
    scanned.look()
    assert set(scanned.mirror.unkept) == {"many", "large", "log", "at"}

    (scanned.root / "at/4").unlink()
    (scanned.root / "many").rename(scanned.root / "moved")
    shutil.rmtree(scanned.root / "log/in/.git")
    scanned.ignored = {"at", "large", "big", "big.keep", "log"}
    scanned.write("large/4")
    scanned.look(Noticed({"large": {"4"}}, {"large/4"}))
    assert not any(path.startswith("!large") for path in scanned.saved())
    scanned.look()
    scanned.recheck()
    assert scanned.mirror.unkept == {
        "large": "git ignores it, and it has 4 files, 32 bytes",
        "log": "git ignores it, and it has 1 files, 101 bytes",
    }
    assert {"!at/3", "moved/4"} <= scanned.saved()


@pytest.mark.requirement("snapshots.ignored-work")
def test_deleted_file_that_comes_back_is_known_and_a_new_one_is_asked_about(
    scanned: Scanned,
) -> None:
    scanned.ignored = {"log"}
    scanned.write("kept", "log", "dir/inner")
    scanned.look()
    for name in ("kept", "log"):
        (scanned.root / name).unlink()
    scanned.look()
    assert scanned.saved() == {"dir/inner"}
    assert scanned.mirror.deleted == {"kept"}

    scanned.write("kept", "log", "new")
    scanned.look(Noticed({"": {"kept", "log", "new"}}))
    assert scanned.asked == [{"": ["log", "new"]}]
    assert scanned.saved() == {"dir/inner", "kept", "new", "!log"}

    scanned.ignored = {"dir"}
    scanned.recheck()
    assert scanned.saved() == {"!dir/inner", "kept", "log", "new"}
    assert scanned.mirror.deleted == set()


@pytest.mark.requirement("snapshots.ignored-work")
def test_file_in_a_repository_in_an_ignored_folder_has_the_limit_of_ignored_files(
    scanned: Scanned,
) -> None:
    scanned.ignored = {"pkg"}
    scanned.write("pkg/in/.git/HEAD", "pkg/in/sub/small")
    scanned.look()
    (scanned.root / "pkg/in/sub/sparse").write_bytes(b"x" * 101)
    scanned.look(Noticed({"pkg/in/sub": {"sparse"}}, {"pkg/in/sub/sparse"}))

    assert scanned.asked == [{"pkg/in": ["pkg/in/sub/sparse"]}]
    assert scanned.saved() == set()
    assert scanned.mirror.unkept == {"pkg": "git ignores it, and it has 3 files, 103 bytes"}


@pytest.mark.requirement("snapshots.ignored-work")
@pytest.mark.parametrize("where", ["", "dir/"])
def test_every_name_is_checked_again_after_a_list_of_ignored_names_has_changed(
    scanned: Scanned, where: str
) -> None:
    scanned.write("dir/b", f"{where}.gitignore")
    scanned.look()
    names = {"": sorted({"dir", "dir/b", f"{where}.gitignore"})}
    assert scanned.asked == [names]
    scanned.look(Noticed({"dir": {"b"}}))
    assert scanned.asked == []

    noticed = Noticed({where.rstrip("/"): {".gitignore"}})
    scanned.write(f"{where}.gitignore", size=2)
    scanned.look(noticed)
    assert scanned.asked == [names]
    (scanned.root / where / ".gitignore").unlink()
    scanned.look(noticed)
    assert scanned.asked == [{"": ["dir", "dir/b"]}]
    assert scanned.mirror.deleted == set()


@pytest.mark.requirement("snapshots.links")
def test_write_under_one_of_several_names_is_seen_without_a_notice(scanned: Scanned) -> None:
    scanned.write("dir/one")
    (scanned.root / "two").hardlink_to(scanned.root / "dir/one")
    scanned.look()
    assert scanned.mirror.links() == [["dir/one", "two"]]
    before = scanned.mirror.build(scanned.objects, lambda _: None)

    scanned.write("two", size=2)
    scanned.look(Noticed())
    after = scanned.mirror.build(scanned.objects, lambda _: None)
    assert after != before
    (scanned.root / "two").unlink()
    scanned.look(Noticed({"": {"two"}}, {"two"}))

    assert scanned.mirror.links() == []
    assert scanned.saved() == {"dir/one"}


@pytest.mark.requirement("snapshots.watched")
def test_folders_are_watched_while_they_are_saved(scanned: Scanned) -> None:
    watch = Watch()
    scanned.ignored = {"node_modules", "many"}
    scanned.write("a/b/c", "d/e", "node_modules/f", "many/1", "many/2", "many/in/3", "many/in/4")
    scanned.look(watch=watch)

    def watched() -> set[str]:
        names = ("", "a", "a/b", "d", "node_modules", "many", "many/in", "moved", "moved/b")
        return {name for name in names if watch.knows(name)}

    assert watched() == {"", "a", "a/b", "d"}
    (scanned.root / "a").rename(scanned.root / "moved")
    (scanned.root / "d/e").unlink()
    (scanned.root / "d").rmdir()
    (scanned.root / "d").mkdir()
    scanned.write("d/g")
    noticed = watch.read()
    assert noticed.replaced >= {"a", "moved", "d"}
    scanned.look(noticed, watch)
    assert watched() == {"", "moved", "moved/b", "d"}
    assert scanned.saved() == {"moved/b/c", "d/g"}

    scanned.write("d/g", size=2)
    assert watch.read().names == {"d": {"g"}}
    watch.close()


@pytest.mark.requirement("snapshots.watched")
def test_folder_is_noted_with_the_reason_while_it_cannot_be_read(scanned: Scanned) -> None:
    scanned.write("a/b", "c")
    hidden = scanned.root.parent / "hidden"

    class Racing(Watch):
        """A folder is moved away when it is about to be read."""

        def add(self, root: str, folder: str) -> None:
            if folder == "a":
                Path(root, folder).rename(hidden)
            super().add(root, folder)

    watch = Racing()
    scanned.look(watch=watch)
    watch.close()

    assert scanned.mirror.unkept == {"a": "cannot be read: No such file or directory"}
    assert scanned.saved() == {"c"}
    hidden.rename(scanned.root / "a")
    scanned.look()
    assert scanned.mirror.unkept == {}
    assert scanned.saved() == {"a/b", "c"}

    shutil.rmtree(scanned.root)
    scanned.look()
    assert scanned.saved() == set()


@pytest.mark.requirement("snapshots.saved-when-changed")
def test_state_that_is_loaded_again_saves_the_same_files(scanned: Scanned) -> None:
    scanned.ignored = {"log", "node_modules", "dir/cache"}
    scanned.write("a", "log", "node_modules/x", "dir/b", "dir/cache/c")
    (scanned.root / "a").chmod(0o700)
    (scanned.root / "dir").chmod(0o710)
    os.setxattr(scanned.root / "dir/b", "user.note", b"mine")
    scanned.look()
    tree, text = scanned.mirror.build(scanned.objects, lambda _: None), encode(scanned.mirror)

    scanned.mirror = decode(scanned.root, text)
    # Before it looks again: a file that was too new to rely on may have become old enough.
    assert encode(scanned.mirror) == text
    scanned.look()

    assert scanned.asked == []
    assert scanned.mirror.build(scanned.objects, lambda _: None) == tree
    assert scanned.saved() == {"a", "!log", "dir/b", "!dir/cache/c"}
    assert decode(scanned.root, text[:-1]).top.entries == {}
