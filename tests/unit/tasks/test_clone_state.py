"""The state of a clone and its worktrees, read from files that the test writes, without git."""

import os
from pathlib import Path

import pytest

from symposium.tasks.snapshots.clone_state import (
    Refs,
    admin_directory,
    commit_inside,
    damage,
    elsewhere,
    objects_named,
    private_files,
    resolved,
    stashed,
    submodule_directory,
    upstream_of,
)
from symposium.tasks.snapshots.snapshot_values import Stashed

A, B, C, LONG = "a" * 40, "b" * 40, "c" * 40, "d" * 64


def write(folder: Path, **files: str | bytes) -> None:
    """Write files by path; `__` is a slash."""
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def common(tmp_path: Path) -> Path:
    """The git directory of a clone with a worktree `one`, which also is where the clone says."""
    common = tmp_path / "clone" / ".git"
    write(common, HEAD="ref: refs/heads/main\n", config="[core]\n")
    write(common / "worktrees/aa", gitdir="/gone/.git\n", HEAD="ref: refs/heads/theirs\n")
    write(common / "worktrees/admin", gitdir=f"{tmp_path}/one/.git\n", HEAD=f"{A}\n")
    (tmp_path / "one").mkdir()
    return common


@pytest.mark.requirement("snapshots.damaged-clone", "snapshots.branch-bytes")
def test_damage_is_known_where_paths_or_files_are_not_utf_8(common: Path, tmp_path: Path) -> None:
    write(tmp_path / "one", **{".git": b"gitdir: /\xff\n"})
    write(common, HEAD=b"\xfe\n")

    found = damage(tmp_path / "one", common, common / "worktrees" / "admin")
    assert os.fsencode(found) == b"gitdir: /\xff\n\n\xfe\n"


@pytest.mark.requirement("snapshots.damaged-clone")
@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("gitdir: {common}/worktrees/admin\n", ""),
        ("gitdir: ../clone/.git/worktrees/admin\n", ""),
        ("gitdir: {common}\n", None),
        ("gitdir: /etc\n", None),
        ("garbage", None),
        (None, "FileNotFoundError"),
    ],
)
def test_private_directory_of_a_worktree_is_found_from_either_end(
    common: Path, tmp_path: Path, link: str | None, problem: str | None
) -> None:
    worktree, admin = tmp_path / "one", common / "worktrees" / "admin"
    if link is not None:
        (worktree / ".git").write_text(link.format(common=common), encoding="utf-8")

    assert admin_directory(worktree, common) == admin
    said = problem if problem is not None or link is None else link.format(common=common)
    assert damage(worktree, common, admin) == said
    assert admin_directory(tmp_path / "two", common) == common / "worktrees" / "two"
    assert admin_directory(tmp_path / "clone", common) == common
    assert damage(tmp_path / "clone", common, common) == ""
    assert elsewhere(common, admin) == {"refs/heads/main", "refs/heads/theirs"}
    assert elsewhere(common, common) == {"refs/heads/theirs"}

    (common / "HEAD").write_text("garbage", encoding="utf-8")
    (common / "config").unlink()
    assert damage(tmp_path / "clone", common, common) == "garbage\nno config"
    (common / "HEAD").unlink()
    (common / "HEAD").symlink_to("/etc/passwd")
    assert damage(tmp_path / "clone", common, common) == "link /etc/passwd\nno config"


@pytest.mark.requirement("snapshots.undo")
def test_private_files_of_a_worktree_are_exactly_these(common: Path) -> None:
    admin = common / "worktrees" / "admin"
    kept = {
        *("HEAD", "index", "MERGE_HEAD", "BISECT_LOG", "rebase-merge/todo", "refs/bisect/bad"),
        *("logs/HEAD", "info/sparse-checkout", "sharedindex.1"),
    }
    others = {"index.lock", "commondir", "mine", "logs/refs/heads/x", "info/exclude"}
    write(admin, **{name.replace("/", "__"): "" for name in kept | others})
    (admin / "ORIG_HEAD").symlink_to("/etc/passwd")
    write(admin, MERGE_HEAD=f"{A}\n{B}0\n", BISECT_LOG=f"bad {LONG} x", index=B, logs__HEAD=C)
    (admin / "rebase-merge/todo").write_bytes(f"pick {C} ".encode() + b" " * 4050)

    assert sorted(private_files(admin)) == sorted(kept)
    assert objects_named(admin, sorted(kept)) == {A, LONG, C}
    with (admin / "rebase-merge/todo").open("ab") as file:
        file.write(b" ")
    assert objects_named(admin, [*sorted(kept), "gone"]) == {A, LONG}
    assert list(private_files(common / "none")) == []


@pytest.mark.requirement("snapshots.refs")
async def test_loose_refs_replace_packed_ones_and_invalid_ones_are_left_out(common: Path) -> None:
    packed = f"# pack-refs\n{A} refs/heads/old\n{A} refs/heads/both\n^{B}\n{A[1:]} refs/bad\n"
    packed += f"{LONG} refs/tags/long\n{A} refs/symposium/x\n{A} refs/bisect/x\n"
    write(
        common,
        **{"packed-refs": packed + f"{A} refs/worktree/x\n{A} refs/rewritten/x\n"},
        refs__heads__both=f"{B}\n",
        refs__heads__bad="garbage",
        **{"refs__heads__x.lock": A},
        refs__remotes__HEAD="ref: refs/heads/both\n",
    )
    refs = await Refs(common).read()

    assert refs == {
        "refs/heads/both": B,
        "refs/heads/old": A,
        "refs/remotes/HEAD": "ref: refs/heads/both",
        "refs/tags/long": LONG,
    }
    assert list(refs) == sorted(refs)
    assert resolved(refs, "ref: refs/remotes/HEAD") == B
    assert resolved({"a": "ref: a"}, "ref: a") == ""
    assert [resolved(refs, text) for text in (A, LONG, "x", "ref: refs/none")] == [A, LONG, "", ""]


@pytest.mark.requirement("snapshots.inside", "snapshots.outside-not-read")
def test_commit_of_a_repository_is_read_from_its_own_files(tmp_path: Path) -> None:
    inside = tmp_path / "in/.git"
    write(inside, HEAD="ref: refs/heads/x\n", **{"packed-refs": f"{A} refs/heads/x\n"})
    write(tmp_path / "in", outside=f"{C}\n")
    found = [commit_inside(inside)]
    write(inside, refs__heads__x=f"{B}\n")
    found.append(commit_inside(inside))
    for head in (C, "ref: ../outside", "ref: refs/heads/none", "garbage"):
        write(inside, HEAD=head)
        found.append(commit_inside(inside))

    assert found == [A, B, C, None, None, None]
    assert commit_inside(tmp_path / "gone") is None


@pytest.mark.requirement("snapshots.outside-not-read")
def test_history_of_a_submodule_is_only_in_the_directory_of_its_worktree(
    common: Path, tmp_path: Path
) -> None:
    worktree, admin = tmp_path / "one", common / "worktrees" / "admin"
    for link, place in {
        f"gitdir: {admin}/modules/a/b\n": admin / "modules" / "a/b",
        "gitdir: /else/.git/worktrees/w/modules/x": admin / "modules" / "x",
        f"gitdir: {admin}/modules/../../x": None,
        f"gitdir: {common}/modules/x": None,
        "gitdir: /etc": None,
    }.items():
        assert submodule_directory(worktree, common, link) == place


@pytest.mark.requirement("snapshots.stash-and-branches")
def test_upstream_and_stash_are_read_as_git_writes_them(common: Path) -> None:
    config = '[branch "other"]\n\tremote = no\n[branch "main"]\n\tremote = origin\n'
    write(common, config=config + "\tmerge=refs/heads/up\n\trebase = true\n[core]\n\tremote = x\n")
    log = f"{A} {B} A <a@b> 1 +0000\tWIP: \n{B} {C} A <a@b> 2 +0000\t\xe9\ngarbage\n"
    write(common, logs__refs__stash=log.encode("latin-1"))
    entries = (Stashed(B, "WIP: "), Stashed(C, os.fsdecode(b"\xe9")))

    assert upstream_of(common, "refs/heads/main") == {
        "remote": "origin",
        "merge": "refs/heads/up",
    }
    assert upstream_of(common, "refs/heads/none") == {}
    assert upstream_of(common / "none", "refs/heads/main") == {}
    assert stashed(common, C) == entries
    assert stashed(common, A) == (*entries, Stashed(A, "stash"))
    assert stashed(common, None) == ()
