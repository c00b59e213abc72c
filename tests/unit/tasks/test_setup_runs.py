"""Setup and teardown: their output, their failures, interruptions, and agents that do not start."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_harness import AskedTrust, EngineOptions, Scene, git, open_scene, there

from localio.errors import ExplainedError
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.engine_context import NoAgents, file_of
from symposium.tasks.events import Changed, Said
from symposium.tasks.model import Taskspace, TaskspaceError, TaskState
from symposium.tasks.setup import DECLINED, INTERRUPTED, UNTRUSTED
from symposium.tasks.setup_steps import CommandFailure, run_commands
from symposium.tasks.tables import unfinished


class HeldAgents(NoAgents):
    """Agents that fail to start, or whose start does not end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.env: dict[str, str] = {}
        self.error: ExplainedError | None = None
        self.is_held = False

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        del taskspace
        self.env = dict(env)
        self.begun.set()
        if self.is_held:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error


class LentVariable(NoAgents):
    """Agents that have a variable of the terminal where their tasks were created."""

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        del taskspace
        return {"PATH": os.environ["PATH"], "LENT": "from the terminal"}


def said(scene: Scene) -> list[str]:
    return [each.line for each in scene.events if isinstance(each, Said)]


def write_recipe(directory: Path, text: str) -> None:
    path = directory / ".symposium/workspace.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.requirement("taskspaces.set-up-done")
async def test_commands_run_in_order_and_each_line_of_output_is_reported(tmp_path: Path) -> None:
    (tmp_path / "line").write_text("a" * 10_000 + "\nshort\n", encoding="utf-8")
    (tmp_path / "no-line").write_bytes(b"\xff" * 9000)
    lines: list[str] = []
    env = {"PATH": os.environ["PATH"], "SYMPOSIUM_BRANCH": "a b"}
    commands = [
        "echo {{ branch }}; echo error >&2; pwd; cat; printf 'crlf\\r\\n'",
        "printf 'bad \\377 end'",
        *("dd if=line bs=20000 2>/dev/null", "dd if=no-line bs=20000 2>/dev/null"),
    ]

    done = await run_commands(commands, tmp_path, env, lines.append)

    assert done is None
    assert [(each[:20], len(each)) for each in lines if each[:1] != "$"] == [
        *[("a b", 3), ("error", 5), (str(tmp_path)[:20], len(str(tmp_path))), ("crlf", 4)],
        *[("bad \ufffd end", 9), ("a" * 20, 8192), ("short", 5), ("\ufffd" * 20, 8192)],
    ]
    assert [each for each in lines if each[:1] == "$"] == [f"$ {each}" for each in commands]


@pytest.mark.requirement("taskspaces.set-up-failed")
async def test_first_failure_ends_the_commands(tmp_path: Path) -> None:
    lines: list[str] = []
    env = {"PATH": os.environ["PATH"]}

    unknown = await run_commands(["echo {{ branches }}", "touch ran"], tmp_path, env, lines.append)
    failed = await run_commands(["exit 3", "touch ran"], tmp_path, env, lines.append)

    assert unknown == CommandFailure("echo {{ branches }}", 127)
    assert failed == CommandFailure("exit 3", 3)
    assert CommandFailure("exit 3", 3).text == "`exit 3` failed with exit code 3"
    assert lines == ["$ echo {{ branches }}", "branches is an unknown template", "$ exit 3"]
    assert not there(tmp_path / "ran")


@pytest.mark.requirement("taskspaces.asker-goes")
async def test_setup_of_a_canceled_caller_is_recorded_as_interrupted(place: Path) -> None:
    agents = HeldAgents()
    agents.is_held = True
    scene = open_scene(place, EngineOptions(agents=agents))
    async with asyncio.TaskGroup() as tasks:
        creating = tasks.create_task(scene.make())
        await agents.begun.wait()
        creating.cancel()

    (made,) = await scene.engine.taskspaces()
    changed = [each.taskspace for each in scene.events if isinstance(each, Changed)]
    left = await scene.context.journal.read(unfinished)
    scene.engine.close()

    assert creating.cancelled()
    assert (made.standing, made.reason) == (TaskState.SETUP_FAILED, INTERRUPTED)
    assert changed[-1] == made
    assert left == []
    assert INTERRUPTED in file_of(made).read_text(encoding="utf-8")


@pytest.mark.requirement("taskspaces.set-up-failed", "taskspaces.resume")
async def test_agent_that_does_not_start_is_the_reason(place: Path) -> None:
    agents = HeldAgents()
    agents.error = ExplainedError("no such program", "install it")
    scene = open_scene(place, EngineOptions(agents=agents))
    failed = await scene.make()
    with pytest.raises(TaskspaceError) as not_ready:
        await scene.engine.resume(failed.id)
    await scene.context.put(replace(failed, reason=""))
    with pytest.raises(TaskspaceError) as without_reason:
        await scene.engine.resume(failed.id)
    await scene.context.put(replace(failed, standing=TaskState.READY, reason=""))
    (place / "state" / "snapshots").rename(place / "kept")
    (place / "state" / "snapshots").touch()
    with pytest.raises(TaskspaceError) as not_resumed:
        await scene.engine.resume(failed.id)
    scene.engine.close()

    reason = "the agent did not start: no such program"
    assert (failed.standing, failed.reason) == (TaskState.SETUP_FAILED, reason)
    shown = [(each.value.message, each.value.hint) for each in (not_ready, without_reason)]
    assert shown == [
        ("'Fix login' is setup-failed", reason),
        ("'Fix login' is setup-failed", "see symposium task list"),
    ]
    assert not_resumed.value.message == reason
    assert not_resumed.value.hint == "fix the problem, then resume again"
    assert said(scene)[0].startswith("cannot snapshot its state: ")


@pytest.mark.requirement("taskspaces.set-up-trust")
@pytest.mark.parametrize("reason", ["untrusted", "declined"])
async def test_setup_that_is_trusted_by_now_runs_before_the_agent_continues(
    reason: str, place: Path
) -> None:
    agents, trust = HeldAgents(), AskedTrust(answer=False)
    scene = open_scene(place, EngineOptions(agents=agents, trust=trust))
    write_recipe(scene.clone, 'setup = "touch ran"\n[env]\nMODE = "dev"\n')
    made = await scene.make()
    waited = made.reason == UNTRUSTED and not agents.env
    is_waiting = not await scene.engine.resume(made.id)
    if reason == "declined":
        digest = (await scene.engine.recipe(made.id)).digest
        made = await scene.engine.retry(made.id, declined=digest)
        assert made.reason == f"continues {DECLINED}"
    before = (
        agents.env.get("MODE"),
        await scene.engine.resume(made.id),
        there(f"{made.worktree}/ran"),
    )
    trust.answer = True
    was_resumed = await scene.engine.resume(made.id)
    now = await scene.engine.get(made.id)
    scene.engine.close()

    assert (waited, is_waiting) == (True, True)
    assert before == (None, reason == "declined", False)
    assert was_resumed
    assert (now.standing, now.reason) == (TaskState.READY, "")
    assert agents.env["MODE"] == "dev"
    assert there(f"{made.worktree}/ran")


@pytest.mark.requirement("taskspaces.set-up-done", "taskspaces.set-up-failed")
async def test_existing_files_stay_and_a_file_that_cannot_be_copied_fails(scene: Scene) -> None:
    write_recipe(scene.clone, 'copy = ["*.log"]\nlink = ["README.md", "none", "data"]\n')
    (scene.clone / "data").mkdir()
    (scene.clone / "a.log").write_text("the clone's", encoding="utf-8")
    (scene.upstream / "a.log").write_text("tracked", encoding="utf-8")
    git("add", "-f", "a.log", cwd=scene.upstream)
    git("commit", "-qm", "log", cwd=scene.upstream)
    made = await scene.make()
    worktree = Path(made.worktree)
    (scene.clone / "deep.log").mkdir()
    (scene.clone / "deep.log/b.log").touch()
    (worktree / "deep.log").touch()
    failed = await scene.engine.retry(made.id)

    assert (made.standing, made.reason) == (TaskState.READY, "")
    assert (worktree / "a.log").read_text(encoding="utf-8") == "tracked"
    assert (worktree / "data").readlink() == scene.clone / "data"
    assert not there(worktree / "none")
    assert not (worktree / "README.md").is_symlink()
    assert failed.standing is TaskState.SETUP_FAILED
    assert failed.reason == f"setup failed: cannot copy {worktree}/deep.log: File exists"


@pytest.mark.requirement("taskspaces.set-up-trust", "taskspaces.removal-complete")
@pytest.mark.parametrize("is_trusted", [True, False])
async def test_teardown_runs_once_and_in_the_worktree_only_if_trusted(
    place: Path, *, is_trusted: bool
) -> None:
    trust, killed = AskedTrust(), "delete.teardown" if is_trusted else ""

    def passed(stage: str) -> None:
        if stage == killed:
            raise InterruptedError

    scene = open_scene(place, EngineOptions(trust=trust, passed=passed, agents=LentVariable()))
    command = "echo $MODE $SYMPOSIUM_BRANCH $LENT; pwd > ../../gone; exit 3"
    text = f'teardown = ["{command}", "touch ../../never"]\n'
    write_recipe(scene.clone, f'{text}[env]\nMODE = "dev"\n')
    made = await scene.make()
    trust.answer = is_trusted
    scene.events.clear()

    with suppress(InterruptedError):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    again = scene.again(EngineOptions(trust=trust))
    lines_at_start = (await again.engine.start()).lines
    again.engine.close()

    assert lines_at_start == (("Fix login: was archived",) if is_trusted else ())
    assert said(again) == []
    assert not there(made.worktree)
    failed = f"teardown failed: `{command}` failed with exit code 3"
    lines = [f"$ {command}", "dev task/fix-login from the terminal", failed]
    assert said(scene) == (lines if is_trusted else [])
    assert not is_trusted or (place / "gone").read_text(encoding="utf-8") == f"{made.worktree}\n"
    assert there(place / "gone") is is_trusted
    assert not there(place / "never")
    assert trust.asked[-1][2] == (
        f"teardown: {command}",
        "teardown: touch ../../never",
        "env: MODE=dev",
    )
