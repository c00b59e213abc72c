"""Tasks side by side: the command line, the daemon, git and agents, all real."""

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
from tests.support.task_desk import PATIENCE, Desk, git, until

from symposium.tasks.handlers.overlap_watch import PAUSE

Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

WITHIN = 10.0
"""Seconds in which overlaps are to be seen (users B-10)."""


@pytest.mark.requirement("tasks.three-at-once")
def test_three_tasks_are_three_worktrees_beside_a_clone_that_stays_clean(desk: Desk) -> None:
    made = [desk.new("fix flaky test", "--agent", "eliza") for _ in range(3)]

    assert len({each["worktree"] for each in made}) == 3
    assert len({each["branch"] for each in made}) == 3
    assert len({tuple(each["ports"]) for each in made}) == 3
    assert all(not Path(each["worktree"]).is_relative_to(desk.clone) for each in made)
    assert [each["session"] for each in desk.json("task", "list")] == ["running"] * 3
    assert git(desk.clone, "status", "--porcelain") == ""
    assert sorted(each.name for each in desk.clone.iterdir()) == [".git", "a.txt"]


@pytest.mark.requirement("tasks.names")
def test_a_name_of_an_agents_shows_at_once_and_one_of_the_users_stays(desk: Desk) -> None:
    task = desk.new("first name")
    state = {"project_path": "", "taskspace_uuid": task["id"], "name": "x", "description": "y"}

    def state_of(name: str) -> Any:
        said = json.dumps({**state, "name": name})
        return desk.ok("bus", "send", "update_taskspace", said)

    state_of("by its agent")
    assert "by its agent" in desk.tasks()
    desk.ok("task", "rename", task["id"], "by its user")
    state_of("by its agent again")
    assert list(desk.tasks()) == ["by its user"]


@pytest.mark.requirement("tasks.find")
def test_a_task_is_named_by_its_id_enough_of_one_or_its_name(desk: Desk) -> None:
    one = desk.new("same")
    two = desk.new("same")

    for named in (one["id"], one["id"].upper(), one["id"][:13]):
        assert json.loads(desk.ok("task", "show", named, "--json"))["taskspace"] == {
            **one,
            "state": "ready",
        }
    both = desk.run("task", "show", "same")
    none = desk.run("task", "show", "nothing")
    assert (both.returncode, none.returncode) == (4, 4)
    assert one["id"][:8] in both.stderr
    assert two["id"][:8] in both.stderr
    assert "symposium task list" in none.stderr


@pytest.mark.requirement("tasks.inbox", "tasks.nobody-there")
def test_what_waits_is_in_one_inbox_and_is_answered_once(
    desk: Desk, scripted: Spec, tmp_path: Path
) -> None:
    asking = desk.new("asks", "--agent", scripted("prompt=ask:edit"))
    wondering = desk.new("wonders", "--agent", "eliza")
    signal_ = {"project_path": "", "taskspace_uuid": wondering["id"], "message": "Which scope?"}
    told = json.loads(desk.ok("bus", "send", "signal_user", json.dumps(signal_), "--json"))
    items = until(lambda: len(found := desk.json("inbox")) == 2 and found)

    assert told["watchers"] == 0
    assert [item["kind"] for item in items] == ["permission", "question"]
    assert items[1]["text"] == "Which scope?"
    assert desk.run("inbox").returncode == 10
    assert desk.tasks()["asks"]["state"] == "waiting: approval"
    assert desk.tasks()["wonders"]["state"] == "waiting: question"

    bad = desk.run("inbox", "answer", items[0]["id"], "perhaps")
    desk.ok("inbox", "answer", items[0]["id"], "y")
    desk.ok("inbox", "answer", items[1]["id"], "the narrow one")
    late = desk.run("inbox", "answer", items[0]["id"], "n")

    assert "choices: n, y" in bad.stderr
    assert "already answered by" in late.stderr
    assert desk.run("inbox").returncode == 0
    events = tmp_path / "home" / "sessions" / wondering["id"] / "events.jsonl"
    until(lambda: "the narrow one" in events.read_text())
    assert asking["id"] in desk.ok("session", "list")


@pytest.mark.requirement("tasks.delete")
def test_a_task_with_unsaved_work_is_kept_until_somebody_says_so_and_comes_back_whole(
    desk: Desk,
) -> None:
    task = desk.new("unsaved", "--agent", "eliza")
    tree = Path(task["worktree"])
    (tree / "new.txt").write_text("new")
    (tree / "a.txt").write_text("changed")
    (tree / "staged.txt").write_text("staged")
    git(tree, "add", "staged.txt")
    desk.ok("task", "log", "unsaved", "--add", "half done")
    status = git(tree, "status", "--porcelain")

    refused = desk.run("task", "rm", "unsaved", "--json")
    refused_plain = desk.run("task", "rm", "unsaved", "--branch", "drop")
    assert (refused.returncode, refused_plain.returncode) == (5, 5)
    assert json.loads(refused.stdout)["report"]["is_safe"] is False
    assert "1 untracked file" in refused_plain.stdout
    assert tree.exists()

    desk.ok("task", "rm", "unsaved", "--discard-work")
    assert not tree.exists()
    assert desk.tasks()["unsaved"]["state"] == "archived"
    assert desk.json("session", "list")[0]["status"] == "exited"

    desk.ok("task", "undo", "unsaved")
    assert git(tree, "status", "--porcelain") == status
    assert (tree / "a.txt").read_text() == "changed"
    assert "half done" in desk.ok("task", "log", "unsaved")


@pytest.mark.requirement("tasks.delete")
def test_a_task_without_work_is_deleted_without_a_question(desk: Desk) -> None:
    desk.new("nothing done")

    done = desk.run("task", "rm", "nothing done", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["removed"] is True


@pytest.mark.requirement("tasks.agent-asks-to-delete")
@pytest.mark.parametrize(
    ("answer", "code", "heard", "state"),
    [("archive", 0, '"outcome":"deleted"', "archived"), ("keep", 1, "cancelled by user", "ready")],
)
def test_an_agent_that_asks_to_delete_its_task_waits_for_the_user(
    answer: str, code: int, heard: str, state: str, desk: Desk, start: Start
) -> None:
    task = desk.new("done with it")
    payload = json.dumps({"project_path": "", "taskspace_uuid": task["id"]})
    asking = [start("bus", "send", "delete_taskspace", payload, "--json") for _ in range(2)]
    for each in asking:
        assert each.stderr is not None
        assert "waiting for the user" in each.stderr.readline()
    (item,) = desk.json("inbox")

    desk.ok("inbox", "answer", item["id"], answer)

    for each in asking:
        out, err = each.communicate(timeout=PATIENCE)
        assert (each.returncode, heard in out + err) == (code, True)
    assert desk.tasks()["done with it"]["state"] == state


@pytest.mark.requirement("tasks.agent-ended")
def test_an_agent_that_cannot_be_started_waits_in_the_inbox_with_the_reason(desk: Desk) -> None:
    made = desk.new("hopeless", "Do it", "--agent", "sh -c 'echo no licence >&2; exit 3'")
    (item,) = until(lambda: desk.json("inbox"))
    shown = desk.ok("task", "show", "hopeless")
    told = desk.ok("inbox", "answer", item["id"], "retry")
    again = until(lambda: [each for each in desk.json("inbox") if each["id"] != item["id"]])
    desk.ok("inbox", "answer", again[0]["id"], "seen")

    assert (item["kind"], item["taskspace"]) == ("failed", made["id"])
    assert item["text"].endswith("exited with code 3: no licence")
    assert "why          " in shown
    assert told == "the agent of hopeless is restarted\n"
    assert desk.json("inbox") == []


@pytest.mark.requirement("tasks.agent-names")
def test_a_task_takes_the_ids_of_agents_and_is_not_made_for_a_name_that_is_none(desk: Desk) -> None:
    desk.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    made = desk.new("named", "Hello", "--agent", "mine")
    until(lambda: desk.said(made["id"]))
    refused = desk.run("task", "new", "x", "--agent", "nobodys", "--project", str(desk.clone))

    assert refused.returncode != 0
    assert "'nobodys' is neither a built-in agent" in refused.stderr
    assert set(desk.tasks()) == {"named"}


@pytest.mark.requirement("tasks.agent-shown")
def test_a_task_shows_which_agent_it_has_by_the_id_it_was_given(desk: Desk) -> None:
    desk.ok("agents", "add", f"{sys.executable} -P -m symposium eliza", "--id", "mine")
    by_id = desk.new("by id", "--agent", "mine")
    by_name = desk.new("by name", "--agent", "eliza")

    assert (by_id["agent"], by_name["agent"]) == ("mine", "eliza")
    assert "agent        mine (" in desk.ok("task", "show", "by id")


@pytest.mark.requirement("tasks.absolute-paths")
@pytest.mark.parametrize("path", [".", "", "clone", "../clone", "~/clone"])
def test_a_path_that_only_its_sender_could_complete_is_refused(desk: Desk, path: str) -> None:
    desk.ok("daemon", "start")
    asked: dict[str, dict[str, str]] = {
        "create_taskspace": {"project": path, "name": "x"},
        "adopt_taskspace": {"worktree": path},
        "find_overlaps": {"project": path},
        **({"list_taskspaces": {"project": path}} if path else {}),
        "collect_taskspaces": {"project": path},
    }

    for message, payload in asked.items():
        done = desk.run("bus", "send", message, json.dumps(payload))
        assert "is not an absolute path" in done.stderr, message
    assert desk.tasks() == {}


@pytest.mark.requirement("tasks.absolute-paths")
def test_a_relative_path_on_the_command_line_is_meant_from_where_it_is_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.ok("daemon", "start")
    monkeypatch.chdir(desk.clone.parent)
    desk.ok("task", "new", "one", "--project", desk.clone.name)

    assert desk.tasks()["one"]["project"] == str(desk.clone)
    assert [each["name"] for each in desk.json("task", "list", "--project", "clone")] == ["one"]
    assert desk.json("task", "conflicts", "--project", "clone") == []


@pytest.mark.requirement("tasks.radar")
def test_tasks_that_change_the_same_lines_are_named_with_file_and_lines(desk: Desk) -> None:
    for name in ("one", "two"):
        tree = Path(desk.new(name)["worktree"])
        (tree / "a.txt").write_text(f"one\n2, by {name}\nthree\n")

    (overlap,) = desk.json("task", "conflicts", "--project", str(desk.clone))

    assert overlap["lines"] == ["a.txt:2-2 (content)"]
    assert [(each["path"], each["first"]) for each in overlap["conflicts"]] == [("a.txt", [[2, 2]])]


@pytest.mark.requirement("tasks.conflicts-by-file")
def test_a_file_that_several_change_is_named_once_with_each_ones_lines(desk: Desk) -> None:
    made = [desk.new(name) for name in ("one", "two", "two")]
    for number, each in enumerate(made):
        new_lines = "new\n" * number
        (Path(each["worktree"]) / "a.txt").write_text(f"{new_lines}one\n2, by {number}\nthree\n")

    file, *pairs = desk.ok("task", "conflicts", "--project", str(desk.clone)).splitlines()

    ids = [each["id"][:8] for each in made]
    ends = ["one:2", f"two ({ids[1]}):3", f"two ({ids[2]}):4"]
    told = {frozenset(line.strip().removesuffix(" (content)").split(" and ")) for line in pairs}
    assert (file, len(pairs)) == ("a.txt", 3)
    assert told >= {frozenset((ends[0], end)) for end in ends[1:]}


@pytest.mark.requirement("tasks.radar-watch")
@pytest.mark.timeout(240)
def test_who_changes_the_same_lines_is_shown_in_both_by_itself_and_told_once(desk: Desk) -> None:
    trees = {name: Path(desk.new(name)["worktree"]) for name in ("one", "two")}
    (trees["one"] / "a.txt").write_text("one\n2, by one\nthree\n")
    (trees["two"] / "a.txt").write_text("one\n2, by two\nthree\n")

    until(lambda: all(each["conflicts"] for each in desk.tasks().values()))
    assert PAUSE <= WITHIN
    assert desk.tasks()["one"]["conflicts"] == ["with 'two': a.txt:2-2 (content)"]
    assert "with 'two': a.txt:2-2" in desk.ok("task", "show", "one")
    (trees["two"] / "a.txt").write_text("one\n2, by two\n3, too\n")
    until(lambda: "2-3" in desk.ok("task", "show", "two"))

    log = desk.ok("task", "log", "one").splitlines()
    assert [line.endswith("changes the same lines as 'two': a.txt") for line in log] == [True]
    snapshots = desk.json("task", "show", "one")["snapshots"]
    assert [each["reason"] for each in snapshots] == ["made"], "a look is no state to go back to"


@pytest.mark.requirement("tasks.land", "tasks.land-next-step")
def test_work_lands_or_says_why_it_does_not_fit_and_changes_nothing(desk: Desk) -> None:
    trees = {name: Path(desk.new(name)["worktree"]) for name in ("fits", "does not")}
    git(desk.clone, "checkout", "-q", "--detach")
    for name, tree in trees.items():
        (tree / "a.txt").write_text(f"one\n{name}\nthree\n")
        git(tree, "commit", "-qam", name)

    landed = desk.run("task", "land", "fits", "--json")
    refused = desk.run("task", "land", "does not")
    before = git(trees["does not"], "rev-parse", "HEAD")

    assert (landed.returncode, json.loads(landed.stdout)["outcome"]) == (0, "landed")
    assert git(desk.clone, "show", "main:a.txt") == "one\nfits\nthree\n"
    assert refused.returncode == 1
    assert "nothing was changed" in refused.stdout
    assert "a.txt" in refused.stdout
    base = git(desk.clone, "rev-parse", "main")[:12]
    id_ = desk.tasks()["does not"]["id"][:8]
    assert f"symposium task land {id_} --resolve" in refused.stdout
    assert f"git -C {trees['does not']} rebase {base}" in refused.stdout
    assert git(trees["does not"], "status", "--porcelain") == ""
    assert git(trees["does not"], "rev-parse", "HEAD") == before


@pytest.mark.requirement("tasks.landed-is-safe")
def test_a_landed_task_is_deleted_as_advised_while_its_agent_is_idle(desk: Desk) -> None:
    task = desk.new("lands", "--agent", "eliza")
    tree = Path(task["worktree"])
    until(lambda: desk.tasks()["lands"]["state"] == "idle")
    (tree / "a.txt").write_text("new\n")
    git(tree, "commit", "-qam", "new")
    advice = desk.ok("task", "land", "lands")

    removed = desk.run("task", "rm", task["id"][:8])

    assert f"`symposium task rm {task['id'][:8]}` deletes it" in advice
    assert removed.returncode == 0, removed.stdout + removed.stderr
    assert "nothing would be lost" in removed.stdout
    assert not tree.exists()
    assert git(desk.clone, "show", "main:a.txt") == "new\n"


@pytest.mark.requirement("snapshots.listed")
def test_task_undo_lists_snapshots_and_an_unknown_one_names_the_list(desk: Desk) -> None:
    task = desk.new("listed")
    Path(task["worktree"], "new").write_text("x", encoding="utf-8")
    desk.ok("task", "undo", "listed")

    listed = [each["ref"] for each in desk.json("task", "undo", "listed", "--list")["snapshots"]]
    lines = desk.ok("task", "undo", "listed", "--list").splitlines()
    refused = desk.run("task", "undo", "listed", "--to", "bogus")

    assert [line.split()[0] for line in lines] == listed
    assert len(listed) == 3
    assert refused.returncode == 1
    assert f"`symposium task undo {task['id'][:8]} --list`" in refused.stderr
    assert not Path(task["worktree"], "new").exists()


@pytest.mark.requirement("tasks.landed")
def test_a_task_that_has_landed_says_so_until_there_is_something_new_in_it(desk: Desk) -> None:
    task = desk.new("lands", "--agent", "eliza")
    tree = Path(task["worktree"])
    until(lambda: desk.tasks()["lands"]["state"] == "idle")
    (tree / "a.txt").write_text("new\n")
    git(tree, "commit", "-qam", "new")
    before = desk.tasks()["lands"]
    desk.ok("task", "land", "lands")

    landed = desk.tasks()["lands"]
    assert (before["state"], before["landed"]) == ("idle", "")
    assert (landed["state"], landed["landed"]) == ("landed", git(tree, "rev-parse", "HEAD").strip())
    assert "+ lands" in desk.ok("task", "list")
    assert f"landed       {landed['landed'][:12]} at" in desk.ok("task", "show", "lands")
    assert [each["state"] for each in desk.json("up", "--dry-run")["tasks"]] == ["landed"]
    (tree / "b.txt").write_text("not committed")
    assert desk.tasks()["lands"]["state"] == "idle"
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "more")
    assert desk.tasks()["lands"]["state"] == "idle"
    desk.ok("task", "land", "lands")
    assert desk.tasks()["lands"]["state"] == "landed"


@pytest.mark.requirement("tasks.landed")
def test_what_has_landed_is_neither_ready_nor_finished_and_what_waits_comes_first(
    desk: Desk,
) -> None:
    task = desk.new("lands")
    (Path(task["worktree"]) / "a.txt").write_text("new\n")
    git(Path(task["worktree"]), "commit", "-qam", "new")
    finish = {"project_path": "", "taskspace_uuid": task["id"], "result": "done"}
    desk.ok("bus", "send", "finish_taskspace", json.dumps(finish))
    assert desk.tasks()["lands"]["state"] == "finished (unreviewed)"
    desk.ok("task", "land", "lands")
    assert desk.tasks()["lands"]["state"] == "landed"
    desk.kill_daemon()
    assert desk.tasks()["lands"]["state"] == "landed"

    desk.ok("task", "log", "lands", "--add", "Which one?", "--category", "question")
    assert desk.tasks()["lands"]["state"] == "waiting: question"


@pytest.mark.requirement("tasks.undo-tree")
def test_the_tree_is_kept_before_a_tool_can_run_and_undo_brings_it_back(
    desk: Desk, scripted: Spec
) -> None:
    task = desk.new("destroys", "--agent", scripted("prompt=ask:edit"))
    tree = Path(task["worktree"])
    (item,) = until(lambda: desk.json("inbox"))
    snapshots = desk.json("task", "show", "destroys")["snapshots"]
    # What is written after the question is kept when the turn is over.
    (tree / "late.txt").write_text("late")
    desk.ok("inbox", "answer", item["id"], "y")

    assert [each["reason"] for each in snapshots] == ["made"], "nothing had changed since"
    until(lambda: len(desk.json("task", "show", "destroys")["snapshots"]) > 1)
    (tree / "a.txt").unlink()
    (tree / "late.txt").unlink()
    desk.ok("task", "undo", "destroys")
    assert (tree / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (tree / "late.txt").read_text() == "late"


@pytest.mark.requirement("tasks.reboot")
def test_after_everything_was_killed_each_task_is_there_and_can_go_on(desk: Desk) -> None:
    task = desk.new("goes on", "--agent", "eliza")
    desk.ok("task", "log", "goes on", "--add", "Which one?", "--category", "question")
    keeper = desk.keeper(task["id"])
    desk.kill_daemon()
    os.kill(keeper, signal.SIGKILL)

    listed = until(lambda: (t := desk.tasks()["goes on"])["session"] == "lost" and t)
    assert listed["waiting"] == 1
    assert desk.json("inbox")[0]["text"] == "Which one?"
    desk.ok("task", "resume", "goes on")
    assert desk.tasks()["goes on"]["session"] == "running"


@pytest.mark.requirement("tasks.setup-asks-once")
def test_what_set_up_files_ask_for_is_shown_and_done_only_when_trusted(desk: Desk) -> None:
    (desk.clone / ".symposium").mkdir()
    recipe = desk.clone / ".symposium" / "workspace.toml"
    recipe.write_text('setup = ["touch was-run"]\n')
    git(desk.clone, "add", ".")
    git(desk.clone, "commit", "-qm", "set-up")

    first = desk.new("first")
    assert not (Path(first["worktree"]) / "was-run").exists()
    (item,) = desk.json("inbox")
    assert (item["kind"], "setup: touch was-run" in item["text"]) == ("trust", True)

    desk.ok("inbox", "answer", item["id"], "trust")
    assert (Path(first["worktree"]) / "was-run").exists()
    second = desk.new("second")
    assert (Path(second["worktree"]) / "was-run").exists()

    recipe.write_text('setup = ["touch was-run-too"]\n')
    git(desk.clone, "commit", "-qam", "changed")
    third = desk.new("third")
    assert not (Path(third["worktree"]) / "was-run-too").exists()


@pytest.mark.requirement("taskspaces.set-up-guesses")
def test_what_lock_files_suggest_is_shown_until_a_file_says_what_to_do(desk: Desk) -> None:
    (desk.clone / "package-lock.json").write_text("{}")
    git(desk.clone, "add", ".")
    git(desk.clone, "commit", "-qm", "locked")
    task = desk.new("locked", "--agent", "none")
    assert "npm ci (package-lock.json)" in desk.ok("task", "show", task["id"])
    assert not (Path(task["worktree"]) / "node_modules").exists()
    folder = Path(task["worktree"]) / ".symposium"
    folder.mkdir()
    (folder / "workspace.toml").write_text('setup = ["true"]\n')
    shown = json.loads(desk.ok("task", "show", task["id"], "--json"))
    assert (shown["guesses"], len(shown["recipe"])) == ([], 1)
    assert shown["recipe"][0].endswith("workspace.toml  setup: true")


@pytest.mark.requirement("tasks.find")
def test_a_name_means_the_task_that_lives_and_a_branch_is_a_name_too(desk: Desk) -> None:
    gone = desk.new("the same", "--agent", "none")
    desk.ok("task", "rm", "the same")
    here = desk.new("the same", "--agent", "none")
    for name in ("the same", here["branch"]):
        shown = json.loads(desk.ok("task", "show", name, "--json"))
        assert shown["taskspace"]["id"] == here["id"]
    assert gone["id"][:8] in desk.ok("task", "undo", gone["id"])
    several = desk.run("task", "show", "the same")
    assert several.returncode == 4
    assert here["id"][:8] in several.stderr
    assert "several tasks match" in several.stderr


@pytest.mark.requirement("tasks.look")
def test_a_task_can_be_opened_compared_and_spoken_to(desk: Desk, tmp_path: Path) -> None:
    task = desk.new("look", "--agent", "eliza")
    tree = Path(task["worktree"])
    (tree / "a.txt").write_text("one\n2\nthree\n")
    (tree / "naïve new.txt").write_text("brand new\n")

    assert desk.ok("task", "open", "look") == f"{tree}\n"
    editor = shlex.join(["touch", str(tmp_path / "opened")])
    desk.ok("task", "open", "look", "--editor", editor)
    assert (tmp_path / "opened").exists()
    shown = desk.run("task", "diff", "look")
    assert "-two\n+2\n" in shown.stdout
    assert '+++ "b/na\\303\\257ve new.txt"' in shown.stdout or "+++ b/naïve new.txt" in shown.stdout
    assert "+brand new\n" in shown.stdout
    assert "1 file changed" in desk.ok("task", "diff", "look", "--stat")
    desk.ok("task", "say", "look", "Hello there")
    events = tmp_path / "home" / "sessions" / task["id"] / "events.jsonl"
    until(lambda: "Hello there" in events.read_text())
    missing = desk.run("task", "open", "look", "--editor", "no-such-editor")
    assert (missing.returncode, "no-such-editor" in missing.stderr) == (4, True)
    assert "Nothing to remove" in desk.run("task", "gc", "--project", str(desk.clone)).stderr


@pytest.mark.requirement("tasks.land-nothing")
def test_what_has_nothing_to_land_is_told_so_and_is_not_called_landed(desk: Desk) -> None:
    task = desk.new("empty", "--agent", "none")
    told = desk.ok("task", "land", "empty")
    assert told.startswith("empty has nothing to land: main has all of it\n")
    assert f"symposium task rm {task['id'][:8]}" in told
    (Path(task["worktree"]) / "a.txt").write_text("changed\n")
    git(Path(task["worktree"]), "commit", "-qam", "own")
    assert desk.ok("task", "land", "empty").startswith("empty has landed on main\n")
    assert "nothing to land" in desk.ok("task", "land", "empty")
    assert json.loads(desk.ok("task", "show", "empty", "--json"))["taskspace"]["landed"]


@pytest.mark.requirement("tasks.gc")
def test_nothing_young_is_cleared_away_and_a_clone_that_moved_hinders_nobody(desk: Desk) -> None:
    young = desk.new("young", "--agent", "none")
    desk.ok("task", "rm", young["id"])
    assert "Nothing to remove" in desk.run("task", "gc").stderr
    assert "Nothing to remove" in desk.run("task", "gc", "--apply").stderr
    stuck = desk.new("stuck", "--agent", "none")
    desk.clone.rename(desk.clone.with_name("moved"))
    told = desk.run("task", "gc", "--apply", "--project", "/")
    assert told.returncode == 0, told.stderr
    assert "Nothing to remove" in told.stderr, "its snapshots are not in the clone"
    land = desk.run("task", "land", stuck["id"])
    assert "move it back" in land.stderr


@pytest.mark.requirement("tasks.adopt")
def test_a_worktree_that_is_there_becomes_a_task_and_stays_as_it_is(
    desk: Desk, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    git(desk.clone, "worktree", "add", "-q", "-b", "my-branch", str(mine))
    (mine / "new.txt").write_text("mine")

    desk.ok("task", "adopt", str(mine), "--name", "my own")
    again = desk.run("task", "adopt", str(mine))
    nothing = desk.run("task", "adopt", str(tmp_path))

    tasks = desk.tasks()
    assert list(tasks) == ["my own"]
    assert (tasks["my own"]["branch"], tasks["my own"]["worktree"]) == ("my-branch", str(mine))
    assert git(mine, "status", "--porcelain") == "?? new.txt\n"
    assert "is a task already" in again.stderr
    assert (again.returncode, nothing.returncode) == (2, 4)
