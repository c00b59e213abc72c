"""Interruptible stages of a taskspace, and the checks after each interruption."""

from pathlib import Path

from tests.support.task_harness import Scene, git, there, tree_of

from symposium.tasks.deletion.removal import BranchAction
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.land import LandOptions
from symposium.tasks.model import Taskspace, TaskState
from symposium.tasks.records import Update
from symposium.tasks.tables import STAGES, unfinished

KINDS = sorted({stage.partition(".")[0] for stage in STAGES})


def stages_of(kind: str) -> list[str]:
    """The stages of one kind of operation, as the engine lists them."""
    return [stage for stage in STAGES if stage.startswith(f"{kind}.")]


def work(worktree: Path) -> None:
    """Create uncommitted and committed work of every kind."""
    (worktree / "src/app.py").write_text("staged", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    (worktree / "untracked").write_text("x", encoding="utf-8")
    (worktree / "secret").mkdir()
    (worktree / "secret/key").write_text("ignored", encoding="utf-8")


async def prepare(scene: Scene, kind: str) -> Taskspace | None:
    """Create the state before the operation, with acknowledged work."""
    if kind == "create":
        return None
    made = await scene.make()
    scene.commit(Path(made.worktree), "committed", "one\n")
    await scene.engine.records.log(made.id, "acknowledged", "info")
    if kind in {"delete", "undo"}:
        work(Path(made.worktree))
    if kind == "undo":
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE, BranchAction.DROP)
    if kind == "land":
        scene.commit(scene.upstream, "theirs", "two\n")
    return made


async def act(scene: Scene, kind: str, made: Taskspace | None) -> None:
    """Perform the operation that is interrupted."""
    match kind, made:
        case "create", None:
            await scene.make()
        case "delete", Taskspace(id=id_):
            await scene.engine.trash.delete(id_, DeletionConsent.ARCHIVE, BranchAction.DROP)
        case "undo", Taskspace(id=id_):
            await scene.engine.trash.undo(id_)
        case "land", Taskspace(id=id_):
            await scene.engine.land(id_, LandOptions())
        case "log", Taskspace(id=id_):
            await scene.engine.records.log(id_, "interrupted", "info")
        case "signal", Taskspace(id=id_):
            await scene.engine.records.signal(id_, "interrupted")
        case "update", Taskspace(id=id_):
            await scene.engine.records.state(id_, Update("interrupted"))
        case _:
            raise AssertionError(kind)


async def look(scene: Scene, kind: str, made: Taskspace | None) -> None:
    """Check the result, and that the operation can be completed then."""
    await consistent(scene)
    if made is None:
        for each in await scene.engine.taskspaces():
            await scene.engine.retry(each.id)
        await scene.make()
        await consistent(scene)
        return
    now = await scene.engine.get(made.id)
    messages = [entry.message for entry in await scene.engine.logs.entries(made.id)]
    assert messages[0] == "acknowledged", messages
    if kind in {"log", "signal"}:
        assert messages == ["acknowledged", "interrupted"], messages
    if kind == "update":
        assert (now.name, now.initial_prompt) == ("interrupted", None), now
    if kind == "land":
        await scene.engine.land(made.id, LandOptions())
        assert (scene.clone / "theirs").exists()
        assert (scene.clone / "committed").exists()
        assert git("status", "--porcelain", cwd=Path(made.worktree)) == ""
    if kind in {"delete", "undo"}:
        if now.standing is TaskState.ARCHIVED:
            await scene.engine.trash.undo(made.id)
        await consistent(scene)
        worktree = Path(made.worktree)
        assert git("rev-parse", made.branch, cwd=worktree) == git("rev-parse", "HEAD", cwd=worktree)
        names = {"committed", "untracked", "secret/key", "src/app.py"}
        assert names <= tree_of(worktree).keys(), tree_of(worktree).keys()
        assert (worktree / "src/app.py").read_bytes() == b"staged"
        assert git("diff", "--cached", "--name-only", cwd=worktree) == "src/app.py"


async def consistent(scene: Scene) -> None:
    """Check that records and worktrees match, and that no branch is lost."""
    records = await scene.engine.taskspaces(scene.clone)
    live = {each.worktree: each for each in records if each.standing is not TaskState.ARCHIVED}
    listed = git("worktree", "list", "--porcelain", cwd=scene.clone).split("\n\n")
    paths = {block.splitlines()[0].removeprefix("worktree ") for block in listed}
    assert paths - {str(scene.clone)} == set(live), (paths, set(live))
    assert await scene.engine.orphans(scene.clone) == []
    assert await scene.context.journal.read(unfinished) == []
    for path, each in live.items():
        assert each.standing in {TaskState.READY, TaskState.SETUP_FAILED}, each
        assert not git("ls-files", "--deleted", cwd=Path(path)), "half made"
        git("fsck", "--no-progress", "--connectivity-only", cwd=Path(path))
        git("rev-parse", "--verify", each.branch, cwd=scene.clone)
    homes = scene.root / "clone.tasks" / ".symposium"
    found = {entry.name for entry in homes.iterdir()} if there(homes) else set[str]()
    assert found == {f"task-{each.id}" for each in live.values()}, found
    tasks = scene.root / "clone.tasks"
    folders = {str(entry) for entry in tasks.iterdir()} if there(tasks) else set[str]()
    assert folders - {str(homes)} == set(live), folders
    assert git("status", "--porcelain", cwd=scene.clone) == ""
