"""Exit codes of task commands that fail."""

from pathlib import Path

import pytest
from tests.support.task_cli import TaskCli, git

pytestmark = pytest.mark.timeout(240)


@pytest.mark.requirement("front.task-exit-codes")
def test_invalid_argument_is_2_and_missing_task_is_4(task_cli: TaskCli, tmp_path: Path) -> None:
    clone = ("--project", str(task_cli.clone))
    (plain := tmp_path / "plain").mkdir()
    made = task_cli.new("there already")
    wrong = {
        ("task", "new", "", *clone): "the name",
        ("task", "new", "x", "--budget", "3", *clone): "'3' is not a budget",
        ("task", "new", "x", "--base", "-x", *clone): "'-x' is not a branch",
        ("task", "rename", made["id"], " "): "the name",
    }
    missing = {
        ("task", "new", "x", "--base", "nosuchbranch", *clone): "'nosuchbranch' does not exist",
        ("task", "new", "x", "--project", "/nonexistent"): "/nonexistent",
        ("task", "new", "x", "--project", str(plain)): "is not in a git repository",
        ("task", "show", "nosuch"): "nosuch",
        ("inbox", "answer", "nosuch:1", "yes"): "nosuch:1",
    }

    for code, cases in ((2, wrong), (4, missing)):
        for words, says in cases.items():
            done = task_cli.run(*words)
            assert (done.returncode, says in done.stderr) == (code, True), (words, done.stderr)


@pytest.mark.requirement("front.task-exit-codes")
def test_answered_item_cannot_be_answered_again(task_cli: TaskCli) -> None:
    (task_cli.clone / ".symposium").mkdir()
    (task_cli.clone / ".symposium" / "workspace.toml").write_text('setup = ["touch x"]\n')
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    task_cli.new("asks")
    (item,) = task_cli.json("inbox")

    refused = task_cli.run("inbox", "answer", item["id"], "no-such-choice")
    answered = task_cli.run("inbox", "answer", item["id"], item["choices"][0]["id"])
    again = task_cli.run("inbox", "answer", item["id"], item["choices"][0]["id"])

    assert (refused.returncode, answered.returncode, again.returncode) == (2, 0, 4)
