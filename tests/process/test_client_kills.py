"""SIGKILL of the client or the agent at every stage: nothing lost, orphaned, or incomplete."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.interruptions import KINDS, stages_of
from tests.support.pause_harness import PauseHarness, kill, pause_harness
from tests.support.task_cli import TaskCli, git, is_alive, until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

Spec: TypeAlias = Callable[..., str]


@pytest.fixture
def harness(task_cli: TaskCli, tmp_path: Path) -> Generator[PauseHarness]:
    with pause_harness(task_cli, tmp_path / "harness") as made:
        yield made


def worked_on(harness: PauseHarness, task: dict[str, Any], number: int) -> None:
    """Create a commit, a log line, and a new commit on the base branch."""
    git(harness.task_cli.clone, "commit", "-q", "--allow-empty", "-m", f"base {number}")
    tree = Path(task["worktree"])
    (tree / f"committed-{number}").write_text("by its agent", encoding="utf-8")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", f"work {number}")
    harness.log(task["id"], f"acknowledged {number}")


def words_for(kind: str, task: dict[str, Any] | None, clone: Path, number: int) -> list[str]:
    """Return the command of the user."""
    id_ = "" if task is None else task["id"]
    said = {"project_path": "", "taskspace_uuid": id_}
    signal = {**said, "message": "interrupted"}
    update = {**said, "name": f"renamed {number}", "description": "interrupted"}
    return {
        "create": ["task", "new", f"made {number}", "--project", str(clone)],
        "delete": ["task", "rm", id_, "--discard-work"],
        "undo": ["task", "undo", id_],
        "land": ["task", "land", id_],
        "log": ["task", "log", id_, "--add", "interrupted"],
        "signal": ["bus", "send", "signal_user", json.dumps(signal)],
        "update": ["bus", "send", "update_taskspace", json.dumps(update)],
    }[kind]


@pytest.mark.requirement("taskspaces.survives-client-kills")
@pytest.mark.parametrize("kind", KINDS)
def test_client_killed_at_any_stage_loses_nothing(harness: PauseHarness, kind: str) -> None:
    task_cli, stages = harness.task_cli, stages_of(kind)
    harness.daemon(stages[0])
    for number, following in enumerate([*stages[1:], ""]):
        task = None if kind == "create" else task_cli.new(f"task {number}")
        if task is not None:
            worked_on(harness, task, number)
            if kind == "undo":
                task_cli.ok("task", "rm", task["id"], "--discard-work")

        harness.arm()
        client = harness.client(*words_for(kind, task, task_cli.clone, number))
        harness.stopped()
        kill(client)
        harness.resume()

        harness.whole()
        harness.restart(following)
        assert not harness.problem(), (stages[number], harness.problem())
        complete_operation(harness, kind, task, number)
        until(lambda: not harness.processes())
    assert not harness.lost()


def complete_operation(
    harness: PauseHarness, kind: str, task: dict[str, Any] | None, number: int
) -> None:
    """Complete the interrupted operation, and check that nothing was done twice or lost."""
    task_cli = harness.task_cli
    if task is None:
        task_cli.new(f"made {number}")
        return
    now = task_cli.json("task", "show", task["id"])["taskspace"]
    match kind:
        case "delete" | "undo":
            if now["archived_at"] is not None:
                task_cli.ok("task", "undo", task["id"])
        case "land":
            task_cli.ok("task", "land", task["id"])
            assert (task_cli.clone / f"committed-{number}").exists()
        case "log" | "signal":
            assert harness.messages(task["id"]) == [f"acknowledged {number}", "interrupted"]
        case _:
            assert now["name"] == f"renamed {number}"
    assert harness.messages(task["id"])[0] == f"acknowledged {number}"
    tree = Path(task["worktree"])
    assert git(tree, "show", f"{task['branch']}:committed-{number}") == "by its agent"
    assert (tree / f"committed-{number}").exists()
    assert not harness.problem(), harness.problem()


CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "create": (
        "spawn_taskspace",
        {"name": "made N", "task_description": "a part", "initial_prompt": "nothing"},
    ),
    "log": ("log_progress", {"message": "interrupted", "category": "milestone"}),
    "signal": ("signal_user", {"message": "interrupted"}),
    "update": ("update_taskspace", {"name": "renamed N", "description": "interrupted"}),
    "delete": ("delete_taskspace", {}),
}
"""MCP requests of an agent in round N; landing is a command of the user."""


def asked_by_agent(harness: PauseHarness, kind: str, task: dict[str, Any], number: int) -> None:
    """Let the agent start it over MCP, and decide as the user where that is needed."""
    if kind == "land":
        harness.client("task", "land", task["id"])
        return
    calls = json.dumps([CALLS[kind]]).replace(" N", f" {number}")
    harness.task_cli.ok("task", "say", task["id"], f"CALL {calls}")
    if kind == "delete":
        item = until(lambda: deletion_of(harness.task_cli, task["id"]), SLOW)
        harness.client("inbox", "answer", item, "archive")


def deletion_of(task_cli: TaskCli, task: str) -> str | None:
    """Id of the item that asks for the task's deletion; earlier tasks may wait for a review."""
    items = task_cli.json("inbox")
    found = [e["id"] for e in items if (e["kind"], e["taskspace"]) == ("delete", task)]
    return found[0] if found else None


SLOW = 45.0
"""Seconds for several programs that start one after the other on a busy machine."""


@pytest.mark.requirement("taskspaces.survives-agent-kills")
@pytest.mark.parametrize(
    ("kind", "victim"),
    [
        *((kind, "agent") for kind in (*CALLS, "land")),
        *((kind, "session_server") for kind in ("log", "delete", "land")),
    ],
)
def test_agent_killed_at_any_stage_loses_nothing(
    harness: PauseHarness, kind: str, victim: str, playing: Spec
) -> None:
    task_cli, stages = harness.task_cli, stages_of(kind)
    harness.daemon(stages[0])
    for number, following in enumerate([*stages[1:], ""]):
        task = task_cli.new(f"task {number}", "--agent", playing("tool_agent.py"))
        worked_on(harness, task, number)
        pid = (
            harness.agent(task["id"]) if victim == "agent" else task_cli.session_server(task["id"])
        )

        harness.arm()
        asked_by_agent(harness, kind, task, number)
        harness.stopped()
        is_there = is_alive(pid)
        kill(pid)
        harness.resume()
        if kind in {"delete", "land"}:
            harness.ended()

        harness.whole()
        harness.restart(following)
        assert not harness.problem(), (stages[number], harness.problem())
        complete_operation(harness, kind, None if kind == "create" else task, number)
        for session in task_cli.json("session", "list"):
            task_cli.run("session", "kill", session["id"])
        until(lambda: not harness.processes())
        if not is_there:
            # A deletion has ended it by now: there is no agent to kill at later stages.
            assert kind == "delete"
            assert number
            break
    assert not harness.lost()
