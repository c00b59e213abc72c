"""Snapshots of a task, as `symposium task undo --list` prints them."""

import json

import pytest

from localio.text import second_of
from symposium.bus.messages.tasks import SnapshotView
from symposium.cli.tasks import show_snapshots

AT = 1_800_000_000.0


@pytest.mark.requirement("snapshots.listed")
def test_snapshots_are_printed_with_ref_time_and_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_snapshots([SnapshotView("refs/1", AT, "tool\ncall", "t", "c")], as_json=False)

    assert capsys.readouterr() == (f"refs/1  {second_of(AT)}  tool call\n", "")


@pytest.mark.requirement("snapshots.listed", "showing.local-time")
def test_snapshots_as_json_name_their_zone(capsys: pytest.CaptureFixture[str]) -> None:
    show_snapshots([SnapshotView("refs/1", AT, "tool call", "t", "c")], as_json=True)

    (found,) = json.loads(capsys.readouterr().out)["snapshots"]
    assert found.pop("at").startswith("2027-01-15T08:00:00")
    assert found == {"ref": "refs/1", "reason": "tool call", "tree": "t", "tip": "c"}


@pytest.mark.requirement("snapshots.listed")
def test_task_without_snapshots_says_so_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    show_snapshots([], as_json=False)

    assert capsys.readouterr() == ("", "no snapshots\n")
