"""Output of `symposium up`."""

import pytest
from msgspec.structs import replace

from symposium.bus.messages.tasks import TaskView
from symposium.cli.commands.up import then_and_now

TASK = TaskView(
    id="6f1c2a77-0000-4000-8000-000000000000",
    name="fix login",
    description="",
    project="/p",
    worktree="/p.tasks/a",
    branch="symposium/fix-login",
    base="refs/heads/main",
    standing="ready",
    state="lost contact",
    created_at="",
    activated_at="",
)


@pytest.mark.requirement("tasks.up-deleted-meanwhile")
def test_up_reports_a_task_deleted_while_it_ran() -> None:
    assert then_and_now(TASK, None).endswith(
        "lost contact        6f1c2a77  (deleted in the meantime)"
    )
    assert then_and_now(TASK, replace(TASK, state="working")).endswith("(was: lost contact)")
    assert "(" not in then_and_now(TASK, TASK)
