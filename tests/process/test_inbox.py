"""What waits for a person, and what becomes of it."""

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
from tests.support.task_desk import PATIENCE, Desk, until

Spec: TypeAlias = Callable[..., str]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]


@pytest.mark.requirement("tasks.asks-again-to-delete")
def test_each_time_that_an_agent_asks_to_delete_its_task_it_is_asked_and_answered(
    desk: Desk, start: Start
) -> None:
    task = desk.new("asks again")
    payload = json.dumps({"project_path": "", "taskspace_uuid": task["id"]})
    items: list[dict[str, Any]] = []
    for answer, heard in (("keep", "cancelled by user"), ("archive", '"outcome":"deleted"')):
        asking = start("bus", "send", "delete_taskspace", payload, "--json")
        items += until(lambda: desk.json("inbox"))
        desk.ok("inbox", "answer", items[-1]["id"], answer)
        out, err = asking.communicate(timeout=PATIENCE)
        assert heard in out + err
    late = desk.run("inbox", "answer", items[0]["id"], "archive")

    assert items[0]["id"] != items[1]["id"]
    assert "already answered by" in late.stderr
    assert desk.tasks()["asks again"]["state"] == "archived"


@pytest.mark.requirement("tasks.login")
@pytest.mark.parametrize("refused", ["session/new", "session/prompt"])
@pytest.mark.parametrize("way", ["by hand", "browser"])
def test_an_agent_that_wants_a_login_says_how_and_goes_on_where_it_was(
    refused: str, way: str, desk: Desk, playing: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "logged-in"
    agent = playing("login_agent.py", refused, str(file))
    made = desk.new("locked out", "Mend the roof", "--agent", agent)
    (item,) = until(lambda: desk.json("inbox"))
    before = desk.tasks()["locked out"]["state"]
    listed = desk.run("inbox").stdout
    too_soon = desk.run("inbox", "answer", item["id"], "retry").returncode
    (again,) = until(lambda: [i for i in desk.json("inbox") if i["id"] != item["id"]])
    if way == "by hand":
        file.write_text("done")
    desk.ok("inbox", "answer", again["id"], "retry" if way == "by hand" else way)
    late = desk.run("inbox", "answer", again["id"], "retry")
    until(lambda: "Mend the roof" in desk.said(made["id"]))

    assert (item["kind"], before, too_soon) == ("login", "waiting: login", 0)
    assert "Authentication required␛[2K" in listed
    assert "Sign in: With your account. The agent runs the login" in listed
    assert "A key: Set `AGENT_KEY` where you answer with retry" in listed
    assert re.search(r"already answered by .+ at \d", late.stderr)
    assert file.read_text() == ("done" if way == "by hand" else "browser")
    assert desk.said(made["id"]).count("heard: ") == 1
    assert desk.json("inbox") == []


@pytest.mark.requirement("tasks.login")
def test_a_key_that_the_agent_wants_is_taken_from_where_it_is_tried_again(
    desk: Desk, playing: Callable[..., str], tmp_path: Path
) -> None:
    agent = playing("login_agent.py", "session/new", str(tmp_path / "no-file"))
    made = desk.new("locked out", "Mend the roof", "--agent", agent)
    (item,) = until(lambda: desk.json("inbox"))
    with_key = Desk(desk.clone, {**desk.environment, "AGENT_KEY": "k"})
    with_key.ok("inbox", "answer", item["id"], "retry")

    until(lambda: "Mend the roof" in desk.said(made["id"]))


@pytest.mark.requirement("tasks.not-now")
def test_not_now_keeps_what_waits_and_answers_nobody(desk: Desk, scripted: Spec) -> None:
    made = desk.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: desk.json("inbox"))
    desk.ok("inbox", "later", "asks")
    desk.kill_daemon()
    (kept,) = desk.json("inbox")
    shown = desk.run("inbox")
    gone = desk.run("inbox", "later", "question:999")
    answered = desk.said(made["id"])
    desk.ok("inbox", "answer", kept["id"], "y")

    assert (item["put_off_at"], bool(kept["put_off_at"])) == ("", True)
    assert kept["id"] == item["id"]
    assert "snoozed since" in shown.stdout
    assert (shown.returncode, gone.returncode, answered) == (10, 4, "")
    until(lambda: desk.said(made["id"]))


@pytest.mark.requirement("tasks.not-now")
def test_nobody_is_told_of_what_was_put_off(desk: Desk, scripted: Spec, tmp_path: Path) -> None:
    file = tmp_path / "told"
    desk.new("put off", "--agent", scripted("prompt=ask:edit"))
    until(lambda: desk.json("inbox"))
    desk.ok("inbox", "later", "put off")
    notify = {"command": ["sh", "-c", f"cat >> {file}"]}
    (desk.home / "config.jsonc").write_text(json.dumps({"notify": notify}))
    desk.new("waits", "--agent", scripted("prompt=ask:edit"))
    until(lambda: file.exists() and file.read_text())

    told = json.loads(file.read_text())
    assert [each["task"] for each in told["tasks"]] == ["waits"]


@pytest.mark.requirement("tasks.inbox-order")
def test_what_waits_is_ordered_by_urgency_and_age(
    desk: Desk, scripted: Spec, playing: Callable[..., str], tmp_path: Path
) -> None:
    desk.new("fails", "--agent", "sh -c 'exit 3'")
    desk.new("locked out", "--agent", playing("login_agent.py", "session/new", str(tmp_path / "x")))
    desk.new("second", "--agent", "none")
    desk.new("first", "--agent", "none")
    tasks = desk.tasks()
    for name in ("first", "second"):
        asked = {"project_path": "", "taskspace_uuid": tasks[name]["id"], "message": name}
        desk.ok("bus", "send", "signal_user", json.dumps(asked))
    for name in ("asks first", "asks second"):
        asking = desk.new(name, "--agent", scripted("prompt=ask:edit"))["id"]
        until(lambda asking=asking: asking in {each["taskspace"] for each in desk.json("inbox")})
    items = until(lambda: len(found := desk.json("inbox")) == 6 and found)

    names = ["asks first", "asks second", "first", "second", "locked out", "fails"]
    assert [item["name"] for item in items] == names


@pytest.mark.requirement("tasks.asked-anew")
def test_what_an_agent_asks_after_it_was_started_again_is_a_question_of_its_own(
    desk: Desk, scripted: Spec
) -> None:
    made = desk.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: desk.json("inbox"))
    desk.ok("inbox", "answer", item["id"], "y")
    until(lambda: desk.said(made["id"]))
    desk.ok("session", "kill", made["id"])
    desk.ok("task", "resume", "asks")
    desk.ok("task", "say", "asks", "Once more")
    (again,) = until(lambda: desk.json("inbox"))
    desk.ok("inbox", "answer", again["id"], "n")

    assert again["id"] != item["id"]


@pytest.mark.requirement("tasks.one-answer-one-item")
def test_answer_settles_its_own_question_and_no_other(desk: Desk) -> None:
    task = desk.new("asks three times", "--agent", "none")
    for text in ("first?", "second?", "third?"):
        asked = {"project_path": "", "taskspace_uuid": task["id"], "message": text}
        desk.ok("bus", "send", "signal_user", json.dumps(asked))
    items = desk.json("inbox", code=10)
    desk.ok("inbox", "answer", items[1]["id"], "seen")

    left = desk.json("inbox", code=10)
    late = desk.run("inbox", "answer", items[1]["id"], "seen")
    assert [each["text"] for each in left] == ["first?", "third?"]
    assert desk.tasks()["asks three times"]["waiting"] == 2
    assert "already answered by" in late.stderr


@pytest.mark.requirement("tasks.log-end")
def test_task_log_and_show_end_with_the_newest_of_1504_lines(desk: Desk) -> None:
    task = desk.new("talks a lot", "--agent", "none")
    desk.run("daemon", "stop")
    fill_log(desk, task["id"], 1_503)
    desk.ok("task", "log", "talks a lot", "--add", "the newest")

    logged = desk.ok("task", "log", "talks a lot").splitlines()
    shown = desk.ok("task", "show", "talks a lot").splitlines()
    assert (len(logged), len(desk.json("task", "log", "talks a lot", "-n", "3"))) == (100, 3)
    assert logged[-1].endswith("info       the newest")
    assert shown[-1].endswith("info      the newest")
    assert desk.tasks()["talks a lot"]["last"]["message"] == "the newest"


def fill_log(desk: Desk, task: str, count: int) -> None:
    """Write lines into the log of a task while no daemon runs."""
    with closing(sqlite3.connect(desk.home / "taskspaces.db")) as store, store:
        store.executemany(
            "INSERT INTO log (id, taskspace, at, category, message, evidence)"
            " VALUES (?, ?, '2026-01-01T00:00:00.000Z', 'info', ?, '')",
            [(str(uuid4()), task, f"line {number}") for number in range(count)],
        )


@pytest.mark.requirement("tasks.watch-lines", "tasks.server-announces", "tasks.announced-inbox")
def test_watch_prints_what_agents_do_as_it_happens(
    desk: Desk, start: Start, scripted: Spec
) -> None:
    before = desk.new("before", "--agent", "none")
    watching = start("task", "watch", "--json")
    plain = start("task", "watch")
    seen = Events(watching)
    # Each watcher has subscribed before it lists.
    seen.until(lambda each: each["type"] == "inbox_changed")
    out = "".join(until_line(plain, "before"))
    made = desk.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = seen.until(lambda each: each.get("added"))["added"]
    desk.ok("inbox", "answer", item["id"], "y")
    (settled,) = seen.until(lambda each: each.get("settled"))["settled"]
    seen.until(lambda each: state_of(each) == (made["id"], "idle"))
    out += "".join(until_line(plain, "? asks: wants to "))
    desk.ok("task", "log", "asks", "--add", "half done")
    logged = seen.until(lambda each: each.get("entry", {}).get("message") == "half done")
    desk.ok("task", "rm", "before", "--discard-work")
    gone = seen.until(lambda each: each["type"] == "taskspace_gone")
    # An interrupted watcher may not have printed the line yet.
    out += "".join(until_line(plain, "half done"))
    plain.send_signal(signal.SIGINT)
    out += plain.communicate(timeout=PATIENCE)[0]

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
    """The task that an event shows, and its state; empty for other events."""
    task = event.get("taskspace", {})
    return task.get("id", ""), task.get("state", "")


class Events:
    """What a watcher prints: every event so far can still be found, whatever came before it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._lines = process.stdout
        self.all: list[dict[str, Any]] = []

    def until(self, is_wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The first event that is wanted; waits for it."""
        found = [each for each in self.all if is_wanted(each)]
        while not found:
            line = self._lines.readline()
            assert line, f"it ended after {self.all}"
            self.all.append(json.loads(line))
            found = self.all[-1:] if is_wanted(self.all[-1]) else []
        return found[0]


def until_line(process: "subprocess.Popen[str]", words: str) -> Iterator[str]:
    """The lines of a process up to the first with these words."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if words in line:
            return
    pytest.fail(f"it ended without {words!r}")


@pytest.mark.requirement("cli.exit-waiting")
def test_inbox_says_by_its_exit_code_and_in_words_whether_something_waits(
    desk: Desk, scripted: Spec
) -> None:
    empty = desk.run("inbox")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "Nothing waits for you.\n")
    assert desk.json("inbox", code=0) == []
    desk.new("asks", "--agent", scripted("prompt=ask:edit"))
    (item,) = until(lambda: desk.json("inbox"))

    assert (desk.run("inbox").returncode, desk.run("inbox", "--json").returncode) == (10, 10)
    assert {each["id"]: each["kind"] for each in item["choices"]} == {
        "y": "allow_once",
        "n": "reject_once",
    }
    desk.ok("inbox", "answer", "1", "yes")
    until(lambda: desk.json("inbox") == [])


@pytest.mark.requirement("tasks.nobody-there")
def test_signal_is_told_how_many_watch(desk: Desk, start: Start) -> None:
    task = desk.new("asks")
    watching = start("task", "watch", "--json")
    assert watching.stdout is not None
    watching.stdout.readline()
    signalled = {"project_path": "", "taskspace_uuid": task["id"], "message": "Which scope?"}
    seen = json.loads(desk.ok("bus", "send", "signal_user", json.dumps(signalled), "--json"))
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=PATIENCE)
    unseen = json.loads(desk.ok("bus", "send", "signal_user", json.dumps(signalled), "--json"))

    assert (seen["watchers"], unseen["watchers"]) == (1, 0)
    assert len(desk.json("inbox")) == 2


@pytest.mark.requirement("tasks.session-noted")
def test_session_server_announces_its_session_to_its_end(desk: Desk, scripted: Spec) -> None:
    made = desk.new("a", "--agent", scripted("prompt=ask:edit"))
    until(lambda: desk.json("inbox"))
    desk.ok("inbox", "answer", "a", "y")
    until(lambda: desk.tasks()["a"]["state"] == "idle")
    desk.ok("session", "kill", made["id"])
    notes = until(lambda: (found := noted(desk))[-1]["kind"] == "exited" and found)

    kinds = ["started", "turn started", "asked", "settled", "turn ended", "exited"]
    assert [each["kind"] for each in notes] == kinds
    assert {each["session"] for each in notes} == {made["id"]}
    assert [each["seq"] for each in notes] == sorted(each["seq"] for each in notes)
    assert (notes[2]["text"], notes[4]["text"]) == ("do it", "end_turn")


def noted(desk: Desk) -> list[dict[str, Any]]:
    """What session servers have announced so far."""
    told = desk.ok("bus", "tail", "--type", "session_noted", "-n", "0", "--json").splitlines()
    return [json.loads(line)["message"]["payload"] for line in told]
