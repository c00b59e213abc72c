"""States of a worktree that count as the same, and what a store borrows and keeps."""

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from symposium.tasks.snapshots import snapshots
from symposium.tasks.snapshots.capture import CaptureMemory, Parts, key_of
from symposium.tasks.snapshots.clone_restore import restore_stash
from symposium.tasks.snapshots.snapshot_values import Details, SnapshotTarget, Stashed
from symposium.tasks.snapshots.store import copied_packs, open_store

_ID = "1" * 40
_OTHER = "2" * 40
PARTS = Parts(
    files="files",
    work="work",
    modules="modules",
    staged="staged",
    flags="flags",
    private="private",
    named=frozenset({"b", "a"}),
    damage="",
    clone={"HEAD": b"ref: refs/heads/main\n", "info/exclude": b"*.log\n"},
    refs={"refs/heads/main": _ID, "refs/heads/theirs": _ID, "refs/tags/v1": _ID},
    others=frozenset({"refs/heads/theirs"}),
    stash=(Stashed(_ID, "first"),),
    head="refs/heads/main",
    tip=_ID,
    links=(("one", "two"),),
    nested=(),
    unkept=(),
)


def refs(**changed: str) -> dict[str, str]:
    """The refs with some changed ones; `_` is a slash."""
    new = {f"refs/{name.replace('_', '/')}": id_ for name, id_ in changed.items()}
    return {**PARTS.refs, **new}


@pytest.mark.requirement("snapshots.nothing-new")
@pytest.mark.parametrize(
    "change",
    [
        {"files": "other"},
        {"staged": "other"},
        {"staged": None},
        {"flags": "other"},
        {"modules": None},
        {"head": "refs/heads/other"},
        {"tip": _OTHER},
        {"stash": ()},
        {"named": frozenset({"a"})},
        {"damage": "no config"},
        {"links": ()},
        {"links": (("one", "two", "three"),)},
        {"clone": {**PARTS.clone, "info/exclude": b"\xff"}},
        {"refs": refs(heads_main=_OTHER)},
        {"refs": refs(tags_v1=_OTHER)},
        {"refs": refs(heads_new=_ID)},
        {"others": frozenset[str]()},
    ],
    ids=", ".join,
)
def test_state_with_a_difference_to_restore_has_another_key(change: dict[str, Any]) -> None:
    assert key_of(replace(PARTS, **change)) != key_of(PARTS)


@pytest.mark.requirement("snapshots.nothing-new")
@pytest.mark.parametrize(
    "change",
    [
        {"refs": refs(heads_theirs=_OTHER)},
        {"refs": refs(remotes_origin_main=_OTHER)},
        {"refs": refs(stash=_ID)},
        {"refs": dict(sorted(PARTS.refs.items(), reverse=True))},
        {"named": frozenset({"a", "b"})},
        {"private": "other"},
        {"clone": {**PARTS.clone, "config": b"[core]\n"}},
        {"unkept": ("a: cannot be read",)},
    ],
    ids=", ".join,
)
def test_what_other_worktrees_did_and_what_was_fetched_makes_no_new_state(
    change: dict[str, Any],
) -> None:
    assert key_of(replace(PARTS, **change)) == key_of(PARTS)


@pytest.mark.requirement("snapshots.nothing-new")
def test_private_files_count_where_the_index_cannot_be_read() -> None:
    unread = replace(PARTS, staged=None)

    assert key_of(replace(unread, private="other")) != key_of(unread)
    assert key_of(replace(unread, private=None)) != key_of(unread)


def clone_with_stash(place: Path, *commits: str) -> SnapshotTarget:
    """The files of a clone that say what is stashed; no git can use it."""
    common = place / "clone" / ".git"
    (common / "logs/refs").mkdir(parents=True)
    (common / "refs").mkdir()
    lines = [f"{_ID} {id_} A <a@b> 1 +0000\tmessage {id_[0]}\n" for id_ in commits]
    (common / "logs/refs/stash").write_text("".join(lines), encoding="utf-8")
    (common / "refs/stash").write_text(f"{commits[-1]}\n", encoding="utf-8")
    return SnapshotTarget("one", place / "worktree", common, place / "state" / "shadow" / "one")


@pytest.mark.requirement("snapshots.stash-and-branches")
async def test_stash_that_has_every_entry_is_not_written_again(tmp_path: Path) -> None:
    one, two, three = (digit * 40 for digit in "345")
    subject = clone_with_stash(tmp_path, one, two, three)
    kept = (Stashed(one, "message 3"), Stashed(two, "message 4"))

    assert await restore_stash(subject, Details(stash=kept)) == []
    assert await restore_stash(subject, Details()) == []
    assert (subject.common / "refs/stash").read_text(encoding="utf-8") == f"{three}\n"


def with_pack(objects: Path, name: str, borrows: str = "") -> None:
    """Write a pack, and which folders of objects are borrowed."""
    (objects / "pack").mkdir(parents=True)
    (objects / "info").mkdir()
    for ending in ("pack", "idx"):
        (objects / "pack" / f"pack-{name}.{ending}").write_bytes(name.encode())
    if borrows:
        (objects / "info" / "alternates").write_text(borrows, encoding="utf-8")


@pytest.mark.requirement("snapshots.borrowed-objects")
async def test_store_gets_the_packs_of_every_clone_that_the_clone_borrows_from(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / f"{number}" / "objects" for number in range(7)]
    for number, folder in enumerate(folders):
        after = f"../../{number + 1}/objects"
        absolute = f"{folders[0]}\n# {tmp_path}/no\n{tmp_path}/gone\n{folders[2]}\n"
        with_pack(folder, str(number), absolute if number == 1 else after)
    directory = tmp_path / "state" / "snapshots" / "one"

    store = await open_store(directory, tmp_path / "0")

    packs = {path.name for path in (directory / "objects" / "pack").iterdir()}
    assert packs == {f"pack-{number}.{kind}" for number in range(6) for kind in ("pack", "idx")}
    assert copied_packs(store) == ["pack-0.pack"]
    assert (directory / "common").read_text(encoding="utf-8") == f"{tmp_path / '0'}\n"
    places = (directory.parent, directory)
    assert [stat.S_IMODE(place.stat().st_mode) for place in places] == [0o700] * 2
    (tmp_path / "0/objects/pack/pack-later.pack").write_bytes(b"later")
    again = await open_store(directory, tmp_path / "0")
    assert (again.algorithm, again.id_size, again.complete) == ("sha1", 20, {})
    assert copied_packs(again) == ["pack-0.pack"]


@pytest.mark.requirement("snapshots.watched")
async def test_worktree_that_was_not_used_for_a_while_is_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapshots.MAX_REMEMBERED == 32
    monkeypatch.setattr(snapshots, "MAX_REMEMBERED", 2)
    ended: list[str] = []
    end = CaptureMemory.end_watches

    def note(memory: CaptureMemory) -> None:
        ended.append(memory.files.mirror.root.name)
        end(memory)

    monkeypatch.setattr(CaptureMemory, "end_watches", note)
    (tmp_path / "common" / "objects").mkdir(parents=True)
    subjects = {
        name: SnapshotTarget(name, tmp_path / name, tmp_path / "common", tmp_path / "s/x" / name)
        for name in "abc"
    }
    for name in "abc":
        (tmp_path / name).mkdir()
    known = snapshots.Snapshots()

    for name in "abacb":
        await known.work_commit(subjects[name])

    assert ended == ["b", "a"]
    known.close()
    assert ended == ["b", "a", "c", "b"]
