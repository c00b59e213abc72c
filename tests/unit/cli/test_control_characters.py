"""Text of agents and repositories on the terminal: no control characters."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.answering_daemon import AnsweringPart, answering
from tests.support.git_repository import GitRepository
from tests.support.terminals import TerminalText

from symposium.__main__ import main
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    AnswerInbox,
    CreateTaskspace,
    FindTaskspace,
    Inbox,
    InboxAnswered,
    InboxCall,
    InboxChoice,
    InboxItem,
    ListInbox,
    ListTaskspaces,
    RetryTaskspace,
    ShowTaskspace,
    SnapshotView,
    TaskLog,
    TaskMade,
    Tasks,
    TaskShown,
    TaskView,
)
from symposium.bus.messages.worktrees import (
    Collected,
    CollectTaskspaces,
    Landing,
    LandTaskspace,
    Removal,
    RemoveTaskspace,
    ReportTaskspace,
    SafetyReport,
    Undone,
    UndoTaskspace,
)
from symposium.config.paths import paths
from symposium.sessions.session import (
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

BAD = "a\x1b[2Jb\x9bc\x07"
SHOWN_BAD = "a␛[2Jb"
AT = "2026-01-02T03:04:05Z"
TASK = TaskView(
    id=str(UUID(int=5)),
    name=BAD,
    description=BAD,
    project="/p",
    worktree=f"/{BAD}",
    branch=BAD,
    base=BAD,
    standing="ready",
    state="working",
    created_at=AT,
    activated_at=AT,
    reason=BAD,
    spent=BAD,
    conflicts=(BAD,),
    last=TaskLog(1, AT, "info", BAD),
)
SNAPSHOT = SnapshotView("refs/1", 1_800_000_000.0, BAD, "t", "c")
CHOICE = InboxChoice(BAD, BAD, "allow_once")
CALL = InboxCall(kind=BAD, title=BAD, lines=(BAD,))
ITEM = InboxItem("permission:5:1", "permission", TASK.id, BAD, AT, BAD, (CHOICE,), CALL)
SHOWN = TaskShown(
    taskspace=TASK,
    log=(TaskLog(1, AT, "info", BAD),),
    snapshots=(SNAPSHOT,),
    recipe=(BAD,),
    guesses=(BAD,),
)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[AnsweringPart]:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    found = Tasks(taskspaces=(TASK,), total=1)
    replies: dict[type[Any], Any] = {
        **dict.fromkeys((FindTaskspace, ListTaskspaces), found),
        **dict.fromkeys((CreateTaskspace, AdoptTaskspace, RetryTaskspace), TaskMade(TASK)),
        ShowTaskspace: SHOWN,
        LandTaskspace: Landing(outcome="landed", lines=(BAD,)),
        ReportTaskspace: SafetyReport(is_safe=False, lines=(BAD,)),
        RemoveTaskspace: Removal(lines=(BAD,)),
        UndoTaskspace: Undone(now=SNAPSHOT, before=SNAPSHOT, lines=(BAD,)),
        CollectTaskspaces: Collected(lines=(BAD,), orphans=(BAD,)),
        ListInbox: Inbox(items=(ITEM,)),
        AnswerInbox: InboxAnswered(text=BAD),
    }
    with answering(replies, tmp_path) as (part, socket):
        part.progress = [(BAD, 1, 3)]
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        yield part


@pytest.mark.requirement("cli.plain-terminal")
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "x"],
        ["log", "x"],
        ["new", "x", "--agent", "python -m x"],
        ["adopt", "/"],
        ["resume", "x", "--trust"],
        ["land", "x"],
        ["rm", "x"],
        ["rm", "x", "--discard-work"],
        ["undo", "x"],
        ["undo", "x", "--list"],
        ["gc"],
    ],
)
def test_task_command_prints_no_control_characters(words: list[str]) -> None:
    done = CliRunner().invoke(main, ["task", *words])
    text = done.stdout + done.stderr

    assert SHOWN_BAD in text
    assert sorted({each for each in text if each != "\n" and not each.isprintable()}) == []


@pytest.mark.requirement("cli.plain-terminal")
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "words", [["inbox"], ["inbox", "show", "1"], ["inbox", "answer", "1", "x"], ["up"]]
)
def test_inbox_prints_no_control_characters(words: list[str]) -> None:
    CliRunner().invoke(main, ["inbox"])
    done = CliRunner().invoke(main, words)

    assert SHOWN_BAD in done.stdout
    assert done.stdout.replace("\n", "").isprintable()


@pytest.mark.requirement("cli.plain-terminal")
def test_deletion_of_an_archive_prints_no_control_characters(engine: AnsweringPart) -> None:
    archived = replace(TASK, archived_at=AT, state="archived")
    engine.set(FindTaskspace, Tasks(taskspaces=(archived,), total=1))
    done = CliRunner().invoke(main, ["task", "rm", "x", "--no-archive"])

    assert done.stdout.rstrip("\n").isprintable()
    assert SHOWN_BAD in done.stdout


@pytest.fixture
def hidden_line(engine: AnsweringPart, tmp_path: Path) -> str:
    """A task whose file hides a line in a terminal; the content of the file."""
    content = "one\n\x1b[8mtwo\x1b[A\r\n"
    repository = GitRepository(tmp_path / "tree")
    repository.write("a.txt", "one\n")
    repository.commit()
    (tmp_path / "tree" / "a.txt").write_bytes(content.encode())
    here = replace(TASK, worktree=str(repository.path), base="main")
    engine.set(FindTaskspace, Tasks(taskspaces=(here,), total=1))
    return content


@pytest.mark.requirement("cli.diff-plain")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_diff_in_a_terminal_shows_control_characters_as_symbols(
    hidden_line: str, no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del hidden_line
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", shown := TerminalText())
    code = main(["task", "diff", "x"], standalone_mode=False)

    *head, hunk, kept, added = shown.getvalue().splitlines()
    text = "+␛[8mtwo␛[A␍"
    assert code in {0, None}
    assert [line.removeprefix("\x1b[1m").split(" ")[0] for line in head] == [
        *("diff", "index", "---", "+++")
    ]
    assert "@@ -1 +1,2 @@" in hunk
    assert " one" in kept
    assert added == (f"\x1b[32m{text}\x1b[0m" if not no_color else text)


@pytest.mark.requirement("cli.diff-plain")
def test_diff_in_a_pipe_is_unchanged(hidden_line: str) -> None:
    shown = CliRunner().invoke(main, ["task", "diff", "x"]).stdout_bytes
    added = hidden_line.encode().partition(b"\n")[2]

    assert shown.endswith(b"@@ -1 +1,2 @@\n one\n+" + added)


@pytest.mark.requirement("agent-sessions.listed")
def test_reason_of_an_ended_session_is_one_line_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    store, id_ = SessionStore(paths()), str(UUID(int=1))
    store.add(SessionSpec(id_, SessionKind.ACP, ("eliza",), str(tmp_path)))
    store.write_state(id_, ServerSessionState(Status.EXITED, reason=f"{BAD}\nlast line"))
    shown = CliRunner().invoke(main, ["session", "list"]).stdout
    (listed,) = json.loads(CliRunner().invoke(main, ["session", "list", "--json"]).stdout)

    assert shown.count("\n") == 1
    assert shown.rstrip("\n").isprintable()
    assert SHOWN_BAD in shown
    assert listed["reason"] == f"{BAD}\nlast line"
