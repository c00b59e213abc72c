"""Git runs no code of a repository; its output and its run time are limited."""

import asyncio
import os
import select
import subprocess
from pathlib import Path

import pytest
from tests.support.task_harness import Scene, git, there

from localio.git import Git, GitCommandError, GitRunError, inherited
from localio.git_settings import clean_environment
from symposium.config.git import git_at, stand_ins
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.land import LandOptions
from symposium.tasks.model import TaskspaceError
from symposium.tasks.repository import EngineLock, find_base, open_repository, worktrees


def booby_trap(scene: Scene) -> Path:
    """Plant a program in every setting of the clone; return the file that it would write."""
    mark = scene.root / "ran"
    program = scene.root / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    evil = str(program)
    for key in (
        *("core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass"),
        *("sequence.editor", "diff.external", "filter.evil.clean", "filter.evil.smudge"),
        *("filter.evil.process", "merge.evil.driver", "diff.evil.command", "diff.evil.textconv"),
        *("remote.origin.uploadpack", "remote.origin.receivepack", "credential.helper"),
        *("gpg.program", "core.gitProxy", "uploadpack.packObjectsHook"),
    ):
        git("config", key, evil, cwd=scene.clone)
    git("config", "filter.evil.required", "true", cwd=scene.clone)
    (scene.clone / ".git/info/attributes").write_text(
        "* filter=evil diff=evil merge=evil\n", encoding="utf-8"
    )
    hooks = scene.clone / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        *("post-checkout", "post-commit", "pre-commit", "pre-rebase", "post-rewrite", "pre-push"),
        *("reference-transaction", "post-merge", "post-index-change", "pre-merge-commit"),
        *("prepare-commit-msg", "commit-msg", "pre-auto-gc"),
    ):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    return mark


@pytest.mark.requirement("taskspaces.git-runs-nothing")
async def test_no_code_of_a_hostile_clone_runs_in_any_operation(scene: Scene) -> None:
    scene.commit(scene.upstream, "theirs", "x")
    mark = booby_trap(scene)

    made = await scene.make()
    (Path(made.worktree) / "src/app.py").write_text("mine\n", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "tool call")
    (Path(made.worktree) / "src/app.py").write_text("gone\n", encoding="utf-8")
    await scene.engine.history.undo(made.id)
    await scene.engine.radar(scene.clone)
    await scene.engine.trash.report(made.id)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.engine.trash.undo(made.id)
    safe = git_at(Path(made.worktree))
    await safe.ask("commit", "-qam", "mine")
    await scene.engine.land(made.id, LandOptions())

    assert not there(mark), mark.read_text(encoding="utf-8")


@pytest.mark.requirement("taskspaces.git-runs-nothing")
async def test_global_git_settings_of_the_user_apply(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = scene.root / "own"
    own.write_text(
        '[filter "lfs"]\n\tclean = mine\n[core]\n\tsshCommand = my-ssh\n', encoding="utf-8"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    git("config", "filter.lfs.clean", "theirs", cwd=scene.clone)
    git("config", "core.sshCommand", "theirs", cwd=scene.clone)
    git("config", "filter.other.clean", "theirs", cwd=scene.clone)

    quiet = git_at(scene.clone)

    assert await quiet.text("config", "filter.lfs.clean") == "mine"
    assert await quiet.text("config", "core.sshCommand") == "my-ssh"
    assert await quiet.text_or_none("config", "filter.other.clean") is None


@pytest.mark.requirement("taskspaces.git-clean-environment")
async def test_variables_that_redirect_git_are_removed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_TRACE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -i mine")

    repository = await open_repository(scene.clone / "src")

    assert repository.root == scene.clone
    assert clean_environment()["GIT_SSH_COMMAND"] == "ssh -i mine"
    assert "GIT_DIR" not in clean_environment()
    assert os.environ["GIT_DIR"] == "/nowhere"


@pytest.mark.requirement("taskspaces.git-bounded")
async def test_git_command_is_killed_with_its_children_on_timeout(scene: Scene) -> None:
    slow = Git(scene.clone, stand_ins(), settings=("alias.slow=!sleep 60 & wait",))

    with pytest.raises(GitRunError, match="timed out"):
        await slow.run("slow", timeout=0.2)


@pytest.mark.requirement("taskspaces.git-bounded")
async def test_git_command_with_too_much_output_is_killed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localio.git.MAX_OUTPUT", 1000)
    loud = Git(scene.clone, stand_ins(), settings=("alias.loud=!yes",))

    with pytest.raises(GitRunError, match="wrote more than 1000"):
        await loud.run("loud")


@pytest.mark.requirement("taskspaces.git-bounded")
async def test_cancellation_kills_the_command(scene: Scene) -> None:
    fifo = scene.root / "fifo"
    os.mkfifo(fifo)
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    endless = Git(
        scene.clone, stand_ins(), settings=(f"alias.slow=!(echo up; exec sleep 60) > {fifo}",)
    )

    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(endless.run("slow"))
        up = await asyncio.to_thread(select.select, [reading], [], [], 5)
        said = os.read(reading, 100)
        slow.cancel()
    ended = await asyncio.to_thread(select.select, [reading], [], [], 5)

    assert up[0]
    assert said == b"up\n"
    assert ended[0]
    assert os.read(reading, 100) == b""
    os.close(reading)


@pytest.mark.requirement("taskspaces.git-names")
async def test_worktrees_with_unusual_names_are_listed(scene: Scene) -> None:
    path = scene.root / 'new\nline "quoted" \u00e9'
    git("worktree", "add", "-q", "-b", "odd", str(path), cwd=scene.clone)

    listed = await worktrees(git_at(scene.clone))

    assert [each.path for each in listed] == [scene.clone, path]
    assert listed[1].branch == "refs/heads/odd"


@pytest.mark.requirement("taskspaces.git-errors")
async def test_error_contains_the_message_of_git(scene: Scene) -> None:
    with pytest.raises(GitCommandError) as refused:
        await git_at(scene.clone).ask("rev-parse", "--verify", "nowhere")
    with pytest.raises(GitRunError, match="does not exist"):
        await git_at(scene.root / "nowhere").run("status")

    assert refused.value.code == 128
    assert "single revision" in refused.value.message


@pytest.mark.requirement("taskspaces.base-branch")
@pytest.mark.parametrize(
    "kind", ["wanted", "remote head", "odd head", "usual", "no remote", "odd name"]
)
async def test_base_is_found(kind: str, scene: Scene) -> None:
    wanted = None
    match kind:
        case "wanted":
            git("branch", "release", cwd=scene.clone)
            wanted, expected = "release", "refs/heads/release"
        case "remote head":
            git("branch", "-m", "main", "trunk", cwd=scene.upstream)
            git("fetch", "-q", "--prune", cwd=scene.clone)
            git("remote", "set-head", "origin", "--auto", cwd=scene.clone)
            expected = "refs/remotes/origin/trunk"
        case "odd head":
            git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main", cwd=scene.clone)
            expected = "refs/remotes/origin/main"
        case "usual":
            git("remote", "set-head", "origin", "--delete", cwd=scene.clone)
            expected = "refs/remotes/origin/main"
        case "no remote":
            git("remote", "remove", "origin", cwd=scene.clone)
            expected = "refs/heads/main"
        case _:
            git("remote", "remove", "origin", cwd=scene.clone)
            git("branch", "-m", "main", "odd/one", cwd=scene.clone)
            expected = "refs/heads/odd/one"

    assert (await find_base(git_at(scene.clone), wanted)).ref == expected


@pytest.mark.requirement("taskspaces.clone-kinds")
async def test_git_of_a_clone_that_has_all_objects_gets_no_access_to_remotes(scene: Scene) -> None:
    clone = git_at(scene.clone)

    assert (await clone.online()).protocols == "file:git:http:https:ssh"
    assert await clone.completing() == clone


@pytest.mark.requirement("taskspaces.waits-for-old-gits")
def test_lock_is_held_until_the_last_git_that_inherited_it_exits(tmp_path: Path) -> None:
    first, second = EngineLock(tmp_path / "lease"), EngineLock(tmp_path / "lease")
    first.take(1.0)
    [held] = inherited
    ours, theirs = os.pipe()
    git_of_before = subprocess.Popen(["/bin/cat"], stdin=ours, pass_fds=(held,), close_fds=True)
    os.close(ours)
    first.give_back()

    with pytest.raises(TaskspaceError, match="locked by another"):
        second.take(0.1)
    os.close(theirs)
    git_of_before.wait()
    second.take(5.0)

    second.give_back()
    assert not inherited


@pytest.mark.requirement("taskspaces.git-bounded")
@pytest.mark.parametrize("turns", range(6))
async def test_cancellation_during_the_start_returns_at_once(turns: int, scene: Scene) -> None:
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        begun = tasks.create_task(git_at(scene.clone).run("status"))
        # One more iteration of the event loop each time, to cancel at each step of the start.
        for _ in range(turns):
            await asyncio.sleep(0)
        begun.cancel()

    assert begun.cancelled()
