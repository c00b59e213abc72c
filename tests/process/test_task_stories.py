"""The stories of people with several tasks: the command line, the daemon, git, agents, all real."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_desk import Desk, make_clone, until

Spec: TypeAlias = Callable[..., str]


def heard(desk: Desk, task: str) -> Any:
    """What an agent that tells what it was given has told."""
    return json.loads(until(lambda: desk.said(task)))


@pytest.mark.requirement("tasks.ports-told")
def test_an_agent_has_its_ports_and_its_compose_name_in_its_environment_and_its_prompt(
    desk: Desk, playing: Spec
) -> None:
    tasks = [desk.new(f"task {number}", "--agent", playing("telling_agent.py")) for number in "12"]
    told = [heard(desk, task["id"]) for task in tasks]

    for task, each in zip(tasks, told, strict=True):
        first, count = task["ports"]
        names = ["SYMPOSIUM_PORT", *(f"SYMPOSIUM_PORT_{at}" for at in range(1, count))]
        assert [each["env"][name] for name in names] == [str(first + at) for at in range(count)]
        assert each["env"]["SYMPOSIUM_TASKSPACE"] == task["id"]
        assert each["env"]["COMPOSE_PROJECT_NAME"] in each["prompt"]
        assert f"the ports {first}, {first + 1}" in each["prompt"]
        assert task["name"] in each["prompt"]
    assert not {*range(*span(tasks[0]))} & {*range(*span(tasks[1]))}


def span(task: dict[str, Any]) -> tuple[int, int]:
    first, count = task["ports"]
    return first, first + count


@pytest.mark.requirement("tasks.up")
def test_up_shows_each_task_and_begins_what_was_lost_and_nothing_twice(
    desk: Desk, playing: Spec
) -> None:
    lost = desk.new("lost", "--agent", playing("telling_agent.py"))
    running = desk.new("running", "--agent", "eliza")
    desk.ok("task", "log", "lost", "--add", "Which one?", "--category", "question")
    keepers = {each["id"]: desk.keeper(each["id"]) for each in (lost, running)}
    until(lambda: all(desk.said(each) for each in keepers))
    desk.kill_daemon()
    os.kill(keepers[lost["id"]], signal.SIGKILL)
    until(lambda: desk.tasks()["lost"]["session"] == "lost")

    shown = desk.ok("up", "--dry-run")
    assert "lost contact" in shown or "waiting: question" in shown
    assert desk.tasks()["lost"]["session"] == "lost"
    up = desk.json("up")

    tasks = {each["name"]: each for each in up["tasks"]}
    assert tasks["lost"]["session"] == "running"
    assert tasks["lost"]["outcome"] == "its agent was started again; fresh context"
    assert (tasks["running"]["session"], tasks["running"]["outcome"]) == ("running", "")
    assert desk.keeper(running["id"]) == keepers[running["id"]]
    assert [item["text"] for item in up["inbox"]] == ["Which one?"]
    prompts = [each for each in desk.events(lost["id"]) if each["type"] == "prompt"]
    assert len(prompts) == 1


@pytest.mark.requirement("tasks.notify")
def test_who_is_not_there_is_told_by_a_command_of_theirs_once(desk: Desk, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = f"import sys; open({str(told)!r}, 'a').write(sys.argv[1] + chr(10))"
    notify = {"command": [sys.executable, "-c", program, "{task}|{reason}|{link}"]}
    desk.home.mkdir(exist_ok=True)
    (desk.home / "config.jsonc").write_text(json.dumps({"agent": "eliza", "notify": notify}))
    task = desk.new("alone")
    ask = {"project_path": "", "taskspace_uuid": task["id"], "message": "Which scope?"}

    for _ in range(2):
        desk.ok("bus", "send", "signal_user", json.dumps(ask))
    until(told.exists)
    desk.ok("daemon", "stop")
    assert len(desk.json("inbox")) == 2

    (line,) = until(lambda: told.read_text().splitlines())
    name, reason, link = line.split("|")
    assert (name, link) == ("alone", Path(task["worktree"]).as_uri())
    assert reason.startswith("question: Which scope?")


@pytest.mark.requirement("tasks.two-projects")
def test_the_lists_of_two_projects_do_not_mix(desk: Desk) -> None:
    other = make_clone(desk.clone.with_name("other"))
    desk.new("here")
    desk.ok("task", "new", "there", "--project", str(other))

    listed = [
        [each["name"] for each in desk.json("task", "list", "--project", str(place))]
        for place in (desk.clone, other)
    ]

    assert listed == [["here"], ["there"]]
    assert {each["project"] for each in desk.tasks().values()} == {str(desk.clone), str(other)}
