"""Changes a taskspace and is killed at a stage; then a new process checks the result.

Run by `test_taskspace_kills.py`: `python taskspace_kills.py ROOT KIND STAGE…`. For each stage a
forked child does the work and kills itself with SIGKILL; another one checks.
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

from tests.support.interruptions import act, look, prepare
from tests.support.task_harness import EngineOptions, copy_template, open_scene


def forked(do: Callable[[], Awaitable[None]]) -> int:
    """Run something in a child; return its status as from `os.waitpid`."""
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
    """For each stage: prepare once, copy, kill, check."""
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
            scene = open_scene(prepared, EngineOptions(passed=die))
            await act(scene, kind, await scene.engine.get(id_) if id_ else None)

        async def see() -> None:
            scene = open_scene(prepared)
            made = await scene.engine.get(id_) if id_ else None
            await scene.engine.start()
            await look(scene, kind, made)
            scene.engine.close()

        report[stage] = [os.waitstatus_to_exitcode(forked(do)), forked(see)]
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
