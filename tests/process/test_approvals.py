"""Permission requests of task agents in the inbox, and their answers."""

import json
import subprocess
from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.support.task_cli import TaskCli, until

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Spec: TypeAlias = Callable[..., str]


@pytest.mark.requirement("approvals.inbox", "approvals.typed-ids")
def test_inbox_shows_the_action_and_its_numbers_can_be_typed(
    task_cli: TaskCli, scripted: Spec
) -> None:
    new = "".join(f"line {number}\n" for number in range(20))
    change = {"type": "diff", "path": "/b.txt", "oldText": "old\n", "newText": new}
    edit = {"title": "/b.txt", "kind": "edit", "content": [change]}
    run = {"title": "Bash", "kind": "execute", "rawInput": {"command": "exit 3"}}
    task_cli.new("edits", "--agent", scripted(f"prompt=ask:{json.dumps(edit)}"))
    until(lambda: len(task_cli.json("inbox")) == 1)
    task_cli.new("runs", "--agent", scripted(f"prompt=ask:{json.dumps(run)}"))
    waiting = until(lambda: len(found := task_cli.json("inbox")) == 2 and found)
    items = {each["name"]: each for each in waiting}

    assert items["edits"]["text"] == "wants to edit /b.txt (+20 -1)"
    assert items["edits"]["call"]["kind"] == "edit"
    assert items["edits"]["call"]["diff"].startswith("--- /b.txt\n+++ /b.txt\n-old\n+line 0\n")
    assert items["runs"]["text"] == "wants to run: exit 3"
    assert items["runs"]["call"]["command"] == "exit 3"

    listed = task_cli.run("inbox").stdout
    first, second = task_cli.json("inbox")
    assert f"1  permission:{first['taskspace'][:8]}:1\n" in listed
    assert "  edits: wants to edit /b.txt (+20 -1)\n    -old\n    +line 0\n" in listed
    assert "line 19" not in listed
    assert "    +line 19" in task_cli.ok("inbox", "show", "edits")

    # A number keeps its meaning, even after the list has changed.
    task_cli.ok("inbox", "answer", "1", "allow")
    task_cli.ok("inbox", "answer", "2", "reject")
    late = task_cli.run("inbox", "answer", "1", "y")
    assert "already answered by" in late.stderr
    chosen = {"edits": "y", "runs": "n"}
    for each in (first, second):
        until(lambda id_=each["taskspace"]: task_cli.said(id_))
        assert f'"optionId": "{chosen[each["name"]]}"' in task_cli.said(each["taskspace"])


@pytest.mark.requirement("approvals.wish")
def test_audit_log_records_allowed_and_denied_actions(symposium: Run, scripted: Spec) -> None:
    run = {"title": "Bash", "kind": "execute", "rawInput": {"command": "exit 3"}}
    symposium("prompt", "--deny", "--agent", scripted(f"prompt=ask:{json.dumps(run)}"), "go")

    assert "run: exit 3 → n by rule:deny-all" in symposium("audit", "list").stdout
