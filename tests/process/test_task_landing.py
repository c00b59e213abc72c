"""Landings with conflicts that the agent resolves: a real daemon, git, and scripted agents."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.task_cli import TIMEOUT, TaskCli, git, until

Start: TypeAlias = Callable[..., subprocess.Popen[str]]

AGENT = Path(__file__).parent / "agents" / "resolving_agent.py"

REBASE = """
git rebase "$ONTO" && exit
printf 'one\\nboth\\nthree\\n' > a.txt
git add -A
git rebase --continue
"""

HALF = 'git rebase "$ONTO"'


@dataclass(frozen=True)
class Conflict:
    """Task `second` that conflicts with main, since another one has landed."""

    task_cli: TaskCli
    task: dict[str, Any]
    script: Path

    @property
    def tree(self) -> Path:
        return Path(self.task["worktree"])

    @property
    def main(self) -> str:
        return git(self.task_cli.clone, "show", "main:a.txt")

    @property
    def prompts(self) -> str:
        return self.script.with_name("script.prompts").read_text()

    def resolve(self) -> dict[str, Any]:
        """Let the agent resolve it; return the item in the inbox."""
        landing = self.task_cli.json("task", "land", "second", "--resolve", code=10)
        assert landing["outcome"] == "resolving"
        return self.item()

    def item(self, *, other_than: str = "") -> dict[str, Any]:
        """Return the only item in the inbox."""
        (item,) = until(lambda: [e for e in self.task_cli.json("inbox") if e["id"] != other_than])
        return item

    def settle(self, item: dict[str, Any], answer: str) -> str:
        return self.task_cli.ok("inbox", "answer", item["id"], answer)


@pytest.fixture
def conflict(task_cli: TaskCli, tmp_path: Path) -> Conflict:
    script = tmp_path / "script"
    agent = shlex.join([sys.executable, str(AGENT), str(script)])
    first = Path(task_cli.new("first")["worktree"])
    task = task_cli.new("second", "Begin", "--agent", agent)
    until(lambda: task_cli.tasks()["second"]["state"] == "idle")
    git(task_cli.clone, "checkout", "-q", "--detach")
    for name, tree in (("first", first), ("second", Path(task["worktree"]))):
        (tree / "a.txt").write_text(f"one\n{name}\nthree\n")
        git(tree, "commit", "-qam", name)
    task_cli.ok("task", "land", "first")
    return Conflict(task_cli, task, script)


@pytest.mark.requirement("landing.resolve", "landing.approval")
def test_resolved_conflict_lands_once_it_is_approved(
    conflict: Conflict,
) -> None:
    conflict.script.write_text(REBASE)
    base = git(conflict.task_cli.clone, "rev-parse", "main").strip()
    shown = conflict.task_cli.run("task", "land", "second", "--resolve")
    item = conflict.item()
    before = conflict.main
    tip = git(conflict.tree, "rev-parse", "HEAD").strip()
    unseen = conflict.task_cli.run("inbox", "answer", "second", "land")
    messages = conflict.settle(item, "land")

    assert shown.returncode == 10
    assert "a.txt:2-2" in shown.stdout
    assert "the agent of second is resolving the conflicts" in shown.stdout
    assert "nothing lands until you approve it in `symposium inbox`" in shown.stdout
    assert f"in conflict with main (commit {base[:12]})" in conflict.prompts
    assert "- a.txt:2-2 (content, base: 2-2)\n" in conflict.prompts
    assert f"1. Run `git rebase {base[:12]}`." in conflict.prompts
    assert (item["kind"], item["taskspace"]) == ("landing", conflict.task["id"])
    assert item["text"] == "is ready to land on main: 1 file, the project has no checks"
    assert [each["id"] for each in item["choices"]] == ["land", "later", "reject"]
    assert item["call"]["paths"] == ["a.txt"]
    assert item["call"]["lines"][-4:] == [" one", "-first", "+both", " three"]
    assert item["call"]["command"].endswith(f"diff {base[:12]} {tip[:12]}")
    assert before == "one\nfirst\nthree\n"
    assert "this terminal has not shown" in unseen.stderr
    assert messages.startswith("second has landed on main")
    assert conflict.main == "one\nboth\nthree\n"
    assert conflict.task_cli.json("inbox") == []
    assert conflict.task_cli.tasks()["second"]["state"] == "landed"


@pytest.mark.requirement("landing.resolve")
def test_landing_without_conflicts_lands_at_once_without_the_agent(conflict: Conflict) -> None:
    git(conflict.tree, "reset", "-q", "--hard", "HEAD~1")
    (conflict.tree / "b.txt").write_text("new\n")
    git(conflict.tree, "add", "-A")
    git(conflict.tree, "commit", "-qm", "no conflict")

    landing = conflict.task_cli.json("task", "land", "second", "--resolve")

    assert landing["outcome"] == "landed"
    assert "git rebase" not in conflict.prompts


@pytest.mark.requirement("landing.failed")
def test_unresolved_conflict_waits_with_its_reason_and_can_be_tried_again(
    conflict: Conflict,
) -> None:
    conflict.script.write_text("true")
    still = conflict.resolve()
    conflict.script.write_text(HALF)
    conflict.settle(still, "retry")
    half = conflict.item(other_than=still["id"])
    git(conflict.tree, "rebase", "--abort")
    conflict.script.write_text(REBASE)
    conflict.settle(half, "retry")
    ready = conflict.item(other_than=half["id"])

    assert [each["id"] for each in still["choices"]] == ["retry", "leave"]
    assert still["text"] == "still conflicts with main: a.txt:2-2 (content, base: 2-2)"
    assert "rebase" in half["text"]
    assert f"The last attempt did not succeed: {still['text']}." in conflict.prompts
    assert ready["text"].startswith("is ready to land on main")
    assert conflict.main == "one\nfirst\nthree\n"


@pytest.mark.requirement("landing.checks")
def test_failed_check_waits_with_its_output_and_nothing_lands(
    conflict: Conflict, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = "check = ['grep both a.txt || { echo no both; exit 3; }']\n"
    recipe = conflict.task_cli.clone / ".symposium" / "workspace.toml"
    git(conflict.task_cli.clone, "checkout", "-q", "main")
    recipe.parent.mkdir()
    recipe.write_text(check)
    git(conflict.task_cli.clone, "add", "-A")
    git(conflict.task_cli.clone, "commit", "-qm", "check")
    git(conflict.task_cli.clone, "checkout", "-q", "--detach")
    monkeypatch.chdir(conflict.task_cli.clone)
    conflict.task_cli.ok("trust", "grant", "--yes")
    conflict.script.write_text(REBASE.replace("both", "neither"))
    failed = conflict.resolve()
    conflict.script.write_text("printf 'one\\nboth\\nthree\\n' > a.txt; git commit -qam both")
    conflict.settle(failed, "retry")
    ready = conflict.item(other_than=failed["id"])

    assert failed["text"].startswith("a check fails: `grep both a.txt")
    assert failed["text"].endswith("failed with exit code 3")
    assert failed["call"]["lines"][-1] == "no both"
    assert "   - `grep both a.txt" in conflict.prompts
    assert ready["text"] == "is ready to land on main: 1 file, checks passed"
    assert conflict.main == "one\nfirst\nthree\n"


@pytest.mark.requirement("landing.approval")
@pytest.mark.parametrize("moved", ["branch", "base"])
def test_approval_is_refused_when_the_branch_or_its_base_has_moved(
    moved: str, conflict: Conflict
) -> None:
    conflict.script.write_text(REBASE)
    item = conflict.resolve()
    if moved == "branch":
        git(conflict.tree, "commit", "-qm", "unseen", "--allow-empty")
    else:
        git(conflict.task_cli.clone, "checkout", "-q", "main")
        git(conflict.task_cli.clone, "commit", "-qm", "unseen", "--allow-empty")
        git(conflict.task_cli.clone, "checkout", "-q", "--detach")
    refused = conflict.task_cli.run("inbox", "answer", item["id"], "land")
    after = conflict.main
    again = conflict.item(other_than=item["id"])
    late = conflict.task_cli.run("inbox", "answer", item["id"], "land")
    conflict.settle(again, "land")

    assert refused.returncode == 1
    assert "second or its base has changed, so nothing was landed" in refused.stderr
    assert after == "one\nfirst\nthree\n"
    assert again["text"] == item["text"]
    assert late.returncode != 0
    assert conflict.main == "one\nboth\nthree\n"


@pytest.mark.requirement("landing.restart")
def test_landing_continues_after_a_kill_of_the_daemon(conflict: Conflict, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    conflict.script.write_text(f"while [ ! -e {gate} ]; do sleep 0.05; done\n{REBASE}")
    conflict.task_cli.json("task", "land", "second", "--resolve", code=10)
    conflict.task_cli.kill_daemon()
    while_it_works = conflict.task_cli.json("inbox")
    again = conflict.task_cli.json("task", "land", "second", "--resolve", code=10)
    gate.touch()
    item = conflict.item()
    conflict.task_cli.kill_daemon()
    after_restart = conflict.task_cli.json("inbox")
    conflict.settle(item, "land")

    assert while_it_works == []
    assert any("already resolving the conflicts" in each for each in again["lines"])
    assert conflict.prompts.count("git rebase") == 1
    assert after_restart == [item]
    assert conflict.main == "one\nboth\nthree\n"


@pytest.mark.requirement("landing.canceled")
@pytest.mark.parametrize("way", ["reject", "remove", "land"])
def test_landing_ends_when_it_is_rejected_or_its_task_is_removed_or_landed(
    way: str, conflict: Conflict
) -> None:
    conflict.script.write_text(REBASE)
    item = conflict.resolve()
    match way:
        case "reject":
            conflict.settle(item, "reject")
        case "remove":
            conflict.task_cli.ok("task", "rm", "second", "--discard-work")
        case _:
            conflict.task_cli.ok("task", "land", "second")
    waiting = conflict.task_cli.json("inbox")
    if way == "remove":
        conflict.task_cli.ok("task", "undo", "second")
    conflict.task_cli.kill_daemon()
    # A restored task still has work to review.
    after_restart = [each for each in conflict.task_cli.json("inbox") if each["kind"] != "done"]
    late = conflict.task_cli.run("inbox", "answer", item["id"], "land")

    assert (waiting, after_restart) == ([], [])
    assert late.returncode != 0
    assert conflict.main == ("one\nboth\nthree\n" if way == "land" else "one\nfirst\nthree\n")


@pytest.mark.requirement("landing.approval")
def test_postponed_landing_waits_and_can_be_landed(conflict: Conflict) -> None:
    conflict.script.write_text(REBASE)
    item = conflict.resolve()
    conflict.settle(item, "later")
    postponed = conflict.item()
    conflict.settle(item, "land")

    assert postponed["id"] == item["id"]
    assert postponed["put_off_at"]
    assert conflict.main == "one\nboth\nthree\n"


@pytest.mark.requirement("landing.agent")
def test_exited_agent_is_restarted_to_resolve(conflict: Conflict) -> None:
    conflict.script.write_text(REBASE)
    conflict.task_cli.ok("task", "stop", "second")
    item = conflict.resolve()

    assert item["text"].startswith("is ready to land on main")


@pytest.mark.requirement("landing.agent")
def test_task_without_an_agent_is_refused_with_a_fix(conflict: Conflict) -> None:
    tree = Path(conflict.task_cli.new("third")["worktree"])
    git(tree, "reset", "-q", "--hard", "main~1")
    (tree / "a.txt").write_text("one\nthird\nthree\n")
    git(tree, "commit", "-qam", "third")

    refused = conflict.task_cli.run("task", "land", "third", "--resolve")

    assert refused.returncode == 1
    assert "'third' has no agent" in refused.stderr
    assert "--agent AGENT" in refused.stderr
    assert conflict.task_cli.json("inbox") == []


@pytest.mark.requirement("landing.wait")
@pytest.mark.parametrize(("answer", "code"), [("land", 0), ("reject", 1)])
def test_wait_for_a_landing_ends_with_the_decision(
    answer: str, code: int, conflict: Conflict, start: Start
) -> None:
    conflict.script.write_text(REBASE)
    waiting = start("task", "land", "second", "--resolve", "--wait")
    conflict.settle(conflict.item(), answer)
    out, err = waiting.communicate(timeout=TIMEOUT)

    assert waiting.returncode == code, err
    assert "nothing lands until you approve it" in out
    assert ("landed as" if answer == "land" else "was not landed") in err
