"""Landing and the radar: conflicts are predicted; landing is complete or undone."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.task_harness import Scene, git, tree_of

from symposium.config.git import git_at
from symposium.tasks.land import ChecksFailed, Join, LandConflict, Landed, LandOptions
from symposium.tasks.merges import Conflict, LineRange, dry_merge, marked_ranges
from symposium.tasks.model import TaskspaceError
from symposium.tasks.repository import is_landed


def change_line(worktree: Path, number: int, text: str) -> None:
    path = worktree / "src/app.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number - 1] = text
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def commit_all(worktree: Path, message: str = "work") -> str:
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", message, cwd=worktree)
    return git("rev-parse", "HEAD", cwd=worktree)


@pytest.mark.requirement("taskspaces.land")
@pytest.mark.parametrize("join", Join)
async def test_branch_lands_on_the_current_remote_commit(join: Join, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    change_line(worktree, 3, "mine")
    commit_all(worktree)
    scene.commit(scene.upstream, "theirs", "x")

    outcome = await scene.engine.land(made.id, LandOptions(join))

    assert isinstance(outcome, Landed)
    assert git("rev-parse", "main", cwd=scene.clone) == outcome.commit
    assert git("status", "--porcelain", cwd=scene.clone) == ""
    assert (scene.clone / "theirs").exists()
    assert "mine" in (scene.clone / "src/app.py").read_text(encoding="utf-8")
    parents = git("log", "-1", "--format=%P", outcome.commit, cwd=scene.clone).split()
    assert len(parents) == (1 if join is Join.REBASE else 2)


@pytest.mark.requirement("tasks.landed")
async def test_landing_of_a_merged_branch_is_not_announced(scene: Scene) -> None:
    made = await scene.made()
    nothing = await scene.engine.land(made.id, LandOptions(Join.REBASE))
    before = await scene.engine.get(made.id)
    tip = scene.commit(Path(made.worktree), "mine", "x")
    first = await scene.engine.land(made.id, LandOptions(Join.REBASE))
    landed = await scene.engine.get(made.id)

    assert isinstance(nothing, Landed)
    assert isinstance(first, Landed)
    assert (nothing.is_news, before.landed, before.landed_at) == (False, "", "")
    assert (first.is_news, first.commit, landed.landed) == (True, tip, tip)


@pytest.mark.requirement("tasks.landed")
async def test_task_whose_worktree_cannot_be_read_is_not_called_landed(scene: Scene) -> None:
    made = await scene.made()
    tip = scene.commit(Path(made.worktree), "mine", "x")
    await scene.engine.land(made.id, LandOptions(Join.MERGE))
    landed = await scene.engine.get(made.id)
    assert landed.landed == tip
    assert await is_landed(landed)

    (Path(made.worktree) / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    assert not await is_landed(landed)
    assert not await is_landed(replace(landed, worktree=str(scene.root / "nowhere")))


@pytest.mark.requirement("taskspaces.land-conflict")
@pytest.mark.parametrize("join", Join)
async def test_conflict_leaves_the_worktree_unchanged(join: Join, scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    change_line(worktree, 3, "mine")
    tip = commit_all(worktree)
    change_line(scene.upstream, 3, "theirs")
    commit_all(scene.upstream)
    before = tree_of(worktree), git("rev-parse", "main", cwd=scene.clone)

    outcome = await scene.engine.land(made.id, LandOptions(join))

    three = (LineRange(3, 3),)
    assert outcome == LandConflict("main", (Conflict("src/app.py", "content", three, three),))
    assert (tree_of(worktree), git("rev-parse", "main", cwd=scene.clone)) == before
    assert git("rev-parse", made.branch, cwd=scene.clone) == tip
    assert git("status", "--porcelain", cwd=worktree) == ""


@pytest.mark.requirement("taskspaces.land-conflict")
async def test_rebase_that_stops_at_a_conflict_is_undone(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    change_line(worktree, 3, "mine, at first")
    commit_all(worktree)
    change_line(worktree, 3, "theirs")
    tip = commit_all(worktree)  # merges cleanly; the first commit alone conflicts
    change_line(scene.upstream, 3, "theirs")
    commit_all(scene.upstream)

    outcome = await scene.engine.land(made.id, LandOptions())

    assert outcome == LandConflict("main", ())
    assert git("rev-parse", "HEAD", cwd=worktree) == tip
    assert git("status", "--porcelain", "--branch", cwd=worktree).startswith(f"## {made.branch}")


@pytest.mark.requirement("taskspaces.land-checks")
async def test_failed_check_lands_nothing_and_landing_again_continues(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".symposium").mkdir()
    (worktree / ".symposium/workspace.toml").write_text('check="test -e ok"', encoding="utf-8")
    commit_all(worktree)
    main = git("rev-parse", "main", cwd=scene.clone)

    failed = await scene.engine.land(made.id, LandOptions())
    between = git("rev-parse", "main", cwd=scene.clone)
    scene.commit(worktree, "ok", "")
    landed = await scene.engine.land(made.id, LandOptions())

    assert isinstance(failed, ChecksFailed)
    assert "exit code 1" in failed.failure.text
    assert between == main
    assert isinstance(landed, Landed)


@pytest.mark.requirement("taskspaces.land-refuses")
async def test_uncommitted_work_is_not_landed(scene: Scene) -> None:
    made = await scene.made()
    (Path(made.worktree) / "new").write_text("x", encoding="utf-8")

    with pytest.raises(TaskspaceError, match="uncommitted work"):
        await scene.engine.land(made.id, LandOptions())


@pytest.mark.requirement("taskspaces.land-refuses")
async def test_changes_in_the_users_checkout_are_not_overwritten(scene: Scene) -> None:
    made = await scene.made()
    change_line(Path(made.worktree), 3, "mine")
    commit_all(Path(made.worktree))
    change_line(scene.clone, 3, "the user's")
    before = tree_of(scene.clone), git("rev-parse", "main", cwd=scene.clone)

    with pytest.raises(TaskspaceError, match="git cannot update"):
        await scene.engine.land(made.id, LandOptions())

    assert (tree_of(scene.clone), git("rev-parse", "main", cwd=scene.clone)) == before


@pytest.mark.requirement("taskspaces.land-refuses")
async def test_diverged_base_is_not_forced(scene: Scene) -> None:
    made = await scene.made()
    scene.commit(Path(made.worktree), "mine", "x")
    own = scene.commit(scene.clone, "local only", "x")
    scene.commit(scene.upstream, "theirs", "x")

    with pytest.raises(TaskspaceError, match="have diverged"):
        await scene.engine.land(made.id, LandOptions())
    assert git("rev-parse", "main", cwd=scene.clone) == own


@pytest.mark.requirement("taskspaces.land-push")
async def test_push_sends_the_base_and_is_never_forced(scene: Scene) -> None:
    git("config", "receive.denyCurrentBranch", "ignore", cwd=scene.upstream)
    made = await scene.make()
    scene.commit(Path(made.worktree), "mine", "x")

    outcome = await scene.engine.land(made.id, LandOptions(is_pushed=True))

    assert isinstance(outcome, Landed)
    assert git("rev-parse", "main", cwd=scene.upstream) == outcome.commit


@pytest.mark.requirement("taskspaces.radar")
async def test_radar_detects_uncommitted_changes_of_the_same_lines(
    scene: Scene,
) -> None:
    first, second, third = [await scene.make(name) for name in ("one", "two", "three")]
    for made, line in ((first, 5), (second, 5), (third, 15)):
        change_line(Path(made.worktree), line, f"by {made.name}")
    (Path(first.worktree) / "README.md").unlink()
    (Path(second.worktree) / "README.md").write_text("kept and changed", encoding="utf-8")

    overlaps = await scene.engine.radar(scene.clone)

    pairs = [{each.first, each.second} for each in overlaps]
    five = (LineRange(5, 5),)
    assert pairs == [{first.id, second.id}]
    assert set(overlaps[0].conflicts) == {
        Conflict("README.md", "deleted"),
        Conflict("src/app.py", "content", five, five),
    }
    for made in (first, second, third):
        assert git("diff", "--cached", "--name-only", cwd=Path(made.worktree)) == ""


@pytest.mark.requirement("taskspaces.radar")
async def test_radar_detects_conflicts_with_the_base(scene: Scene) -> None:
    made = await scene.made()
    change_line(Path(made.worktree), 2, "mine")
    change_line(scene.upstream, 2, "theirs")
    commit_all(scene.upstream)
    git("fetch", "-q", cwd=scene.clone)

    overlaps = await scene.engine.radar(scene.clone)

    assert [(each.first, each.second) for each in overlaps] == [(made.id, "base")]


@pytest.mark.requirement("taskspaces.radar-own")
async def test_unchanged_task_has_no_conflicts(
    scene: Scene,
) -> None:
    early = await scene.make("early")
    change_line(Path(early.worktree), 2, "mine")
    change_line(scene.upstream, 2, "theirs")
    commit_all(scene.upstream)
    git("fetch", "-q", cwd=scene.clone)
    git("merge", "-q", "--ff-only", "origin/main", cwd=scene.clone)
    await scene.make("late")

    overlaps = await scene.engine.radar(scene.clone)

    assert [(each.first, each.second) for each in overlaps] == [(early.id, "base")]


@pytest.mark.requirement("taskspaces.radar-own")
async def test_later_changes_of_the_base_are_not_conflicts_between_tasks(scene: Scene) -> None:
    early = await scene.make("early")
    change_line(Path(early.worktree), 2, "mine")
    change_line(scene.upstream, 2, "theirs")
    commit_all(scene.upstream)
    git("fetch", "-q", cwd=scene.clone)
    git("merge", "-q", "--ff-only", "origin/main", cwd=scene.clone)
    late = await scene.make("late")
    (Path(late.worktree) / "elsewhere").write_text("new", encoding="utf-8")

    overlaps = await scene.engine.radar(scene.clone)
    assert [(each.first, each.second) for each in overlaps] == [(early.id, "base")]

    change_line(Path(late.worktree), 2, "mine again")
    overlaps = await scene.engine.radar(scene.clone)
    pairs = {frozenset({each.first, each.second}) for each in overlaps}
    assert pairs == {frozenset({early.id, "base"}), frozenset({early.id, late.id})}


@pytest.mark.requirement("taskspaces.radar-own")
async def test_file_in_the_place_of_a_folder_conflicts(scene: Scene) -> None:
    first, second = [await scene.make(name) for name in ("one", "two")]
    (Path(first.worktree) / "place").write_text("a file", encoding="utf-8")
    (Path(second.worktree) / "place").mkdir()
    (Path(second.worktree) / "place" / "within").write_text("a file", encoding="utf-8")

    overlaps = await scene.engine.radar(scene.clone)

    assert [{each.first, each.second} for each in overlaps] == [{first.id, second.id}]


@pytest.mark.requirement("taskspaces.radar")
async def test_split_folder_conflicts_with_new_files_in_it(scene: Scene) -> None:
    made = await scene.made()
    for worktree, moves in (
        (scene.clone, {f"{each}{d}": f"{d}/{each}" for d in "dg" for each in (1, 2)}),
        (Path(made.worktree), {f"{d}/{each}": f"{d}{each}/x" for d in "dg" for each in (1, 2)}),
        (scene.clone, {"three": "d/three", "four": "g/four"}),
    ):
        for number, (old, new) in enumerate(moves.items()):
            (worktree / new).parent.mkdir(exist_ok=True)
            if not (worktree / old).exists():
                text = "".join(f"{old} {number} {line}\n" for line in range(20))
                (worktree / old).write_text(text, encoding="utf-8")
            (worktree / old).rename(worktree / new)
        # A file that both change is merged: its message is no conflict.
        begin, end = "1d" not in moves, worktree == scene.clone
        (worktree / "both").write_text(f"{begin and not end}\n{'-' * 9}\n{begin and end}\n")
        commit_all(worktree)
        if worktree == scene.clone and "1d" in moves:
            git("reset", "-q", "--hard", "main", cwd=Path(made.worktree))

    merged = await dry_merge(git_at(scene.clone), made.branch, "main")

    assert merged.conflicts == (Conflict("d", "renamed"), Conflict("g", "renamed"))


def numbered(lines: int, **changed: str) -> list[str]:
    return [changed.get(f"l{each}", f"line {each}") for each in range(1, lines + 1)]


TOP = ["new 1", "new 2", "new 3"]
BASE_LINES = numbered(30)
SIDES = {
    "plain": (numbered(30, l9="mine"), numbered(30, l9="theirs"), (9, 9), (9, 9)),
    "theirs has more above": (
        numbered(30, l9="mine"),
        [*TOP, *numbered(30, l9="theirs")],
        (9, 9),
        (12, 12),
    ),
    "ours has less above": (
        numbered(30, l9="mine")[3:],
        numbered(30, l9="theirs", l20="other"),
        (6, 6),
        (9, 9),
    ),
    "ours takes it out": (
        [*numbered(30)[:8], *numbered(30)[9:]],
        [*TOP, *numbered(30, l9="theirs")],
        (9, 8),
        (12, 12),
    ),
}


@pytest.mark.requirement("taskspaces.radar-lines")
@pytest.mark.parametrize("case", SIDES)
async def test_each_side_of_a_conflict_gets_its_own_lines(case: str, tmp_path: Path) -> None:
    ours, theirs, mine, others = SIDES[case]
    git("init", "-q", "-b", "base", cwd=tmp_path)
    commits: list[str] = []
    for lines in (BASE_LINES, ours, theirs):
        if commits:
            git("checkout", "-q", commits[0], cwd=tmp_path)
        (tmp_path / "a b.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        commits.append(commit_all(tmp_path))

    merged = await dry_merge(git_at(tmp_path), *commits[1:])

    sides = (LineRange(*mine),), (LineRange(*others),)
    assert merged.conflicts == (Conflict("a b.txt", "content", *sides),)


@pytest.mark.requirement("taskspaces.radar")
def test_lines_between_conflict_markers_are_found() -> None:
    text = b"a\n<<<<<<< o\n1\n2\n=======\n1\n>>>>>>> t\nb\n<<<<<<< o\n=======\nx\n>>>>>>> t\n"

    ours, theirs = marked_ranges(text)

    assert ours == (LineRange(3, 4), LineRange(10, 9))
    assert theirs == (LineRange(6, 6), LineRange(11, 11))


@pytest.mark.requirement("taskspaces.land-count")
@given(st.lists(st.sampled_from([b"<<<<<<< a", b"=======", b">>>>>>> b", b"x", b""])))
def test_any_text_can_be_counted(lines: list[bytes]) -> None:
    ours, theirs = marked_ranges(b"\n".join(lines))

    assert len(ours) == len(theirs)
    assert all(each.first <= each.last + 1 for each in (*ours, *theirs))
