"""Stories of users with several tasks: the command line, the daemon, git, agents, all real."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_cli import TIMEOUT, TaskCli, is_alive, make_clone, until
from tests.support.web import reply, serving

from symposium.config.paths import paths
from symposium.sessions.session import SessionStore

Spec: TypeAlias = Callable[..., str]

MAX_MEMORY = 128 * 1024 * 1024
"""Maximum bytes of a daemon, or of a session server, with twelve running agents."""


def output_of(task_cli: TaskCli, task: str) -> Any:
    """Return the text of an agent that reports its input."""
    return json.loads(until(lambda: task_cli.said(task)))


@pytest.mark.requirement("tasks.ports-told")
def test_agent_has_its_ports_and_compose_name_in_its_environment_and_prompt(
    task_cli: TaskCli, playing: Spec
) -> None:
    tasks = [
        task_cli.new(f"task {number}", "--agent", playing("environment_agent.py"))
        for number in "12"
    ]
    recorded = [output_of(task_cli, task["id"]) for task in tasks]

    for task, each in zip(tasks, recorded, strict=True):
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
def test_up_lists_each_task_and_restarts_lost_agents_once(task_cli: TaskCli, playing: Spec) -> None:
    lost = task_cli.new("lost", "--agent", playing("environment_agent.py"))
    running = task_cli.new("running", "--agent", "eliza")
    task_cli.ok("task", "log", "lost", "--add", "Which one?", "--category", "question")
    servers = {each["id"]: task_cli.session_server(each["id"]) for each in (lost, running)}
    until(lambda: all(task_cli.said(each) for each in servers))
    task_cli.kill_daemon()
    os.kill(servers[lost["id"]], signal.SIGKILL)
    until(lambda: task_cli.tasks()["lost"]["session"] == "lost")

    shown = task_cli.ok("up", "--dry-run")
    assert "lost contact" in shown or "waiting: question" in shown
    assert task_cli.tasks()["lost"]["session"] == "lost"
    up = task_cli.json("up")

    tasks = {each["name"]: each for each in up["tasks"]}
    assert tasks["lost"]["session"] == "running"
    assert tasks["lost"]["outcome"] == "restarted its agent; fresh context"
    assert (tasks["running"]["session"], tasks["running"]["outcome"]) == ("running", "")
    assert task_cli.session_server(running["id"]) == servers[running["id"]]
    assert [item["text"] for item in up["inbox"]] == ["Which one?"]
    prompts = [each for each in task_cli.events(lost["id"]) if each["type"] == "prompt"]
    assert len(prompts) == 1


@pytest.mark.requirement("tasks.two-users")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")
def test_another_user_can_neither_read_nor_reach_an_agent(task_cli: TaskCli) -> None:
    task = task_cli.new("mine", "--agent", "eliza")
    sockets = SessionStore(paths({"SYMPOSIUM_HOME": str(task_cli.home)})).socket(task["id"])
    private = [task_cli.home, task_cli.home / "sessions" / task["id"], task_cli.home / "run"]
    assert all(place.stat().st_mode & 0o077 == 0 for place in private)

    for place in (task_cli.home, sockets.parent, sockets):
        place.chmod(0o777)
    program = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setuid(65534)\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(45); s.connect(sys.argv[1])\n"
        """try: s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"session/describe"}\\n')\n"""
        "except OSError: pass\n"
        "try: print(s.recv(100))\n"
        'except ConnectionError: print(b"")\n'
    )
    # The parent folders of pytest are root's alone: reach the socket from inside.
    recorded = subprocess.run(
        [sys.executable, "-c", program, sockets.name],
        cwd=sockets.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    sockets.parent.chmod(0o700)

    assert recorded.stdout == "b''\n"
    assert task_cli.json("session", "list")[0]["status"] == "running"


@pytest.mark.requirement("tasks.notify")
def test_notification_command_runs_once_per_item(task_cli: TaskCli, tmp_path: Path) -> None:
    recorded = tmp_path / "announced"
    program = f"import sys; open({str(recorded)!r}, 'a').write(sys.argv[1] + chr(10))"
    notify = {"command": [sys.executable, "-c", program, "{task}|{reason}|{link}"]}
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "config.jsonc").write_text(json.dumps({"agent": "eliza", "notify": notify}))
    task = task_cli.new("alone")
    ask = {"project_path": "", "taskspace_uuid": task["id"], "message": "Which scope?"}

    for _ in range(2):
        task_cli.ok("bus", "send", "signal_user", json.dumps(ask))
    until(recorded.exists)
    task_cli.ok("daemon", "stop")
    assert len(task_cli.json("inbox")) == 2

    (line,) = until(lambda: recorded.read_text().splitlines())
    name, reason, link = line.split("|")
    assert (name, link) == ("alone", Path(task["worktree"]).as_uri())
    assert reason.startswith("question: Which scope?")


@pytest.mark.requirement("tasks.webhook")
@pytest.mark.parametrize(("status", "recorded"), [(200, ["question:1"]), (503, [])])
def test_daemon_posts_items_to_a_webhook_and_records_the_deliveries(
    task_cli: TaskCli, status: int, recorded: list[str]
) -> None:
    with serving() as web:
        bodies: list[Any] = []

        def take(request: BaseHTTPRequestHandler) -> None:
            bodies.append(json.loads(request.rfile.read(int(request.headers["Content-Length"]))))
            reply(b"", status=status)(request)

        web.answers["/hook"] = take
        task_cli.home.mkdir(exist_ok=True)
        config = {"agent": "eliza", "notify": {"webhook": web.url("/hook")}}
        (task_cli.home / "config.jsonc").write_text(json.dumps(config))
        task = task_cli.new("alone")
        task_cli.ok("task", "log", "alone", "--add", "Which scope?", "--category", "question")
        file = task_cli.home / "notified.json"
        until(lambda: bodies and file.exists() and json.loads(file.read_text())["ids"] == recorded)

    (posted,) = bodies
    (posted_task,) = posted["tasks"]
    assert (posted_task["task"], posted_task["project"]) == ("alone", str(task_cli.clone))
    assert posted_task["reasons"] == ["question: Which scope?"]
    assert posted_task["link"] == Path(task["worktree"]).as_uri()


@pytest.mark.requirement("tasks.two-projects")
def test_lists_of_two_projects_are_separate(task_cli: TaskCli) -> None:
    other = make_clone(task_cli.clone.with_name("other"))
    task_cli.new("here")
    task_cli.ok("task", "new", "there", "--project", str(other))

    listed = [
        [each["name"] for each in task_cli.json("task", "list", "--project", str(place))]
        for place in (task_cli.clone, other)
    ]

    assert listed == [["here"], ["there"]]
    assert {each["project"] for each in task_cli.tasks().values()} == {
        str(task_cli.clone),
        str(other),
    }


def costing(amount: float, currency: str = "USD") -> str:
    cost = {"amount": amount, "currency": currency}
    return json.dumps({"sessionUpdate": "usage_update", "used": 1, "size": 9, "cost": cost})


@pytest.mark.requirement("tasks.budget")
@pytest.mark.timeout(240)
def test_turn_is_canceled_at_the_end_of_its_budget_and_a_question_asks_for_more(
    task_cli: TaskCli, scripted: Spec
) -> None:
    agent = scripted(f"prompt=update:{costing(1.2)}", "prompt=wait")
    task = task_cli.new("dear", "--agent", agent, "--budget", "1usd,20min")

    until(lambda: task_cli.tasks()["dear"]["state"] == "paused: budget")
    (item,) = task_cli.json("inbox")
    assert (item["kind"], "1.20 usd" in item["text"]) == ("budget", True)
    assert "80% of 1usd,20min is spent" in task_cli.ok("task", "log", "dear")
    until(lambda: [each["data"]["stopReason"] for each in results(task_cli, task)] == ["cancelled"])
    refused = task_cli.run("inbox", "answer", item["id"], "a little")
    assert "not a budget" in refused.stderr

    assert "may spend 3usd,20min" in task_cli.ok("inbox", "answer", item["id"], "2usd")
    until(lambda: task_cli.tasks()["dear"]["state"] == "working")
    until(lambda: len(of_type(task_cli, task, "prompt")) == 2)
    assert "continue" in of_type(task_cli, task, "prompt")[1]["data"]["text"]
    assert task_cli.run("inbox").returncode == 0


@pytest.mark.requirement("tasks.budget")
@pytest.mark.timeout(240)
def test_agent_without_costs_is_limited_by_turns_and_time(
    task_cli: TaskCli, scripted: Spec
) -> None:
    agent = scripted("prompt=say:done")
    task = task_cli.new("silent", "--agent", agent, "--budget", "1usd,2turns")
    until(lambda: len(results(task_cli, task)) == 1)
    task_cli.ok("task", "say", "silent", "Again")
    until(lambda: task_cli.tasks()["silent"]["state"] == "paused: budget")
    task_cli.ok("task", "say", "silent", "And again")

    shown = task_cli.ok("task", "show", "silent")
    assert "cost unknown" in shown
    assert "2 turns of 1usd,2turns" in shown
    until(lambda: of_type(task_cli, task, "notice"))
    assert len(of_type(task_cli, task, "prompt")) == 2


@pytest.mark.requirement("tasks.currencies")
@pytest.mark.timeout(240)
def test_costs_in_another_currency_are_shown_and_reported_as_not_counted(
    task_cli: TaskCli, scripted: Spec
) -> None:
    agent = scripted(f"prompt=update:{costing(9.0, 'EUR')}")
    task_cli.new("abroad", "--agent", agent, "--budget", "1usd,2turns")
    task_cli.new("at home", "--agent", agent, "--budget", "10eur")
    until(lambda: all(each["costs"] == {"eur": 9.0} for each in task_cli.tasks().values()))

    why = "costs in eur do not count against a budget in usd: no rate is known"
    assert f"9.00 eur, 0.0 min, 1 turn of 1usd,2turns ({why})" in task_cli.ok(
        "task", "show", "abroad"
    )
    until(lambda: why in task_cli.ok("task", "log", "abroad"))
    until(lambda: "80% of 10eur is spent" in task_cli.ok("task", "log", "at home"))
    task_cli.ok("task", "say", "abroad", "Again")
    until(lambda: task_cli.tasks()["abroad"]["state"] == "paused: budget")
    (item,) = task_cli.json("inbox")
    refused = task_cli.run("inbox", "answer", item["id"], "2eur")
    assert "'2eur' adds nothing to the budget of 1usd,2turns" in refused.stderr


@pytest.mark.requirement("tasks.daemon-stays")
@pytest.mark.timeout(240)
def test_daemon_runs_as_long_as_an_agent_needs_it(task_cli: TaskCli) -> None:
    task_cli.ok("daemon", "start", "--idle-timeout", "0.2")
    task = task_cli.new("needs it", "--agent", "eliza")
    pid = task_cli.json("daemon", "status")["pid"]
    until(lambda: task_cli.said(task["id"]))
    begun = time.monotonic()
    until(lambda: time.monotonic() - begun > 5 * 0.2)
    assert is_alive(pid)

    task_cli.ok("session", "kill", task["id"])
    until(lambda: not is_alive(pid), 15.0)
    assert (Path(task["worktree"]) / "a.txt").exists()


@pytest.mark.requirement("tasks.twelve")
@pytest.mark.chaos
@pytest.mark.timeout(240)
def test_twelve_streaming_agents_need_little_memory_and_only_a_stopped_reader_is_cut(
    task_cli: TaskCli, playing: Spec
) -> None:
    agent = playing("streaming_agent.py", "50", "6")
    tasks = [task_cli.new(f"task {number}", "--agent", agent) for number in range(12)]
    sessions = SessionStore(paths({"SYMPOSIUM_HOME": str(task_cli.home)}))
    deaf = socket.socket(socket.AF_UNIX)
    deaf.connect(str(sessions.socket(tasks[0]["id"])))
    deaf.sendall(b'{"jsonrpc":"2.0","id":1,"method":"session/watch","params":{}}\n')

    slowest = 0.0
    while not all("over" in task_cli.said(each["id"])[-9:] for each in tasks):
        begun = time.monotonic()
        assert len(task_cli.tasks()) == 12
        slowest = max(slowest, time.monotonic() - begun)
    servers = [resident(task_cli.session_server(each["id"])) for each in tasks]
    daemon = resident(task_cli.json("daemon", "status")["pid"])
    deaf.close()

    for each in tasks:
        numbers = [event["seq"] for event in task_cli.events(each["id"])]
        assert numbers == list(range(1, len(numbers) + 1))
        assert task_cli.said(each["id"]).count("line ") == 300
    assert max(servers) < MAX_MEMORY, servers
    assert daemon < MAX_MEMORY, daemon
    assert slowest < TIMEOUT, slowest


def resident(pid: int) -> int:
    """Return the bytes of a process in memory."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def of_type(task_cli: TaskCli, task: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in task_cli.events(task["id"]) if each["type"] == kind]


def results(task_cli: TaskCli, task: dict[str, Any]) -> list[dict[str, Any]]:
    return of_type(task_cli, task, "result")
