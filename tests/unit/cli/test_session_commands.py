"""`symposium session` for sessions whose agents have ended."""

import json
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from click.testing import CliRunner, Result

from symposium.__main__ import main
from symposium.config.paths import paths
from symposium.sessions.event_log import EventLog
from symposium.sessions.session import (
    OF_TASK,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

ENDED, OF_A_TASK, DELETED = [str(UUID(int=(number << 96) + number)) for number in (1, 2, 3)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionStore:
    """Three sessions whose agents have ended: of no task, of a task, and of a deleted task."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    made = SessionStore(paths())
    for number, id_, cwd in (
        (3, ENDED, tmp_path),
        (2, OF_A_TASK, tmp_path),
        (1, DELETED, tmp_path / "gone"),
    ):
        made.add(
            SessionSpec(
                id_,
                SessionKind.ACP,
                ("eliza",),
                str(cwd),
                {} if id_ == ENDED else {OF_TASK: id_},
                title=f"number {number}\x1b",
                created_at=f"2026-01-0{number}T00:00:00+00:00",
            )
        )
        made.write_state(id_, ServerSessionState(Status.EXITED, reason="ended as asked"))
    return made


def session(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["session", *words], input=stdin)


@contextmanager
def server_of(store: SessionStore, results: Mapping[str, Any]) -> Generator[list[Any]]:
    """Answer requests to a session with these results by method; return the requests."""
    asked: list[Any] = []
    is_over = threading.Event()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(store.socket(ENDED)))
    listener.listen()

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            with client, client.makefile("rb") as lines:
                for line in lines:
                    request = json.loads(line)
                    asked.append((request["method"], request["params"]))
                    answer = {"id": request["id"], "result": results[request["method"]]}
                    client.sendall(json.dumps({"jsonrpc": "2.0", **answer}).encode() + b"\n")
            if is_over.is_set():
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        is_over.set()
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(store.socket(ENDED)))
        thread.join()
        listener.close()


@pytest.mark.requirement("agent-sessions.acp-prompts", "agent-sessions.questions")
def test_commands_ask_the_session_server(store: SessionStore) -> None:
    question: dict[str, Any] = {"question": 1, "toolCall": {"title": "x"}, "options": []}
    results: dict[str, Any] = {
        "agent/say": {"waiting": 2},
        "agent/cancel": {"cancelled": True},
        "agent/questions": {"questions": []},
        "agent/answer": {},
        "session/describe": {"status": "running", "questions": [question]},
    }
    with server_of(store, results) as asked:
        said, piped = session("say", ENDED, "hello"), session("say", ENDED, "-", stdin="a\nb")
        canceled = session("cancel", ENDED[:10])
        asking = session("questions", ENDED)
        answered = session("answer", ENDED, "1", "allow")
        shown = session("show", ENDED)
        documents = [
            session(*words, "--json").stdout
            for words in (
                *(["say", ENDED, "x"], ["cancel", ENDED], ["questions", ENDED]),
                *(["answer", ENDED, "1", "no"], ["show", ENDED]),
            )
        ]

    done = (said, piped, canceled, asking, answered, shown)
    assert {each.exit_code for each in done} == {0}
    assert [said.stderr, piped.stderr] == ["sent; prompts in the queue: 2\n"] * 2
    assert canceled.stderr == "canceled the turn\n"
    assert (asking.stdout, asking.stderr) == ("", "no open questions\n")
    assert answered.stderr == "answered\n"
    assert shown.stdout.splitlines()[0] == "status       running"
    assert asked[:6] == [
        ("agent/say", {"text": "hello"}),
        ("agent/say", {"text": "a\nb"}),
        ("agent/cancel", {}),
        ("agent/questions", {}),
        ("agent/answer", {"question": 1, "optionId": "allow", "by": "the command line"}),
        ("session/describe", {}),
    ]
    assert [json.loads(each) for each in documents] == list(results.values())


@pytest.mark.requirement("agent-sessions.listed")
@pytest.mark.usefixtures("store")
def test_sessions_are_listed_from_the_oldest_without_those_of_deleted_tasks() -> None:
    shown, everything = session("list"), session("list", "--all")
    in_json = session("list", "--json")
    found = json.loads(in_json.stdout)

    assert {each.exit_code for each in (shown, everything, in_json)} == {0}
    assert shown.stdout.splitlines() == [
        f"{OF_A_TASK}  exited    acp       number 2␛  (ended as asked)",
        f"{ENDED}  exited    acp       number 3␛  (ended as asked)",
    ]
    assert shown.stderr == "1 more of deleted tasks; --all lists them.\n"
    assert everything.stdout.splitlines()[0].startswith(DELETED)
    assert everything.stderr == ""
    assert [each["id"] for each in found] == [DELETED, OF_A_TASK, ENDED]
    assert [each["deleted"] for each in found] == [True, False, False]
    assert found[1] == {
        "id": OF_A_TASK,
        "kind": "acp",
        "status": "exited",
        "reason": "ended as asked",
        "command": ["eliza"],
        "cwd": found[2]["cwd"],
        "title": "number 2\x1b",
        "created": "2026-01-02T00:00:00+00:00",
        "deleted": False,
    }


@pytest.mark.requirement("agent-sessions.forgotten")
def test_forget_removes_ended_sessions_that_belong_to_no_task(store: SessionStore) -> None:
    missing = session("forget")
    done = session("forget", "--ended")

    assert (missing.exit_code, "Missing SESSION" in missing.stderr) == (2, True)
    assert (done.exit_code, done.stderr) == (0, "removed 1 session\n")
    assert sorted(store.ids()) == [OF_A_TASK, DELETED]


@pytest.mark.requirement("agent-sessions.forgotten")
def test_forget_takes_a_whole_id_only(store: SessionStore) -> None:
    part, whole = session("forget", ENDED[:10]), session("forget", ENDED)

    assert part.exit_code != 0
    assert (whole.exit_code, whole.stderr) == (0, "")
    assert sorted(store.ids()) == [OF_A_TASK, DELETED]


@pytest.mark.requirement("showing.look-and-leave")
def test_events_after_a_number_are_shown_without_following(store: SessionStore) -> None:
    log = EventLog(store.directory(ENDED), ENDED)
    for text in ("first", "second"):
        log.add("prompt", {"text": text})
    content = {"type": "text", "text": "third"}
    log.add("update", {"sessionUpdate": "agent_message_chunk", "content": content})

    shown = session("attach", ENDED[:10], "--no-follow")
    later = session("attach", ENDED, "--no-follow", "--since", "1")
    events = session("attach", ENDED, "--no-follow", "--since", "2", "--json")

    assert shown.stdout == "\n[prompt] first\n\n[prompt] second\nthird\n"
    assert later.stdout == "\n[prompt] second\nthird\n"
    (event,) = [json.loads(line) for line in events.stdout.splitlines()]
    assert (event["seq"], event["type"], event["session"]) == (3, "update", ENDED)


@pytest.mark.requirement("agent-sessions.start-errors")
@pytest.mark.usefixtures("store")
def test_ended_session_takes_no_prompt() -> None:
    said, unknown = session("say", ENDED, "hello"), session("show", "ffffffff")

    assert said.exit_code != 0
    assert "symposium: " in said.stderr
    assert unknown.exit_code == 4
    assert unknown.stdout == ""
