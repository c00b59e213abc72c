"""Trust in the inbox covers exactly the shown set-up."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.task_cli import TaskCli, git, until

RECIPE = ".cursor/worktrees.json"
HARMLESS = '{"setup-worktree": ["touch was-run"]}'
HARMFUL = '{"setup-worktree": ["touch was-run", "touch ../stolen"]}'


@pytest.fixture
def asking(task_cli: TaskCli) -> TaskCli:
    """Clone whose tasks need a set-up."""
    return with_recipe(task_cli, HARMLESS)


def with_recipe(task_cli: TaskCli, recipe: str) -> TaskCli:
    file = task_cli.clone / RECIPE
    file.parent.mkdir(exist_ok=True)
    file.write_text(recipe)
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    return task_cli


def trust_items(task_cli: TaskCli) -> list[dict[str, Any]]:
    return [item for item in task_cli.json("inbox") if item["kind"] == "trust"]


@pytest.mark.requirement("tasks.trust-shown")
@pytest.mark.parametrize("answer", ["trust", "without"])
def test_answer_to_a_changed_set_up_is_refused_with_a_fix(answer: str, asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "eliza")
    tree = Path(made["worktree"])
    (item,) = trust_items(asking)
    (tree / RECIPE).write_text(HARMFUL)
    refused = [
        asking.run("inbox", "answer", item["id"], answer),
        asking.run("inbox", "answer", "task", answer),
    ]
    (changed,) = trust_items(asking)

    assert [each.returncode for each in refused] == [1, 1]
    assert f"+ {RECIPE}  setup: touch ../stolen" in refused[0].stderr
    assert "touch was-run" not in refused[0].stderr
    assert "this terminal has not shown" in refused[1].stderr
    assert not (tree / "was-run").exists()
    assert not (tree.parent / "stolen").exists()
    assert asking.json("session", "list") == []
    assert changed["id"] != item["id"]


@pytest.mark.requirement("tasks.trust-shown")
def test_declined_set_up_is_asked_again_only_after_a_change(asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "none")
    (item,) = trust_items(asking)
    asking.ok("inbox", "answer", item["id"], "without")
    asking.kill_daemon()
    after = trust_items(asking)
    (Path(made["worktree"]) / RECIPE).write_text(HARMFUL)
    (changed,) = trust_items(asking)
    asking.ok("inbox", "answer", changed["id"], "trust")

    assert after == []
    assert changed["id"] != item["id"]
    assert (Path(made["worktree"]).parent / "stolen").exists()
    assert trust_items(asking) == []


@pytest.mark.requirement("tasks.trust-shown")
def test_retry_that_trusts_another_set_up_than_the_present_one_is_refused(asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "none")
    payload = {"taskspace_uuid": made["id"], "trusted": "0" * 64}

    refused = asking.run("bus", "send", "retry_taskspace", json.dumps(payload), "--json")

    assert refused.returncode != 0
    assert "have changed since you saw them" in refused.stdout + refused.stderr
    assert not (Path(made["worktree"]) / "was-run").exists()
    assert len(trust_items(asking)) == 1


@pytest.mark.requirement("tasks.trust-first")
@pytest.mark.parametrize("answer", ["trust", "without"])
def test_agent_starts_after_the_user_has_judged_the_set_up(answer: str, asking: TaskCli) -> None:
    words = ("--project", str(asking.clone), "--agent", "eliza")
    messages = asking.run("task", "new", "task", "Hello", *words)
    made = asking.tasks()["task"]
    asking.ok("task", "resume", "task")
    asking.ok("up")
    spoken = asking.run("task", "say", "task", "Are you there?")
    before = asking.json("session", "list")
    (item,) = trust_items(asking)
    asking.ok("inbox", "answer", item["id"], answer)
    until(lambda: asking.said(made["id"]))

    assert "waits for trust" in messages.stderr
    assert "starts after you decide on its setup files" in spoken.stderr
    assert (made["state"], before) == ("waiting: trust", [])
    assert (Path(made["worktree"]) / "was-run").exists() == (answer == "trust")
    assert asking.tasks()["task"]["state"] != "waiting: trust"


@pytest.mark.requirement("tasks.trust-whole")
@pytest.mark.parametrize("words", [("inbox",), ("inbox", "show", "task"), ("up",)])
def test_every_step_of_a_set_up_is_shown_on_a_line_with_its_file(
    words: tuple[str, ...], task_cli: TaskCli
) -> None:
    harmless = ", ".join(f'"echo {number}"' for number in range(40))
    hidden = f'"{"true; " * 60}touch at-the-end", "echo \\u001b[2K\\ntrust\\u202e\\u200b"'
    with_recipe(task_cli, f'{{"setup-worktree": [{harmless}, {hidden}]}}')
    (task_cli.clone / ".worktreeinclude").write_text("/etc/hostname\n")
    task_cli.new("task", "--agent", "none")
    shown = task_cli.run(*words).stdout
    lines = [line.strip() for line in shown.splitlines()]

    assert all(f"{RECIPE}  setup: echo {number}" in lines for number in range(40))
    assert ".worktreeinclude  copy: /etc/hostname" in lines
    assert "touch at-the-end" in "".join(lines)
    assert f"{RECIPE}  setup: echo ␛[2K␊trust<U+202E><U+200B>" in lines
    assert "…" not in shown


@pytest.mark.requirement("tasks.trust-shown")
def test_resume_with_trust_prints_the_trusted_files(asking: TaskCli) -> None:
    made = asking.new("task", "--agent", "none")
    done = asking.run("task", "resume", "task", "--trust")

    assert f"{RECIPE}  setup: touch was-run" in done.stderr
    assert (Path(made["worktree"]) / "was-run").exists()
