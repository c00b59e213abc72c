"""MCP server that is killed before each line that it runs; another one checks the result.

Run by `test_mcp_kills.py`: `python mcp_kills.py ROOT KIND`. The hook is Python's own: every line of
the modules below is a stage. For each, a forked child does the work and kills itself there.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final
from uuid import uuid4

from tests.support.mcp_harness import FakeBus, call_tool, workplace_in

from localio import files
from symposium.bus.endpoint import OnProgress
from symposium.bus.envelope import Address
from symposium.bus.messages.agents import (
    Decided,
    DeleteTaskspace,
    Recorded,
    Spawned,
    SpawnTaskspace,
    TaskspaceState,
)
from symposium.bus.protocol import BusRequest, payload_of
from symposium.mcp_server import outbox, progress, tool
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.tools import taskspaces

MODULES: Final[Sequence[ModuleType]] = (
    *(outbox, progress, progress, files, taskspaces, taskspaces, taskspaces),
    *(taskspaces, tool),
)
FILES: Final = frozenset(module.__file__ for module in MODULES)


class RecordingBus(FakeBus):
    """Daemon that records acknowledged messages, or no daemon while it is away."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root

    async def request(
        self,
        message: BusRequest[Any],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Record the message and acknowledge it."""
        if (self._root / "away").exists() or isinstance(message, TaskspaceState):
            return await super().request(message, to=to, on_progress=on_progress, timeout=timeout)
        note(self._root / "taken", bytes(payload_of(message)).decode())
        match message:
            case DeleteTaskspace():
                return Decided(outcome="archived")
            case SpawnTaskspace():
                return Spawned(str(uuid4()))
            case _:
                return Recorded()


def note(path: Path, line: str) -> None:
    """Append a line and sync it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def lines(path: Path) -> list[str]:
    """Return the recorded lines."""
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


async def act(workplace: ServerContext, root: Path, kind: str) -> None:
    """Perform the interrupted work; record each response that an agent got."""
    match kind:
        case "deliver":
            (root / "away").unlink()
            await workplace.outbox.say(workplace.bus)
        case "delete":
            answer = await call_tool(workplace, "delete_taskspace", {})
            note(root / "acked", answer.value.outcome)
        case "create":
            wanted = {"name": "Docs", "task_description": "Write", "initial_prompt": "Write them."}
            answer = await call_tool(workplace, "spawn_taskspace", wanted)
            assert not answer.is_error, answer.text
            note(root / "acked", "created")
        case _:
            is_log = kind.startswith("log")
            name, more = ("log_progress", {"category": "info"}) if is_log else ("signal_user", {})
            for word in ("three", "four"):
                answer = await call_tool(workplace, name, {"message": word, **more})
                assert not answer.is_error, answer.text
                note(root / "acked", word)


async def prepare(root: Path, kind: str) -> None:
    """Store two acknowledged reports from a time without a daemon."""
    workplace = at(root)
    if kind == "deliver" or kind.endswith("-away"):
        (root / "away").touch()
        for word in ("one", "two"):
            await call_tool(workplace, "signal_user", {"message": word})
            note(root / "acked", word)


async def look(root: Path, kind: str) -> str:
    """Describe a problem after a restart with the daemon running; empty if there is no problem."""
    (root / "away").unlink(missing_ok=True)
    workplace = at(root)
    answer = await call_tool(workplace, "signal_user", {"message": "after"})
    await workplace.outbox.say(workplace.bus)
    taken = [json.loads(line) for line in lines(root / "taken")]
    words = [each["message"] for each in taken if "message" in each]
    acked = lines(root / "acked")
    if answer.is_error or not workplace.outbox.is_empty or "after" not in words:
        return f"the next server does not work: {answer.text}"
    if kind in {"create", "delete"}:
        asked = len([each for each in taken if "message" not in each])
        return "" if asked >= len(acked) and asked <= 1 else f"asked {asked}, reported{acked}"
    if missing := [word for word in acked if word not in words]:
        return f"missing: {missing}"
    first = [word for at, word in enumerate(words) if word not in words[:at] and word != "after"]
    order = [word for word in ("one", "two", "three", "four") if word in first]
    often = [word for word in first if words.count(word) > 2]
    return "" if first == order and not often else f"order {words}"


def at(root: Path) -> ServerContext:
    """Return a server context in this folder."""
    return replace(workplace_in(root), bus=RecordingBus(root))


def mortal(last: int) -> None:
    """Kill the process before the n-th line."""
    passed = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        del frame, argument
        if event == "line":
            passed += 1
            if passed == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        return line if frame.f_code.co_filename in FILES else None

    sys.settrace(call)


def main(root: Path, kind: str) -> None:
    """For each line: copy the prepared folder, run until killed, check."""
    prepared, place = root / "prepared", root / "place"
    prepared.mkdir()
    asyncio.run(prepare(prepared, kind))
    wrong: dict[int, str] = {}
    stage = 0
    code = -signal.SIGKILL
    while code == -signal.SIGKILL:
        stage += 1
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(prepared, place)
        child = os.fork()
        if child == 0:
            mortal(stage)
            asyncio.run(act(at(place), place, kind))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if problem := asyncio.run(look(place, kind)):
            wrong[stage] = problem
    sys.stdout.write(json.dumps({"stages": stage - 1, "code": code, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
