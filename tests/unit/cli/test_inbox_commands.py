"""`symposium inbox` and `symposium up`: requests to the daemon, and what they print."""

import getpass
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import to_builtins
from msgspec.structs import replace
from tests.support.answering_daemon import AnsweringPart, answering

from localio.text import minute_of
from symposium.__main__ import main
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import (
    AnswerInbox,
    Inbox,
    InboxAnswered,
    InboxCall,
    InboxChoice,
    InboxItem,
    ListInbox,
    ListTaskspaces,
    PutOffInbox,
    RetryTaskspace,
    TaskMade,
    Tasks,
    TaskView,
)
from symposium.config.paths import paths
from symposium.sessions.client import take_environment
from symposium.sessions.session import (
    OF_TASK,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

AT = "2026-01-02T03:04:05Z"
ONE, TWO, THREE = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")
YES, NO = InboxChoice("p1", "Allow", "allow_once"), InboxChoice("p2", "Reject", "reject_once")
EDIT = InboxItem(
    f"permission:{ONE}:1",
    "permission",
    ONE,
    "fix",
    AT,
    "edit a.py",
    (YES, NO),
    InboxCall(lines=tuple(f"+{number}" for number in range(13))),
)
ASK = InboxItem(f"question:{TWO}", "question", TWO, "ask", AT, f"{'long ' * 30}?")
SPENT = InboxItem("budget:3", "budget", TWO, "ask", AT, "2usd spent", put_off_at=AT)
TRUST = InboxItem(
    f"trust:{THREE}",
    "trust",
    THREE,
    "new",
    AT,
    f"setup files\nmake\n{'x' * 120}",
    (InboxChoice("trust", "Run them"),),
)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[AnsweringPart]:
    """A daemon with four items in the inbox."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    replies: dict[type[Any], Any] = {
        ListInbox: Inbox(items=(EDIT, ASK, SPENT, TRUST)),
        AnswerInbox: InboxAnswered(text="allowed"),
        PutOffInbox: InboxAnswered(text="snoozed"),
        ListTaskspaces: Tasks(taskspaces=()),
        RetryTaskspace: TaskMade(taskspace=view(ONE)),
    }
    with answering(replies, tmp_path) as (part, socket):
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        yield part


def view(id_: str, **more: Any) -> TaskView:
    made = TaskView(
        id_, f"task {id_[0]}", "", "/p", "/w", "b", "main", "ready", "lost contact", AT, AT
    )
    return replace(made, **more)


def run(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


def inbox(*words: str) -> tuple[int, str, str]:
    return run("inbox", *words)


@pytest.mark.requirement("tasks.inbox", "cli.exit-waiting")
def test_inbox_lists_items_with_their_answers(engine: AnsweringPart) -> None:
    change = "".join(f"    +{number}\n" for number in range(12))
    long = ("long " * 30)[:99]
    rest = "    [… `symposium inbox show` shows all of it]\n"
    words = "  answer: p1 (Allow), p2 (Reject)\n"
    code, out, err = inbox()

    assert (code, err) == (10, "")
    assert out == (
        f"1  permission:11111111:1\n  fix: edit a.py\n{change}{rest}{words}"
        f"2  question:22222222\n  ask: {long}…\n{rest}  answer: , or any text\n"
        "3  budget:3\n  ask: 2usd spent\n"
        f"  snoozed since {minute_of(AT)}\n"
        "  answer: , or an amount to add, such as 2usd,10min\n"
        "4  trust:33333333\n  new: setup files\n    make\n"
        f"    {'x' * 100}\n        {'x' * 20}\n  answer: trust (Run them)\n"
    )
    items = [EDIT, ASK, SPENT, TRUST]
    assert inbox("--json")[::2] == (10, "")
    assert json.loads(inbox("--json")[1]) == json.loads(json.dumps([*map(to_builtins, items)]))

    short = replace(EDIT, call=InboxCall(lines=("+1",) * 12))
    engine.set(ListInbox, Inbox(items=(short,)))
    assert inbox()[1].count("+1\n") == 12
    assert rest not in inbox()[1]
    engine.set(ListInbox, Inbox(items=()))
    assert inbox() == (0, "", "Nothing waits for you.\n")
    assert inbox("--json") == (0, "[]\n", "")


@pytest.mark.requirement("approvals.typed-ids", "approvals.change-shown")
def test_inbox_shows_one_item_in_full(engine: AnsweringPart) -> None:
    inbox()
    cut = replace(EDIT, call=InboxCall(lines=("+1", "+" + "y" * 120), is_cut=True))
    engine.set(ListInbox, Inbox(items=(TRUST, ASK, cut)))

    assert inbox("show", "1") == (
        0,
        (
            f"{EDIT.id}\n  fix: edit a.py\n    +1\n    +{'y' * 97}\n  {'y' * 23}\n"
            "    [… the rest is too long to show]\n  answer: p1 (Allow), p2 (Reject)\n"
        ),
        "",
    )
    assert inbox("show", "new") == (
        0,
        (
            f"{TRUST.id}\n  new: setup files\n    make\n    {'x' * 100}\n        {'x' * 20}\n"
            "  answer: trust (Run them)\n"
        ),
        "",
    )
    code, out, _ = inbox("show", "question:2222")
    assert (code, out.count("long "), out.splitlines()[0]) == (0, 30, ASK.id)
    engine.set(ListInbox, Inbox(items=()))
    assert inbox("show", "1") == (
        4,
        "",
        f"no item {EDIT.id} is waiting; `symposium inbox` lists all items\n",
    )
    assert inbox("show", "9")[:2] == (4, "")


@pytest.mark.requirement("approvals.typed-ids", "approvals.usual-words", "tasks.inbox")
def test_answer_goes_to_the_item_of_the_shown_list(engine: AnsweringPart) -> None:
    by = f"{getpass.getuser()} on the command line"
    unseen = inbox("answer", "new", "trust")
    inbox()
    engine.set(ListInbox, Inbox(items=(TRUST, ASK, EDIT)))

    assert unseen[:2] == (1, "")
    assert "this terminal has not shown the current commands" in unseen[2]
    assert engine.took(AnswerInbox) == []
    assert inbox("answer", "1", "yes") == (0, "allowed\n", "")
    assert engine.last() == AnswerInbox(item=EDIT.id, answer="p1", by=by)
    code, out, err = inbox("answer", "question:2222", "se", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"item": ASK.id, "answer": "se", "text": "allowed"}
    assert inbox("answer", "new", "trust")[0] == 0
    (last,) = [each for each in engine.took(AnswerInbox) if each.item == TRUST.id]
    assert (last.answer, Path(last.environment).suffix) == ("trust", ".sock")
    assert not Path(last.environment).exists()
    inbox("answer", "permission:gone", "yes")
    assert engine.last() == AnswerInbox(item="permission:gone", answer="yes", by=by)


@pytest.mark.requirement("tasks.not-now")
def test_later_snoozes_the_item(engine: AnsweringPart) -> None:
    inbox()

    assert inbox("later", "2") == (0, "snoozed\n", "")
    assert engine.last() == PutOffInbox(item=ASK.id)
    assert json.loads(inbox("later", "fix", "--json")[1]) == {"item": EDIT.id, "text": "snoozed"}
    assert inbox("later", "9")[:2] == (4, "")


LOST, RUNNING = view(ONE, session="lost"), view(TWO, session="running", state="working")
BROKEN = view(THREE, session="lost", standing="setup-failed", state="setup failed")
FAILING = view(ONE.replace("1", "4"), session="lost")
ARCHIVED = view(ONE.replace("1", "5"), session="lost", archived_at=AT)


def line(sign: str, task: TaskView, state: str) -> str:
    return f"{sign} {task.name:32}  {state:18}  {task.id[:8]}"


@pytest.mark.requirement("tasks.up")
def test_up_restarts_lost_agents_only(engine: AnsweringPart, tmp_path: Path) -> None:
    spec = SessionSpec(ONE, SessionKind.TERMINAL, ("eliza",), str(tmp_path), {OF_TASK: ONE})
    SessionStore(paths()).add(spec)
    before = Tasks(taskspaces=(LOST, RUNNING, BROKEN, FAILING, ARCHIVED))
    after = Tasks(taskspaces=(replace(LOST, state="working"), RUNNING, FAILING, ARCHIVED))
    listed: list[ListTaskspaces] = []

    async def list_tasks(message: ListTaskspaces) -> Tasks:
        listed.append(message)
        return after if len(listed) % 2 == 0 else before

    async def retry(message: RetryTaskspace) -> TaskMade:
        assert await take_environment(message.environment or "")
        if message.taskspace_uuid == FAILING.id:
            raise BusRefusedError("no such program")
        return TaskMade(taskspace=LOST)

    engine.set(ListTaskspaces, list_tasks)
    engine.set(RetryTaskspace, retry)
    engine.set(ListInbox, Inbox(items=(EDIT,)))
    code, out, err = run("up")
    asked = [each.taskspace_uuid for each in engine.took(RetryTaskspace)]
    in_json = json.loads(run("up", "--json")[1])
    engine.asked.clear()
    dry = run("up", "--dry-run")[1].splitlines()

    lines = [
        f"{line('>', LOST, 'working')}  (was: lost contact)",
        "  restarted its agent",
        line(">", RUNNING, "working"),
        f"{line('x', BROKEN, 'setup failed')}  (deleted in the meantime)",
        line("x", FAILING, "lost contact"),
        "  could not restart its agent: no such program",
        *(EDIT.id, "  fix: edit a.py"),
    ]
    assert (code, err, out.splitlines()) == (0, "", lines)
    assert asked == [LOST.id, FAILING.id]
    assert [(each["id"], each["before"], each["outcome"]) for each in in_json["tasks"]] == [
        (LOST.id, "lost contact", "restarted its agent"),
        (RUNNING.id, "working", ""),
        (BROKEN.id, "setup failed", ""),
        (FAILING.id, "lost contact", "could not restart its agent: no such program"),
    ]
    assert in_json["tasks"][0]["state"] == "working"
    assert [each["id"] for each in in_json["inbox"]] == [EDIT.id]
    assert dry == [each for each in lines if "its agent" not in each]
    assert engine.took(RetryTaskspace) == []


@pytest.mark.requirement("tasks.up")
def test_up_reports_an_agent_whose_session_does_not_run(
    engine: AnsweringPart, tmp_path: Path
) -> None:
    lost = view(ONE, session="lost")
    store = SessionStore(paths())
    store.add(SessionSpec(ONE, SessionKind.ACP, ("eliza",), str(tmp_path), {OF_TASK: ONE}))
    store.write_state(ONE, ServerSessionState(Status.EXITED, reason="killed"))
    engine.set(ListTaskspaces, Tasks(taskspaces=(lost,)))
    engine.set(ListInbox, Inbox(items=()))

    assert run("up")[1].splitlines()[1:] == [
        f"  restarted its agent; the session {ONE} is not running (exited: killed)"
    ]
