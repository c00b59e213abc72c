"""Agent of a task: chosen, found, and started as in the shell that creates the task."""

import json
import os
import re
import shlex
import signal
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_cli import TaskCli, until

Spec: TypeAlias = Callable[..., str]

VALUE = "secret"


def with_variables(task_cli: TaskCli, **variables: str) -> TaskCli:
    """Return the same clone and daemon, from another shell."""
    return TaskCli(task_cli.clone, {**task_cli.environment, **variables})


@pytest.fixture
def bare(task_cli: TaskCli, tmp_path: Path) -> TaskCli:
    """Return the shell of a user without an installed agent."""
    places = tmp_path / "places"
    places.mkdir()
    (places / "git").symlink_to("/usr/bin/git")
    return with_variables(task_cli, PATH=str(places), HOME=str(tmp_path), SHELL="/bin/false")


def first_text(task_cli: TaskCli, task: str) -> Any:
    """Return the first text of an agent that reports its input."""
    said = until(lambda: task_cli.said(task))
    return json.JSONDecoder().raw_decode(said)[0]


@pytest.mark.requirement("tasks.agent-missing")
@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("claude", "no program 'claude' was found in"),
        ("no-such-agent --acp", "no program 'no-such-agent' was found in"),
        ("/no/such-agent --acp", "there is no program at /no/such-agent"),
    ],
)
def test_no_task_is_created_for_an_agent_with_a_missing_program(
    agent: str, said: str, bare: TaskCli
) -> None:
    words = ("--project", str(bare.clone))
    refused = bare.run("task", "new", "x", "Do it", "--agent", agent, *words)
    bare.new("y")
    unmended = bare.run("task", "resume", "y", "--agent", agent)

    assert (refused.returncode, unmended.returncode) == (4, 4)
    assert said in refused.stderr
    assert said in unmended.stderr
    assert [each["agent"] for each in bare.tasks().values()] == [None]


@pytest.mark.requirement("tasks.agent-missing")
def test_missing_agent_waits_in_the_inbox_with_an_explanation(task_cli: TaskCli) -> None:
    made = {"project": str(task_cli.clone), "name": "gone", "agent": "/no/such-agent --acp"}
    task_cli.ok("bus", "send", "create_taskspace", json.dumps({**made, "task": "Do it"}))
    (item,) = until(lambda: task_cli.json("inbox"))

    assert item["text"].startswith("its agent has ended: there is no program at /no/such-agent")
    assert "{" not in item["text"] + task_cli.ok("session", "list")
    # It is not tried again, since nothing has changed.
    assert len(texts_of(task_cli, {"id": item["taskspace"]}, "notice")) == 1


@pytest.mark.requirement("tasks.no-agent")
def test_task_without_an_agent_is_an_error_and_can_get_one(task_cli: TaskCli) -> None:
    words = ("--project", str(task_cli.clone))
    refused = task_cli.run("task", "new", "x", "Do it", *words)
    made = task_cli.run("task", "new", "alone", *words)
    spoken = [
        task_cli.run("task", "say", "alone", "Hello"),
        task_cli.run("task", "attach", "alone"),
    ]
    resumed = task_cli.run("task", "resume", "alone")
    id_ = task_cli.tasks()["alone"]["id"]

    assert (refused.returncode, "add --agent AGENT" in refused.stderr) == (2, True)
    assert list(task_cli.tasks()) == ["alone"]
    for each in (made, resumed):
        assert each.returncode == 0
        assert f"`symposium task resume {id_[:8]} --agent AGENT` assigns one" in each.stderr
    for each in spoken:
        assert each.returncode == 4
        assert "'alone' has no agent" in each.stderr
        assert "--agent AGENT` assigns one" in each.stderr

    task_cli.ok("task", "resume", "alone", "--agent", "eliza")
    until(lambda: task_cli.said(id_))
    assert task_cli.tasks()["alone"]["agent"] == "eliza"


@pytest.mark.requirement("tasks.agent-given")
def test_agent_can_be_replaced_until_one_has_worked(task_cli: TaskCli, scripted: Spec) -> None:
    made = task_cli.new("task", "--agent", "sh -c 'exit 3'")
    until(lambda: task_cli.json("inbox"))
    task_cli.ok("task", "resume", "task", "--agent", "eliza")
    until(lambda: task_cli.said(made["id"]))
    running = task_cli.run("task", "resume", "task", "--agent", scripted())
    task_cli.ok("session", "kill", made["id"])
    worked = task_cli.run("task", "resume", "task", "--agent", scripted())

    assert (running.returncode, worked.returncode) == (1, 1)
    assert f"symposium task stop {made['id'][:8]}" in running.stderr
    assert "symposium handoff" in worked.stderr
    assert task_cli.tasks()["task"]["agent"] == "eliza"


@pytest.mark.requirement("tasks.agent-configured")
def test_task_has_the_agent_of_the_config_by_default(task_cli: TaskCli) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "config.jsonc").write_text('{"agent": {"builtin": "eliza"}, "proxies": []}')
    task_cli.new("one")
    task_cli.new("two", "--agent", "none")
    (task_cli.home / "config.jsonc").write_text('{"agent": "python3 -m symposium eliza"}')
    task_cli.new("three")

    agents = {name: each["agent"] for name, each in task_cli.tasks().items()}
    assert agents == {"one": "eliza", "two": None, "three": "python3 -m symposium eliza"}


@pytest.mark.requirement("tasks.environment")
def test_agent_is_started_with_the_environment_of_the_command(
    task_cli: TaskCli, playing: Spec, tmp_path: Path
) -> None:
    task_cli.ok("daemon", "start")
    shell = with_variables(task_cli, FAKE_API_KEY=VALUE, GIT_DIR="/no/where", SYMPOSIUM_LOG="x")
    task = shell.new("task", "--agent", playing("environment_agent.py", "FAKE_API_KEY", "GIT_DIR"))
    first = first_text(task_cli, task["id"])["env"]
    task_cli.ok("session", "kill", task["id"])
    with_variables(task_cli, FAKE_API_KEY="another").ok("task", "resume", "task")
    task_cli.ok("task", "say", "task", "Again")
    until(lambda: hidden("another") in task_cli.said(task["id"]))

    assert first["#1"] == hidden(VALUE)
    assert "#2" not in first, "GIT_DIR is of another clone"
    assert first["SYMPOSIUM_TASKSPACE"] == task["id"]
    assert [each for each in tmp_path.rglob("*") if holds(each, VALUE)] == []
    assert not list((task_cli.home / "run").glob("e-*"))


@pytest.mark.requirement("tasks.agent-knows-tools")
def test_new_task_reports_an_agent_without_symposiums_tools(bare: TaskCli) -> None:
    claude = Path(bare.environment["PATH"]) / "claude"
    claude.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    claude.chmod(0o755)
    words = ("--agent", "claude", "--project", str(bare.clone))
    before = bare.run("task", "new", "one", *words)
    bare.new("later")
    given = bare.run("task", "resume", "later", "--agent", "claude")
    bare.ok("setup", "claude-mcp", "--write", "--yes")
    after = bare.run("task", "new", "two", *words)

    assert (before.returncode, after.returncode) == (0, 0)
    assert "symposium setup claude-mcp --write" in before.stderr
    assert "symposium setup claude-mcp --write" in given.stderr
    assert "claude-mcp" not in after.stderr


@pytest.mark.requirement("daemon.stays-stopped")
def test_agent_continues_without_the_daemon_and_leaves_it_stopped(task_cli: TaskCli) -> None:
    task = task_cli.new("task", "--agent", "eliza")
    until(lambda: len(texts_of(task_cli, task, "result")) == 1)
    task_cli.ok("daemon", "stop")
    task_cli.ok("session", "say", task["id"], "Hello again")
    until(lambda: len(texts_of(task_cli, task, "result")) == 2)

    assert task_cli.run("daemon", "status").returncode == 4
    assert "no daemon listens" in texts_of(task_cli, task, "notice")[-1]["text"]


def texts_of(task_cli: TaskCli, task: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each["data"] for each in task_cli.events(task["id"]) if each["type"] == kind]


def holds(path: Path, text: str) -> bool:
    try:
        return path.is_file() and text.encode() in path.read_bytes()
    except FileNotFoundError:
        # It is written under another name, and then renamed.
        return False


def hidden(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@pytest.mark.requirement("tasks.environment")
def test_retry_in_the_inbox_uses_the_current_environment(task_cli: TaskCli, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\necho "no licence: $FAKE_LICENCE" >&2\nexit 3\n')
    agent.chmod(0o755)
    task_cli.new("task", "--agent", f"{agent} --acp")
    (item,) = until(lambda: task_cli.json("inbox"))
    shell = with_variables(task_cli, FAKE_LICENCE="bought")
    shell.ok("inbox", "answer", item["id"], "retry")
    again = until(lambda: [each for each in task_cli.json("inbox") if each["id"] != item["id"]])

    assert item["text"].endswith("no licence:")
    assert again[0]["text"].endswith("no licence: bought")


@pytest.mark.requirement("tasks.environment")
def test_program_on_the_path_of_the_command_is_found(task_cli: TaskCli, tmp_path: Path) -> None:
    task_cli.ok("daemon", "start")
    program = tmp_path / "own places" / "own-agent"
    program.parent.mkdir()
    began = tmp_path / "began"
    program.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(began))}\nexec sleep 60\n")
    program.chmod(0o755)
    path = f"{program.parent}:{task_cli.environment['PATH']}"
    shell = with_variables(task_cli, PATH=path)
    shell.new("task", "--agent", "terminal:own-agent")

    until(began.exists)


@pytest.mark.requirement("agent-sessions.asked-at-once")
def test_list_shows_since_when_a_session_server_has_not_answered(task_cli: TaskCli) -> None:
    hangs, works = (task_cli.new(name, "hello", "--agent", "eliza") for name in ("hangs", "works"))
    until(lambda: [each["state"] for each in task_cli.tasks().values()] == ["idle", "idle"])
    server = task_cli.session_server(hangs["id"])
    os.kill(server, signal.SIGSTOP)
    try:
        # A list queries a server that announces once it was silent for some seconds.
        until(lambda: task_cli.tasks()["hangs"]["state"] != "idle", timeout=20)
        listed = task_cli.tasks()
        shown = task_cli.ok("task", "list")
        refused = task_cli.run("task", "say", "hangs", "more")
    finally:
        os.kill(server, signal.SIGCONT)
    again = until(lambda: task_cli.tasks()["hangs"]["state"] == "idle", timeout=20)

    assert listed["hangs"]["state"].startswith("no answer since 20")
    assert listed["works"]["state"] == "idle"
    assert re.search("^! hangs +no answer since 20", shown, re.MULTILINE)
    assert "did not answer within" in refused.stderr
    assert works["id"] == listed["works"]["id"]
    assert again
