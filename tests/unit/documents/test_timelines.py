"""Storage of timelines: private, bounded, whole lines, no secrets."""

import os
from pathlib import Path
from typing import Any

import pytest

from symposium.documents import timelines as module
from symposium.documents.task_prompt import prompt_for
from symposium.documents.timelines import MAX_OUTPUT, MAX_TEXT, TimelineStore, TurnObserver
from symposium.errors import NotFoundError


def begin(store: TimelineStore, session: str, cwd: str = "/w", goal: str = "goal") -> None:
    timeline = store.open(session)
    timeline.add("session", {"session": session, "cwd": cwd, "agent": "A"})
    timeline.add("prompt", {"text": goal})


@pytest.mark.requirement("timelines.private")
@pytest.mark.parametrize("session", ["../../etc/passwd", "a/b\0c", "x" * 5000, "", "\udcff"])
def test_session_id_cannot_choose_the_path_and_the_file_is_private(
    session: str, tmp_path: Path
) -> None:
    directory = tmp_path / "timelines"
    store = TimelineStore(directory)
    store.open(session).add("prompt", {"text": "x"})

    (file,) = directory.iterdir()
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [file]
    assert file.stat().st_mode & 0o777 == 0o600
    assert directory.stat().st_mode & 0o777 == 0o700
    assert [entry.data for entry in store.read(session)] == [{"text": "x"}]


@pytest.mark.requirement("timelines.private")
def test_secrets_are_removed(tmp_path: Path) -> None:
    store = TimelineStore(tmp_path)
    store.open("s").add("prompt", {"text": "use ghp_" + "a1B2" * 9, "api_key": "hunter2hunter2"})

    kept = next(tmp_path.iterdir()).read_text(encoding="utf-8")
    assert "a1B2a1B2" not in kept
    assert "hunter2" not in kept


@pytest.mark.requirement("timelines.sequence")
def test_two_writers_of_one_timeline_number_its_entries_without_holes(tmp_path: Path) -> None:
    one, two = TimelineStore(tmp_path).open("s"), TimelineStore(tmp_path).open("s")
    one.add("prompt", {"text": "1"})
    two.add("said", {"text": "2"})
    one.add("stop", {"reason": "3"})
    two.add("link", {"to": "4"})

    assert [entry.seq for entry in TimelineStore(tmp_path).read("s")] == [1, 2, 3, 4]
    (file,) = tmp_path.iterdir()
    assert b"\n\n" not in file.read_bytes()


@pytest.mark.requirement("timelines.bounded")
def test_a_full_timeline_takes_only_what_asks_and_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TIMELINE_BYTES", 300)
    timeline = TimelineStore(tmp_path).open("s")
    for kind in ("prompt", "said", "said", "said", "said", "said", "prompt", "link"):
        timeline.add(kind, {"text": "x" * 100})

    types = [entry.type for entry in TimelineStore(tmp_path).read("s")]
    assert types == ["prompt", "said", "prompt", "link"]


@pytest.mark.requirement("timelines.bounded")
def test_oldest_timelines_are_deleted_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TIMELINES", 3)
    store = TimelineStore(tmp_path)
    for at, session in enumerate("abcde"):
        begin(store, session)
        for file in tmp_path.iterdir():
            if session.encode() in file.read_bytes():
                os.utime(file, (at, at)) if file.stat().st_mtime > 100 else None

    assert [each.session for each in store.summaries()] == ["e", "d", "c"]


@pytest.mark.requirement("timelines.list")
def test_summaries_come_latest_first_and_of_one_directory_if_asked(tmp_path: Path) -> None:
    store = TimelineStore(tmp_path)
    assert store.summaries() == []
    begin(store, "a", "/one", "first")
    begin(store, "b", "/two", "second")
    for at, file in enumerate(
        sorted(tmp_path.iterdir(), key=lambda each: b'"a"' in each.read_bytes())
    ):
        os.utime(file, (100 - at, 100 - at))

    assert [each.session for each in store.summaries()] == ["b", "a"]
    assert [each.goal for each in store.summaries(Path("/one"))] == ["first"]


@pytest.mark.requirement("timelines.list")
def test_a_timeline_that_has_no_beginning_hides_no_other(tmp_path: Path) -> None:
    store = TimelineStore(tmp_path)
    store.open("half").add("prompt", {"text": "x"})
    begin(store, "whole")

    assert [each.session for each in store.summaries()] == ["whole"]


@pytest.mark.requirement("timelines.list")
def test_unknown_session_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"of session unknown; .*timeline list"):
        TimelineStore(tmp_path).read("unknown")


@pytest.mark.requirement("timelines.origin")
def test_the_goal_of_a_row_of_hand_overs_is_that_of_its_beginning(tmp_path: Path) -> None:
    store = TimelineStore(tmp_path)
    for session, before in (("a", "c"), ("b", "a"), ("c", "b"), ("d", "gone"), ("e", "c")):
        begin(store, session, goal=f"goal of {session}")
        store.open(session).add("link", {"from": before})
    begin(store, "x", goal="root")
    begin(store, "y")
    store.open("y").add("link", {"from": "x"})

    def goal(session: str) -> str:
        return next(e.data["text"] for e in store.origin(session) if e.type == "prompt")

    assert goal("y") == "root"
    assert goal("d") == "goal of d"
    # A circle ends somewhere.
    assert goal("c").startswith("goal of")
    assert goal("e").startswith("goal of"), "also one that the session itself is not in"


@pytest.mark.requirement("timelines.damaged-lines")
def test_what_follows_a_line_that_was_cut_off_is_a_line_of_its_own(tmp_path: Path) -> None:
    TimelineStore(tmp_path).open("s").add("prompt", {"text": "a"})
    (file,) = tmp_path.iterdir()
    with file.open("ab") as end:
        end.write(b'{"v":1,"seq":2,"ts"')
    TimelineStore(tmp_path).open("s").add("prompt", {"text": "b"})

    assert [(each.seq, each.data["text"]) for each in TimelineStore(tmp_path).read("s")] == [
        (1, "a"),
        (2, "b"),
    ]


@pytest.mark.requirement("showing.user-words")
def test_the_goal_of_a_tasks_session_is_what_the_user_has_said(tmp_path: Path) -> None:
    begin(TimelineStore(tmp_path), "s", goal=prompt_for("proj", "Fix the login test"))

    assert [each.goal for each in TimelineStore(tmp_path).summaries()] == ["Fix the login test"]


@pytest.mark.requirement("timelines.mod-keeps")
def test_a_turn_is_stored_as_its_prompt_text_plan_calls_and_end() -> None:
    turn = TurnObserver()
    blocks: list[Any] = [
        {"type": "text", "text": "Fix it"},
        {"type": "text", "text": "guidance", "annotations": {"audience": ["assistant"]}},
        {"type": "resource_link", "uri": "file:///a.py"},
        {"type": "image", "data": "x"},
        "odd",
    ]
    plan = {"content": "Read", "status": "pending", "priority": "high", "more": 1}
    diff: list[Any] = [
        {"type": "content", "content": {"type": "text", "text": "done"}},
        {"type": "diff", "path": "a.py"},
        {"type": "terminal"},
    ]
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I "}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image"}},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "will"}},
        {"sessionUpdate": "plan", "entries": [plan]},
        {"sessionUpdate": "tool_call", "title": "no id"},
        {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit", "kind": "edit"},
        {"sessionUpdate": "tool_call", "toolCallId": "2", "rawInput": {"command": ["ls"]}},
        {"sessionUpdate": "tool_call_update", "toolCallId": "1", "content": diff},
        {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "2", "status": "in_progress"},
    ]
    edit = {"id": "1", "title": "Edit", "kind": "edit", "output": "done\n[diff: a.py]"}

    assert list(turn.prompted({"prompt": blocks})) == [
        ("prompt", {"text": "Fix it\n[resource_link: file:///a.py]\n[image]"})
    ]
    assert [item for update in updates for item in turn.updated(update)] == [
        ("tool", {**edit, "status": "completed"})
    ]
    assert list(turn.stopped("end_turn")) == [
        ("said", {"text": "I will"}),
        ("plan", {"entries": [{"content": "Read", "status": "pending", "priority": "high"}]}),
        ("tool", {"id": "2", "command": ["ls"], "status": "in_progress"}),
        ("stop", {"reason": "end_turn"}),
    ]
    assert list(turn.stopped("cancelled")) == [("stop", {"reason": "cancelled"})]
    assert list(turn.prompted({})) == [("prompt", {"text": ""})]


@pytest.mark.requirement("timelines.bounded")
def test_texts_of_a_turn_are_stored_up_to_their_limits() -> None:
    turn = TurnObserver()
    (prompt,) = turn.prompted({"prompt": [{"type": "text", "text": "b" + "x" * MAX_TEXT}]})
    for text in ("a" * 10, "b" * (MAX_TEXT - 1), "cd"):
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"text": text}}
        assert list(turn.updated(chunk)) == []
    held = turn.held
    content = [{"content": {"text": "e" * 10 + "f" * MAX_OUTPUT}}]
    call = {"sessionUpdate": "tool_call", "toolCallId": "1", "status": "failed", "content": content}

    assert prompt == ("prompt", {"text": "b" + "x" * (MAX_TEXT - 1)})
    assert held == MAX_TEXT + 1
    assert list(turn.updated(call)) == [
        ("tool", {"id": "1", "status": "failed", "output": "f" * MAX_OUTPUT})
    ]
    assert list(turn.stopped("end_turn")) == [
        ("said", {"text": "b" * (MAX_TEXT - 2) + "cd"}),
        ("stop", {"reason": "end_turn"}),
    ]
    assert turn.held == 0
