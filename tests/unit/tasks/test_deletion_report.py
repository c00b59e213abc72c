"""The deletion report: each kind of risk; an unknown risk is never safe."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest
from tests.support.task_harness import GIT, EngineOptions, Scene, attempt, git, open_scene, there

from localio.git import Git
from symposium.config.git import stand_ins
from symposium.tasks.deletion import archive, process_checks, worktree_checks
from symposium.tasks.deletion.commit_checks import of_operations
from symposium.tasks.deletion.process_checks import Running, family_of, running_in
from symposium.tasks.deletion.safety_report import DeletionReport, Finding, Risk, Unknown
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.deletion.worktree_checks import of_ignored, repositories_in
from symposium.tasks.land import LandOptions
from symposium.tasks.model import NotSafeError, Taskspace
from symposium.tasks.records import PresenceKind, PresentAgents


async def report_on(scene: Scene, taskspace: Taskspace) -> DeletionReport:
    return await scene.engine.trash.report(taskspace.id)


def counts(report: DeletionReport) -> dict[Risk, int]:
    return {finding.risk: finding.count for finding in report.findings}


def unknown(report: DeletionReport) -> list[Risk]:
    return [each.risk for each in report.unknowns]


@pytest.mark.requirement("taskspaces.report-clean")
async def test_fresh_task_is_safe(scene: Scene) -> None:
    report = await report_on(scene, await scene.made())

    assert report.is_safe
    assert report.lines == ()


@pytest.mark.requirement("taskspaces.report-files")
def test_line_has_some_names_and_the_number_of_the_others() -> None:
    names = tuple(f"file {number}" for number in range(10))
    many = Finding(Risk.UNTRACKED, 13, "13 untracked files", names)
    odd = Finding(Risk.UNCOMMITTED, 1, "uncommitted changes in 1 file", ("\x1b[2J" + "x" * 99,))
    other = Finding(Risk.DETACHED, 1, "HEAD is detached at 1234", ("12345678",))

    assert many.line == f"13 untracked files: {', '.join(names)}, and 3 more"
    assert odd.line == f"uncommitted changes in 1 file: ␛[2J{'x' * 55}…"
    assert other.line == "HEAD is detached at 1234"


@pytest.mark.requirement("taskspaces.report-files")
async def test_files_outside_commits_are_counted_by_kind(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / "README.md").write_text("changed", encoding="utf-8")
    (worktree / "src/app.py").unlink()
    (worktree / "a staged file").touch()
    git("add", "-A", cwd=worktree)
    for name in ("new one", "new\ntwo", "new three"):
        (worktree / name).write_text("x", encoding="utf-8")
    (worktree / "secret").mkdir()
    (worktree / "secret/key").write_text("12345", encoding="utf-8")
    (worktree / "secret/__pycache__").mkdir()
    (worktree / "secret/__pycache__/out").write_text("a build recreates it", encoding="utf-8")

    report = await report_on(scene, made)

    assert counts(report) == {Risk.UNCOMMITTED: 3, Risk.UNTRACKED: 3, Risk.IGNORED: 1}
    assert report.lines == (
        "uncommitted changes in 3 files: README.md, a staged file, src/app.py",
        "3 untracked files: new two, new one, new three",
        "1 ignored file that no build recreates, 5 bytes: secret/key",
    )
    assert [each.samples for each in report.findings] == [
        ("README.md", "a staged file", "src/app.py"),
        ("new\ntwo", "new one", "new three"),
        ("secret/key",),
    ]
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-unknown")
async def test_check_that_fails_is_unknown_with_its_reason(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worktree_checks, "_MAX_WALKED", 1)
    made = await scene.made()
    (Path(made.worktree) / "secret").mkdir()
    for name in ("one", "two"):
        (Path(made.worktree) / "secret" / name).touch()

    report = await report_on(scene, made)

    reason = f"[Errno 0] more than 1 ignored files: '{made.worktree}/secret'"
    assert report == DeletionReport(made.id, (), (Unknown(Risk.IGNORED, reason),))
    assert not report.is_safe
    with pytest.raises(NotSafeError, match="more than 1 ignored files"):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    assert there(f"{made.worktree}/secret/two")


@pytest.mark.requirement("taskspaces.report-hidden")
async def test_file_hidden_from_git_status_is_unknown(scene: Scene) -> None:
    made = await scene.made()
    git("update-index", "--assume-unchanged", "README.md", cwd=Path(made.worktree))
    git("update-index", "--skip-worktree", "src/app.py", cwd=Path(made.worktree))

    report = await report_on(scene, made)

    reason = "git is configured to skip 2 files, as 'README.md'"
    assert report == DeletionReport(made.id, (), (Unknown(Risk.UNCOMMITTED, reason),))
    assert report.lines == (f"not known: uncommitted: {reason}",)
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-commits")
async def test_commits_on_no_remote_are_unpushed_and_pushed_ones_only_listed(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "a", "1")
    git("push", "-q", "origin", f"HEAD:refs/heads/{made.branch}", cwd=worktree)
    pushed = await report_on(scene, made)
    for name in ("b", "c"):
        scene.commit(worktree, name, "2")

    both = await report_on(scene, made)

    assert pushed.lines == ("1 commit that is pushed and not in main",)
    assert both.lines == (
        "2 commits that are on no remote",
        "1 commit that is pushed and not in main",
    )
    assert counts(pushed) == {Risk.NOT_IN_BASE: 1}
    assert pushed.is_safe
    assert counts(both) == {Risk.UNPUSHED: 2, Risk.NOT_IN_BASE: 1}
    assert not both.is_safe


@pytest.mark.requirement("taskspaces.report-unknown")
async def test_pushed_commits_are_unknown_while_the_remote_is_unreachable(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "a", "1")
    git("push", "-q", "origin", f"HEAD:refs/heads/{made.branch}", cwd=worktree)
    scene.upstream.rename(scene.root / "gone")

    report = await report_on(scene, made)

    known, reason = report.lines
    assert known == "1 commit that is pushed and not in main"
    expected = "not known: unpushed: origin did not answer, so pushed commits may be outdated: "
    assert reason.startswith(expected)
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-unknown")
async def test_missing_base_and_unlistable_programs_are_unknown(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    git("update-ref", "-d", "refs/remotes/origin/main", cwd=scene.clone)
    (scene.root / "git").symlink_to(GIT)
    monkeypatch.setenv("PATH", str(scene.root))
    monkeypatch.setattr(process_checks, "_HAS_PROC", False)

    report = await report_on(scene, made)

    gone = "not known: base: refs/remotes/origin/main does not exist, so merged commits are unknown"
    unlisted = "not known: processes: cannot list the programs that run there"
    assert report.lines == (gone, unlisted)
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-unknown")
@pytest.mark.parametrize("damage", ["no directory", "no .git", "broken index", "broken HEAD"])
async def test_unreadable_worktree_is_unknown(damage: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    admin = Path(git("rev-parse", "--absolute-git-dir", cwd=worktree))
    match damage:
        case "no directory":
            shutil.move(worktree, scene.root / "moved")
        case "no .git":
            (worktree / ".git").unlink()
        case "broken index":
            (admin / "index").write_bytes(b"DIRC garbage")
        case _:
            (admin / "HEAD").write_text("garbage", encoding="utf-8")

    report = await report_on(scene, made)

    files = [Risk.UNCOMMITTED, Risk.IGNORED, Risk.UNCOMMITTED, Risk.SUBMODULE]
    risks = {"broken index": files, "broken HEAD": [*files, Risk.UNPUSHED, Risk.LOCKED]}
    assert unknown(report) == risks.get(damage, [Risk.UNCOMMITTED])
    assert report.findings == ()
    assert not report.is_safe
    if damage.startswith("no "):
        assert report.lines == (f"not known: uncommitted: {worktree} is no longer a worktree",)
    else:
        assert "git status --porcelain=v2: fatal: " in report.lines[0]


@pytest.mark.requirement("taskspaces.report-detached")
async def test_detached_head_is_reported(scene: Scene) -> None:
    made = await scene.made()
    git("checkout", "-q", "--detach", cwd=Path(made.worktree))

    report = await report_on(scene, made)

    assert report.lines == (f"HEAD is detached at {(made.base_commit or '')[:12]}",)
    assert report.findings[0].samples == (made.base_commit,)
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-stash")
async def test_only_stashes_of_the_branch_are_reported(scene: Scene) -> None:
    made, other = await scene.make("one"), await scene.make("two")
    for taskspace, words in ((made, ["-m", "kept"]), (other, list[str]())):
        (Path(taskspace.worktree) / "README.md").write_text("stashed", encoding="utf-8")
        git("stash", "push", "-q", *words, cwd=Path(taskspace.worktree))

    first = await report_on(scene, made)
    git("checkout", "-q", "--detach", cwd=Path(other.worktree))
    (Path(other.worktree) / "README.md").write_text("on no branch", encoding="utf-8")
    git("stash", "push", "-q", cwd=Path(other.worktree))
    second = await report_on(scene, made)

    assert counts(first) == {Risk.STASH: 1}
    assert first.lines == (f"1 stash: On {made.branch}: kept",)
    assert first.findings[0].samples == (f"On {made.branch}: kept",)
    homeless = "not known: stash: 1 stash was made on no branch: its task is unknown"
    assert second.lines == (*first.lines, homeless)


@pytest.mark.requirement("taskspaces.report-inside")
@pytest.mark.parametrize("kind", ["nested", "submodule"])
async def test_work_in_a_nested_repository_is_reported(kind: str, scene: Scene) -> None:
    made = await scene.made()
    inside = Path(made.worktree) / "inside"
    if kind == "submodule":
        git("submodule", "add", "-q", str(scene.upstream), "inside", cwd=Path(made.worktree))
        git("commit", "-qm", "submodule", cwd=Path(made.worktree))
    else:
        inside.mkdir()
        git("init", "-q", cwd=inside)
    (inside / "work").write_text("x", encoding="utf-8")
    changes = 1
    if kind == "submodule":
        (inside / "README.md").unlink()
        changes = 2

    report = await report_on(scene, made)

    (found,) = [each for each in report.findings if each.risk is Risk.SUBMODULE]
    detail = f"the repository inside inside has {changes} changes and 0 unpushed commits"
    assert (found.count, found.detail, found.samples) == (changes, detail, ("inside",))
    assert not report.is_safe
    if kind == "nested":
        (inside / ".git/refs/heads/broken").write_text("1" * 40, encoding="utf-8")
        reason = "inside: fatal: bad object refs/heads/broken"
        assert (await report_on(scene, made)).unknowns == (Unknown(Risk.SUBMODULE, reason),)


@pytest.mark.requirement("taskspaces.report-hidden-repositories")
def test_repositories_are_searched_in_a_limited_number_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder/one/.git/objects").mkdir(parents=True)
    (tmp_path / "folder/one/deep").mkdir()
    (tmp_path / "folder/one/deep/.git").touch()
    monkeypatch.setattr(worktree_checks, "_MAX_ENTRIES", 4)
    found = repositories_in(tmp_path, ["folder"])
    monkeypatch.setattr(worktree_checks, "_MAX_ENTRIES", 3)
    with pytest.raises(NotSafeError) as error:
        repositories_in(tmp_path, ["folder"])

    assert found == ["folder/one", "folder/one/deep"]
    assert error.value.message == f"{tmp_path}/folder has more files than can be looked at"
    assert error.value.hint == "move away what you do not need"


@pytest.mark.requirement("taskspaces.report-files")
def test_ignored_files_are_kept_unless_a_build_recreates_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ["a.log", "secret/key", "secret/deep/key"]
    rebuilt = ["__pycache__/a.pyc", "secret/__pycache__/b.pyc", "secret/deep/c.pyc"]
    for name in (*kept, *rebuilt):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    monkeypatch.setattr(worktree_checks, "_MAX_WALKED", 3)

    found = of_ignored(tmp_path, ("a.log", "__pycache__/", "secret/"))

    size = "3 ignored files that no build recreates, 15 bytes"
    built = "not archived, because a build recreates it: __pycache__/"
    assert sorted(found[0].samples) == sorted(kept)
    assert found == [
        Finding(Risk.IGNORED, 3, size, found[0].samples),
        Finding(Risk.REBUILT, 1, built, ("__pycache__/",)),
    ]


HIDDEN: Final = ("build/inner", "node_modules/mine", "vendor/inner", "secret/deep/inner")
"""Paths where git does not report a repository: ignored, or in an untracked folder."""


def make_hidden(worktree: Path, name: str) -> Path:
    """Create a repository with one commit at this path."""
    (worktree / ".gitignore").write_text("build/\nsecret/\nnode_modules\n", encoding="utf-8")
    (worktree / "package.json").write_text("{}", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", "a build", cwd=worktree)
    git("push", "-q", "origin", "HEAD", cwd=worktree)
    inside = worktree / name
    inside.mkdir(parents=True)
    git("init", "-q", cwd=inside)
    (inside / "work").write_text("x", encoding="utf-8")
    git("add", "-A", cwd=inside)
    git("commit", "-qm", "work", cwd=inside)
    return inside


@pytest.mark.requirement("taskspaces.report-hidden-repositories")
@pytest.mark.parametrize("name", HIDDEN)
async def test_repository_hidden_from_git_is_reported_and_restored(name: str, scene: Scene) -> None:
    made = await scene.made()
    inside = make_hidden(Path(made.worktree), name)
    head = git("log", "--format=%H", cwd=inside)

    report = await report_on(scene, made)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.engine.trash.undo(made.id)

    details = [each.detail for each in report.findings if each.risk is Risk.SUBMODULE]
    assert details == [f"the repository {name} inside has 0 changes and 1 unpushed commits"]
    assert not report.is_safe
    assert git("status", "--porcelain", cwd=inside) == ""
    assert git("log", "--format=%H", cwd=inside) == head


@pytest.mark.requirement("taskspaces.report-hidden-repositories")
async def test_pushed_repository_in_an_ignored_folder_is_safe(
    scene: Scene,
) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    make_hidden(worktree, "build/inner")
    shutil.rmtree(worktree / "build")
    git("clone", "-q", str(scene.upstream), "build/fetched", cwd=worktree)

    report = await report_on(scene, made)

    assert Risk.SUBMODULE not in counts(report)
    assert await archive.ignored_work(made) == []
    assert all(not finding.loses for finding in report.findings)


@pytest.mark.requirement("taskspaces.report-hidden-repositories")
async def test_build_folder_counts_as_work_where_nothing_is_built(
    scene: Scene,
) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / "build").mkdir()
    (worktree / "build/thesis").write_text("by hand", encoding="utf-8")

    nothing_is_built = await report_on(scene, made)
    (worktree / "Makefile").write_text("all:\n", encoding="utf-8")
    built = await report_on(scene, made)

    assert counts(nothing_is_built) == {Risk.IGNORED: 1}
    assert counts(built) == {Risk.UNTRACKED: 1, Risk.REBUILT: 1}
    assert built.lines[-1] == "not archived, because a build recreates it: build/"


@pytest.mark.requirement("taskspaces.report-operations")
@pytest.mark.parametrize("kind", ["merge", "rebase", "cherry-pick"])
async def test_operation_in_progress_is_reported(kind: str, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "a file", "ours")
    git("branch", "mine", cwd=worktree)
    git("reset", "-q", "--hard", "HEAD~1", cwd=worktree)
    scene.commit(worktree, "a file", "theirs")
    attempt(kind, "mine", cwd=worktree)

    report = await report_on(scene, made)

    assert counts(report)[Risk.OPERATION] == 1
    details = [each.detail for each in report.findings if each.risk is Risk.OPERATION]
    assert f"a {kind} is in progress" in details
    assert "1 file in conflict" in details
    assert ("a file",) in [each.samples for each in report.findings]


@pytest.mark.requirement("taskspaces.report-operations")
def test_each_unfinished_operation_is_named(tmp_path: Path) -> None:
    operations = {
        "BISECT_LOG": "a bisection",
        "CHERRY_PICK_HEAD": "a cherry-pick",
        "MERGE_HEAD": "a merge",
        "rebase-merge": "a rebase",
        "rebase-apply": "a rebase or git am",
        "REVERT_HEAD": "a revert",
        "sequencer": "a sequence of picks",
    }
    for name in (*operations, "ORIG_HEAD"):
        (tmp_path / name).touch()

    assert of_operations(tmp_path) == [
        Finding(Risk.OPERATION, 1, f"{each} is in progress", (each,))
        for each in operations.values()
    ]


@pytest.mark.requirement("taskspaces.report-locked")
async def test_lock_of_another_program_is_reported(scene: Scene) -> None:
    made = await scene.made()
    git("worktree", "unlock", made.worktree, cwd=scene.clone)
    git("worktree", "lock", "--reason", "on a stick", made.worktree, cwd=scene.clone)

    report = await report_on(scene, made)

    git("worktree", "unlock", made.worktree, cwd=scene.clone)
    git("worktree", "lock", made.worktree, cwd=scene.clone)
    without_reason = await report_on(scene, made)

    assert report == DeletionReport(
        made.id, (Finding(Risk.LOCKED, 1, "the worktree is locked: on a stick"),)
    )
    assert not report.is_safe
    assert without_reason.lines == ("the worktree is locked: no reason was given",)


@pytest.mark.requirement("taskspaces.report-locked")
async def test_worktree_that_the_clone_lists_at_another_path_is_unknown(scene: Scene) -> None:
    made = await scene.made()
    path, moved = Path(made.worktree), scene.root / "moved"
    shutil.move(path, moved)
    await asyncio.to_thread(path.symlink_to, moved)
    git("worktree", "repair", str(moved), cwd=scene.clone)

    report = await report_on(scene, made)

    assert report.unknowns == (Unknown(Risk.LOCKED, "the clone does not know the worktree"),)


@pytest.mark.requirement("taskspaces.report-branch-elsewhere")
async def test_second_worktree_of_the_branch_is_reported(scene: Scene) -> None:
    made = await scene.made()
    git("worktree", "add", "-q", "--force", "../twin", made.branch, cwd=scene.clone)

    report = await report_on(scene, made)

    twin = str(scene.root / "twin")
    detail = f"the branch is checked out in {twin} too"
    assert report == DeletionReport(made.id, (Finding(Risk.BRANCH_ELSEWHERE, 1, detail, (twin,)),))
    assert report.is_safe


@dataclass(slots=True)
class StatedAgents:
    """Agents in a given state."""

    running: Literal[True] | None
    idle: int | None = None

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        del taskspace, env

    async def stop(self, taskspace: str) -> None:
        del taskspace

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        del taskspace
        return os.environ

    def is_running(self, taskspace: str) -> bool | None:
        del taskspace
        return self.running

    async def idle_process(self, taskspace: str) -> int | None:
        del taskspace
        return self.idle


@pytest.mark.requirement("taskspaces.report-running")
@pytest.mark.parametrize("running", [True, None])
async def test_running_or_possibly_running_agent_is_reported(running: object, place: Path) -> None:
    scene = open_scene(place, EngineOptions(agents=StatedAgents(True if running else None)))
    made = await scene.make()

    report = await report_on(scene, made)

    scene.engine.close()
    assert not report.is_safe
    is_unknown = Unknown(Risk.AGENT, "cannot tell whether its agent is running")
    assert report == (
        DeletionReport(made.id, (Finding(Risk.AGENT, 1, "its agent is running"),))
        if running
        else DeletionReport(made.id, (), (is_unknown,))
    )


@pytest.mark.requirement("tasks.landed-is-safe")
async def test_landed_task_is_safe_to_delete_while_its_agent_is_idle(place: Path) -> None:
    agents = StatedAgents(running=True)
    scene = open_scene(place, EngineOptions(agents=agents))
    made = await scene.make()
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "mine\n")
    shell = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", "cat; true"), cwd=worktree, stdin=asyncio.subprocess.PIPE
    )
    agents.idle = shell.pid
    unlanded = await report_on(scene, made)
    await scene.engine.land(made.id, LandOptions())
    other = await asyncio.create_subprocess_exec(
        "/bin/cat", cwd=worktree, stdin=asyncio.subprocess.PIPE
    )

    idle = await report_on(scene, made)
    other.kill()
    await other.wait()
    agents.idle = None
    working = await report_on(scene, made)
    agents.idle = shell.pid
    (worktree / "new").write_text("new\n", encoding="utf-8")
    changed = await report_on(scene, made)

    assert counts(unlanded)[Risk.AGENT] == 1
    assert [(each.detail, *each.samples) for each in idle.findings] == [
        ("its work has landed; its idle agent is stopped",),
        ("1 program runs there", f"cat ({other.pid})"),
    ]
    assert counts(working)[Risk.AGENT] == 1
    assert counts(changed)[Risk.AGENT] == counts(changed)[Risk.UNTRACKED] == 1
    (worktree / "new").unlink()
    await scene.engine.trash.delete(made.id, DeletionConsent.ONLY_IF_SAFE)
    shell.kill()
    await shell.wait()
    scene.engine.close()


@pytest.mark.requirement("taskspaces.report-running")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_program_running_in_the_worktree_is_reported(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    monkeypatch.chdir(made.worktree)
    places = [Path(made.worktree), Path(made.worktree) / "src"]
    processes = [
        await asyncio.create_subprocess_exec("/bin/cat", cwd=each, stdin=asyncio.subprocess.PIPE)
        for each in places
    ]

    report = await report_on(scene, made)
    (scene.root / "link").symlink_to(made.worktree)
    by_link = await running_in(scene.root / "link")

    for each in processes:
        each.kill()
        await each.wait()
    (found,) = report.findings
    assert report.unknowns == ()
    assert (found.risk, found.count, found.detail) == (Risk.PROCESSES, 2, "2 programs run there")
    assert set(found.samples) == {f"cat ({each.pid})" for each in processes}
    assert by_link is not None
    assert {each.pid for each in by_link} == {each.pid for each in processes}
    assert not report.is_safe


@pytest.mark.requirement("taskspaces.report-our-git")
async def test_git_run_by_symposium_is_not_reported(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    waits = scene.root / "waits"
    os.mkfifo(waits)
    ours = Git(worktree, stand_ins(), settings=(f"alias.wait=!cat '{waits}'",))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ours.run("wait"))
        # Opening blocks until the program reads, so it runs by then.
        end = await asyncio.to_thread(waits.open, "wb")
        report = await report_on(scene, made)
        end.close()

    assert counts(report) == {}


@pytest.mark.requirement("taskspaces.report-running")
async def test_running_programs_are_listed_by_lsof_where_there_is_no_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_checks, "_HAS_PROC", False)
    monkeypatch.setenv("PATH", str(tmp_path))
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    other, exited = os.getppid(), 1 << 30
    entries = [
        *((other, "vim", place), (other, "zsh", place / "deep"), (other, "beside", f"{place}r")),
        *((os.getpid(), "itself", place), (exited, "exited", place)),
    ]
    listed = "".join(f"p{pid}\nc{name}\nfcwd\nn{path}\n" for pid, name, path in entries)
    lsof = tmp_path / "lsof"

    without_lsof = await running_in(place)
    lsof.write_text(f"#!/bin/sh\n[ \"$*\" = '-a -d cwd -F pcn' ] && printf '%s' '{listed}'\n")
    lsof.chmod(0o755)

    assert without_lsof is None
    assert await running_in(tmp_path / "link") == [Running(other, "vim"), Running(other, "zsh")]


@pytest.mark.requirement("taskspaces.report-watched", "taskspaces.no-settings-edits")
async def test_open_windows_are_reported_and_are_safe(scene: Scene) -> None:
    made = await scene.made()
    windows = [
        PresentAgents("7", made.id, PresenceKind.EDITOR, "[SYMPOSIUM:1]"),
        PresentAgents("8", made.id, PresenceKind.WEB),
    ]
    scene.engine.presence.connect(lambda: windows)

    report = await report_on(scene, made)

    samples = ("editor: [SYMPOSIUM:1]", "web: 8")
    assert report == DeletionReport(
        made.id, (Finding(Risk.WATCHED, 2, "2 windows are open", samples),)
    )
    assert git("status", "--porcelain", "--ignored", cwd=Path(made.worktree)) == ""
    assert report.is_safe


@pytest.mark.requirement("taskspaces.delete-asks")
async def test_unsafe_task_is_deleted_only_with_consent_to_an_archive(scene: Scene) -> None:
    made = await scene.made()
    (Path(made.worktree) / "work").write_text("x", encoding="utf-8")

    with pytest.raises(NotSafeError, match="1 untracked file"):
        await scene.engine.trash.delete(made.id, DeletionConsent.ONLY_IF_SAFE)

    assert (Path(made.worktree) / "work").exists()
    (Path(made.worktree) / "work").unlink()
    await scene.engine.trash.delete(made.id, DeletionConsent.ONLY_IF_SAFE)
    assert not there(made.worktree)


@pytest.mark.requirement("taskspaces.family-without-ps")
def test_process_is_its_own_family_without_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with child:
        assert family_of(os.getpid()) >= {os.getpid(), child.pid}
        assert family_of(os.getppid()) >= {os.getppid(), os.getpid(), child.pid}
        assert os.getppid() not in family_of(os.getpid())
        monkeypatch.setenv("PATH", "")
        assert family_of(os.getpid()) == {os.getpid()}
        child.communicate(b"\n")
