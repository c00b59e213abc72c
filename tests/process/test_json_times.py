"""Times in `--json` output."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.task_cli import TaskCli, git

pytestmark = pytest.mark.timeout(240)


def is_now(time: Any) -> bool:
    """Whether a time is about now, and has a time zone."""
    assert isinstance(time, str)
    at = datetime.fromisoformat(time)
    assert at.tzinfo is not None
    return abs(datetime.now(UTC) - at) < timedelta(minutes=2)


@pytest.mark.requirement("front.json-times")
def test_times_have_a_time_zone(task_cli: TaskCli) -> None:
    (task_cli.clone / ".symposium").mkdir()
    (task_cli.clone / ".symposium" / "workspace.toml").write_text('setup = ["touch x"]\n')
    git(task_cli.clone, "add", ".")
    git(task_cli.clone, "commit", "-qm", "set-up")
    task_cli.new("one", "--agent", "none")
    (item,) = task_cli.json("inbox")
    task_cli.ok("inbox", "answer", item["id"], "trust")
    (Path(task_cli.json("task", "show", "one")["taskspace"]["worktree"]) / "a.txt").write_text(
        "changed"
    )

    (decision,) = task_cli.json("trust", "list")
    shown = task_cli.json("task", "show", "one")
    undone = task_cli.json("task", "undo", "one")

    assert is_now(task_cli.json("daemon", "status")["started"])
    assert is_now(item["at"])
    assert is_now(decision["when"])
    assert is_now(shown["taskspace"]["created_at"])
    assert all(is_now(each["at"]) for each in shown["snapshots"])
    assert is_now(undone["now"]["at"])
    assert is_now(undone["before"]["at"])
