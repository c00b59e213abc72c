"""What waits for a person, and what becomes of it."""

import json
import subprocess
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from tests.support.task_desk import PATIENCE, Desk, until

Start: TypeAlias = Callable[..., subprocess.Popen[str]]


@pytest.mark.requirement("tasks.asks-again-to-delete")
def test_each_time_that_an_agent_asks_to_delete_its_task_it_is_asked_and_answered(
    desk: Desk, start: Start
) -> None:
    task = desk.new("asks again")
    payload = json.dumps({"project_path": "", "taskspace_uuid": task["id"]})
    items: list[dict[str, Any]] = []
    for answer, heard in (("keep", "cancelled by user"), ("archive", "{}")):
        asking = start("bus", "send", "delete_taskspace", payload, "--json")
        items += until(lambda: desk.json("inbox"))
        desk.ok("inbox", "answer", items[-1]["id"], answer)
        out, err = asking.communicate(timeout=PATIENCE)
        assert heard in out + err
    late = desk.run("inbox", "answer", items[0]["id"], "archive")

    assert items[0]["id"] != items[1]["id"]
    assert "already answered by" in late.stderr
    assert desk.tasks()["asks again"]["state"] == "archived"
