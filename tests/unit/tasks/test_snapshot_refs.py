"""Snapshots are stored outside of the clone, so no clone, push, or fetch contains them."""

import os
import stat
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, attempt, git, store_of

from symposium.tasks.model import Taskspace
from symposium.tasks.snapshots.clone_state import Refs
from symposium.tasks.snapshots.snapshot_values import SnapshotTarget

OURS = "refs/symposium/"
HIDDEN = "uploadpack.hideRefs"


async def snapshotted(scene: Scene) -> Taskspace:
    """A task with a snapshot of uncommitted files."""
    made = await scene.made()
    (Path(made.worktree) / ".env").write_text("KEY=canary", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "before a tool")
    return made


def kept(scene: Scene) -> list[str]:
    """The commits of all snapshots."""
    return git("for-each-ref", "--format=%(objectname)", OURS, cwd=store_of(scene)).split()


def objects_in(repository: Path) -> str:
    return git("cat-file", "--batch-all-objects", "--batch-check", cwd=repository)


@pytest.mark.requirement("snapshots.hidden-refs")
async def test_clone_has_no_ref_object_or_setting_of_a_snapshot(scene: Scene) -> None:
    made = await snapshotted(scene)
    await scene.engine.history.undo(made.id)

    assert len(kept(scene)) > 2
    assert git("for-each-ref", OURS, cwd=scene.clone) == ""
    assert git("log", "--all", "--format=%s", cwd=scene.clone) == "first"
    assert "symposium" not in git("config", "--local", "--list", cwd=scene.clone)
    assert [each for each in kept(scene) if each in objects_in(scene.clone)] == []


@pytest.mark.requirement("snapshots.refs")
async def test_refs_of_a_clone_that_only_git_can_read_are_read_without_symposiums(
    place: Path,
) -> None:
    clone = place / "clone"
    for name in ("tags/v1", "symposium/snap/one"):
        git("update-ref", f"refs/{name}", "HEAD", cwd=clone)
    plain = await Refs(clone / ".git").read()
    (clone / ".git" / "reftable").mkdir()
    by_git = await Refs(clone / ".git").read()

    assert "refs/tags/v1" in plain
    assert by_git.keys() == plain.keys()
    assert [name for name in by_git if name.startswith(OURS)] == []


@pytest.mark.requirement("snapshots.not-pushed")
@pytest.mark.parametrize("words", [("--all", "--force"), ("--mirror",), ("--follow-tags",)])
async def test_push_sends_no_snapshot(words: tuple[str, ...], scene: Scene, tmp_path: Path) -> None:
    made = await snapshotted(scene)
    there = tmp_path / "there.git"
    git("init", "-q", "--bare", str(there), cwd=tmp_path)
    git("remote", "add", "there", str(there), cwd=scene.clone)

    for place in (scene.clone, Path(made.worktree)):
        attempt("push", *words, "there", cwd=place)
    git("push", "-q", "there", "main", cwd=scene.clone)

    assert git("for-each-ref", OURS, cwd=there) == ""
    assert [each for each in kept(scene) if each in objects_in(there)] == []


@pytest.mark.requirement("snapshots.not-served")
@pytest.mark.parametrize("words", [(), ("--mirror",), ("--bare",)])
async def test_clone_of_the_clone_gets_no_snapshot(
    words: tuple[str, ...], scene: Scene, tmp_path: Path
) -> None:
    await snapshotted(scene)

    git("clone", "-q", *words, scene.clone.as_uri(), str(tmp_path / "copy"), cwd=tmp_path)

    assert kept(scene)
    assert "symposium" not in git("ls-remote", scene.clone.as_uri(), cwd=tmp_path)
    assert [each for each in kept(scene) if each in objects_in(tmp_path / "copy")] == []


@pytest.mark.requirement("snapshots.private-files")
async def test_no_other_user_can_read_a_file_of_a_store_or_a_shadow(scene: Scene) -> None:
    made = await snapshotted(scene)
    scene.commit(Path(made.worktree), "more", "x")
    await scene.engine.history.snapshot(made.id, "before another")
    await scene.engine.history.undo(made.id)
    await scene.engine.history.prune(made.id, days=-1)

    open_to_others: list[str] = []
    for folder in ("snapshots", "shadow"):
        for place, folders, files in os.walk(scene.root / "state" / folder):
            for name in (*folders, *files):
                mode = stat.S_IMODE((Path(place) / name).lstat().st_mode)
                if mode & 0o077:
                    open_to_others.append(f"{Path(place) / name} {mode:o}")

    assert open_to_others == []


@pytest.mark.requirement("snapshots.earlier-versions")
async def test_snapshots_of_earlier_versions_are_moved_out_of_the_clone_and_restored(
    scene: Scene,
) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    commit = earlier_snapshot(worktree)
    ref = f"{OURS}snap/{made.id}/01000000000000"
    git("update-ref", ref, commit, cwd=scene.clone)
    git("config", "--add", HIDDEN, OURS, cwd=scene.clone)
    git("config", "--add", HIDDEN, "refs/mine/", cwd=scene.clone)
    again = scene.again()

    await again.engine.history.restore(made.id, ref)

    again.engine.close()
    assert (worktree / "old.txt").read_text(encoding="utf-8") == "old"
    modes = {"old.txt": 0o644, "private.txt": 0o600, "run.sh": 0o755}
    assert {name: (worktree / name).stat().st_mode & 0o777 for name in modes} == modes
    assert (worktree / "inner/deep.txt").read_text(encoding="utf-8") == "deep"
    assert (worktree / "inner/.git/HEAD").read_text(encoding="utf-8") == "ref: refs/heads/x\n"
    assert (worktree / "empty").is_dir()
    assert not (worktree / "src").exists()
    assert git("for-each-ref", OURS, cwd=scene.clone) == ""
    assert git("config", "--local", "--get-all", HIDDEN, cwd=scene.clone) == "refs/mine/"
    assert commit in kept(scene)


def earlier_snapshot(worktree: Path) -> str:
    """Write a snapshot commit in the format of version 0.1."""

    def tree(**files: str) -> str:
        lines: list[str] = []
        for name, content in files.items():
            path = worktree.parent / "content"
            path.write_text(content, encoding="utf-8")
            blob = git("hash-object", "-w", str(path), cwd=worktree)
            mode = "100755" if name.endswith("_sh") else "100644"
            lines.append(f"{mode} blob {blob}\t{name.replace('_', '.')}\n")
        return made_tree(worktree, lines)

    tip = git("rev-parse", "HEAD", cwd=worktree)
    details = (
        '{"branches":{},"stash":[],"empty":["empty"],"nested":[{"path":"inner","tree":"",'
        '"gitdir":"%s","link":null}],"upstream":{},"modes":{"private.txt":384},"skipped":[],'
        '"usual":{"plain":420,"folder":493}}'
    )
    work, inner = tree(old_txt="old", private_txt="x", run_sh=""), tree(deep_txt="deep")
    gitdir = tree(HEAD="ref: refs/heads/x\n")
    details_tree = tree(details_json=details % gitdir)
    blob = git("rev-parse", f"{details_tree}:details.json", cwd=worktree)
    entries = [f"100644 blob {blob}\tdetails.json\n", f"040000 tree {work}\twork\n"]
    entries += [f"040000 tree {inner}\tnested-0\n", f"040000 tree {gitdir}\tnested-0-git\n"]
    whole = made_tree(worktree, entries)
    work_commit = git("commit-tree", "-m", "symposium work", "-p", tip, work, cwd=worktree)
    message = (
        'symposium snapshot\n\n{"ref":"","commit":"","work":"%s","key":"k","at":1000000000.0,'
        '"reason":"tool call","head":"","tip":"%s","called_on":""}\n'
    )
    words = ("-m", message % (work_commit, tip), "-p", work_commit)
    return git("commit-tree", *words, whole, cwd=worktree)


def made_tree(worktree: Path, lines: list[str]) -> str:
    index = worktree.parent / "entries"
    index.write_text("".join(lines), encoding="utf-8")
    with index.open("rb") as file:
        return git("mktree", cwd=worktree, stdin=file)


@pytest.mark.requirement("snapshots.refs-read")
async def test_packed_refs_of_the_store_are_listed(scene: Scene) -> None:
    made = await snapshotted(scene)
    before = await scene.engine.history.snapshots(made.id)

    git("pack-refs", "--all", cwd=store_of(scene))
    (Path(made.worktree) / "later").write_text("later", encoding="utf-8")
    later = await scene.engine.history.snapshot(made.id, "later")

    assert not list((store_of(scene) / OURS / "snap" / made.id).glob(f"*{before[0].ref[-14:]}"))
    assert await scene.engine.history.snapshots(made.id) == [*before, later]


@pytest.mark.requirement("snapshots.refs-read")
@pytest.mark.parametrize("text", ["", "\0" * 41, "0" * 39, "é\n", "ref: refs/heads/none\n"])
async def test_damaged_ref_hides_no_other_snapshot(scene: Scene, text: str) -> None:
    made = await snapshotted(scene)
    before = await scene.engine.history.snapshots(made.id)

    (store_of(scene) / before[-1].ref).with_name("00000000000001").write_bytes(
        text.encode("latin-1")
    )

    assert await scene.engine.history.snapshots(made.id) == before


@pytest.mark.requirement("snapshots.earlier-versions")
def test_shadow_of_an_earlier_version_keeps_only_its_cache_and_moved_files(tmp_path: Path) -> None:
    shadow = tmp_path / "state" / "shadow" / "one"
    for name in ("config", "HEAD", "objects/ab/cd", "refs/heads/x", "info/exclude"):
        (shadow / name).parent.mkdir(parents=True, exist_ok=True)
        (shadow / name).write_text("old", encoding="utf-8")
    kept = {"files.cache", "displaced/1/secret/key", "other/file"}
    for name in kept:
        (shadow / name).parent.mkdir(parents=True, exist_ok=True)
        (shadow / name).write_text("mine", encoding="utf-8")

    SnapshotTarget("one", tmp_path / "worktree", tmp_path / "common", shadow).prepare()

    files = {str(each.relative_to(shadow)) for each in shadow.rglob("*") if each.is_file()}
    assert files == kept
    assert (shadow / "displaced/1/secret/key").read_text(encoding="utf-8") == "mine"
    assert not (shadow / "objects").exists()
    assert not (shadow / "info").exists()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (shadow.parent, shadow)] == [0o700] * 2
