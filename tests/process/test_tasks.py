"""Tasks side by side: the command line, the daemon, git, and agents, all real."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_cli import TIMEOUT, TaskCli, git, until

from symposium.tasks.handlers.overlap_watch import PAUSE

Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

WITHIN = 10.0
"""Seconds in which overlaps must be found (users B-10)."""


@pytest.mark.requirement("tasks.three-at-once")
def test_three_tasks_are_three_worktrees_and_the_clone_stays_clean(task_cli: TaskCli) -> None:
    made = [task_cli.new("fix flaky test", "--agent", "eliza") for _ in range(3)]

    assert len({each["worktree"] for each in made}) == 3
    assert len({each["branch"] for each in made}) == 3
    assert len({tuple(each["ports"]) for each in made}) == 3
    assert all(not Path(each["worktree"]).is_relative_to(task_cli.clone) for each in made)
    assert [each["session"] for each in task_cli.json("task", "list")] == ["running"] * 3
    assert git(task_cli.clone, "status", "--porcelain") == ""
    assert sorted(each.name for each in task_cli.clone.iterdir()) == [".git", "a.txt"]


@pytest.mark.requirement("tasks.names")
def test_name_of_an_agent_shows_at_once_and_one_of_the_user_stays(task_cli: TaskCli) -> None:
    task = task_cli.new("first name")
    state = {"project_path": "", "taskspace_uuid": task["id"], "name": "x", "description": "y"}

    def state_of(name: str) -> Any:
        said = json.dumps({**state, "name": name})
        return task_cli.ok("bus", "send", "update_taskspace", said)

    state_of("by its agent")
    assert "by its agent" in task_cli.tasks()
    task_cli.ok("task", "rename", task["id"], "by its user")
    state_of("by its agent again")
    assert list(task_cli.tasks()) == ["by its user"]


@pytest.mark.requirement("tasks.find")
def test_task_is_named_by_its_id_a_short_id_or_its_name(task_cli: TaskCli) -> None:
    one = task_cli.new("same")
    two = task_cli.new("same")

    for named in (one["id"], one["id"].upper(), one["id"][:13]):
        assert json.loads(task_cli.ok("task", "show", named, "--json"))["taskspace"] == {
            **one,
            "state": "ready",
        }
    both = task_cli.run("task", "show", "same")
    none = task_cli.run("task", "show", "nothing")
    assert (both.returncode, none.returncode) == (4, 4)
    assert one["id"][:8] in both.stderr
    assert two["id"][:8] in both.stderr
    assert "symposium task list" in none.stderr


@pytest.mark.requirement("tasks.inbox", "tasks.nobody-there")
def test_questions_are_in_one_inbox_and_answered_once(
    task_cli: TaskCli, scripted: Spec, tmp_path: Path
) -> None:
    asking = task_cli.new("asks", "--agent", scripted("prompt=ask:edit"))
    wondering = task_cli.new("wonders", "--agent", "eliza")
    signal_ = {"project_path": "", "taskspace_uuid": wondering["id"], "message": "Which scope?"}
    messages = json.loads(task_cli.ok("bus", "send", "signal_user", json.dumps(signal_), "--json"))
    items = until(lambda: len(found := task_cli.json("inbox")) == 2 and found)

    assert messages["watchers"] == 0
    assert [item["kind"] for item in items] == ["permission", "question"]
    assert items[1]["text"] == "Which scope?"
    assert task_cli.run("inbox").returncode == 10
    assert task_cli.tasks()["asks"]["state"] == "waiting: approval"
    assert task_cli.tasks()["wonders"]["state"] == "waiting: question"

    bad = task_cli.run("inbox", "answer", items[0]["id"], "perhaps")
    task_cli.ok("inbox", "answer", items[0]["id"], "y")
    task_cli.ok("inbox", "answer", items[1]["id"], "the narrow one")
    late = task_cli.run("inbox", "answer", items[0]["id"], "n")

    assert "choices: n, y" in bad.stderr
    assert "already answered by" in late.stderr
    assert task_cli.run("inbox").returncode == 0
    events = tmp_path / "home" / "sessions" / wondering["id"] / "events.jsonl"
    until(lambda: "the narrow one" in events.read_text())
    assert asking["id"] in task_cli.ok("session", "list")


@pytest.mark.requirement("tasks.delete")
def test_task_with_unsaved_work_is_deleted_only_by_request_and_restored_completely(
    task_cli: TaskCli,
) -> None:
    task = task_cli.new("unsaved", "--agent", "eliza")
    tree = Path(task["worktree"])
    (tree / "new.txt").write_text("new")
    (tree / "a.txt").write_text("changed")
    (tree / "staged.txt").write_text("staged")
    git(tree, "add", "staged.txt")
    task_cli.ok("task", "log", "unsaved", "--add", "half done")
    status = git(tree, "status", "--porcelain")

    refused = task_cli.run("task", "rm", "unsaved", "--json")
    refused_plain = task_cli.run("task", "rm", "unsaved", "--branch", "drop")
    assert (refused.returncode, refused_plain.returncode) == (5, 5)
    assert json.loads(refused.stdout)["report"]["is_safe"] is False
    assert "1 untracked file" in refused_plain.stdout
    assert tree.exists()

    task_cli.ok("task", "rm", "unsaved", "--discard-work")
    assert not tree.exists()
    assert task_cli.tasks()["unsaved"]["state"] == "archived"
    assert task_cli.json("session", "list")[0]["status"] == "exited"

    task_cli.ok("task", "undo", "unsaved")
    assert git(tree, "status", "--porcelain") == status
    assert (tree / "a.txt").read_text() == "changed"
    assert "half done" in task_cli.ok("task", "log", "unsaved")


@pytest.mark.requirement("tasks.delete")
def test_task_without_work_is_deleted_without_a_question(task_cli: TaskCli) -> None:
    task_cli.new("nothing done")

    done = task_cli.run("task", "rm", "nothing done", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["removed"] is True


@pytest.mark.requirement("tasks.agent-asks-to-delete")
@pytest.mark.parametrize(
    ("answer", "code", "received", "state"),
    [("archive", 0, '"outcome":"deleted"', "archived"), ("keep", 1, "cancelled by user", "ready")],
)
def test_agent_that_wants_to_delete_its_task_waits_for_the_user(
    answer: str, code: int, received: str, state: str, task_cli: TaskCli, start: Start
) -> None:
    task = task_cli.new("done with it")
    payload = json.dumps({"project_path": "", "taskspace_uuid": task["id"]})
    asking = [start("bus", "send", "delete_taskspace", payload, "--json") for _ in range(2)]
    for each in asking:
        assert each.stderr is not None
        assert "waiting for the user" in each.stderr.readline()
    (item,) = task_cli.json("inbox")

    task_cli.ok("inbox", "answer", item["id"], answer)

    for each in asking:
        out, err = each.communicate(timeout=TIMEOUT)
        assert (each.returncode, received in out + err) == (code, True)
    assert task_cli.tasks()["done with it"]["state"] == state


@pytest.mark.requirement("tasks.agent-ended")
def test_agent_that_cannot_start_waits_in_the_inbox_with_the_reason(
    task_cli: TaskCli,
) -> None:
    made = task_cli.new("hopeless", "Do it", "--agent", "sh -c 'echo no licence >&2; exit 3'")
    (item,) = until(lambda: task_cli.json("inbox"))
    shown = task_cli.ok("task", "show", "hopeless")
    messages = task_cli.ok("inbox", "answer", item["id"], "retry")
    again = until(lambda: [each for each in task_cli.json("inbox") if each["id"] != item["id"]])
    task_cli.ok("inbox", "answer", again[0]["id"], "seen")

    assert (item["kind"], item["taskspace"]) == ("failed", made["id"])
    assert item["text"].endswith("exited with code 3: no licence")
    assert "why          " in shown
    assert messages == "the agent of hopeless is restarted\n"
    assert task_cli.json("inbox") == []


@pytest.mark.requirement("tasks.agent-names")
def test_task_accepts_ids_of_agents_and_refuses_unknown_names(
    task_cli: TaskCli,
) -> None:
    task_cli.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    made = task_cli.new("named", "Hello", "--agent", "mine")
    until(lambda: task_cli.said(made["id"]))
    refused = task_cli.run(
        "task", "new", "x", "--agent", "nobodys", "--project", str(task_cli.clone)
    )

    assert refused.returncode != 0
    assert "'nobodys' is neither a built-in agent" in refused.stderr
    assert set(task_cli.tasks()) == {"named"}


@pytest.mark.requirement("tasks.agent-shown")
def test_task_shows_its_agent_by_the_given_id(task_cli: TaskCli) -> None:
    task_cli.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    by_id = task_cli.new("by id", "--agent", "mine")
    by_name = task_cli.new("by name", "--agent", "eliza")

    assert (by_id["agent"], by_name["agent"]) == ("mine", "eliza")
    assert "agent        mine (" in task_cli.ok("task", "show", "by id")


@pytest.mark.requirement("tasks.absolute-paths")
@pytest.mark.parametrize("path", [".", "", "clone", "../clone", "~/clone"])
def test_relative_path_in_a_bus_request_is_refused(task_cli: TaskCli, path: str) -> None:
    task_cli.ok("daemon", "start")
    asked: dict[str, dict[str, str]] = {
        "create_taskspace": {"project": path, "name": "x"},
        "adopt_taskspace": {"worktree": path},
        "find_overlaps": {"project": path},
        **({"list_taskspaces": {"project": path}} if path else {}),
        "collect_taskspaces": {"project": path},
    }

    for message, payload in asked.items():
        done = task_cli.run("bus", "send", message, json.dumps(payload))
        assert "is not an absolute path" in done.stderr, message
    assert task_cli.tasks() == {}


@pytest.mark.requirement("tasks.absolute-paths")
def test_relative_path_on_the_command_line_is_resolved_there(
    task_cli: TaskCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_cli.ok("daemon", "start")
    monkeypatch.chdir(task_cli.clone.parent)
    task_cli.ok("task", "new", "one", "--project", task_cli.clone.name)

    assert task_cli.tasks()["one"]["project"] == str(task_cli.clone)
    assert [each["name"] for each in task_cli.json("task", "list", "--project", "clone")] == ["one"]
    assert task_cli.json("task", "conflicts", "--project", "clone") == []


@pytest.mark.requirement("tasks.radar")
def test_tasks_that_change_the_same_lines_are_listed_with_file_and_lines(task_cli: TaskCli) -> None:
    for name in ("one", "two"):
        tree = Path(task_cli.new(name)["worktree"])
        (tree / "a.txt").write_text(f"one\n2, by {name}\nthree\n")

    (overlap,) = task_cli.json("task", "conflicts", "--project", str(task_cli.clone))

    assert overlap["lines"] == ["a.txt:2-2 (content)"]
    assert [(each["path"], each["first"]) for each in overlap["conflicts"]] == [("a.txt", [[2, 2]])]


@pytest.mark.requirement("tasks.conflicts-by-file")
def test_file_changed_by_several_tasks_is_listed_once_with_their_lines(task_cli: TaskCli) -> None:
    made = [task_cli.new(name) for name in ("one", "two", "two")]
    for number, each in enumerate(made):
        new_lines = "new\n" * number
        (Path(each["worktree"]) / "a.txt").write_text(f"{new_lines}one\n2, by {number}\nthree\n")

    file, *pairs = task_cli.ok("task", "conflicts", "--project", str(task_cli.clone)).splitlines()

    ids = [each["id"][:8] for each in made]
    ends = ["one:2", f"two ({ids[1]}):3", f"two ({ids[2]}):4"]
    messages = {frozenset(line.strip().removesuffix(" (content)").split(" and ")) for line in pairs}
    assert (file, len(pairs)) == ("a.txt", 3)
    assert messages >= {frozenset((ends[0], end)) for end in ends[1:]}


@pytest.mark.requirement("tasks.radar-watch")
@pytest.mark.timeout(240)
def test_overlap_is_shown_in_both_tasks_and_announced_once(
    task_cli: TaskCli,
) -> None:
    trees = {name: Path(task_cli.new(name)["worktree"]) for name in ("one", "two")}
    (trees["one"] / "a.txt").write_text("one\n2, by one\nthree\n")
    (trees["two"] / "a.txt").write_text("one\n2, by two\nthree\n")

    until(lambda: all(each["conflicts"] for each in task_cli.tasks().values()))
    assert PAUSE <= WITHIN
    assert task_cli.tasks()["one"]["conflicts"] == ["with 'two': a.txt:2-2 (content)"]
    assert "with 'two': a.txt:2-2" in task_cli.ok("task", "show", "one")
    (trees["two"] / "a.txt").write_text("one\n2, by two\n3, too\n")
    until(lambda: "2-3" in task_cli.ok("task", "show", "two"))

    log = task_cli.ok("task", "log", "one").splitlines()
    assert [line.endswith("changes the same lines as 'two': a.txt") for line in log] == [True]
    snapshots = task_cli.json("task", "show", "one")["snapshots"]
    assert [each["reason"] for each in snapshots] == ["made"], "a look is no state to go back to"


@pytest.mark.requirement("tasks.land", "tasks.land-next-step")
def test_work_lands_or_the_conflict_is_reported_and_nothing_changes(task_cli: TaskCli) -> None:
    trees = {name: Path(task_cli.new(name)["worktree"]) for name in ("fits", "does not")}
    git(task_cli.clone, "checkout", "-q", "--detach")
    for name, tree in trees.items():
        (tree / "a.txt").write_text(f"one\n{name}\nthree\n")
        git(tree, "commit", "-qam", name)

    landed = task_cli.run("task", "land", "fits", "--json")
    refused = task_cli.run("task", "land", "does not")
    before = git(trees["does not"], "rev-parse", "HEAD")

    assert (landed.returncode, json.loads(landed.stdout)["outcome"]) == (0, "landed")
    assert git(task_cli.clone, "show", "main:a.txt") == "one\nfits\nthree\n"
    assert refused.returncode == 1
    assert "nothing was changed" in refused.stdout
    assert "a.txt" in refused.stdout
    base = git(task_cli.clone, "rev-parse", "main")[:12]
    id_ = task_cli.tasks()["does not"]["id"][:8]
    assert f"symposium task land {id_} --resolve" in refused.stdout
    assert f"git -C {trees['does not']} rebase {base}" in refused.stdout
    assert git(trees["does not"], "status", "--porcelain") == ""
    assert git(trees["does not"], "rev-parse", "HEAD") == before


@pytest.mark.requirement("tasks.landed-is-safe")
def test_landed_task_is_deleted_as_advised_while_its_agent_is_idle(task_cli: TaskCli) -> None:
    task = task_cli.new("lands", "--agent", "eliza")
    tree = Path(task["worktree"])
    until(lambda: task_cli.tasks()["lands"]["state"] == "idle")
    (tree / "a.txt").write_text("new\n")
    git(tree, "commit", "-qam", "new")
    advice = task_cli.ok("task", "land", "lands")

    removed = task_cli.run("task", "rm", task["id"][:8])

    assert f"`symposium task rm {task['id'][:8]}` deletes it" in advice
    assert removed.returncode == 0, removed.stdout + removed.stderr
    assert "nothing would be lost" in removed.stdout
    assert not tree.exists()
    assert git(task_cli.clone, "show", "main:a.txt") == "new\n"


@pytest.mark.requirement("snapshots.listed")
def test_task_undo_lists_snapshots_and_an_unknown_one_names_the_list(task_cli: TaskCli) -> None:
    task = task_cli.new("listed")
    Path(task["worktree"], "new").write_text("x", encoding="utf-8")
    task_cli.ok("task", "undo", "listed")

    listed = [
        each["ref"] for each in task_cli.json("task", "undo", "listed", "--list")["snapshots"]
    ]
    lines = task_cli.ok("task", "undo", "listed", "--list").splitlines()
    refused = task_cli.run("task", "undo", "listed", "--to", "bogus")

    assert [line.split()[0] for line in lines] == listed
    assert len(listed) == 3
    assert refused.returncode == 1
    assert f"`symposium task undo {task['id'][:8]} --list`" in refused.stderr
    assert not Path(task["worktree"], "new").exists()


@pytest.mark.requirement("tasks.landed")
def test_landed_task_is_shown_as_landed_until_it_has_new_work(
    task_cli: TaskCli,
) -> None:
    task = task_cli.new("lands", "--agent", "eliza")
    tree = Path(task["worktree"])
    until(lambda: task_cli.tasks()["lands"]["state"] == "idle")
    (tree / "a.txt").write_text("new\n")
    git(tree, "commit", "-qam", "new")
    before = task_cli.tasks()["lands"]
    task_cli.ok("task", "land", "lands")

    landed = task_cli.tasks()["lands"]
    assert (before["state"], before["landed"]) == ("idle", "")
    assert (landed["state"], landed["landed"]) == ("landed", git(tree, "rev-parse", "HEAD").strip())
    assert "+ lands" in task_cli.ok("task", "list")
    assert f"landed       {landed['landed'][:12]} at" in task_cli.ok("task", "show", "lands")
    assert [each["state"] for each in task_cli.json("up", "--dry-run")["tasks"]] == ["landed"]
    (tree / "b.txt").write_text("not committed")
    assert task_cli.tasks()["lands"]["state"] == "idle"
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "more")
    assert task_cli.tasks()["lands"]["state"] == "idle"
    task_cli.ok("task", "land", "lands")
    assert task_cli.tasks()["lands"]["state"] == "landed"


@pytest.mark.requirement("tasks.landed")
def test_landed_tasks_are_neither_ready_nor_finished_and_waiting_ones_are_first(
    task_cli: TaskCli,
) -> None:
    task = task_cli.new("lands")
    (Path(task["worktree"]) / "a.txt").write_text("new\n")
    git(Path(task["worktree"]), "commit", "-qam", "new")
    finish = {"project_path": "", "taskspace_uuid": task["id"], "result": "done"}
    task_cli.ok("bus", "send", "finish_taskspace", json.dumps(finish))
    assert task_cli.tasks()["lands"]["state"] == "finished (unreviewed)"
    task_cli.ok("task", "land", "lands")
    assert task_cli.tasks()["lands"]["state"] == "landed"
    task_cli.kill_daemon()
    assert task_cli.tasks()["lands"]["state"] == "landed"

    task_cli.ok("task", "log", "lands", "--add", "Which one?", "--category", "question")
    assert task_cli.tasks()["lands"]["state"] == "waiting: question"


@pytest.mark.requirement("tasks.undo-tree")
def test_worktree_is_saved_before_a_tool_can_run_and_undo_restores_it(
    task_cli: TaskCli, scripted: Spec
) -> None:
    task = task_cli.new("destroys", "--agent", scripted("prompt=ask:edit"))
    tree = Path(task["worktree"])
    (item,) = until(lambda: task_cli.json("inbox"))
    snapshots = task_cli.json("task", "show", "destroys")["snapshots"]
    # Files written after the question are saved when the turn is over.
    (tree / "late.txt").write_text("late")
    task_cli.ok("inbox", "answer", item["id"], "y")

    assert [each["reason"] for each in snapshots] == ["made"], "nothing had changed since"
    until(lambda: len(task_cli.json("task", "show", "destroys")["snapshots"]) > 1)
    (tree / "a.txt").unlink()
    (tree / "late.txt").unlink()
    task_cli.ok("task", "undo", "destroys")
    assert (tree / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (tree / "late.txt").read_text() == "late"


@pytest.mark.requirement("tasks.reboot")
def test_every_task_can_continue_after_everything_was_killed(task_cli: TaskCli) -> None:
    task = task_cli.new("continues", "--agent", "eliza")
    task_cli.ok("task", "log", "continues", "--add", "Which one?", "--category", "question")
    server = task_cli.session_server(task["id"])
    task_cli.kill_daemon()
    os.kill(server, signal.SIGKILL)

    listed = until(lambda: (t := task_cli.tasks()["continues"])["session"] == "lost" and t)
    assert listed["waiting"] == 1
    assert task_cli.json("inbox")[0]["text"] == "Which one?"
    task_cli.ok("task", "resume", "continues")
    assert task_cli.tasks()["continues"]["session"] == "running"


@pytest.mark.requirement("tasks.setup-asks-once")
def test_set_up_files_are_shown_and_run_only_when_trusted(task_cli: TaskCli) -> None:
    (task_cli.clone / ".symposium").mkdir()
    recipe = task_cli.clone / ".symposium" / "workspace.toml"
    recipe.write_text('setup = ["touch was-run"]\n')
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")

    first = task_cli.new("first")
    assert not (Path(first["worktree"]) / "was-run").exists()
    (item,) = task_cli.json("inbox")
    assert (item["kind"], "setup: touch was-run" in item["text"]) == ("trust", True)

    task_cli.ok("inbox", "answer", item["id"], "trust")
    assert (Path(first["worktree"]) / "was-run").exists()
    second = task_cli.new("second")
    assert (Path(second["worktree"]) / "was-run").exists()

    recipe.write_text('setup = ["touch was-run-too"]\n')
    git(task_cli.clone, "commit", "-qam", "changed")
    third = task_cli.new("third")
    assert not (Path(third["worktree"]) / "was-run-too").exists()


@pytest.mark.requirement("taskspaces.set-up-guesses")
def test_suggestions_of_lock_files_are_shown_until_a_file_sets_the_steps(task_cli: TaskCli) -> None:
    (task_cli.clone / "package-lock.json").write_text("{}")
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "locked")
    task = task_cli.new("locked", "--agent", "none")
    assert "npm ci (package-lock.json)" in task_cli.ok("task", "show", task["id"])
    assert not (Path(task["worktree"]) / "node_modules").exists()
    folder = Path(task["worktree"]) / ".symposium"
    folder.mkdir()
    (folder / "workspace.toml").write_text('setup = ["true"]\n')
    shown = json.loads(task_cli.ok("task", "show", task["id"], "--json"))
    assert (shown["guesses"], len(shown["recipe"])) == ([], 1)
    assert shown["recipe"][0].endswith("workspace.toml  setup: true")


@pytest.mark.requirement("tasks.find")
def test_name_means_the_running_task_and_a_branch_is_a_name_too(task_cli: TaskCli) -> None:
    gone = task_cli.new("the same", "--agent", "none")
    task_cli.ok("task", "rm", "the same")
    here = task_cli.new("the same", "--agent", "none")
    for name in ("the same", here["branch"]):
        shown = json.loads(task_cli.ok("task", "show", name, "--json"))
        assert shown["taskspace"]["id"] == here["id"]
    assert gone["id"][:8] in task_cli.ok("task", "undo", gone["id"])
    several = task_cli.run("task", "show", "the same")
    assert several.returncode == 4
    assert here["id"][:8] in several.stderr
    assert "several tasks match" in several.stderr


@pytest.mark.requirement("tasks.look")
def test_task_can_be_opened_compared_and_prompted(task_cli: TaskCli, tmp_path: Path) -> None:
    task = task_cli.new("look", "--agent", "eliza")
    tree = Path(task["worktree"])
    (tree / "a.txt").write_text("one\n2\nthree\n")
    (tree / "naïve new.txt").write_text("brand new\n")

    assert task_cli.ok("task", "open", "look") == f"{tree}\n"
    editor = shlex.join(["touch", str(tmp_path / "opened")])
    task_cli.ok("task", "open", "look", "--editor", editor)
    assert (tmp_path / "opened").exists()
    shown = task_cli.run("task", "diff", "look")
    assert "-two\n+2\n" in shown.stdout
    assert '+++ "b/na\\303\\257ve new.txt"' in shown.stdout or "+++ b/naïve new.txt" in shown.stdout
    assert "+brand new\n" in shown.stdout
    assert "1 file changed" in task_cli.ok("task", "diff", "look", "--stat")
    task_cli.ok("task", "say", "look", "Hello there")
    events = tmp_path / "home" / "sessions" / task["id"] / "events.jsonl"
    until(lambda: "Hello there" in events.read_text())
    missing = task_cli.run("task", "open", "look", "--editor", "no-such-editor")
    assert (missing.returncode, "no-such-editor" in missing.stderr) == (4, True)
    assert (
        "Nothing to remove" in task_cli.run("task", "gc", "--project", str(task_cli.clone)).stderr
    )


@pytest.mark.requirement("tasks.land-nothing")
def test_task_without_changes_cannot_land_and_is_not_called_landed(task_cli: TaskCli) -> None:
    task = task_cli.new("empty", "--agent", "none")
    messages = task_cli.ok("task", "land", "empty")
    assert messages.startswith("empty has nothing to land: main has all its changes\n")
    assert f"symposium task rm {task['id'][:8]}" in messages
    (Path(task["worktree"]) / "a.txt").write_text("changed\n")
    git(Path(task["worktree"]), "commit", "-qam", "own")
    assert task_cli.ok("task", "land", "empty").startswith("empty has landed on main\n")
    assert "nothing to land" in task_cli.ok("task", "land", "empty")
    assert json.loads(task_cli.ok("task", "show", "empty", "--json"))["taskspace"]["landed"]


@pytest.mark.requirement("tasks.gc")
def test_gc_removes_nothing_recent_and_works_after_a_clone_has_moved(
    task_cli: TaskCli,
) -> None:
    young = task_cli.new("young", "--agent", "none")
    task_cli.ok("task", "rm", young["id"])
    assert "Nothing to remove" in task_cli.run("task", "gc").stderr
    assert "Nothing to remove" in task_cli.run("task", "gc", "--apply").stderr
    stuck = task_cli.new("stuck", "--agent", "none")
    task_cli.clone.rename(task_cli.clone.with_name("moved"))
    messages = task_cli.run("task", "gc", "--apply", "--project", "/")
    assert messages.returncode == 0, messages.stderr
    assert "Nothing to remove" in messages.stderr, "its snapshots are not in the clone"
    land = task_cli.run("task", "land", stuck["id"])
    assert "move it back" in land.stderr


@pytest.mark.requirement("tasks.adopt")
def test_existing_worktree_becomes_a_task_and_stays_unchanged(
    task_cli: TaskCli, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    git(task_cli.clone, "worktree", "add", "-q", "-b", "my-branch", str(mine))
    (mine / "new.txt").write_text("mine")

    task_cli.ok("task", "adopt", str(mine), "--name", "my own")
    again = task_cli.run("task", "adopt", str(mine))
    nothing = task_cli.run("task", "adopt", str(tmp_path))

    tasks = task_cli.tasks()
    assert list(tasks) == ["my own"]
    assert (tasks["my own"]["branch"], tasks["my own"]["worktree"]) == ("my-branch", str(mine))
    assert git(mine, "status", "--porcelain") == "?? new.txt\n"
    assert "is a task already" in again.stderr
    assert (again.returncode, nothing.returncode) == (2, 4)
