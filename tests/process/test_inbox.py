"""Inbox items, and what happens to them."""

import json
import re
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from tests.support.task_cli import TIMEOUT, TaskCli, until

Spec: TypeAlias = Callable[..., str]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]


@pytest.mark.requirement("tasks.asks-again-to-delete")
def test_each_deletion_request_of_an_agent_is_a_separate_item(
    task_cli: TaskCli, start: Start
) -> None:
    task = task_cli.new("asks again")
    payload = json.dumps({"project_path": "", "taskspace_uuid": task["id"]})
    items: list[dict[str, Any]] = []
    for answer, received in (("keep", "cancelled by user"), ("archive", '"outcome":"deleted"')):
        asking = start("bus", "send", "delete_taskspace", payload, "--json")
        items += until(lambda: task_cli.json("inbox"))
        task_cli.ok("inbox", "answer", items[-1]["id"], answer)
        out, err = asking.communicate(timeout=TIMEOUT)
        assert received in out + err
    late = task_cli.run("inbox", "answer", items[0]["id"], "archive")

    assert items[0]["id"] != items[1]["id"]
    assert "already answered by" in late.stderr
    assert task_cli.tasks()["asks again"]["state"] == "archived"


@pytest.mark.requirement("tasks.login")
@pytest.mark.parametrize("refused", ["session/new", "session/prompt"])
@pytest.mark.parametrize("way", ["by hand", "browser"])
def test_agent_that_needs_a_login_explains_it_and_continues_the_session(
    refused: str, way: str, task_cli: TaskCli, playing: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "logged-in"
    agent = playing("login_agent.py", refused, str(file))
    made = task_cli.new("locked out", "Fix the roof", "--agent", agent)
    (item,) = until(lambda: task_cli.json("inbox"))
    before = task_cli.tasks()["locked out"]["state"]
    listed = task_cli.run("inbox").stdout
    too_soon = task_cli.run("inbox", "answer", item["id"], "retry").returncode
    (again,) = until(lambda: [i for i in task_cli.json("inbox") if i["id"] != item["id"]])
    if way == "by hand":
        file.write_text("done")
    task_cli.ok("inbox", "answer", again["id"], "retry" if way == "by hand" else way)
    late = task_cli.run("inbox", "answer", again["id"], "retry")
    until(lambda: "Fix the roof" in task_cli.said(made["id"]))

    assert (item["kind"], before, too_soon) == ("login", "waiting: login", 0)
    assert "Authentication required␛[2K" in listed
    assert "Sign in: With your account. The agent runs the login" in listed
    assert "A key: Set `AGENT_KEY` in the shell where you run `symposium inbox answer`" in listed
    assert re.search(r"already answered by .+ at \d", late.stderr)
    assert file.read_text() == ("done" if way == "by hand" else "browser")
    assert task_cli.said(made["id"]).count("heard: ") == 1
    assert task_cli.json("inbox") == []


@pytest.mark.requirement("tasks.login")
def test_missing_key_is_read_from_the_shell_of_the_retry(
    task_cli: TaskCli, playing: Callable[..., str], tmp_path: Path
) -> None:
    agent = playing("login_agent.py", "session/new", str(tmp_path / "no-file"))
    made = task_cli.new("locked out", "Fix the roof", "--agent", agent)
    (item,) = until(lambda: task_cli.json("inbox"))
    with_key = TaskCli(task_cli.clone, {**task_cli.environment, "AGENT_KEY": "k"})
    with_key.ok("inbox", "answer", item["id"], "retry")

    until(lambda: "Fix the roof" in task_cli.said(made["id"]))


@pytest.mark.requirement("tasks.not-now")
def test_not_now_keeps_the_item_without_an_answer(task_cli: TaskCli, scripted: Spec) -> None:
    made = task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "later", "asks")
    task_cli.kill_daemon()
    (kept,) = task_cli.json("inbox")
    shown = task_cli.run("inbox")
    gone = task_cli.run("inbox", "later", "question:999")
    answered = task_cli.said(made["id"])
    task_cli.ok("inbox", "answer", kept["id"], "y")

    assert (item["put_off_at"], bool(kept["put_off_at"])) == ("", True)
    assert kept["id"] == item["id"]
    assert "snoozed since" in shown.stdout
    assert (shown.returncode, gone.returncode, answered) == (10, 4, "")
    until(lambda: task_cli.said(made["id"]))


@pytest.mark.requirement("tasks.not-now")
def test_snoozed_item_is_not_announced(task_cli: TaskCli, scripted: Spec, tmp_path: Path) -> None:
    file = tmp_path / "announced"
    task_cli.new("snoozed", "--agent", scripted("prompt=ask:edit"))
    until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "later", "snoozed")
    notify = {"command": ["sh", "-c", f"cat >> {file}"]}
    (task_cli.home / "config.jsonc").write_text(json.dumps({"notify": notify}))
    task_cli.new("waits", "--agent", scripted("prompt=ask:edit"))
    until(lambda: file.exists() and file.read_text())

    messages = json.loads(file.read_text())
    assert [each["task"] for each in messages["tasks"]] == ["waits"]


@pytest.mark.requirement("tasks.inbox-order")
def test_items_are_ordered_by_urgency_and_age(
    task_cli: TaskCli, scripted: Spec, playing: Callable[..., str], tmp_path: Path
) -> None:
    task_cli.new("fails", "--agent", "sh -c 'exit 3'")
    task_cli.new(
        "locked out", "--agent", playing("login_agent.py", "session/new", str(tmp_path / "x"))
    )
    task_cli.new("second", "--agent", "none")
    task_cli.new("first", "--agent", "none")
    tasks = task_cli.tasks()
    for name in ("first", "second"):
        asked = {"project_path": "", "taskspace_uuid": tasks[name]["id"], "message": name}
        task_cli.ok("bus", "send", "signal_user", json.dumps(asked))
    for name in ("asks first", "asks second"):
        asking = task_cli.new(name, "--agent", scripted("prompt=ask:edit"))["id"]
        until(
            lambda asking=asking: asking in {each["taskspace"] for each in task_cli.json("inbox")}
        )
    items = until(lambda: len(found := task_cli.json("inbox")) == 6 and found)

    names = ["asks first", "asks second", "first", "second", "locked out", "fails"]
    assert [item["name"] for item in items] == names


@pytest.mark.requirement("tasks.asked-anew")
def test_question_after_a_restart_is_a_separate_item(task_cli: TaskCli, scripted: Spec) -> None:
    made = task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "answer", item["id"], "y")
    until(lambda: task_cli.said(made["id"]))
    task_cli.ok("session", "kill", made["id"])
    task_cli.ok("task", "resume", "asks")
    task_cli.ok("task", "say", "asks", "Once more")
    (again,) = until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "answer", again["id"], "n")

    assert again["id"] != item["id"]


@pytest.mark.requirement("tasks.one-answer-one-item")
def test_answer_settles_only_its_question(task_cli: TaskCli) -> None:
    task = task_cli.new("asks three times", "--agent", "none")
    for text in ("first?", "second?", "third?"):
        asked = {"project_path": "", "taskspace_uuid": task["id"], "message": text}
        task_cli.ok("bus", "send", "signal_user", json.dumps(asked))
    items = task_cli.json("inbox", code=10)
    task_cli.ok("inbox", "answer", items[1]["id"], "seen")

    left = task_cli.json("inbox", code=10)
    late = task_cli.run("inbox", "answer", items[1]["id"], "seen")
    assert [each["text"] for each in left] == ["first?", "third?"]
    assert task_cli.tasks()["asks three times"]["waiting"] == 2
    assert "already answered by" in late.stderr


@pytest.mark.requirement("tasks.log-end")
def test_task_log_and_show_end_with_the_newest_of_1504_lines(task_cli: TaskCli) -> None:
    task = task_cli.new("talks a lot", "--agent", "none")
    task_cli.run("daemon", "stop")
    fill_log(task_cli, task["id"], 1_503)
    task_cli.ok("task", "log", "talks a lot", "--add", "the newest")

    logged = task_cli.ok("task", "log", "talks a lot").splitlines()
    shown = task_cli.ok("task", "show", "talks a lot").splitlines()
    assert (len(logged), len(task_cli.json("task", "log", "talks a lot", "-n", "3"))) == (100, 3)
    assert logged[-1].endswith("info       the newest")
    assert shown[-1].endswith("info      the newest")
    assert task_cli.tasks()["talks a lot"]["last"]["message"] == "the newest"


def fill_log(task_cli: TaskCli, task: str, count: int) -> None:
    """Write lines into the log of a task while no daemon runs."""
    with closing(sqlite3.connect(task_cli.home / "taskspaces.db")) as store, store:
        store.executemany(
            "INSERT INTO log (id, taskspace, at, category, message, evidence)"
            " VALUES (?, ?, '2026-01-01T00:00:00.000Z', 'info', ?, '')",
            [(str(uuid4()), task, f"line {number}") for number in range(count)],
        )


@pytest.mark.requirement("tasks.watch-lines", "tasks.server-announces", "tasks.announced-inbox")
def test_watch_prints_updates_of_agents(task_cli: TaskCli, start: Start, scripted: Spec) -> None:
    before = task_cli.new("before", "--agent", "none")
    watching = start("task", "watch", "--json")
    plain = start("task", "watch")
    seen = Events(watching)
    # Each watcher has subscribed before it lists.
    seen.until(lambda each: each["type"] == "inbox_changed")
    out = "".join(until_line(plain, "before"))
    made = task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = seen.until(lambda each: each.get("added"))["added"]
    task_cli.ok("inbox", "answer", item["id"], "y")
    (settled,) = seen.until(lambda each: each.get("settled"))["settled"]
    seen.until(lambda each: state_of(each) == (made["id"], "idle"))
    out += "".join(until_line(plain, "? asks: wants to "))
    task_cli.ok("task", "log", "asks", "--add", "half done")
    logged = seen.until(lambda each: each.get("entry", {}).get("message") == "half done")
    task_cli.ok("task", "rm", "before", "--discard-work")
    gone = seen.until(lambda each: each["type"] == "taskspace_gone")
    # An interrupted watcher may not have printed the line yet.
    out += "".join(until_line(plain, "half done"))
    plain.send_signal(signal.SIGINT)
    out += plain.communicate(timeout=TIMEOUT)[0]

    first = seen.all[0]
    assert (first["type"], first["cause"]) == ("taskspace_changed", "listed")
    assert first["taskspace"]["id"] == before["id"]
    assert (item["kind"], item["taskspace"]) == ("permission", made["id"])
    assert (settled["item"], settled["answer"]) == (item["id"], "y")
    assert "on the command line" in settled["by"]
    assert logged["taskspace_uuid"] == made["id"]
    assert gone == {"type": "taskspace_gone", "taskspace_uuid": before["id"]} | {
        "is_archived": True
    }
    assert plain.returncode == 130
    assert re.search(r"^\? asks: wants to .+\(since ", out, re.MULTILINE)
    assert "\x1b" not in out


def state_of(event: dict[str, Any]) -> tuple[str, str]:
    """Return the task of an event, and its state; empty for other events."""
    task = event.get("taskspace", {})
    return task.get("id", ""), task.get("state", "")


class Events:
    """Output of a watcher: every earlier event can still be found, in any order."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._lines = process.stdout
        self.all: list[dict[str, Any]] = []

    def until(self, is_wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Wait for the first matching event."""
        found = [each for each in self.all if is_wanted(each)]
        while not found:
            line = self._lines.readline()
            assert line, f"it ended after {self.all}"
            self.all.append(json.loads(line))
            found = self.all[-1:] if is_wanted(self.all[-1]) else []
        return found[0]


def until_line(process: "subprocess.Popen[str]", words: str) -> Iterator[str]:
    """Return the lines of a process up to the first with these words."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if words in line:
            return
    pytest.fail(f"it ended without {words!r}")


@pytest.mark.requirement("cli.exit-waiting")
def test_exit_code_and_text_of_the_inbox_show_if_something_waits(
    task_cli: TaskCli, scripted: Spec
) -> None:
    empty = task_cli.run("inbox")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "Nothing waits for you.\n")
    assert task_cli.json("inbox", code=0) == []
    task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: task_cli.json("inbox"))

    assert (task_cli.run("inbox").returncode, task_cli.run("inbox", "--json").returncode) == (
        10,
        10,
    )
    assert {each["id"]: each["kind"] for each in item["choices"]} == {
        "y": "allow_once",
        "n": "reject_once",
    }
    task_cli.ok("inbox", "answer", "1", "yes")
    until(lambda: task_cli.json("inbox") == [])


@pytest.mark.requirement("tasks.nobody-there")
def test_signal_returns_the_number_of_watchers(task_cli: TaskCli, start: Start) -> None:
    task = task_cli.new("asks")
    watching = start("task", "watch", "--json")
    assert watching.stdout is not None
    watching.stdout.readline()
    signalled = {"project_path": "", "taskspace_uuid": task["id"], "message": "Which scope?"}
    seen = json.loads(task_cli.ok("bus", "send", "signal_user", json.dumps(signalled), "--json"))
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=TIMEOUT)
    unseen = json.loads(task_cli.ok("bus", "send", "signal_user", json.dumps(signalled), "--json"))

    assert (seen["watchers"], unseen["watchers"]) == (1, 0)
    assert len(task_cli.json("inbox")) == 2


@pytest.mark.requirement("tasks.session-noted")
def test_session_server_announces_its_session_until_it_ends(
    task_cli: TaskCli, scripted: Spec
) -> None:
    made = task_cli.new("a", "--agent", scripted("prompt=ask:edit"))
    until(lambda: task_cli.json("inbox"))
    task_cli.ok("inbox", "answer", "a", "y")
    until(lambda: task_cli.tasks()["a"]["state"] == "idle")
    task_cli.ok("session", "kill", made["id"])
    notes = until(lambda: (found := noted(task_cli))[-1]["kind"] == "exited" and found)

    kinds = ["started", "turn started", "asked", "settled", "turn ended", "exited"]
    assert [each["kind"] for each in notes] == kinds
    assert {each["session"] for each in notes} == {made["id"]}
    assert [each["seq"] for each in notes] == sorted(each["seq"] for each in notes)
    assert (notes[2]["text"], notes[4]["text"]) == ("do it", "end_turn")


def noted(task_cli: TaskCli) -> list[dict[str, Any]]:
    """Return the announcements of session servers so far."""
    lines = task_cli.ok("bus", "tail", "--type", "session_noted", "-n", "0", "--json").splitlines()
    return [json.loads(line)["message"]["payload"] for line in lines]
