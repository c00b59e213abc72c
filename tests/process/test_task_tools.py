"""Agents that use Symposium's MCP server in their taskspace: every program is real."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_cli import TaskCli, until

Spec: TypeAlias = Callable[..., str]

SLOW = 45.0
"""Seconds for several programs that start one after the other on a busy machine."""

pytestmark = pytest.mark.timeout(240)


def calls(*wanted: tuple[str, dict[str, Any]]) -> str:
    return f"CALL {json.dumps(wanted)}"


@pytest.mark.requirement("tasks.agents-tools")
def test_tool_calls_of_an_agent_are_visible_on_the_command_line(
    task_cli: TaskCli, playing: Spec
) -> None:
    task = task_cli.new(
        "raw",
        calls(
            ("update_taskspace", {"name": "by its agent", "description": "what it does"}),
            ("log_progress", {"message": "half of it", "category": "milestone"}),
            ("signal_user", {"message": "Which scope?"}),
            ("read", {"uri": "taskspace://conflicts"}),
            ("delete_taskspace", {}),
        ),
        "--agent",
        playing("tool_agent.py"),
    )

    items = until(lambda: len(found := task_cli.json("inbox")) == 2 and found, SLOW)
    assert {item["kind"] for item in items} == {"question", "delete"}
    shown = task_cli.json("task", "show", "by its agent")
    assert shown["taskspace"]["description"] == "what it does"
    assert [(each["category"], each["message"]) for each in shown["log"]] == [
        ("milestone", "half of it"),
        ("question", "Which scope?"),
    ]
    assert "No other taskspace changes your lines" in task_cli.said(task["id"])

    keep = next(item["id"] for item in items if item["kind"] == "delete")
    task_cli.ok("inbox", "answer", keep, "keep")
    until(lambda: "cancelled" in task_cli.said(task["id"]))
    assert Path(task["worktree"]).exists()


@pytest.mark.requirement("tasks.wait-for")
def test_parent_waits_for_its_child_and_gets_result_branch_and_evidence(
    task_cli: TaskCli, playing: Spec
) -> None:
    done = calls(("finish_taskspace", {"result": "it works", "evidence": "tests/a.py"}))
    child = {"name": "child", "task_description": "part of it", "initial_prompt": done}
    parent = task_cli.new(
        "parent",
        calls(("spawn_taskspace", child), ("wait_for_taskspaces", {"taskspace_uuids": ["$1"]})),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: "wait_for_taskspaces:" in task_cli.said(parent["id"]), SLOW)

    made = task_cli.tasks()["child"]
    assert (made["state"], made["parent"]) == ("finished (unreviewed)", parent["id"])
    messages = json.loads(task_cli.said(parent["id"]).partition("wait_for_taskspaces: ")[2])
    (result,) = messages["structuredContent"]["results"]
    assert (result["result"], result["evidence"]) == ("it works", "tests/a.py")
    assert result["branch"] == made["branch"]


@pytest.mark.requirement("tasks.spawn-loop")
def test_agent_that_spawns_without_end_is_stopped(task_cli: TaskCli, playing: Spec) -> None:
    again = {"name": "more", "task_description": "more", "initial_prompt": "nothing"}
    parent = task_cli.new(
        "greedy",
        calls(*[("spawn_taskspace", again)] * 5),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: len(task_cli.said(parent["id"]).splitlines()) == 5, SLOW)

    said = [
        json.loads(line.partition(": ")[2]) for line in task_cli.said(parent["id"]).splitlines()
    ]
    assert [each["isError"] for each in said][-1] is True
    assert "tasks; the limit is 8" in said[-1]["content"][0]["text"]
    assert len(task_cli.json("task", "list")) == 5


@pytest.mark.requirement("tasks.agent-names-everywhere")
def test_agent_spawns_an_agent_by_its_id_and_not_by_a_command(
    task_cli: TaskCli, playing: Spec
) -> None:
    task_cli.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    child = {"name": "child", "task_description": "part of it", "initial_prompt": "Hello"}
    parent = task_cli.new(
        "parent",
        calls(
            ("spawn_taskspace", child | {"agent": "mine"}),
            ("spawn_taskspace", child | {"agent": "sh -c 'touch /tmp/no'", "name": "no"}),
            ("spawn_taskspace", child | {"agent": "nobodys", "name": "no"}),
        ),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: len(task_cli.said(parent["id"]).splitlines()) == 3, SLOW)

    made = task_cli.tasks()
    assert set(made) == {"parent", "child"}
    assert made["child"]["agent"] == "mine"
    until(lambda: task_cli.said(made["child"]["id"]))
    said = [
        json.loads(line.partition(": ")[2]) for line in task_cli.said(parent["id"]).splitlines()
    ]
    assert [each["isError"] for each in said] == [False, True, True]
    assert "is not the id of an agent on this machine" in said[1]["content"][0]["text"]
    assert "`symposium agents list`" in said[2]["content"][0]["text"]


@pytest.mark.requirement("tasks.agent-names-everywhere")
def test_requests_to_the_daemon_name_agents_as_on_the_command_line(task_cli: TaskCli) -> None:
    task_cli.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    order = {"project": str(task_cli.clone), "name": "made", "task": "Hello", "agent": "mine"}

    task_cli.ok("bus", "send", "create_taskspace", json.dumps(order))
    refused = task_cli.run(
        "bus", "send", "create_taskspace", json.dumps(order | {"agent": "nobodys", "name": "no"})
    )

    made = task_cli.tasks()
    assert [(each["name"], each["agent"]) for each in made.values()] == [("made", "mine")]
    until(lambda: task_cli.said(made["made"]["id"]))
    assert "'nobodys' is neither a built-in agent" in refused.stderr
