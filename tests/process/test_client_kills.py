"""SIGKILL of the client or of the agent at every stage: nothing is lost, orphaned or half made."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.interruptions import KINDS, stages_of
from tests.support.pausing_house import House, kill, pausing_house
from tests.support.task_desk import Desk, git, is_alive, until

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

Spec: TypeAlias = Callable[..., str]


@pytest.fixture
def house(desk: Desk, tmp_path: Path) -> Generator[House]:
    with pausing_house(desk, tmp_path / "house") as made:
        yield made


def worked_on(house: House, task: dict[str, Any], number: int) -> None:
    """A commit of its own, a line of progress, and a base that has moved meanwhile."""
    git(house.desk.clone, "commit", "-q", "--allow-empty", "-m", f"base {number}")
    tree = Path(task["worktree"])
    (tree / f"committed-{number}").write_text("by its agent", encoding="utf-8")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", f"work {number}")
    house.log(task["id"], f"acknowledged {number}")


def words_for(kind: str, task: dict[str, Any] | None, clone: Path, number: int) -> list[str]:
    """What a person says to have it done."""
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
def test_a_client_killed_at_any_stage_loses_nothing(house: House, kind: str) -> None:
    desk, stages = house.desk, stages_of(kind)
    house.daemon(stages[0])
    for number, following in enumerate([*stages[1:], ""]):
        task = None if kind == "create" else desk.new(f"task {number}")
        if task is not None:
            worked_on(house, task, number)
            if kind == "undo":
                desk.ok("task", "rm", task["id"], "--discard-work")

        house.arm()
        client = house.client(*words_for(kind, task, desk.clone, number))
        house.stopped()
        kill(client)
        house.go_on()

        house.whole()
        house.restart(following)
        assert not house.trouble(), (stages[number], house.trouble())
        ended_then(house, kind, task, number)
        until(lambda: not house.processes())
    assert not house.lost()


def ended_then(house: House, kind: str, task: dict[str, Any] | None, number: int) -> None:
    """What was interrupted can be done now; nothing was done twice, and no work has gone."""
    desk = house.desk
    if task is None:
        desk.new(f"made {number}")
        return
    now = desk.json("task", "show", task["id"])["taskspace"]
    match kind:
        case "delete" | "undo":
            if now["archived_at"] is not None:
                desk.ok("task", "undo", task["id"])
        case "land":
            desk.ok("task", "land", task["id"])
            assert (desk.clone / f"committed-{number}").exists()
        case "log" | "signal":
            assert house.messages(task["id"]) == [f"acknowledged {number}", "interrupted"]
        case _:
            assert now["name"] == f"renamed {number}"
    assert house.messages(task["id"])[0] == f"acknowledged {number}"
    tree = Path(task["worktree"])
    assert git(tree, "show", f"{task['branch']}:committed-{number}") == "by its agent"
    assert (tree / f"committed-{number}").exists()
    assert not house.trouble(), house.trouble()


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
"""What an agent asks for over MCP, N being the number of the round; to land is a person's."""


def asked_by_agent(house: House, kind: str, task: dict[str, Any], number: int) -> None:
    """Have it begun: the agent asks over MCP, and where a person is to decide, one does."""
    if kind == "land":
        house.client("task", "land", task["id"])
        return
    calls = json.dumps([CALLS[kind]]).replace(" N", f" {number}")
    house.desk.ok("task", "say", task["id"], f"CALL {calls}")
    if kind == "delete":
        items = until(lambda: house.desk.json("inbox"), SLOW)
        house.client("inbox", "answer", items[0]["id"], "archive")


SLOW = 45.0
"""Seconds for several programs of ours that start one after the other on a busy machine."""


@pytest.mark.requirement("taskspaces.survives-agent-kills")
@pytest.mark.parametrize(
    ("kind", "victim"),
    [
        *((kind, "agent") for kind in (*CALLS, "land")),
        *((kind, "keeper") for kind in ("log", "delete", "land")),
    ],
)
def test_an_agent_killed_at_any_stage_loses_nothing(
    house: House, kind: str, victim: str, playing: Spec
) -> None:
    desk, stages = house.desk, stages_of(kind)
    house.daemon(stages[0])
    for number, following in enumerate([*stages[1:], ""]):
        task = desk.new(f"task {number}", "--agent", playing("tool_agent.py"))
        worked_on(house, task, number)
        pid = house.agent(task["id"]) if victim == "agent" else desk.keeper(task["id"])

        house.arm()
        asked_by_agent(house, kind, task, number)
        house.stopped()
        is_there = is_alive(pid)
        kill(pid)
        house.go_on()
        if kind in {"delete", "land"}:
            house.ended()

        house.whole()
        house.restart(following)
        assert not house.trouble(), (stages[number], house.trouble())
        ended_then(house, kind, None if kind == "create" else task, number)
        for session in desk.json("session", "list"):
            desk.run("session", "kill", session["id"])
        until(lambda: not house.processes())
        if not is_there:
            # A deletion has ended it by now: there is none to be killed at what follows.
            assert kind == "delete"
            assert number
            break
    assert not house.lost()
