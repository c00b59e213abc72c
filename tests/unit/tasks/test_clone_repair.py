"""A damaged clone is repaired from a snapshot as far as git needs it, without git."""

from pathlib import Path

import pytest

from symposium.tasks.snapshots.clone_restore import RestoreTarget, repair_clone, restore_logs
from symposium.tasks.snapshots.snapshot_values import (
    Details,
    Nested,
    Snapshot,
    SnapshotTarget,
    Stashed,
    decode_details,
    encode_details,
    message_of,
    snapshot_of,
)

A = "a" * 40
CLONE = {
    "HEAD": b"ref: refs/heads/main\n",
    "config": b"[core]\n",
    "info/exclude": b"*.log\n",
    "logs/refs/heads/main": b"one\ntwo\n",
}


@pytest.mark.requirement("snapshots.damaged-clone")
def test_damaged_files_of_a_clone_are_restored_and_named(tmp_path: Path) -> None:
    common = tmp_path / ".git"
    for name in ("objects", "info"):
        (common / name).mkdir(parents=True)
    (common / "HEAD").write_bytes(b"garbage")
    (common / "shallow").write_bytes(f"{A}\n".encode())
    lines = [f"# pack-refs\n{A} refs/heads/x\n^{A}\n", f"{A[1:]} refs/heads/y\n", "garbage\n"]
    (common / "packed-refs").write_text("".join(lines), encoding="utf-8")

    notes = repair_clone(common, CLONE)

    assert notes == [
        f"{common}/HEAD was damaged; restored",
        f"{common}/config was damaged; restored",
        f"{common}/shallow was created later and cut the history; removed",
        f"{common}/packed-refs was damaged; removed its invalid lines",
    ]
    assert {name: (common / name).read_bytes() for name in ("HEAD", "config", "info/exclude")} == {
        name: CLONE[name] for name in ("HEAD", "config", "info/exclude")
    }
    assert (common / "packed-refs").read_text(encoding="utf-8") == lines[0]
    assert not (common / "shallow").exists()
    folders = ("objects/info", "objects/pack", "refs/heads", "refs/tags")
    assert [(common / name).is_dir() for name in folders] == [True] * 4
    assert repair_clone(common, CLONE) == []


@pytest.mark.requirement("snapshots.damaged-clone")
def test_whole_files_of_a_clone_are_kept(tmp_path: Path) -> None:
    common = tmp_path / ".git"
    mine = {"HEAD": f"{A}\n", "config": "[mine]\n", "shallow": f"{A}\n", "packed-refs": ""}
    (common / "info").mkdir(parents=True)
    for name, text in mine.items():
        (common / name).write_text(text, encoding="utf-8")

    assert repair_clone(common, {**CLONE, "shallow": b"then"}) == []
    assert repair_clone(common, {}) == []
    assert repair_clone(tmp_path / "empty", {}) == [], "an old snapshot has no files of the clone"
    assert {name: (common / name).read_text(encoding="utf-8") for name in mine} == mine
    assert (common / "info/exclude").read_bytes() == b"*.log\n"


@pytest.mark.requirement("snapshots.refs")
@pytest.mark.parametrize(
    ("now", "then"),
    [
        (b"one\n", b"one\ntwo\n"),
        (None, b"one\ntwo\n"),
        (b"other\n", b"one\ntwo\n"),
        (b"one\ntwo\nthree\n", b"one\ntwo\nthree\n"),
    ],
)
async def test_log_of_a_branch_is_restored_only_where_it_was_cut(
    tmp_path: Path, now: bytes | None, then: bytes
) -> None:
    subject = SnapshotTarget("one", tmp_path / "w", tmp_path / ".git", tmp_path / "s/x/one")
    log = subject.common / "logs/refs/heads/main"
    log.parent.mkdir(parents=True)
    if now is not None:
        log.write_bytes(now)
    snapshot = Snapshot("", "", "", "", 1.5, "tool call", "refs/heads/main", A)

    await restore_logs(subject, RestoreTarget(snapshot, Details(), {}, CLONE))

    assert log.read_bytes() == then
    assert not (subject.common / "config").exists()


@pytest.mark.requirement("snapshots.branch-bytes")
def test_names_of_any_bytes_are_read_again_from_a_snapshot() -> None:
    name = "na\udce9"
    details = Details(
        branches={name: A},
        stash=(Stashed(A, name),),
        nested=(Nested(name, A, None, f"gitdir: {name}"),),
        upstream={"remote": name},
        modes={name: 0o600},
        skipped=(f"{name}: is a socket or a device",),
        links=((name, "two"),),
        is_whole=True,
    )
    snapshot = Snapshot("ref", "commit", "work", "key", 1.5, "é", f"refs/heads/{name}", A, "r", "t")
    message = message_of(snapshot)

    assert decode_details(encode_details(details)) == details
    assert message.isascii()
    assert snapshot_of("ref", "commit", message) == snapshot
    others = ("", "symposium work\n\n{}", "symposium snapshot\n\n{}", "symposium snapshot\n\n[1]")
    assert [snapshot_of("ref", "commit", each) for each in others] == [None] * 4
