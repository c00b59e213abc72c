"""Twelve agents at once (users B-14): what a person at the command line notices of it."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.support.task_desk import Desk

from bench.twelve import deaf_watcher
from symposium.daemon.connection import CLIENT_BACKLOG

Spec: TypeAlias = Callable[..., str]


@pytest.mark.requirement("tasks.twelve-answers")
@pytest.mark.timeout(240)
def test_while_twelve_stream_and_a_watcher_reads_nothing_people_are_answered(
    desk: Desk, playing: Spec
) -> None:
    desk.ok("daemon", "start")
    agent = playing("streaming_agent.py", "50", "5")
    rounds = 0

    with deaf_watcher(desk.home / "run" / "bus.sock"):
        tasks = [desk.new(f"task {number}", "--agent", agent) for number in range(12)]
        while not all("over" in desk.said(each["id"])[-9:] for each in tasks):
            rounds += 1
            asks = f"Which one, {rounds}?"
            desk.ok("task", "log", "task 0", "--add", asks, "--category", "question")
            (item,) = [each for each in desk.json("inbox") if each["kind"] == "question"]
            assert item["text"] == asks
            desk.ok("inbox", "answer", item["id"], "seen")
            assert len(desk.tasks()) == len(tasks)
            assert [each for each in desk.json("inbox") if each["kind"] == "question"] == []
        status = desk.json("daemon", "status")

    assert rounds > 1
    assert status["backlog"] < CLIENT_BACKLOG
