"""Twelve agents at once (users B-14): what a person at the command line notices of it."""

import json
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.task_desk import Desk

from symposium.daemon.pressure import CLIENT_BACKLOG

Spec: TypeAlias = Callable[..., str]


@contextmanager
def deaf_watcher(path: Path) -> Generator[None]:
    """One that asks to see all that is said on the bus, and reads none of it."""
    payload = {"protocol": 2, "role": "cli", "name": "deaf", "subscribes": ["*"]}
    sender = {"workingDirectory": "/"}
    hello = {"type": "hello", "id": "h", "sender": sender, "payload": payload}
    with socket.socket(socket.AF_UNIX) as watcher:
        watcher.connect(str(path))
        watcher.sendall(json.dumps(hello).encode() + b"\n")
        yield


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
