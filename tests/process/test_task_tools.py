"""Agents that use our own MCP server from their taskspace: each program is the real one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_desk import Desk, until

Spec: TypeAlias = Callable[..., str]

SLOW = 45.0
"""Seconds for several programs of ours that start one after the other on a busy machine."""

pytestmark = pytest.mark.timeout(240)


def calls(*wanted: tuple[str, dict[str, Any]]) -> str:
    return f"CALL {json.dumps(wanted)}"


@pytest.mark.requirement("tasks.agents-tools")
def test_what_an_agent_does_with_our_tools_shows_on_the_command_line(
    desk: Desk, playing: Spec
) -> None:
    task = desk.new(
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

    items = until(lambda: len(found := desk.json("inbox")) == 2 and found, SLOW)
    assert {item["kind"] for item in items} == {"question", "delete"}
    shown = desk.json("task", "show", "by its agent")
    assert shown["taskspace"]["description"] == "what it does"
    assert [(each["category"], each["message"]) for each in shown["log"]] == [
        ("milestone", "half of it"),
        ("question", "Which scope?"),
    ]
    assert "No other taskspace changes your lines" in desk.said(task["id"])

    keep = next(item["id"] for item in items if item["kind"] == "delete")
    desk.ok("inbox", "answer", keep, "keep")
    until(lambda: "cancelled" in desk.said(task["id"]))
    assert Path(task["worktree"]).exists()


@pytest.mark.requirement("tasks.wait-for")
def test_a_parent_waits_for_its_child_and_gets_result_branch_and_evidence(
    desk: Desk, playing: Spec
) -> None:
    done = calls(("finish_taskspace", {"result": "it works", "evidence": "tests/a.py"}))
    child = {"name": "child", "task_description": "part of it", "initial_prompt": done}
    parent = desk.new(
        "parent",
        calls(("spawn_taskspace", child), ("wait_for_taskspaces", {"taskspace_uuids": ["$1"]})),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: "wait_for_taskspaces:" in desk.said(parent["id"]), SLOW)

    made = desk.tasks()["child"]
    assert (made["state"], made["parent"]) == ("finished (unreviewed)", parent["id"])
    told = json.loads(desk.said(parent["id"]).partition("wait_for_taskspaces: ")[2])
    (result,) = told["structuredContent"]["results"]
    assert (result["result"], result["evidence"]) == ("it works", "tests/a.py")
    assert result["branch"] == made["branch"]


@pytest.mark.requirement("tasks.spawn-loop")
def test_an_agent_that_spawns_and_spawns_is_stopped(desk: Desk, playing: Spec) -> None:
    again = {"name": "more", "task_description": "more", "initial_prompt": "nothing"}
    parent = desk.new(
        "greedy",
        calls(*[("spawn_taskspace", again)] * 5),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: len(desk.said(parent["id"]).splitlines()) == 5, SLOW)

    said = [json.loads(line.partition(": ")[2]) for line in desk.said(parent["id"]).splitlines()]
    assert [each["isError"] for each in said][-1] is True
    assert "tasks; the limit is 8" in said[-1]["content"][0]["text"]
    assert len(desk.json("task", "list")) == 5


@pytest.mark.requirement("tasks.agent-names-everywhere")
def test_an_agent_spawns_for_an_agent_by_its_id_and_for_no_command_of_its_own(
    desk: Desk, playing: Spec
) -> None:
    desk.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    child = {"name": "child", "task_description": "part of it", "initial_prompt": "Hello"}
    parent = desk.new(
        "parent",
        calls(
            ("spawn_taskspace", child | {"agent": "mine"}),
            ("spawn_taskspace", child | {"agent": "sh -c 'touch /tmp/no'", "name": "no"}),
            ("spawn_taskspace", child | {"agent": "nobodys", "name": "no"}),
        ),
        "--agent",
        playing("tool_agent.py"),
    )

    until(lambda: len(desk.said(parent["id"]).splitlines()) == 3, SLOW)

    made = desk.tasks()
    assert set(made) == {"parent", "child"}
    assert made["child"]["agent"] == "mine"
    until(lambda: desk.said(made["child"]["id"]))
    said = [json.loads(line.partition(": ")[2]) for line in desk.said(parent["id"]).splitlines()]
    assert [each["isError"] for each in said] == [False, True, True]
    assert "is the id of no agent that is here" in said[1]["content"][0]["text"]
    assert "`symposium agents list`" in said[2]["content"][0]["text"]


@pytest.mark.requirement("tasks.agent-names-everywhere")
def test_who_asks_the_daemon_itself_names_agents_as_on_the_command_line(desk: Desk) -> None:
    desk.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    order = {"project": str(desk.clone), "name": "made", "task": "Hello", "agent": "mine"}

    desk.ok("bus", "send", "create_taskspace", json.dumps(order))
    refused = desk.run(
        "bus", "send", "create_taskspace", json.dumps(order | {"agent": "nobodys", "name": "no"})
    )

    made = desk.tasks()
    assert [(each["name"], each["agent"]) for each in made.values()] == [("made", "mine")]
    until(lambda: desk.said(made["made"]["id"]))
    assert "'nobodys' is neither a built-in agent" in refused.stderr
