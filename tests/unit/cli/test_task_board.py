"""The board of `symposium task watch`."""

import io
import sys

import pytest
from msgspec.structs import replace

from symposium.bus.messages.announcements import InboxChanged, TaskspaceChanged
from symposium.bus.messages.tasks import InboxItem, SettledItem, TaskLog, TaskView
from symposium.cli.task_board import ENTER, LEAVE, Board, FullScreen, Group, columns

TASK = TaskView(
    id="00000000-0000-4000-8000-000000000000",
    name="fix login",
    description="",
    project="/p",
    worktree="/p.tasks/a",
    branch="symposium/fix-login",
    base="refs/heads/main",
    standing="ready",
    state="working",
    created_at="2026-01-01T10:00:00Z",
    activated_at="2026-01-01T10:00:00Z",
)


def task(number: int, state: str, name: str = "", at: str = "10:00", reason: str = "") -> TaskView:
    return replace(
        TASK,
        id=f"{number:08}-0000-4000-8000-000000000000",
        name=name or f"task {number}",
        state=state,
        reason=reason,
        last=TaskLog(number, f"2026-01-01T{at}:00Z", "info", f"line of {number}"),
    )


def item(number: int, of: int, text: str, kind: str = "question") -> InboxItem:
    whose = task(of, "working")
    return InboxItem(f"question:{number}", kind, whose.id, whose.name, "2026-01-01T12:00:00Z", text)


def names(board: Board, width: int = 200, height: int | None = None) -> list[str]:
    """Headings, and the number of each task below."""
    lines = board.lines(width, height)
    return [each.text if each.is_heading else each.text.split()[2] for each in lines]


@pytest.fixture
def board() -> Board:
    made = Board()
    made.start(
        [
            task(1, "working", at="10:00"),
            task(2, "idle"),
            task(3, "landed"),
            task(4, "setup failed", reason="no module named x"),
            task(5, "waiting: approval", at="09:00"),
            task(6, "working", at="11:00"),
            task(7, "agent ended", reason="it crashed"),
            task(8, "agent ended"),
            task(9, "no answer since 10:00"),
            replace(task(10, "archived"), archived_at="2026-01-02T00:00:00Z"),
        ],
        [item(1, 2, "which one?"), item(9, 7, "its agent has ended", "failed")],
    )
    return made


@pytest.mark.requirement("tasks.watch")
def test_board_groups_tasks_and_puts_the_newest_reason_first(board: Board) -> None:
    assert names(board) == [
        *("needs you (2)", "2", "5"),
        *("failed (3)", "4", "7", "9"),
        *("working (2)", "6", "1"),
        *("idle (1)", "8"),
        *("landed (1)", "3"),
    ]
    texts = {line.text.split()[2]: line.text for line in board.lines(200) if not line.is_heading}
    assert texts["2"].endswith("which one?")
    assert texts["4"].endswith("no module named x")
    assert texts["1"].endswith("line of 1")


@pytest.mark.requirement("tasks.watch")
def test_board_follows_announcements(board: Board) -> None:
    later = "2026-01-01T13:00:00Z"
    settled = (SettledItem("question:1", "me", later, "seen"),)
    board.inbox_changed(InboxChanged(added=(item(2, 1, "and now?"),), settled=settled, waiting=1))
    board.task_changed(TaskspaceChanged(taskspace=task(8, "working"), cause="turn started"), later)
    archived = replace(task(3, "archived"), archived_at=later)
    board.task_changed(TaskspaceChanged(taskspace=archived, cause="changed"), later)
    board.task_gone(task(4, "").id)

    assert names(board) == [
        *("needs you (2)", "1", "5"),
        *("failed (2)", "7", "9"),
        *("working (2)", "8", "6"),
        *("idle (1)", "2"),
    ]


@pytest.mark.requirement("tasks.watch")
@pytest.mark.parametrize("width", [20, 40, 79, 120])
def test_no_line_with_wide_characters_exceeds_the_terminal(board: Board, width: int) -> None:
    wide = "\u6f22\u5b57" * 40
    board.task_changed(TaskspaceChanged(taskspace=task(1, "working", wide), cause="x"), "")
    board.inbox_changed(InboxChanged(added=(item(3, 1, wide + "\x1b[31m\nmore"),), waiting=1))
    lines = board.lines(width)

    assert columns("a\u6f22e\u0301") == 4
    assert all(columns(each.text) <= width for each in lines)
    assert (width < 60) or any("whi" in each.text for each in lines)
    assert not any("\x1b" in each.text or "\n" in each.text for each in lines)


@pytest.mark.requirement("tasks.watch")
def test_lines_that_do_not_fit_are_counted(board: Board) -> None:
    lines = board.lines(200, 6)

    assert len(lines) == 6
    assert lines[-1].text == "… 6 more; enlarge the window"
    assert [each.group for each in lines[:3]] == [Group.NEEDS_YOU] * 3


@pytest.mark.requirement("tasks.watch")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_screen_is_drawn_only_on_changes_and_restored(
    no_color: str, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    with FullScreen() as screen:
        screen.show(board, [])
        once = out.getvalue()
        screen.show(board, [])
        again = out.getvalue()
        board.task_gone(task(1, "").id)
        screen.show(board, [])

    assert once == again != out.getvalue()
    assert once.startswith(ENTER)
    assert out.getvalue().endswith(LEAVE)
    assert ("\x1b[33m" in once) is not bool(no_color)


@pytest.mark.requirement("tasks.watch")
@pytest.mark.parametrize(
    ("state", "reason", "group"),
    [
        ("finished (unreviewed)", "", Group.NEEDS_YOU),
        ("waiting: approval", "", Group.NEEDS_YOU),
        ("paused: budget", "", Group.NEEDS_YOU),
        ("setup failed", "", Group.FAILED),
        ("lost contact", "", Group.FAILED),
        ("missing", "", Group.FAILED),
        ("no answer since 10:00", "", Group.FAILED),
        ("agent ended", "it crashed", Group.FAILED),
        ("agent ended", "", Group.IDLE),
        ("setting up", "", Group.WORKING),
        ("working", "", Group.WORKING),
        ("deleting", "", Group.WORKING),
        ("landed", "", Group.LANDED),
        ("idle", "", Group.IDLE),
        ("new", "", Group.IDLE),
    ],
)
def test_each_state_has_its_group(state: str, reason: str, group: Group) -> None:
    assert Board().group_of(task(1, state, reason=reason)) is group


@pytest.mark.requirement("tasks.watch")
def test_last_row_counts_the_rest_when_lines_do_not_fit() -> None:
    board = Board()
    board.start([task(1, "working"), task(2, "working"), task(3, "idle")], [])

    assert board.lines(200, 5) == board.lines(200)
    assert [each.text for each in board.lines(200, 4)][-1] == "… 1 more; enlarge the window"
    assert [each.text for each in board.lines(200, 3)][-1] == "… 2 more; enlarge the window"
