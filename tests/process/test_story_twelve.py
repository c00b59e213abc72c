"""Twelve agents at once (users B-14), as the user at the command line sees them."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.support.task_cli import TaskCli

from bench.twelve import unread_watcher
from symposium.daemon.connection import CLIENT_BACKLOG

Spec: TypeAlias = Callable[..., str]


@pytest.mark.requirement("tasks.twelve-answers")
@pytest.mark.chaos
@pytest.mark.timeout(240)
def test_commands_answer_while_twelve_agents_stream_and_a_watcher_reads_nothing(
    task_cli: TaskCli, playing: Spec
) -> None:
    task_cli.ok("daemon", "start")
    agent = playing("streaming_agent.py", "50", "5")
    rounds = 0

    with unread_watcher(task_cli.home / "run" / "bus.sock"):
        tasks = [task_cli.new(f"task {number}", "--agent", agent) for number in range(12)]
        while not all("over" in task_cli.said(each["id"])[-9:] for each in tasks):
            rounds += 1
            asks = f"Which one, {rounds}?"
            task_cli.ok("task", "log", "task 0", "--add", asks, "--category", "question")
            (item,) = [each for each in task_cli.json("inbox") if each["kind"] == "question"]
            assert item["text"] == asks
            task_cli.ok("inbox", "answer", item["id"], "seen")
            assert len(task_cli.tasks()) == len(tasks)
            assert [each for each in task_cli.json("inbox") if each["kind"] == "question"] == []
        status = task_cli.json("daemon", "status")

    assert rounds > 1
    assert status["backlog"] < CLIENT_BACKLOG
