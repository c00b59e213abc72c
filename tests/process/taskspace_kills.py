"""Does one thing to a taskspace and dies at a stage; then a new process looks what is left.

Run by `test_taskspace_kills.py`: `python taskspace_kills.py ROOT KIND STAGE…`. For each stage the
work is done in a forked child that kills itself with SIGKILL, and looked at in another.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.support.taskspace_scenes import (
    Scene,
    Surroundings,
    copy_template,
    git,
    open_scene,
    there,
    tree_of,
)

from symposium.taskspaces.deletion.removal import BranchFate
from symposium.taskspaces.landing.land import LandOptions
from symposium.taskspaces.model import Standing, Taskspace
from symposium.taskspaces.records import Update
from symposium.taskspaces.trash import Consent


def work(worktree: Path) -> None:
    """Leave work of every kind."""
    (worktree / "src/app.py").write_text("staged", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    (worktree / "untracked").write_text("x", encoding="utf-8")
    (worktree / "secret").mkdir()
    (worktree / "secret/key").write_text("ignored", encoding="utf-8")


async def prepare(scene: Scene, kind: str) -> Taskspace | None:
    """What there is before; its work is acknowledged."""
    if kind == "create":
        return None
    made = await scene.make()
    scene.commit(Path(made.worktree), "committed", "one\n")
    await scene.engine.records.log(made.id, "acknowledged", "info")
    if kind in {"delete", "undo"}:
        work(Path(made.worktree))
    if kind == "undo":
        await scene.engine.trash.delete(made.id, Consent.ARCHIVE, BranchFate.DROP)
    if kind == "land":
        scene.commit(scene.upstream, "theirs", "two\n")
    return made


async def act(scene: Scene, kind: str, made: Taskspace | None) -> None:
    """What is interrupted."""
    match kind, made:
        case "create", None:
            await scene.make()
        case "delete", Taskspace(id=id_):
            await scene.engine.trash.delete(id_, Consent.ARCHIVE, BranchFate.DROP)
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


async def look(scene: Scene, kind: str, stage: str, made: Taskspace | None) -> None:
    """Assert what must hold after a restart, and that the work can be ended then."""
    await scene.engine.start()
    await consistent(scene)
    if made is None:
        for each in await scene.engine.taskspaces():
            await scene.engine.retry(each.id)
        await scene.make()
        await consistent(scene)
        return
    now = await scene.engine.get(made.id)
    messages = [entry.message for entry in await scene.engine.records.entries(made.id)]
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
        if now.standing is Standing.ARCHIVED:
            await scene.engine.trash.undo(made.id)
        await consistent(scene)
        worktree = Path(made.worktree)
        assert git("rev-parse", made.branch, cwd=worktree) == git("rev-parse", "HEAD", cwd=worktree)
        names = {"committed", "untracked", "secret/key", "src/app.py"}
        assert names <= tree_of(worktree).keys(), tree_of(worktree).keys()
        assert (worktree / "src/app.py").read_bytes() == b"staged"
        assert git("diff", "--cached", "--name-only", cwd=worktree) == "src/app.py"
    assert stage


async def consistent(scene: Scene) -> None:
    """No worktree without a record or half made, no record without one, no branch lost."""
    records = await scene.engine.taskspaces(scene.clone)
    live = {each.worktree: each for each in records if each.standing is not Standing.ARCHIVED}
    listed = git("worktree", "list", "--porcelain", cwd=scene.clone).split("\n\n")
    paths = {block.splitlines()[0].removeprefix("worktree ") for block in listed}
    assert paths - {str(scene.clone)} == set(live), (paths, set(live))
    assert await scene.engine.orphans(scene.clone) == []
    for path, each in live.items():
        assert each.standing in {Standing.READY, Standing.SETUP_FAILED}, each
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


def forked(do: Callable[[], Awaitable[None]]) -> int:
    """Run something in a child; how it ended, as `os.waitpid` says."""
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(do())  # pyright: ignore[reportArgumentType]  they are coroutines
        except BaseException:  # noqa: BLE001 - the child must not run the parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def main(root: Path, kind: str, stages: list[str]) -> None:
    """For each stage: prepare once, copy, kill, look."""
    template, report = root / "template", {}
    prepared = copy_template(template, root / "place")
    note = root / "made.json"

    async def first() -> None:
        scene = open_scene(prepared)
        made = await prepare(scene, kind)
        note.write_text(json.dumps(made.id if made else None), encoding="utf-8")
        scene.engine.close()

    assert forked(first) == 0
    id_ = json.loads(note.read_text(encoding="utf-8"))
    shutil.copytree(prepared, root / "kept", symlinks=True)
    for stage in stages:
        shutil.rmtree(prepared)
        shutil.copytree(root / "kept", prepared, symlinks=True)

        def die(passed: str, stage: str = stage) -> None:
            if passed == stage:
                os.kill(os.getpid(), signal.SIGKILL)

        async def do() -> None:
            scene = open_scene(prepared, Surroundings(passed=die))
            await act(scene, kind, await scene.engine.get(id_) if id_ else None)

        async def see(stage: str = stage) -> None:
            scene = open_scene(prepared)
            await look(scene, kind, stage, await scene.engine.get(id_) if id_ else None)
            scene.engine.close()

        report[stage] = [os.waitstatus_to_exitcode(forked(do)), forked(see)]
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
