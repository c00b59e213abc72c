"""Resolutions of conflicts: what the user reads, what lands, and what is stored."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.support.task_harness import Scene, git
from tests.unit.tasks.test_landing import change_line, commit_all

from symposium.tasks.conflict_resolutions import (
    MAX_DIFF,
    Resolution,
    Resolutions,
    ResolutionStage,
    conflict_text,
    printable,
)
from symposium.tasks.land import Landed, LandOptions, Ready
from symposium.tasks.merges import Conflict, LineRange
from symposium.tasks.model import Taskspace

AT = "2001-09-09T01:46:40.000Z"


def redact(id_: str, text: str) -> str:
    return text.replace("s3cret", f"[secret of {id_}]")


def resolutions(scene: Scene) -> Resolutions:
    return Resolutions(replace(scene.context, redact=redact, now=lambda: 1e9))


def working(made: Taskspace) -> Resolution:
    """A resolution at which the agent works, with leftovers of an earlier attempt."""
    return Resolution(
        made.id,
        ResolutionStage.WORKING,
        attempt=3,
        at="before",
        base="main",
        onto="0" * 40,
        conflicts=("old",),
        ready=Ready("t", "main", "o", 0, is_news=True),
        files=("old",),
        lines=("old",),
        is_cut=True,
        reason="old",
    )


def failed(
    made: Taskspace, reason: str, *, onto: str = "0" * 40, conflicts: tuple[str, ...] = ("old",)
) -> Resolution:
    """The same without them, failed at `AT`."""
    return Resolution(
        made.id,
        ResolutionStage.FAILED,
        attempt=3,
        at=AT,
        base="main",
        onto=onto,
        conflicts=conflicts,
        reason=reason,
    )


@pytest.mark.requirement("landing.resolve")
async def test_resolved_branch_is_ready_with_its_files_and_diff(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    change_line(worktree, 3, "s3cret = 3")
    git("mv", "README.md", "READ\x1bME.md", cwd=worktree)
    (worktree / "bad\udcff").write_bytes(b"\xff\n")
    tip = commit_all(worktree)
    onto = git("rev-parse", "main", cwd=scene.clone)

    ready = await resolutions(scene).look(working(made))

    diff = git("diff", "--no-renames", "--no-color", onto, tip, "--", "src", cwd=worktree)
    shown = tuple(diff.replace("s3cret", f"[secret of {made.id}]").splitlines())
    assert ready.files == ("READ␛ME.md", "README.md", "bad\ufffd", "src/app.py")
    assert ready.lines[-len(shown) :] == shown
    assert {"deleted file mode 100644", "-# Sample", "+# Sample", "+\ufffd"} < {*ready.lines}
    assert msgspec.structs.replace(ready, files=(), lines=()) == Resolution(
        made.id,
        ResolutionStage.READY,
        attempt=3,
        at=AT,
        base="main",
        onto="0" * 40,
        conflicts=("old",),
        ready=Ready(tip, "main", onto, 0, is_news=True),
    )


@pytest.mark.requirement("landing.resolve")
async def test_long_diff_is_cut_at_its_limit(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    found = resolutions(scene)
    scene.commit(worktree, "long", "\n")
    rest = len(git("diff", "main", "HEAD", cwd=worktree)) + len("\n")
    looks: list[Resolution] = []
    for over in (0, 1):
        scene.commit(worktree, "long", "x" * (MAX_DIFF - rest + over) + "\n")
        looks.append(await found.look(working(made)))

    assert [each.is_cut for each in looks] == [False, True]
    assert [sum(len(line) + 1 for line in each.lines) for each in looks] == [MAX_DIFF, MAX_DIFF + 1]


@pytest.mark.requirement("landing.failed")
async def test_branch_that_still_conflicts_fails_with_its_lines(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    change_line(worktree, 3, "mine, at first")
    commit_all(worktree)
    change_line(worktree, 3, "mine")
    (worktree / "README.md").unlink()
    commit_all(worktree)
    change_line(scene.upstream, 3, "theirs")
    (scene.upstream / "README.md").write_text("theirs", encoding="utf-8")
    onto = commit_all(scene.upstream)
    texts = ("README.md (deleted)", "src/app.py:3-3 (content, base: 3-3)")
    found = resolutions(scene)

    all_conflict = await found.look(working(made))
    change_line(worktree, 3, "theirs")
    (worktree / "README.md").write_text("theirs", encoding="utf-8")
    commit_all(worktree)
    first_conflicts = await found.look(working(made))

    reason = f"still conflicts with main: {'; '.join(texts)}"
    assert all_conflict == failed(made, reason, onto=onto, conflicts=texts)
    assert first_conflicts == failed(made, "still conflicts with main", onto=onto, conflicts=())


@pytest.mark.requirement("landing.failed")
async def test_branch_that_cannot_land_fails_with_the_reason(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    found = resolutions(scene)

    unchanged = await found.look(working(made))
    (worktree / "new").write_text("x", encoding="utf-8")
    dirty = await found.look(working(made))
    (worktree / "new").unlink()
    git("switch", "-q", "--orphan", "unborn", cwd=worktree)
    without_commits = await found.look(working(made))

    assert unchanged == failed(
        made,
        "has nothing to land: main has all of it; if its agent has dropped work,"
        f" `symposium task undo {made.id[:8]}` restores it",
    )
    assert dirty == failed(
        made,
        "cannot land yet: 'Fix login' has uncommitted work, as 'new'"
        " (commit it, or let its agent do so)",
    )
    reason = without_commits.reason
    assert without_commits == failed(made, reason)
    assert reason.startswith("cannot land yet: git merge-tree HEAD: ")
    assert not reason.endswith(")")  # git's error has no hint


@pytest.mark.requirement("landing.checks")
async def test_failed_check_keeps_the_last_lines_without_secrets(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    (worktree / ".symposium").mkdir()
    recipe = 'check=["true", "seq 30; echo s3cret; exit 3"]'
    (worktree / ".symposium/workspace.toml").write_text(recipe, encoding="utf-8")
    commit_all(worktree)

    after = await resolutions(scene).look(working(made))

    numbers = tuple(str(each) for each in range(12, 31))
    assert after == msgspec.structs.replace(
        failed(made, "a check fails: `seq 30; echo s3cret; exit 3` failed with exit code 3"),
        lines=(*numbers, f"[secret of {made.id}]"),
    )


@pytest.mark.requirement("landing.approval")
async def test_approved_commit_lands_unless_it_or_its_base_has_moved(scene: Scene) -> None:
    made = await scene.made()
    worktree = Path(made.worktree)
    scene.commit(worktree, "mine", "x")
    scene.commit(scene.upstream, "theirs", "x")
    found = resolutions(scene)
    main = git("rev-parse", "main", cwd=scene.clone)

    ready = await found.look(working(made))
    await found.put(ready)
    unprepared = await found.land(msgspec.structs.replace(ready, ready=None))
    tip = git("rev-parse", "HEAD", cwd=worktree)
    scene.commit(worktree, "unseen", "x")
    branch_moved = await found.land(ready)
    git("reset", "-q", "--hard", tip, cwd=worktree)
    scene.commit(scene.upstream, "unseen", "x")
    base_moved = await found.land(ready)
    after = git("rev-parse", "main", cwd=scene.clone), await found.all()
    again = await found.look(ready)
    assert again.ready
    landed = await found.land(again)

    assert (unprepared, branch_moved, base_moved) == (None, None, None)
    assert after == (main, [ready])
    assert landed == Landed(again.ready.tip, "main")
    assert git("rev-parse", "main", cwd=scene.clone) == again.ready.tip
    assert await found.all() == []
    now = await scene.engine.get(made.id)
    assert (now.landed, now.landed_at) == (again.ready.tip, AT)
    kept = await scene.engine.history.snapshots(made.id)
    assert [each.reason for each in kept] == ["made", *["before landing"] * 2, "landed"]


@pytest.mark.requirement("landing.restart")
async def test_resolutions_are_stored_until_they_end(scene: Scene) -> None:
    first, second = [
        Resolution(id_, ResolutionStage.ASKED, 1, AT, "main", "o", ("a",), LandOptions())
        for id_ in ("b", "a")
    ]
    changed = msgspec.structs.replace(second, stage=ResolutionStage.WORKING, attempt=2)
    await resolutions(scene).put(first)
    await resolutions(scene).put(second)
    found = resolutions(scene)

    assert await found.all() == [first, second]
    assert (await found.of("a"), await found.of("c")) == (second, None)
    assert await found.advance(second, changed)
    assert not await found.advance(second, first)
    assert await found.all() == [first, changed]
    await found.end("b")
    assert await found.all() == [changed]
    assert not await found.advance(first, first)
    await found.put(second)
    assert await found.all() == [second]


@pytest.mark.requirement("landing.resolve")
def test_conflict_is_one_line_with_the_lines_of_both_sides() -> None:
    ours, theirs = (LineRange(1, 2), LineRange(5, 4)), (LineRange(7, 9),)

    assert [
        conflict_text(Conflict("a\nb\udcff", "content", ours, theirs)),
        conflict_text(Conflict("a", "binary", (), theirs)),
        conflict_text(Conflict("a", "added", theirs)),
    ] == [
        "a␊b\ufffd:1-2, 5-4 (content, base: 7-9)",
        "a (binary, base: 7-9)",
        "a:7-9 (added)",
    ]
    assert printable("a b") == "a b"
