"""Landing by rebase updates the worktree: it overwrites nothing and survives a kill."""

import asyncio
import os
import shlex
from pathlib import Path

import pytest
from tests.support.task_harness import GIT, EngineOptions, Scene, git, open_scene, tree_of

from localio.git import Git, GitCommandError
from symposium.config.git import git_at
from symposium.tasks import tables
from symposium.tasks.branch_move import move_branch, move_worktree, take_back
from symposium.tasks.land import LandConflict, Landed, LandOptions
from symposium.tasks.model import Taskspace, TaskspaceError
from symposium.tasks.rebase import replay
from symposium.tasks.tables import Operation, OperationKind


async def diverged(scene: Scene) -> Taskspace:
    """A task with a commit, and a base that has changed, removed, and added files since."""
    made = await scene.made()
    scene.commit(Path(made.worktree), "mine", "mine\n")
    upstream = scene.upstream
    (upstream / "src/app.py").write_text("app\n" * 2000, encoding="utf-8")
    (upstream / "README.md").unlink()
    (upstream / "link").unlink()
    (upstream / "link").symlink_to("src")
    (upstream / "src/tool.sh").unlink()
    (upstream / "src/tool.sh").mkdir()
    (upstream / "src/tool.sh/within").write_text("in the place of a file\n", encoding="utf-8")
    (upstream / "deep/er").mkdir(parents=True)
    (upstream / "deep/er/new").write_text("new\n" * 2000, encoding="utf-8")
    scene.commit(upstream, "theirs", "theirs\n")
    return made


def state_of(made: Taskspace) -> tuple[object, ...]:
    worktree = Path(made.worktree)
    words = ("rev-parse", "HEAD", made.branch)
    return tree_of(worktree), git(*words, cwd=worktree), git("status", "--short", cwd=worktree)


@pytest.mark.requirement("taskspaces.land-replay")
async def test_reflog_names_the_landing_and_has_the_commit_before(scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    before = git("rev-parse", "HEAD", cwd=worktree)

    outcome = await scene.engine.land(made.id, LandOptions())

    assert isinstance(outcome, Landed)
    for ref in ("HEAD", made.branch):
        assert git("rev-parse", f"{ref}@{{1}}", cwd=worktree) == before
        words = ("log", "-1", "-g", "--format=%gs", ref, "--")
        assert git(*words, cwd=worktree).startswith("symposium: land: rebase onto ")
    assert git("symbolic-ref", "HEAD", cwd=worktree) == f"refs/heads/{made.branch}"


@pytest.mark.requirement("taskspaces.land-replay")
async def test_no_git_rebase_runs(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await diverged(scene)
    trace = scene.root / "trace"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    config = scene.root / "traced"
    config.write_text(
        f"[trace2]\n\teventTarget = {trace}\n[user]\n\tname = T\n\temail = t@example.org\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    assert isinstance(await scene.engine.land(made.id, LandOptions()), Landed)

    traced = trace.read_text(encoding="utf-8")
    assert '"name":"read-tree"' in traced
    assert '"name":"rebase"' not in traced


@pytest.mark.requirement("taskspaces.land-merges")
async def test_merge_commits_without_their_own_changes_are_omitted(scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    git("branch", "side", "HEAD~1", cwd=worktree)
    git("checkout", "-q", "side", cwd=worktree)
    scene.commit(worktree, "of-side", "x\n")
    git("checkout", "-q", made.branch, cwd=worktree)
    git("merge", "-q", "--no-edit", "side", cwd=worktree)

    outcome = await scene.engine.land(made.id, LandOptions())

    assert isinstance(outcome, Landed)
    assert git("rev-list", "--merges", outcome.commit, cwd=worktree) == ""
    assert {"mine", "of-side", "theirs"} <= tree_of(worktree).keys()


@pytest.mark.requirement("taskspaces.land-merges")
async def test_rebase_that_would_lose_changes_of_a_merge_commit_is_refused(
    scene: Scene,
) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    git("branch", "side", "HEAD~1", cwd=worktree)
    git("checkout", "-q", "side", cwd=worktree)
    scene.commit(worktree, "of-side", "x\n")
    git("checkout", "-q", made.branch, cwd=worktree)
    git("merge", "-q", "--no-commit", "side", cwd=worktree)
    (worktree / "of-side").write_text("resolved by hand\n", encoding="utf-8")
    git("commit", "-qam", "merge", cwd=worktree)
    merge = git("rev-parse", "HEAD", cwd=worktree)
    scene.commit(worktree, "last", "x\n")
    # The base has a merge commit as well.
    git("checkout", "-q", "-b", "other", "HEAD~1", cwd=scene.upstream)
    scene.commit(scene.upstream, "of-other", "x\n")
    git("checkout", "-q", "main", cwd=scene.upstream)
    git("merge", "-q", "--no-edit", "other", cwd=scene.upstream)
    before = state_of(made)

    with pytest.raises(TaskspaceError, match="would lose changes") as caught:
        await scene.engine.land(made.id, LandOptions())

    reason = f"a rebase of 'Fix login' would lose changes that its merge commit {merge[:12]} made"
    assert caught.value.message == reason
    assert caught.value.hint.endswith("--merge")
    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-in-the-way")
@pytest.mark.parametrize("content", ["the only copy\n", "", "theirs\n"])
@pytest.mark.parametrize("path", ["build/out", "build", "secret/key", "x.log"])
async def test_ignored_file_is_not_overwritten(path: str, content: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "mine\n")
    own = worktree / ("build/deep" if path == "build" else path)
    own.parent.mkdir(exist_ok=True)
    own.write_text(content, encoding="utf-8")
    (scene.upstream / path).parent.mkdir(exist_ok=True)
    (scene.upstream / path).write_text("theirs\n", encoding="utf-8")
    git("add", "-f", path, cwd=scene.upstream)
    git("commit", "-qm", "adds what is ignored", cwd=scene.upstream)
    before = state_of(made)

    with pytest.raises(TaskspaceError, match="not tracked"):
        await scene.engine.land(made.id, LandOptions())

    assert state_of(made) == before
    assert own.read_text(encoding="utf-8") == content


@pytest.mark.requirement("taskspaces.land-in-the-way")
async def test_ignored_file_in_the_place_of_a_folder_is_not_overwritten(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "mine\n")
    (worktree / "a.log").write_text("the only copy\n", encoding="utf-8")
    (scene.upstream / "a.log").mkdir()
    (scene.upstream / "a.log/within").write_text("theirs\n", encoding="utf-8")
    git("add", "-f", "a.log", cwd=scene.upstream)
    git("commit", "-qm", "a folder", cwd=scene.upstream)
    before = state_of(made)

    with pytest.raises(TaskspaceError, match="not tracked"):
        await scene.engine.land(made.id, LandOptions())

    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-in-the-way")
async def test_file_created_while_commits_are_copied_is_kept(scene: Scene) -> None:
    made = await diverged(scene)
    own = Path(made.worktree) / "theirs"
    # An empty file is a prefix of the base's file, which a killed git could have left.
    around = EngineOptions(passed=lambda stage: own.touch() if stage == "land.replayed" else None)
    scene.engine.close()
    again = open_scene(scene.root, around)

    with pytest.raises(TaskspaceError, match="not tracked"):
        await again.engine.land(made.id, LandOptions())

    assert own.read_bytes() == b""
    assert git("status", "--short", cwd=Path(made.worktree)) == "?? theirs"
    again.engine.close()


IGNORED = ("a.log", "build/deep/program", "build/link")


async def ignored_by_base(scene: Scene) -> Taskspace:
    """A task with a commit, and a base that has new files, a program, and a link git ignores."""
    made = await diverged(scene)
    upstream = scene.upstream
    (upstream / "build/deep").mkdir(parents=True)
    (upstream / "a.log").write_text("theirs\n", encoding="utf-8")
    (upstream / "build/deep/program").write_text("#!/bin/sh\n", encoding="utf-8")
    (upstream / "build/deep/program").chmod(0o755)
    (upstream / "build/link").symlink_to("deep")
    git("add", "-f", *IGNORED, cwd=upstream)
    git("commit", "-qm", "adds what is ignored", cwd=upstream)
    return made


def run_before_git(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, command: str, script: str
) -> None:
    """Run a shell line before each git command that starts with `command`."""
    wrapper = scene.root / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" {command} "*) {script};; esac\nexec {GIT} "$@"\n',
        encoding="utf-8",
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")


@pytest.mark.requirement("taskspaces.land-in-the-way")
async def test_new_files_that_git_ignores_land_with_their_modes(scene: Scene) -> None:
    made = await ignored_by_base(scene)
    worktree = Path(made.worktree)

    assert isinstance(await scene.engine.land(made.id, LandOptions()), Landed)

    assert git("status", "--short", cwd=worktree) == ""
    assert {path: tree_of(worktree)[path] for path in IGNORED} == {
        path: tree_of(scene.upstream)[path] for path in IGNORED
    }


@pytest.mark.requirement("taskspaces.land-in-the-way")
@pytest.mark.parametrize("path", [*IGNORED, "build"])
async def test_ignored_file_made_just_before_git_writes_is_not_overwritten(
    path: str, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await ignored_by_base(scene)
    own = Path(made.worktree) / path
    target, folder = shlex.quote(str(own)), shlex.quote(str(own.parent))
    before = state_of(made)
    run_before_git(
        scene,
        monkeypatch,
        "check-ignore --no-index",
        f"[ -e {target} ] || {{ mkdir -p {folder} && echo the only copy > {target}; }}",
    )

    with pytest.raises(TaskspaceError, match="not tracked"):
        await scene.engine.land(made.id, LandOptions())

    assert own.read_text(encoding="utf-8") == "the only copy\n"
    own.unlink()
    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-in-the-way")
async def test_landing_stops_when_git_cannot_list_what_it_ignores(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await ignored_by_base(scene)
    before = state_of(made)
    run_before_git(scene, monkeypatch, "check-ignore --no-index", "echo broken >&2; exit 128")

    with pytest.raises(GitCommandError, match="git check-ignore --no-index: broken"):
        await scene.engine.land(made.id, LandOptions())

    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-in-the-way")
async def test_link_made_in_the_place_of_an_ignored_folder_is_not_followed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await ignored_by_base(scene)
    before = state_of(made)
    outside, link = scene.root / "outside", Path(made.worktree) / "build"
    outside.mkdir()
    words = f"ln -sfn {shlex.quote(str(outside))} {shlex.quote(str(link))}"
    run_before_git(scene, monkeypatch, "cat-file --filters", words)

    with pytest.raises(TaskspaceError, match="'build/deep/program' is in the worktree"):
        await scene.engine.land(made.id, LandOptions())

    assert list(outside.iterdir()) == []
    link.unlink()
    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-killed")
@pytest.mark.parametrize("is_refreshed", [True, False])
async def test_ignored_files_of_a_killed_landing_are_removed(
    scene: Scene, *, is_refreshed: bool
) -> None:
    made = await ignored_by_base(scene)
    worktree, submodule = Path(made.worktree), f"160000,{'0123456789' * 4},sub"
    git("update-index", "--add", "--cacheinfo", submodule, cwd=scene.upstream)
    git("commit", "-qm", "a submodule", cwd=scene.upstream)
    before_all = state_of(made)
    _, before, after = await copied(scene, made)
    await note_move(scene, made, before, after)
    (worktree / "sub").mkdir()
    (worktree / "a.log").write_text("theirs\n", encoding="utf-8")
    entry = git("ls-tree", after, "a.log", cwd=worktree).split()[2]
    git("update-index", "--add", "--cacheinfo", f"100644,{entry},a.log", cwd=worktree)
    if is_refreshed:
        git("update-index", "--refresh", cwd=worktree)

    again = scene.again()
    await again.engine.start()

    assert state_of(made) == before_all
    assert isinstance(await again.engine.land(made.id, LandOptions()), Landed)
    again.engine.close()


@pytest.mark.requirement("taskspaces.land-locked")
@pytest.mark.parametrize("name", ["HEAD", "branch"])
async def test_lock_of_a_killed_git_is_named_with_what_to_do(name: str, scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    ref = "HEAD" if name == "HEAD" else f"refs/heads/{made.branch}"
    lock = Path(
        git("rev-parse", "--path-format=absolute", "--git-path", f"{ref}.lock", cwd=worktree)
    )
    await asyncio.to_thread(lock.touch)
    before = state_of(made)

    with pytest.raises(TaskspaceError) as caught:
        await scene.engine.land(made.id, LandOptions())

    assert caught.value.message == f"{lock} exists: git is running in the clone, or was killed"
    assert caught.value.hint == "if no git is running, remove that file and land again"
    assert state_of(made) == before
    await asyncio.to_thread(lock.unlink)
    assert isinstance(await scene.engine.land(made.id, LandOptions()), Landed)


@pytest.mark.requirement("taskspaces.land-locked")
async def test_lock_of_another_git_on_the_index_stays_and_nothing_changes(scene: Scene) -> None:
    made = await diverged(scene)
    lock = scene.clone / ".git" / "worktrees" / Path(made.worktree).name / "index.lock"
    before = state_of(made)
    await asyncio.to_thread(lock.touch)

    with pytest.raises(GitCommandError, match="read-tree") as caught:
        await scene.engine.land(made.id, LandOptions())

    assert str(lock) in caught.value.message
    await asyncio.to_thread(lock.unlink)
    assert state_of(made) == before


async def copied(scene: Scene, made: Taskspace) -> tuple[Git, str, str]:
    """Git in the task's worktree, the commit before a landing and the one after the replay."""
    worktree = Path(made.worktree)
    git("fetch", "-q", cwd=scene.clone)
    onto = git("rev-parse", "origin/main", cwd=scene.clone)
    before = git("rev-parse", "HEAD", cwd=worktree)
    copies = await replay(git_at(worktree), onto, before)
    assert copies is not None
    return git_at(worktree), before, copies.tip


async def note_move(scene: Scene, made: Taskspace, before: str, after: str) -> None:
    """Write the journal entry that precedes moving the worktree."""
    detail = {"before": before, "after": after, "at": scene.context.now()}
    operation = Operation(made.id, OperationKind.LAND, "land.replayed", detail)
    await scene.context.journal.write(lambda link: tables.note(link, operation))


@pytest.mark.requirement("taskspaces.land-replay")
async def test_branch_that_moved_meanwhile_is_kept(scene: Scene) -> None:
    made = await diverged(scene)
    work, before, after = await copied(scene, made)
    newer = scene.commit(Path(made.worktree), "meanwhile", "x\n")
    state = state_of(made)

    await move_worktree(work, before, after)
    with pytest.raises(TaskspaceError, match="has new commits"):
        await move_branch(work, before, after, "test")
    await take_back(work, before, after)

    assert git("rev-parse", made.branch, cwd=scene.clone) == newer
    assert state_of(made) == state


@pytest.mark.requirement("taskspaces.land-killed")
async def test_files_of_a_killed_git_are_undone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await diverged(scene)
    flag, config, attributes = [scene.root / name for name in ("flag", "killer", "attributes")]
    script = scene.root / "smudge"
    script.write_text(
        f"#!/bin/sh\nif [ -e {shlex.quote(str(flag))} ]; then rm {shlex.quote(str(flag))}\n"
        "kill -9 $PPID; fi\nexec cat\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    config.write_text(
        '[user]\n\tname = T\n\temail = t@example.org\n[filter "killer"]\n'
        f"\tsmudge = {script}\n\tclean = cat\n[core]\n\tattributesFile = {attributes}\n",
        encoding="utf-8",
    )
    attributes.write_text("theirs filter=killer\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    state = state_of(made)
    flag.write_text("", encoding="utf-8")

    with pytest.raises(GitCommandError, match="read-tree"):
        await scene.engine.land(made.id, LandOptions())

    assert not flag.exists()
    assert state_of(made) == state
    assert isinstance(await scene.engine.land(made.id, LandOptions()), Landed)


PARTS = 8
"""Parts of the writes of a move, after each of which it is killed."""


@pytest.mark.requirement("taskspaces.land-killed")
@pytest.mark.chaos
@pytest.mark.parametrize("part", range(PARTS))
async def test_kill_at_any_write_is_undone_at_the_next_start(part: int, scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    before_all = state_of(made)
    _, before, after = await copied(scene, made)
    lock = Path(git("rev-parse", "--git-path", "index.lock", cwd=worktree))
    await note_move(scene, made, before, after)
    writes = [
        lambda: (worktree / lock).write_bytes(b"half"),
        lambda: [(worktree / each).unlink() for each in ("README.md", "src/tool.sh")],
        lambda: (worktree / "theirs").write_text("", encoding="utf-8"),
        lambda: (worktree / "src/app.py").write_text("app\n" * 500, encoding="utf-8"),
        lambda: [(worktree / each).mkdir(parents=True) for each in ("deep/er", "src/tool.sh")],
        lambda: [
            (worktree / "deep/er/new").write_text("new\n" * 2000, encoding="utf-8"),
            (worktree / "src/tool.sh/within").write_text("in the", encoding="utf-8"),
        ],
        (worktree / "link").unlink,
        lambda: (worktree / "link").symlink_to("src"),
    ]
    assert len(writes) == PARTS
    for write in writes[: part + 1]:
        write()

    again = scene.again(EngineOptions(git_timeout=0.3))
    await again.engine.start()

    assert state_of(made) == before_all
    assert isinstance(await again.engine.land(made.id, LandOptions()), Landed)
    again.engine.close()


@pytest.mark.requirement("taskspaces.land-killed")
async def test_files_written_by_the_agent_after_a_kill_are_kept(scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    work, before, after = await copied(scene, made)
    await note_move(scene, made, before, after)
    await move_worktree(work, before, after)
    (worktree / "src/data.bin").write_bytes(b"the agent's\n")
    (worktree / "untracked").write_bytes(b"the agent's\n")
    lock = scene.clone / ".git" / "worktrees" / worktree.name / "index.lock"
    await asyncio.to_thread(lock.touch)

    again = scene.again(EngineOptions(git_timeout=0.0))
    await again.engine.start()

    assert not await asyncio.to_thread(lock.exists), "it is of the landing"
    assert (worktree / "src/data.bin").read_bytes() == b"the agent's\n"
    assert (worktree / "untracked").read_bytes() == b"the agent's\n"
    assert git("rev-parse", "HEAD", cwd=worktree) == before
    assert git("status", "--short", cwd=worktree) == " M src/data.bin\n?? untracked"
    again.engine.close()


@pytest.mark.requirement("taskspaces.land-killed")
async def test_file_of_a_killed_landing_in_the_place_of_a_submodule_is_removed(
    scene: Scene,
) -> None:
    upstream, inside = scene.upstream, "0123456789" * 4
    git("update-index", "--add", "--cacheinfo", f"160000,{inside},sub", cwd=upstream)
    git("commit", "-qm", "a submodule", cwd=upstream)
    made = await scene.make()
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "mine\n")
    git("rm", "-q", "--cached", "sub", cwd=upstream)
    scene.commit(upstream, "sub", "now a file\n")
    before_all = state_of(made)
    _, before, after = await copied(scene, made)
    await note_move(scene, made, before, after)
    (worktree / "sub").rmdir()
    (worktree / "sub").write_text("now a", encoding="utf-8")

    again = scene.again()
    await again.engine.start()
    again.engine.close()

    assert (worktree / "sub").is_dir()
    assert state_of(made) == before_all


@pytest.mark.requirement("taskspaces.land-killed")
async def test_files_written_by_the_agent_over_a_partial_landing_are_kept(scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    _, before, after = await copied(scene, made)
    await note_move(scene, made, before, after)
    (worktree / "README.md").unlink()
    (worktree / "deep/er").mkdir(parents=True)
    (worktree / "deep/er/new").write_text("new\n", encoding="utf-8")
    theirs = worktree / "theirs"
    theirs.mkdir()
    (worktree / "src/app.py").write_text("the agent's\n", encoding="utf-8")
    lock = scene.clone / ".git" / "worktrees" / worktree.name / "index.lock"
    await asyncio.to_thread(lock.touch)
    os.utime(lock, (0, 0))

    again = scene.again(EngineOptions(git_timeout=0.0))
    (blocked,) = (await again.engine.start()).lines
    theirs.rmdir()
    theirs.write_text("the agent's\n", encoding="utf-8")
    lines = (await again.engine.start()).lines

    reason = f"{theirs} cannot be read: Is a directory; check it, then land again"
    assert blocked == f"{made.name}: land cannot be recovered: {reason}"
    assert lines == (f"{made.name}: landing was interrupted; land again",)
    assert await asyncio.to_thread(lock.exists), "it is older than the landing"
    assert git("status", "--short", cwd=worktree) == " M src/app.py\n?? theirs"
    assert (worktree / "theirs").read_text(encoding="utf-8") == "the agent's\n"
    assert (worktree / "src/app.py").read_text(encoding="utf-8") == "the agent's\n"
    assert "before an interrupted landing" in str(await again.engine.history.snapshots(made.id))
    again.engine.close()


@pytest.mark.requirement("taskspaces.land-conflict")
async def test_conflict_in_one_commit_moves_nothing(scene: Scene) -> None:
    made = await diverged(scene)
    worktree = Path(made.worktree)
    for text in ("first\n", "app\n" * 2000):
        (worktree / "src/app.py").write_text(text, encoding="utf-8")
        git("commit", "-qam", "one of two", cwd=worktree)
    before = state_of(made)

    assert await scene.engine.land(made.id, LandOptions()) == LandConflict("main", ())
    assert state_of(made) == before


@pytest.mark.requirement("taskspaces.land-old-git")
async def test_error_of_an_old_git_names_the_required_version(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await diverged(scene)
    old = scene.root / "bin" / "git"
    old.parent.mkdir()
    # Like git 2.37: `merge-tree` has no options and prints its usage.
    old.write_text(
        '#!/bin/sh\ncase " $* " in *" merge-tree "*) echo usage >&2; exit 129;; esac\n'
        f'exec {GIT} "$@"\n',
        encoding="utf-8",
    )
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    before = state_of(made)

    with pytest.raises(TaskspaceError, match="merge-tree") as caught:
        await scene.engine.land(made.id, LandOptions())

    assert caught.value.hint == "install git 2.38 or newer"
    assert state_of(made) == before
