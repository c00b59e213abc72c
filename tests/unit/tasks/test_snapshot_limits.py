"""Contents of a snapshot beyond files known to git, and files that undo keeps."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.support.chaos import add_submodule
from tests.support.task_harness import GIT, Scene, git, store_of, tree_of

from symposium.tasks.model import Taskspace
from symposium.tasks.snapshots import exclusions, file_contents, file_restore
from symposium.tasks.snapshots.clone_state import commit_inside
from symposium.tasks.snapshots.store import open_store


def run(commands: str, worktree: Path) -> None:
    subprocess.run(["/bin/sh", "-c", commands], cwd=worktree, check=True, capture_output=True)


async def keep(scene: Scene, made: Taskspace) -> Path:
    await scene.engine.history.snapshot(made.id, "tool call")
    return Path(made.worktree)


def with_repositories(worktree: Path) -> None:
    """Add a submodule and a repository, both with ignored files."""
    add_submodule(worktree)
    git("init", "-q", "nested", cwd=worktree)
    for name in ("libs", "nested"):
        (worktree / name / ".gitignore").write_text(".env\nlocal/\n", encoding="utf-8")
        (worktree / name / ".env").write_text(f"KEY={name}\n", encoding="utf-8")
        (worktree / name / "local/db").mkdir(parents=True)
        (worktree / name / "local/db/rows").write_text("rows", encoding="utf-8")


@pytest.mark.requirement("snapshots.unheld", "snapshots.ignored-work")
@pytest.mark.parametrize("when", ["before the snapshot", "after the snapshot"])
async def test_undo_keeps_ignored_files_of_repositories_inside(when: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    if when == "before the snapshot":
        with_repositories(worktree)
    await keep(scene, made)
    if when == "after the snapshot":
        with_repositories(worktree)
        await keep(scene, made)
    before = tree_of(worktree)

    (worktree / "README.md").write_text("x", encoding="utf-8")
    restored = await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before
    assert restored.notes == ()


@pytest.mark.requirement("snapshots.unheld")
async def test_undo_keeps_and_reports_a_folder_with_files_in_no_snapshot(
    scene: Scene,
) -> None:
    made = await scene.made()
    worktree = await keep(scene, made)
    (worktree / ".gitignore").write_text("node_modules/\n", encoding="utf-8")
    (worktree / "pkg/node_modules").mkdir(parents=True)
    (worktree / "pkg/node_modules/made").write_text("by a build", encoding="utf-8")
    (worktree / "pkg/index.js").write_text("x", encoding="utf-8")

    restored = await scene.engine.history.undo(made.id)

    assert (worktree / "pkg/node_modules/made").read_text(encoding="utf-8") == "by a build"
    assert not (worktree / "pkg/index.js").exists()
    assert "pkg is kept: it has files that are in no snapshot" in restored.notes


@pytest.mark.requirement("snapshots.ignored-work")
async def test_undo_restores_deleted_ignored_files(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".gitignore").write_text("notes/\n.env\n*.db\n", encoding="utf-8")
    for name in ("notes/idea.txt", "pkg/a/b/.env", "rows.db"):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_text(name, encoding="utf-8")
    before = tree_of(await keep(scene, made))

    git("clean", "-qfdx", cwd=worktree)
    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before


@pytest.mark.requirement("snapshots.ignored-work")
@pytest.mark.parametrize("bound", ["a large file", "many files", "large files together"])
async def test_ignored_files_above_a_limit_are_skipped_and_reported(
    bound: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"a large file": (100, 99, 9999), "many files": (999, 2, 9999)}
    file, files, folder = limits.get(bound, (999, 99, 1000))
    monkeypatch.setattr(exclusions.Bounds.__init__, "__defaults__", (file, files, folder))
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / ".gitignore").write_text("data/\n", encoding="utf-8")
    (worktree / "data").mkdir()
    for name in "abc":
        (worktree / "data" / name).write_bytes(name.encode() * 500)
    await keep(scene, made)

    (worktree / "README.md").write_text("x", encoding="utf-8")
    restored = await scene.engine.history.undo(made.id)

    assert (worktree / "data/a").read_bytes() == b"a" * 500
    assert "not in the snapshot: data" in "".join(restored.notes)
    assert "git ignores it" in "".join(restored.notes)


@pytest.mark.requirement("snapshots.ignored-work")
async def test_files_that_git_does_not_ignore_have_no_limit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusions.Bounds.__init__, "__defaults__", (10, 1, 10))
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / "tracked.log").write_bytes(b"x" * 5000)
    git("add", "-f", "tracked.log", cwd=worktree)
    (worktree / "large").write_bytes(os.urandom(3 << 20))
    before = tree_of(await keep(scene, made))

    run("rm tracked.log large", worktree)
    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before


@pytest.mark.requirement("snapshots.refs")
async def test_undo_restores_tags_notes_and_moved_branches(scene: Scene, made: Taskspace) -> None:
    worktree = Path(made.worktree)
    scene.commit(worktree, "a", "1")
    git("tag", "light", cwd=worktree)
    git("tag", "-a", "-m", "annotated", "full", cwd=worktree)
    git("branch", "idea", cwd=worktree)
    git("notes", "add", "-m", "a note", cwd=worktree)
    refs = git("for-each-ref", cwd=worktree)
    await keep(scene, made)

    git("tag", "-d", "full", cwd=worktree)
    git("tag", "-f", "light", "HEAD~1", cwd=worktree)
    git("branch", "-f", "idea", "HEAD~1", cwd=worktree)
    git("notes", "remove", "HEAD", cwd=worktree)
    for repository in (scene.clone, store_of(scene)):
        git("reflog", "expire", "--expire=now", "--all", cwd=repository)
        git("gc", "-q", "--prune=now", cwd=repository)
    restored = await scene.engine.history.undo(made.id)

    assert git("for-each-ref", cwd=worktree) == refs
    assert "refs/tags/full was missing; restored" in restored.notes
    assert "refs/tags/light was moved; restored" in restored.notes


@pytest.mark.requirement("snapshots.refs")
async def test_undo_removes_new_branches_of_the_agent_and_reports_others(
    scene: Scene, made: Taskspace
) -> None:
    worktree = await keep(scene, made)
    git("branch", "users-own", cwd=scene.clone)

    git("checkout", "-qf", "-b", "agents-own", cwd=worktree)
    git("branch", "-qm", "agents-own", "renamed", cwd=worktree)
    restored = await scene.engine.history.undo(made.id)

    branches = git("branch", "--format=%(refname:short)", cwd=scene.clone).split()
    assert branches == ["main", made.branch, "users-own"]
    assert "refs/heads/users-own was created later; kept" in restored.notes
    assert "refs/heads/renamed was created later; removed" in restored.notes


@pytest.mark.requirement("snapshots.refs", "snapshots.undo-of-undo")
async def test_second_undo_goes_back_further_also_when_a_foreign_ref_is_kept(scene: Scene) -> None:
    made = await scene.made()
    file = Path(made.worktree) / "note"
    for text in ("one", "two"):
        file.write_text(text, encoding="utf-8")
        await scene.engine.history.snapshot(made.id, text)
    file.write_text("three", encoding="utf-8")
    git("branch", "users-own", cwd=scene.clone)

    seen: list[str] = []
    for _ in range(2):
        await scene.engine.history.undo(made.id)
        seen.append(file.read_text(encoding="utf-8"))

    assert seen == ["two", "one"]


DAMAGE = {
    "objects gone": "rm -rf $G/objects/??; rm -rf $G/objects/pack/*",
    "objects cut": "find $G/objects -type f -exec chmod u+w {} + -exec truncate -s 0 {} +",
    "objects overwritten": "find $G/objects -type f -exec chmod u+w {} + "
    "-exec sh -c 'echo no > \"$1\"' . {} ';'",
    "packs overwritten": "for p in $G/objects/pack/*; do chmod u+w $p; echo garbage > $p; done",
    "packed refs cut": "git pack-refs --all; truncate -s 70 $G/packed-refs",
    "packed refs garbage": "git pack-refs --all; echo garbage > $G/packed-refs",
    "all refs gone": "rm -rf $G/refs $G/packed-refs",
    "configuration gone": "rm $G/config",
    "head gone": "rm $G/HEAD",
    "head garbage": "echo garbage > $G/HEAD",
    "all of it gone": "find $G -mindepth 1 -delete",
}


@pytest.mark.requirement("snapshots.damaged-clone")
@pytest.mark.parametrize("packing", ["loose", pytest.param("packed", marks=pytest.mark.chaos)])
@pytest.mark.parametrize("way", DAMAGE)
async def test_undo_restores_everything_of_a_damaged_clone(
    way: str, packing: str, scene: Scene
) -> None:
    if packing == "packed":
        git("gc", "-q", cwd=scene.clone)
    made = await scene.make()
    worktree = Path(made.worktree)
    scene.commit(worktree, "a", "1")
    (worktree / "README.md").write_text("staged", encoding="utf-8")
    git("add", "README.md", cwd=worktree)
    (worktree / "README.md").write_text("not staged", encoding="utf-8")
    git("tag", "v1", cwd=worktree)
    words = (
        ("status", "--porcelain=v2"),
        ("log", "--format=%H"),
        ("for-each-ref",),
        ("stash", "list"),
    )
    output = [git(*each, cwd=worktree) for each in words]
    before = tree_of(await keep(scene, made))

    run(f"G={scene.clone}/.git; {DAMAGE[way]}", worktree)
    (worktree / "README.md").unlink()
    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before
    assert [git(*each, cwd=worktree) for each in words] == output
    assert git("fsck", "--connectivity-only", "--no-dangling", cwd=worktree) == ""


@pytest.mark.requirement("snapshots.damaged-clone")
async def test_damaged_commit_keeps_no_other_out_of_the_store(scene: Scene, tmp_path: Path) -> None:
    first, damaged = [scene.commit(scene.clone, name, name) for name in ("first", "damaged")]
    git("reset", "-q", "--hard", first, cwd=scene.clone)
    other = scene.commit(scene.clone, "other", "x")
    git("reset", "-q", "--hard", "origin/main", cwd=scene.clone)
    blob = git("rev-parse", f"{damaged}:damaged", cwd=scene.clone)
    (scene.clone / ".git/objects" / blob[:2] / blob[2:]).unlink()
    store = await open_store(tmp_path / "store", scene.clone / ".git")

    missing = await store.bring_in([damaged, other, "0" * 40])

    assert missing == [damaged, "0" * 40]
    assert other in store.complete
    assert damaged not in store.complete
    scene.clone.rename(scene.root / "gone")
    assert git("log", "--format=%s", other, cwd=tmp_path / "store").split("\n") == [
        *("change other", "change first", "first")
    ]


@pytest.mark.requirement("snapshots.damaged-clone")
async def test_undo_restores_a_damaged_clone_after_a_restart(scene: Scene) -> None:
    made = await scene.made()
    before = tree_of(await keep(scene, made))
    run("rm -rf .git/* ../clone.tasks/fix-login/src", scene.clone)

    again = scene.again()
    await again.engine.history.undo(made.id)

    again.engine.close()
    assert tree_of(Path(made.worktree)) == before
    assert git("status", "--porcelain", cwd=Path(made.worktree)) == ""


@pytest.mark.requirement("snapshots.flags")
@pytest.mark.parametrize(
    "way",
    [
        "git update-index --assume-unchanged README.md",
        "git update-index --skip-worktree README.md",
        "git update-index --chmod=+x README.md",
        'echo "*.txt" >> "$(git rev-parse --git-path info/exclude)"',
    ],
)
async def test_undo_reverts_changes_of_flags_and_excludes(way: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = await keep(scene, made)
    exclude = scene.clone / ".git/info/exclude"
    before = git("ls-files", "-v", "-s", cwd=worktree), exclude.read_bytes()

    run(way, worktree)
    await scene.engine.history.undo(made.id)

    assert (git("ls-files", "-v", "-s", cwd=worktree), exclude.read_bytes()) == before


@pytest.mark.requirement("snapshots.links")
async def test_undo_restores_hard_links_attributes_and_pipes(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / "one").write_text("shared", encoding="utf-8")
    os.link(worktree / "one", worktree / "src/two")
    os.setxattr(worktree / "README.md", "user.note", b"mine")
    os.mkfifo(worktree / "pipe")
    (worktree / "pipe").chmod(0o662)
    await keep(scene, made)

    run("rm one src/two pipe README.md; mkdir pipe", worktree)
    await scene.engine.history.undo(made.id)

    assert (worktree / "one").samefile(worktree / "src/two")
    assert os.getxattr(worktree / "README.md", "user.note") == b"mine"
    assert (worktree / "pipe").lstat().st_mode == stat.S_IFIFO | 0o662


@pytest.mark.requirement("snapshots.links")
async def test_undo_replaces_each_name_of_a_changed_hard_link_in_place(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Treat every file as changed a while ago, so that its timestamps identify its content.
    monkeypatch.setattr(file_contents, "_RACY", 0)
    made = await scene.made()
    one, two = Path(made.worktree) / "one", Path(made.worktree) / "src/two"
    one.write_text("shared", encoding="utf-8")
    two.hardlink_to(one)
    await keep(scene, made)

    one.write_text("changed", encoding="utf-8")
    restored = await scene.engine.history.undo(made.id)

    assert restored.notes == ()
    assert one.samefile(two)
    assert two.read_text(encoding="utf-8") == "shared"


@pytest.mark.requirement("snapshots.permissions")
async def test_undo_restores_content_mode_and_name_of_large_files(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_restore, "_LARGE", 10)
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / "small").write_bytes(b"x" * 9)
    (worktree / "large").write_bytes(b"y" * 10)
    for name in ("small", "large"):
        (worktree / name).chmod(0o640)
    before = tree_of(await keep(scene, made))

    run("rm small large", worktree)
    await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before
    modes = [(worktree / name).stat().st_mode & 0o777 for name in ("small", "large")]
    assert modes == [0o640, 0o640]
    left = list((scene.root / "state").rglob("incoming/*"))
    assert left == []


@pytest.mark.requirement("snapshots.unheld")
async def test_undo_restores_file_types_without_a_note(scene: Scene) -> None:
    made = await scene.make()
    worktree = Path(made.worktree)
    (worktree / "folder/inside").mkdir(parents=True)
    (worktree / "folder/inside/file").write_text("held", encoding="utf-8")
    before = tree_of(await keep(scene, made))

    run("rm -r folder README.md link; echo x >folder; mkdir README.md link", worktree)
    run("echo x >README.md/made; ln -s nowhere link/made", worktree)
    await keep(scene, made)
    restored = await scene.engine.history.undo(made.id)

    assert tree_of(worktree) == before
    assert restored.notes == ()


@pytest.mark.requirement("snapshots.permissions")
async def test_undo_restores_an_empty_folder_with_its_mode(scene: Scene) -> None:
    made = await scene.made()
    folder = Path(made.worktree) / "empty"
    folder.mkdir()
    folder.chmod(0o710)
    await keep(scene, made)

    folder.rmdir()
    await scene.engine.history.undo(made.id)

    assert folder.stat().st_mode & 0o777 == 0o710


@pytest.mark.requirement("snapshots.links")
async def test_write_through_a_hard_link_is_detected(scene: Scene) -> None:
    made = await scene.made()
    worktree, outside = Path(made.worktree), scene.root / "outside"
    (worktree / "inside").write_text("one", encoding="utf-8")
    os.link(worktree / "inside", outside)
    first = await scene.engine.history.snapshot(made.id, "tool call")

    with outside.open("w", encoding="utf-8") as file:
        file.write("two")
    second = await scene.engine.history.snapshot(made.id, "another")

    assert first.key != second.key


@pytest.mark.requirement("snapshots.outside-not-read")
async def test_snapshot_does_not_follow_a_link_in_place_of_submodule_histories(
    scene: Scene,
) -> None:
    made = await scene.made()
    outside = scene.root / "outside"
    outside.mkdir()
    (outside / "key").write_text("canary", encoding="utf-8")
    secret = git("hash-object", str(outside / "key"), cwd=scene.clone)
    private = Path(git("rev-parse", "--absolute-git-dir", cwd=Path(made.worktree)))
    (private / "modules").symlink_to(outside)

    worktree = await keep(scene, made)
    (worktree / "README.md").write_text("changed", encoding="utf-8")
    (outside / "key").write_text("newer", encoding="utf-8")
    await scene.engine.history.undo(made.id)

    objects = git("cat-file", "--batch-all-objects", "--batch-check", cwd=store_of(scene))
    assert secret not in objects
    assert {each.name: each.read_text("utf-8") for each in outside.iterdir()} == {"key": "newer"}


@pytest.mark.requirement("snapshots.clone-objects")
async def test_undo_writes_no_tree_of_the_index_into_the_clone(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    add_submodule(worktree)
    (worktree / "README.md").write_text("staged", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    await keep(scene, made)
    objects = ("cat-file", "--batch-all-objects", "--batch-check")
    before = git(*objects, cwd=scene.clone)

    (worktree / "README.md").write_text("newer", encoding="utf-8")
    await scene.engine.history.undo(made.id)

    assert git(*objects, cwd=scene.clone) == before
    assert "160000" in git("ls-files", "-s", "libs", cwd=worktree)


@pytest.mark.requirement("snapshots.outside-not-read")
def test_head_of_a_nested_repository_cannot_name_a_file_outside_of_it(tmp_path: Path) -> None:
    git("init", "-q", cwd=tmp_path)
    (tmp_path / "outside").write_text("1" * 40, encoding="utf-8")
    head = tmp_path / ".git/HEAD"

    head.write_text("ref: refs/heads/../../../outside\n", encoding="utf-8")
    assert commit_inside(tmp_path / ".git") is None

    (tmp_path / ".git/refs/heads/main").write_text("2" * 40, encoding="utf-8")
    head.write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert commit_inside(tmp_path / ".git") == "2" * 40


@pytest.fixture
async def made(scene: Scene) -> Taskspace:
    """A taskspace."""
    return await scene.made()


@pytest.mark.requirement("snapshots.links")
async def test_undo_removes_an_attribute_set_after_it_had_been_removed(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    readme = worktree / "README.md"
    os.setxattr(readme, "user.note", b"mine")
    await keep(scene, made)
    os.removexattr(readme, "user.note")
    await keep(scene, made)

    os.setxattr(readme, "user.note", b"changed")
    readme.write_text("changed", encoding="utf-8")
    await scene.engine.history.undo(made.id)

    assert os.listxattr(readme) == []


@pytest.mark.requirement("snapshots.branch-bytes")
async def test_undo_restores_a_branch_whose_name_is_not_utf_8(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    run(r"""git checkout -q -b "$(printf 'b\351')"; echo one > new""", worktree)
    refs = raw_git("for-each-ref", cwd=worktree)
    await keep(scene, made)

    run("git checkout -qf main --detach; git branch -D \"$(printf 'b\\351')\"", worktree)
    (worktree / "new").unlink()
    again = scene.again()
    await again.engine.history.undo(made.id)
    again.engine.close()

    assert b"refs/heads/b\xe9" in refs
    assert raw_git("for-each-ref", cwd=worktree) == refs
    assert raw_git("symbolic-ref", "HEAD", cwd=worktree) == b"refs/heads/b\xe9\n"
    assert (worktree / "new").read_text(encoding="utf-8") == "one\n"


def raw_git(*words: str, cwd: Path) -> bytes:
    return subprocess.run([GIT, *words], cwd=cwd, capture_output=True, check=True).stdout
