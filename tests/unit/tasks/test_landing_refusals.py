"""Landings that are refused or fail name the reason; unusual bases are landed on."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import connect

import msgspec
import pytest
from tests.support.task_harness import AskedTrust, EngineOptions, Scene, git, open_scene
from tests.unit.tasks.test_landing_move import diverged, state_of

from localio.git import GitCommandError
from symposium.tasks.land import ChecksFailed, Join, Landed, LandOptions
from symposium.tasks.model import Taskspace, TaskspaceError


async def refusal(scene: Scene, made: Taskspace, options: LandOptions | None = None) -> str:
    """Land; return the error and its hint."""
    with pytest.raises(TaskspaceError) as caught:
        await scene.engine.land(made.id, options or LandOptions())
    return f"{caught.value.message}: {caught.value.hint}"


@pytest.mark.requirement("taskspaces.land-refuses", "taskspaces.land-push")
async def test_refused_landing_names_the_reason_and_what_to_do(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".symposium").mkdir()
    recipe = worktree / ".symposium/workspace.toml"
    text = 'check = ["true", "false"]\nsetup = "make"\nrun = "serve"\n[env]\nMODE = "dev"\n'
    recipe.write_text(text, encoding="utf-8")
    tip = scene.commit(worktree, "mine", "x")
    trust = scene.context.trust
    assert isinstance(trust, AskedTrust)
    trust.answer = False
    main = git("rev-parse", "main", cwd=scene.clone)

    untrusted = await refusal(scene, made)
    asked = [commands for _, _, commands in trust.asked]
    trust.answer = True
    git("rm", "-q", ".symposium/workspace.toml", cwd=worktree)
    git("commit", "-qm", "no checks", cwd=worktree)
    await scene.context.put(replace(made, base=""))
    without_base = await refusal(scene, made)
    await scene.context.put(replace(made, base="refs/heads/none"))
    missing_base = await refusal(scene, made)
    await scene.context.put(replace(made, base="refs/heads/main"))
    without_remote = await refusal(scene, made, LandOptions(is_pushed=True))
    git("update-ref", "MERGE_HEAD", tip, cwd=worktree)
    begun = await refusal(scene, made)

    assert [untrusted, without_base, missing_base, without_remote, begun] == [
        "the checks are not trusted: check and approve them",
        "'Fix login' has no base branch: land it by hand",
        "refs/heads/none does not exist: name another base",
        "main has no remote: land it without a push",
        "'Fix login': a merge is in progress: finish or abort it first",
    ]
    assert asked == [("setup: make", "check: true", "check: false", "env: MODE=dev")]
    assert git("rev-parse", "main", cwd=scene.clone) == main


@pytest.mark.requirement("taskspaces.land")
async def test_base_that_only_the_remote_has_is_made_in_the_clone(scene: Scene) -> None:
    made = await scene.made()
    git("switch", "-q", "--detach", cwd=scene.clone)
    git("branch", "-qD", "main", cwd=scene.clone)
    tip = scene.commit(Path(made.worktree), "mine", "x")

    assert await scene.engine.land(made.id, LandOptions()) == Landed(tip, "main")

    assert git("rev-parse", "main", cwd=scene.clone) == tip
    assert git("log", "-1", "-g", "--format=%gs", "main", cwd=scene.clone) == "symposium: land"
    assert git("rev-parse", "main", cwd=scene.upstream) != tip


@pytest.mark.requirement("taskspaces.land")
async def test_work_lands_with_a_note_when_the_remote_does_not_answer(scene: Scene) -> None:
    made = await scene.made()
    tip = scene.commit(Path(made.worktree), "mine", "x")
    scene.upstream.rename(scene.root / "gone")
    git("update-ref", "-d", "refs/remotes/origin/main", cwd=scene.clone)

    landed = await scene.engine.land(made.id, LandOptions())

    assert isinstance(landed, Landed)
    assert (landed.commit, len(landed.notes)) == (tip, 1)
    assert landed.notes[0].startswith("origin did not answer: ")
    assert git("rev-parse", "main", cwd=scene.clone) == tip


@pytest.mark.requirement("taskspaces.land-replay-bytes")
@pytest.mark.parametrize("join", Join)
async def test_user_without_a_name_gets_the_error_of_git(
    join: Join, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    tip = scene.commit(worktree, "mine", "x")
    scene.commit(scene.upstream, "theirs", "x")
    config = scene.root / "nameless"
    config.write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))

    with pytest.raises(GitCommandError, match="email was given and auto-detection is disabled"):
        await scene.engine.land(made.id, LandOptions(join))

    assert git("rev-parse", "HEAD", cwd=worktree) == tip
    assert git("status", "--porcelain", cwd=worktree) == ""


@pytest.mark.requirement("taskspaces.land-checks")
async def test_failed_check_is_reported_with_the_last_lines(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".symposium").mkdir()
    recipe = 'check=["true", "seq 30; exit 3", "echo never"]'
    (worktree / ".symposium/workspace.toml").write_text(recipe, encoding="utf-8")
    scene.commit(worktree, "mine", "x")

    failed = await scene.engine.land(made.id, LandOptions())

    assert isinstance(failed, ChecksFailed)
    assert failed.failure.text == "`seq 30; exit 3` failed with exit code 3"
    assert failed.tail == tuple(str(each) for each in range(11, 31))


@pytest.mark.requirement("taskspaces.land-killed")
async def test_move_is_recorded_before_the_first_write(scene: Scene) -> None:
    made = await diverged(scene)
    state = state_of(made)
    found: list[tuple[str, object, bool]] = []

    def passed(stage: str) -> None:
        if stage == "land.replayed":
            with closing(connect(scene.root / "state" / "taskspaces.db")) as connection:
                row = connection.execute("SELECT stage, detail FROM operation").fetchone()
            found.append((row[0], msgspec.json.decode(row[1]), state_of(made) == state))

    before = git("rev-parse", "HEAD", cwd=Path(made.worktree))
    scene.engine.close()
    again = open_scene(scene.root, EngineOptions(passed=passed, now=lambda: 1e9))

    landed = await again.engine.land(made.id, LandOptions())
    again.engine.close()

    assert isinstance(landed, Landed)
    detail = {"before": before, "after": landed.commit, "at": 1e9}
    assert found == [("land.replayed", detail, True)]
