"""Times in what `--json` prints."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.task_desk import Desk, git

pytestmark = pytest.mark.timeout(240)


def is_now(time: Any) -> bool:
    """Whether that is a time of this minute or so, and says of which zone."""
    assert isinstance(time, str)
    at = datetime.fromisoformat(time)
    assert at.tzinfo is not None
    return abs(datetime.now(UTC) - at) < timedelta(minutes=2)


@pytest.mark.requirement("front.json-times")
def test_times_say_of_which_zone_they_are(desk: Desk) -> None:
    (desk.clone / ".symposium").mkdir()
    (desk.clone / ".symposium" / "workspace.toml").write_text('setup = ["touch x"]\n')
    git(desk.clone, "add", ".")
    git(desk.clone, "commit", "-qm", "set-up")
    desk.new("one", "--agent", "none")
    (item,) = desk.json("inbox")
    desk.ok("inbox", "answer", item["id"], "trust")
    (Path(desk.json("task", "show", "one")["taskspace"]["worktree"]) / "a.txt").write_text(
        "changed"
    )

    (decision,) = desk.json("trust", "list")
    shown = desk.json("task", "show", "one")
    undone = desk.json("task", "undo", "one")

    assert is_now(desk.json("daemon", "status")["started"])
    assert is_now(item["at"])
    assert is_now(decision["when"])
    assert is_now(shown["taskspace"]["created_at"])
    assert all(is_now(each["at"]) for each in shown["snapshots"])
    assert is_now(undone["now"]["at"])
    assert is_now(undone["before"]["at"])
