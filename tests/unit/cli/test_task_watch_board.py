"""The board of `symposium task watch`."""

import io
import json
import sys

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from localio.text import clock_of, second_of
from symposium.bus.messages.announcements import (
    InboxChanged,
    TaskLogged,
    TaskspaceChanged,
    TaskspaceGone,
)
from symposium.bus.messages.tasks import InboxItem, SettledItem, TaskLog, TaskView
from symposium.bus.protocol import Announcement
from symposium.cli.task_watch_board import (
    Board,
    BoardLines,
    FullScreen,
    Group,
    JsonLineStream,
    columns,
)

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


@pytest.fixture
def one_of_each() -> Board:
    """A task in each group; the first has two questions, the fourth no log."""
    made = Board()
    made.start(
        [
            replace(task(1, "waiting: approval"), reason="may I?"),
            task(
                2, "setup failed", "a name of more than twenty-eight letters", reason="no\nmodule"
            ),
            task(3, "working"),
            replace(task(4, "idle"), last=None, reason="of no group that shows one"),
            task(5, "landed"),
        ],
        [item(1, 1, "which\none?"), item(2, 1, "or that?")],
    )
    return made


@pytest.mark.requirement("tasks.watch")
def test_narrow_board_leaves_out_the_ids_and_shortens_the_names(one_of_each: Board) -> None:
    at = clock_of(TASK.created_at)[:5]

    assert [each.text for each in one_of_each.lines(120)] == [
        "needs you (1)",
        (
            f"  ? task 1                        waiting: approval      00000001  {at}  "
            "which one? (and 1 more)"
        ),
        "failed (1)",
        f"  x a name of more than twenty-…  setup failed           00000002  {at}  no module",
        "working (1)",
        f"  > task 3                        working                00000003  {at}  line of 3",
        "idle (1)",
        f"  - task 4                        idle                   00000004  {at}",
        "landed (1)",
        f"  + task 5                        landed                 00000005  {at}  line of 5",
    ]
    wide, narrow = one_of_each.lines(90), one_of_each.lines(89)
    assert wide[1].text == (
        f"  ? task 1                        waiting: approval      00000001  {at}  which one? (and…"
    )
    assert narrow[3].text == (f"  x a name of more than t…  setup failed           {at}  no module")


@pytest.mark.requirement("tasks.watch")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_screen_is_drawn_only_on_changes_and_restored(
    no_color: str, one_of_each: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (("COLUMNS", "31"), ("LINES", "12"))
    for name, value in (("NO_COLOR", no_color), ("TERM", "xterm"), *size):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    with FullScreen() as screen:
        screen.show(one_of_each, [])
        screen.show(one_of_each, [])
        one_of_each.task_gone(task(3, "").id)
        screen.show(one_of_each, [])
        monkeypatch.setenv("LINES", "9")
        screen.show(one_of_each, [])

    def frame(*lines: tuple[str, str]) -> str:
        styles = [(each, "") if no_color else (each, style) for each, style in lines]
        texts = [f"{style}{text}\x1b[0m" if style else text for text, style in styles]
        return "\x1b[H" + "\r\n".join(f"{each}\x1b[K" for each in texts) + "\x1b[J"

    rows = [
        ("needs you (1)", "\x1b[33m\x1b[1m"),
        ("  ? task 1   waiting: approva…", ""),
        ("failed (1)", "\x1b[31m\x1b[1m"),
        ("  x a name…  setup failed    …", ""),
        ("working (1)", "\x1b[32m\x1b[1m"),
        ("  > task 3   working         …", ""),
        ("idle (1)", "\x1b[1m"),
        ("  - task 4   idle            …", ""),
        ("landed (1)", "\x1b[36m\x1b[1m"),
        ("  + task 5   landed          …", "\x1b[2m"),
    ]
    footer = [("", ""), ("Ctrl-C leaves; answer what nee", "")]
    more = ("… 1 more; enlarge the window", "")
    frames = [
        frame(*rows, *footer),
        frame(*rows[:4], *rows[6:], *footer),
        frame(*rows[:4], *rows[6:8], more, *footer),
    ]
    assert out.getvalue() == f"\x1b[?1049h\x1b[?25l{''.join(frames)}\x1b[?25h\x1b[?1049l"


@pytest.mark.requirement("tasks.watch-lines")
def test_lines_and_json_show_the_board_once_and_then_each_announcement(
    one_of_each: Board, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = TaskspaceChanged(taskspace=task(3, "idle"), cause="turn ended")
    asked = InboxChanged(added=(item(3, 3, "which\none?"),), waiting=3)
    announced: list[Announcement] = [
        changed,
        asked,
        TaskLogged(taskspace_uuid=TASK.id, entry=TaskLog(1, "", "info", "a line")),
        TaskspaceGone(taskspace_uuid=TASK.id, is_archived=True),
    ]
    shown: list[list[str]] = []
    for screen in (BoardLines(), JsonLineStream()):
        for news in ([], announced):
            with screen as same:
                same.show(one_of_each, news)
            shown.append(capsys.readouterr().out.splitlines())

    lines, more_lines, first, more = shown
    assert lines == [each.text for each in one_of_each.lines(100)]
    assert more_lines == [
        f'- {"task 3":32}  idle                00000003  "line of 3"  (turn ended)',
        f"? task 3: which one?  (since {second_of('2026-01-01T12:00:00Z')})",
    ]
    listed = [
        *(TaskspaceChanged(taskspace=each, cause="listed") for each in one_of_each.tasks.values()),
        InboxChanged(added=tuple(one_of_each.items.values()), waiting=2),
    ]
    for found, messages in ((first, listed), (more, announced)):
        assert [json.loads(line) for line in found] == [
            json.loads(json.dumps({"type": each.about.type, **to_builtins(each)}))
            for each in messages
        ]


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
