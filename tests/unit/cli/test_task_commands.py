"""`symposium task`: requests to the daemon, and the text or JSON printed for its replies."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import to_builtins
from msgspec.structs import replace
from tests.support.answering_daemon import AnsweringPart, answering
from tests.support.git_repository import GitRepository
from tests.support.typed_answer import typed

from localio.text import day_of, iso_of, minute_of, second_of
from symposium.__main__ import main
from symposium.bus.error_codes import FAILED, NOT_FOUND
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import LogProgress, ProgressCategory, Recorded
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    CreateTaskspace,
    FindTaskspace,
    GuidanceReading,
    ListTaskspaces,
    RenameTaskspace,
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
    ConflictView,
    FindOverlaps,
    Landing,
    LandingShown,
    LandTaskspace,
    Overlaps,
    OverlapView,
    Removal,
    RemoveTaskspace,
    ReportTaskspace,
    Restored,
    RestoreTaskspace,
    SafetyReport,
    ShowLanding,
    Undone,
    UndoTaskspace,
)
from symposium.cli import task_landing, tasks
from symposium.config.paths import paths
from symposium.sessions.client import take_environment
from symposium.sessions.event_log import EventLog
from symposium.sessions.session import (
    OF_TASK,
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.deletion.archive import ARCHIVE_DAYS

ID = "6f1c2a77-0000-4000-8000-000000000000"
AT = "2026-01-02T03:04:05Z"
TASK = TaskView(
    id=ID,
    name="fix login",
    description="",
    project="/p",
    worktree="/p.tasks/a",
    branch="symposium/fix-login",
    base="refs/heads/main",
    standing="ready",
    state="working",
    created_at=AT,
    activated_at=AT,
    agent="eliza",
    session="running",
)
LINE = f"> {'fix login':32}  {'working':18}  6f1c2a77\n"
LOG = (TaskLog(1, AT, "info", "begun"), TaskLog(2, AT, "milestone", "done"))
BEFORE = SnapshotView("refs/2", 1_800_000_060.0, "before the undo", "t2", "c2")
NOW = SnapshotView("refs/1", 1_800_000_000.0, "before a tool call", "t1", "c1")
SHOWN = TaskShown(taskspace=TASK, log=LOG, snapshots=(NOW, BEFORE))
MADE = TaskMade(taskspace=TASK)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[AnsweringPart]:
    """A daemon with one task."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SYMPOSIUM_CONFIG", str(tmp_path / "config.jsonc"))
    monkeypatch.chdir(tmp_path)
    replies: dict[type[Any], Any] = {
        FindTaskspace: Tasks(taskspaces=(TASK,), total=1),
        ListTaskspaces: Tasks(taskspaces=(TASK,), total=1),
        ShowTaskspace: SHOWN,
        CreateTaskspace: MADE,
        AdoptTaskspace: MADE,
        RenameTaskspace: MADE,
        RetryTaskspace: MADE,
        LogProgress: Recorded(),
        LandTaskspace: Landing(outcome="landed", lines=("landed 1 commit",), commit="c0ffee"),
        ShowLanding: LandingShown(),
        FindOverlaps: Overlaps(overlaps=()),
        ReportTaskspace: SafetyReport(is_safe=True, lines=("no changes",)),
        RemoveTaskspace: Removal(lines=("archived", "deleted")),
        RestoreTaskspace: Restored(taskspace=TASK, lines=("1 file differs",)),
        UndoTaskspace: Undone(now=NOW, before=BEFORE, lines=("changed: a.py",)),
        CollectTaskspaces: Collected(lines=("archive 1", "snapshot 2"), orphans=("/lost",)),
    }
    with answering(replies, tmp_path) as (part, socket):
        monkeypatch.setenv("SYMPOSIUM_SOCKET", str(socket))
        yield part


def task(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, ["task", *words])
    return done.exit_code, done.stdout, done.stderr


def as_json(*words: str) -> Any:
    """Run a command that succeeds; return its only document."""
    code, out, err = task(*words, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    return json.loads(out)


def view(shown: TaskView = TASK) -> Any:
    """Return a task in its JSON form."""
    return json.loads(json.dumps(to_builtins(shown)))


@pytest.mark.requirement("tasks.commands")
def test_new_asks_for_a_task_with_every_option(engine: AnsweringPart, tmp_path: Path) -> None:
    engine.progress = [("fetching", 1, 3), ("running setup", None, None), ("half", 1, None)]
    done = task(
        *("new", "fix login", "Fix it.", "--agent", "python -m agent", "--base", "dev"),
        *("--description", "the bug", "--budget", "3usd", "--project", str(tmp_path)),
        "--lock-name",
    )

    (message,) = engine.took(CreateTaskspace)
    assert message.environment.startswith(f"{tmp_path}/home")
    assert replace(message, environment=None) == CreateTaskspace(
        project=str(tmp_path),
        name="fix login",
        task="Fix it.",
        description="the bug",
        agent="python -m agent",
        base="dev",
        is_name_locked=True,
        budget="3usd",
    )
    news = "… fetching (1/3)\n… running setup\n… half\n"
    assert done == (0, f"{LINE}  /p.tasks/a  on symposium/fix-login\n", news)


@pytest.mark.requirement("tasks.new-left-behind")
def test_new_reports_changes_that_the_task_starts_without(
    engine: AnsweringPart, tmp_path: Path
) -> None:
    repository = GitRepository(tmp_path / "clone")
    repository.commit()
    repository.write("new.txt", "new\n")
    based = replace(TASK, base="refs/heads/main")
    engine.set(CreateTaskspace, replace(MADE, taskspace=based))

    note = f"the task starts from main, without 1 uncommitted change of {repository.path}\n"
    assert task("new", "fix", "--project", str(repository.path))[2] == note


@pytest.mark.requirement("tasks.commands")
def test_new_offers_this_environment_until_the_task_exists(
    engine: AnsweringPart, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[dict[str, str]] = []

    async def take(message: CreateTaskspace) -> TaskMade:
        assert message.environment is not None
        offered.append(await take_environment(message.environment))
        return MADE

    monkeypatch.setenv("SEEN_BY_THE_AGENT", "yes")
    engine.set(CreateTaskspace, take)

    assert as_json("new", "fix login", "--agent", "eliza") == view()
    assert offered[0]["SEEN_BY_THE_AGENT"] == "yes"
    (message,) = engine.took(CreateTaskspace)
    assert (message.task, message.agent, message.is_name_locked) == ("fix login", "eliza", False)
    assert message.project == str(Path.cwd())
    assert not Path(message.environment).exists()


@pytest.mark.requirement("tasks.commands")
def test_new_task_without_an_agent_or_with_a_failed_setup_says_so(engine: AnsweringPart) -> None:
    failed = replace(
        TASK, agent=None, session=None, standing="setup-failed", state="setup failed", reason="x"
    )
    engine.set(CreateTaskspace, TaskMade(taskspace=failed))

    refused = task("new", "fix login", "Fix it.")
    code, out, err = task("new", "fix login", "Fix it.", "--agent", "none")

    assert refused[:2] == (2, "")
    assert "no agent for the prompt" in refused[2]
    (message,) = engine.took(CreateTaskspace)
    assert (message.task, message.agent) == ("Fix it.", None)
    assert (code, out.splitlines()[0]) == (1, f"x {'fix login':32}  {'setup failed':18}  6f1c2a77")
    assert err == (
        "x\nthe task has no agent; `symposium task resume 6f1c2a77 --agent AGENT` assigns one\n"
    )
    assert task("new", "fix login", "--agent", "none")[0] == 1
    assert engine.took(CreateTaskspace)[1].task is None


@pytest.mark.requirement("tasks.commands")
def test_adopt_and_rename_print_the_task(engine: AnsweringPart, tmp_path: Path) -> None:
    assert task("adopt", str(tmp_path), "--name", "mine") == (0, LINE, "")
    assert engine.last() == AdoptTaskspace(worktree=str(tmp_path.resolve()), name="mine")
    assert as_json("adopt", str(tmp_path)) == view()
    assert engine.last() == AdoptTaskspace(worktree=str(tmp_path.resolve()))
    assert task("rename", "fix", "new name") == (0, LINE, "")
    assert engine.asked[-2:] == [
        FindTaskspace(named="fix"),
        RenameTaskspace(taskspace_uuid=ID, name="new name"),
    ]


@pytest.mark.requirement("tasks.commands")
def test_list_asks_for_a_page_and_counts_the_rest(engine: AnsweringPart, tmp_path: Path) -> None:
    entry = TaskLog(3, AT, "info", "two\nlines")
    question = replace(TASK, state="waiting: question", last=entry)
    engine.set(ListTaskspaces, Tasks(taskspaces=(TASK, question), total=10))

    line = f'? {"fix login":32}  {"waiting: question":18}  6f1c2a77  "two lines"\n'
    rest = "5 more; add `--skip 5` to see them\n"
    assert task("list", "--skip", "3") == (0, LINE + line, rest)
    assert engine.last() == ListTaskspaces(
        after=3, limit=100, is_archived=False, is_urgent_first=True
    )
    assert task("list", "--skip", "8") == (0, LINE + line, "")
    assert as_json("list", "--all", "--project", str(tmp_path)) == [view(), view(question)]
    assert engine.last() == ListTaskspaces(
        project=str(tmp_path), is_archived=True, is_urgent_first=True
    )
    assert task("list", "-n", "2")[0] == 0
    assert engine.last() == ListTaskspaces(limit=2, is_archived=False, is_urgent_first=True)
    assert [task("list", *bad)[0] for bad in (("-n", "0"), ("--skip", "-1"))] == [2, 2]


@pytest.mark.requirement("tasks.commands")
def test_show_prints_each_known_detail(engine: AnsweringPart) -> None:
    assert task("show", "fix", "--log", "7") == (
        0,
        (
            f"{LINE}"
            f"  id           {ID}\n"
            "  worktree     /p.tasks/a\n"
            "  branch       symposium/fix-login from refs/heads/main\n"
            "  agent        eliza (running)\n"
            "  snapshots    2\n"
            f"  {minute_of(AT)} info      begun\n"
            f"  {minute_of(AT)} milestone done\n"
        ),
        "",
    )
    assert engine.asked == [
        FindTaskspace(named="fix"),
        ShowTaskspace(taskspace_uuid=ID, log=7, is_whole=True),
    ]

    rich = replace(
        TASK,
        description="the bug",
        agent=None,
        landed="0123456789abcdef",
        landed_at=AT,
        ports=(4000, 5),
        reason="no module named x",
        spent="1 turn",
        conflicts=("a.py with b", "c.py with d"),
    )
    read = (GuidanceReading("main.md", "team", "x", AT, 1), GuidanceReading("hi", "", "x", AT, 1))
    shown = TaskShown(
        taskspace=rich,
        log=(),
        snapshots=(),
        recipe=("a: make", "b: x"),
        guesses=("npm ci", "make"),
        guidance=read,
    )
    engine.set(ShowTaskspace, shown)

    assert task("show", "fix")[1].splitlines()[2:] == [
        "  description  the bug",
        "  worktree     /p.tasks/a",
        "  branch       symposium/fix-login from refs/heads/main",
        "  agent        none",
        f"  landed       0123456789ab at {minute_of(AT)}",
        "  ports        4000 to 4004",
        "  why          no module named x",
        "  spent        1 turn",
        "  conflicts    a.py with b; c.py with d",
        "  setup        a: make; b: x",
        f"  guidance     main.md (team) read at {minute_of(AT)}; hi read at {minute_of(AT)}",
        "  setup guess  npm ci; make; to run these, add them to .symposium/workspace.toml",
        "  snapshots    0",
    ]
    assert engine.last() == ShowTaskspace(taskspace_uuid=ID, log=20, is_whole=True)


@pytest.mark.requirement("tasks.commands", "showing.local-time")
def test_show_as_json_dates_the_snapshots(engine: AnsweringPart) -> None:
    del engine
    shown = as_json("show", "fix")

    assert shown["taskspace"] == view()
    assert shown["log"] == [to_builtins(each) for each in LOG]
    assert shown["snapshots"] == [
        {**to_builtins(each), "at": iso_of(each.at)} for each in (NOW, BEFORE)
    ]


@pytest.mark.requirement("tasks.find")
def test_unknown_and_ambiguous_tasks_are_named(engine: AnsweringPart) -> None:
    twin = replace(TASK, id=ID.replace("6", "7"), archived_at=AT)
    engine.set(FindTaskspace, Tasks(taskspaces=(TASK, twin), total=2))
    code, out, err = task("rename", "fix", "x")
    engine.set(FindTaskspace, Tasks(taskspaces=(), total=0))
    unknown = task("show", "fix")

    at = minute_of(AT)
    assert (code, out, err) == (
        4,
        "",
        (
            f"symposium: several tasks match 'fix': 6f1c2a77 (fix login, created {at}); "
            f"7f1c2a77 (fix login, created {at}, deleted {at})\n  give an id\n"
        ),
    )
    assert unknown == (
        4,
        "",
        "symposium: there is no task 'fix'\n  `symposium task list` lists the tasks\n",
    )
    assert {type(each) for each in engine.asked} == {FindTaskspace}


@pytest.mark.requirement("tasks.commands")
def test_log_shows_the_latest_lines_or_adds_one(engine: AnsweringPart) -> None:
    at = second_of(AT)
    assert task("log", "fix", "-n", "5") == (
        0,
        f"{at}  info       begun\n{at}  milestone  done\n",
        "",
    )
    assert engine.last() == ShowTaskspace(taskspace_uuid=ID, log=5, is_whole=False)
    assert as_json("log", "fix") == [to_builtins(each) for each in LOG]
    assert engine.last() == ShowTaskspace(taskspace_uuid=ID, log=100, is_whole=False)

    assert task("log", "fix", "--add", "seen", "--category", "warn") == (0, "", "")
    place = {"project_path": "/p", "taskspace_uuid": ID}
    assert engine.last() == LogProgress(**place, message="seen", category=ProgressCategory.WARN)
    assert task("log", "fix", "--add", "")[0] == 0
    assert engine.last() == LogProgress(**place, message="", category=ProgressCategory.INFO)

    engine.set(ShowTaskspace, replace(SHOWN, log=()))
    hint = "`symposium task attach --no-follow 6f1c2a77` shows what the agent said"
    assert task("log", "fix") == (0, "", f"The log is empty; {hint}.\n")
    assert as_json("log", "fix") == []


@pytest.mark.requirement("tasks.commands")
@pytest.mark.parametrize(
    ("command", "more"), [("attach", ["--no-follow"]), ("say", ["x"]), ("chat", []), ("stop", [])]
)
def test_commands_for_an_agent_say_why_a_task_has_none(
    engine: AnsweringPart, command: str, more: list[str]
) -> None:
    said: list[str] = []
    for changed in (
        {"agent": None, "session": None},
        {"session": None, "state": "waiting: trust"},
        {"session": None},
    ):
        engine.set(FindTaskspace, Tasks(taskspaces=(replace(TASK, **changed),), total=1))
        code, out, err = task(command, "fix", *more)
        assert (code, out) == (4, "")
        said.append(err)

    resume = "`symposium task resume 6f1c2a77"
    assert said == [
        f"symposium: 'fix login' has no agent\n  {resume} --agent AGENT` assigns one\n",
        (
            "symposium: the agent of 'fix login' starts after you decide on its setup files\n"
            "  `symposium inbox` shows what they want to run\n"
        ),
        f"symposium: the agent of 'fix login' was never started\n  {resume}` starts it\n",
    ]


@pytest.mark.requirement("tasks.commands")
def test_stop_and_say_report_an_agent_that_does_not_run(engine: AnsweringPart) -> None:
    del engine
    assert task("stop", "fix") == (0, "", "The agent of 'fix login' is not running.\n")
    assert task("say", "fix", "  ")[:2] == (2, "")
    assert task("say", "fix", "hello")[:2] == (4, "")


@pytest.mark.requirement("tasks.commands")
def test_land_passes_its_options_and_reports_the_outcome(engine: AnsweringPart) -> None:
    assert task("land", "fix", "--merge", "--push") == (0, "landed 1 commit\n", "")
    assert engine.last() == LandTaskspace(taskspace_uuid=ID, join="merge", is_pushed=True)
    shown = {"outcome": "landed", "lines": ["landed 1 commit"], "commit": "c0ffee"}
    assert as_json("land", "fix") == shown
    assert engine.last() == LandTaskspace(taskspace_uuid=ID)

    code, _, err = task("land", "fix", "--wait")
    assert (code, "--wait needs --resolve" in err) == (2, True)
    for outcome in ("conflict", "checks_failed"):
        engine.set(LandTaskspace, Landing(outcome=outcome, lines=("a.py", "b.py")))
        assert task("land", "fix") == (1, "a.py\nb.py\n", "")
    engine.set(LandTaskspace, Landing(outcome="resolving", lines=("asked",)))
    assert task("land", "fix", "--resolve") == (10, "asked\n", "")
    last: Any = engine.last()
    assert (last.resolve_conflicts, Path(last.environment).suffix) == (True, ".sock")
    assert task("land", "fix", "--resolve", "--json")[:2] == (
        10,
        '{"outcome":"resolving","lines":["asked"],"commit":null}\n',
    )


def stages(*shown: LandingShown) -> Any:
    """Reply with each of these in turn."""
    left = iter(shown)

    async def reply(message: ShowLanding) -> LandingShown:
        assert message.taskspace_uuid == ID
        return next(left)

    return reply


@pytest.mark.requirement("landing.wait")
def test_waiting_for_a_landing_prints_each_stage_once(
    engine: AnsweringPart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_landing, "POLL_INTERVAL", 0)
    engine.set(LandTaskspace, Landing(outcome="resolving", lines=("asked",)))
    working, ready = LandingShown(stage="working"), LandingShown(stage="ready")
    landed = LandingShown(landed="0123456789abcdef", landed_at=AT)
    engine.set(ShowLanding, stages(working, working, ready, landed))
    done = task("land", "fix", "--resolve", "--wait")
    engine.set(ShowLanding, stages(landed))
    in_json = task("land", "fix", "--resolve", "--wait", "--json")

    assert done == (
        0,
        "asked\n",
        (
            "… its agent works; then the checks run\n"
            "… ready: `symposium inbox` shows the change and waits for your answer\n"
            "fix login landed as 0123456789ab\n"
        ),
    )
    assert in_json[0] == 0
    assert json.loads(in_json[1]) == {
        "outcome": "landed",
        "lines": ["asked"],
        "commit": "0123456789abcdef",
    }


@pytest.mark.requirement("landing.wait")
def test_landing_that_was_rejected_or_whose_task_is_gone_has_not_landed(
    engine: AnsweringPart,
) -> None:
    def refuse(code: str) -> Any:
        async def reply(message: ShowLanding) -> LandingShown:
            raise BusRefusedError(f"no {message.taskspace_uuid}", code)

        return reply

    earlier = replace(TASK, landed="c0ffee", landed_at=AT)
    engine.set(FindTaskspace, Tasks(taskspaces=(earlier,), total=1))
    engine.set(LandTaskspace, Landing(outcome="resolving", lines=("asked",)))
    engine.set(ShowLanding, LandingShown(landed="c0ffee", landed_at=AT))
    rejected = task("land", "fix", "--resolve", "--wait", "--json")
    engine.set(ShowLanding, refuse(NOT_FOUND))
    gone = task("land", "fix", "--resolve", "--wait")
    engine.set(ShowLanding, refuse(FAILED))
    failed = task("land", "fix", "--resolve", "--wait")

    assert (rejected[0], rejected[2]) == (1, "fix login was not landed\n")
    assert json.loads(rejected[1]) == {
        "outcome": "not_landed",
        "lines": ["asked"],
        "commit": None,
    }
    assert gone == (1, "asked\n", "fix login was not landed\n")
    assert failed[0] == 1
    assert f"no {ID}" in failed[2]


@pytest.mark.requirement("tasks.commands")
def test_conflicts_are_named_by_task(engine: AnsweringPart, tmp_path: Path) -> None:
    conflict = ConflictView("a.py", "content", ((1, 1), (3, 5)), ((7, 6),))
    found = OverlapView(ID, "base", ("x",), (conflict,))
    engine.set(FindOverlaps, Overlaps(overlaps=(found,)))

    shown = task("conflicts", "--project", str(tmp_path))
    assert shown == (0, "a.py\n  fix login:1,3-5 and its base (content)\n", "")
    assert engine.asked == [FindOverlaps(project=str(tmp_path)), ListTaskspaces()]
    assert as_json("conflicts") == json.loads(json.dumps([to_builtins(found)]))
    assert engine.last() == FindOverlaps(project=str(Path.cwd()))


@pytest.mark.requirement("tasks.delete")
def test_rm_deletes_a_safe_task_only_if_it_is_still_safe(engine: AnsweringPart) -> None:
    report = {"is_safe": True, "lines": ["no changes"], "unknowns": []}
    assert task("rm", "fix") == (
        0,
        "fix login: nothing would be lost\n- no changes\narchived\ndeleted\n",
        "",
    )
    assert engine.asked[1:] == [
        ReportTaskspace(taskspace_uuid=ID),
        RemoveTaskspace(taskspace_uuid=ID, only_if_safe=True),
    ]
    assert as_json("rm", "fix", "--discard-work", "--no-archive", "--branch", "drop") == {
        "removed": True,
        "report": report,
        "lines": ["archived", "deleted"],
    }
    assert engine.last() == RemoveTaskspace(
        taskspace_uuid=ID, only_if_safe=False, branch="drop", archived_for_good=True
    )


@pytest.mark.requirement("tasks.delete")
def test_the_help_of_rm_names_the_days_of_an_archive() -> None:
    shown = CliRunner().invoke(main, ["task", "rm", "--help"]).stdout

    assert f"restore it for {ARCHIVE_DAYS} days" in shown


@pytest.mark.requirement("tasks.delete")
def test_rm_without_a_terminal_keeps_unsaved_work_unless_agreed(engine: AnsweringPart) -> None:
    engine.set(ReportTaskspace, SafetyReport(is_safe=False, lines=("a.py is new",)))
    shown = "fix login: work could be lost\n- a.py is new\n"
    kept = "--discard-work deletes it anyway and keeps an archive for 14 days"

    assert task("rm", "fix") == (5, shown, f"Nothing was changed; {kept}.\n")
    code, out, err = task("rm", "fix", "--json")
    assert (code, err) == (5, f"Nothing was changed; {kept}.\n")
    assert json.loads(out) == {
        "removed": False,
        "report": {"is_safe": False, "lines": ["a.py is new"], "unknowns": []},
    }
    assert engine.took(RemoveTaskspace) == []
    assert task("rm", "fix", "--discard-work") == (0, f"{shown}archived\ndeleted\n", "")
    assert engine.last() == RemoveTaskspace(taskspace_uuid=ID)


@pytest.mark.requirement("tasks.deleted-already")
def test_archive_is_deleted_only_for_good(engine: AnsweringPart) -> None:
    archived = replace(TASK, archived_at=AT, state="archived")
    engine.set(FindTaskspace, Tasks(taskspaces=(archived,), total=1))
    until = day_of("2026-01-16T03:04:05Z")
    back = f"`symposium task undo 6f1c2a77` restores it, until {until}"
    already = f"'fix login' is already deleted; {back}.\n"

    assert task("rm", "fix") == (0, "", already)
    assert task("rm", "fix", "--json") == (
        0,
        '{"removed":true,"report":null,"lines":[]}\n',
        already,
    )
    assert engine.took(RemoveTaskspace) == []
    assert task("rm", "fix", "--no-archive") == (0, "archived\ndeleted\n", "")
    assert engine.last() == RemoveTaskspace(taskspace_uuid=ID, archived_for_good=True)
    assert as_json("rm", "fix", "--no-archive")["lines"] == ["archived", "deleted"]
    assert engine.took(ReportTaskspace) == []


@pytest.mark.requirement("tasks.commands")
def test_undo_restores_the_last_state_or_the_named_one(engine: AnsweringPart) -> None:
    again = "`symposium task undo 6f1c2a77 --to refs/2` reverses this undo"
    assert task("undo", "fix") == (
        0,
        f'restored the snapshot "before a tool call"\n{again}\nchanged: a.py\n',
        "",
    )
    assert engine.last() == UndoTaskspace(taskspace_uuid=ID)
    assert as_json("undo", "fix", "--to", "refs/1") == {
        "now": {**to_builtins(NOW), "at": iso_of(NOW.at)},
        "before": {**to_builtins(BEFORE), "at": iso_of(BEFORE.at)},
        "lines": ["changed: a.py"],
    }
    assert engine.last() == UndoTaskspace(taskspace_uuid=ID, snapshot="refs/1")
    listed = task("undo", "fix", "--list")
    assert [line.split()[0] for line in listed[1].splitlines()] == ["refs/1", "refs/2"]
    assert len(as_json("undo", "fix", "--list")["snapshots"]) == 2
    assert engine.last() == ShowTaskspace(taskspace_uuid=ID, log=1)
    assert len(engine.took(UndoTaskspace)) == 2


@pytest.mark.requirement("tasks.commands")
def test_undo_restores_a_deleted_task(engine: AnsweringPart) -> None:
    archived = replace(TASK, archived_at=AT)
    engine.set(FindTaskspace, Tasks(taskspaces=(archived,), total=1))

    assert task("undo", "fix") == (0, f"{LINE}1 file differs\n", "")
    assert engine.last() == RestoreTaskspace(taskspace_uuid=ID)
    assert as_json("undo", "fix") == {"taskspace": view(), "lines": ["1 file differs"]}


@pytest.mark.requirement("tasks.gc")
def test_gc_lists_what_it_would_remove(engine: AnsweringPart, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    listed = "archive 1\nsnapshot 2\norphaned worktree: /lost\n"

    assert task("gc", "--project", str(clone)) == (
        0,
        listed,
        "Nothing was removed; add --apply to remove this.\n",
    )
    assert engine.last() == CollectTaskspaces(project=str(clone))
    assert task("gc", "--apply", "--project", str(tmp_path)) == (0, listed, "")
    assert engine.last() == CollectTaskspaces(is_applied=True)
    assert as_json("gc") == {"lines": ["archive 1", "snapshot 2"], "orphans": ["/lost"]}
    engine.set(CollectTaskspaces, Collected(lines=()))
    assert task("gc") == (0, "", "Nothing to remove.\n")


@pytest.mark.requirement("tasks.commands")
def test_resume_trusts_exactly_what_it_printed(engine: AnsweringPart) -> None:
    engine.set(ShowTaskspace, replace(SHOWN, recipe=("a: make", "b: x"), digest="d1"))
    failed = replace(
        TASK, agent=None, standing="setup-failed", state="setup failed", reason="exit 1"
    )

    assert task("resume", "fix") == (0, LINE, "")
    assert engine.took(ShowTaskspace) == []
    assert task("resume", "fix", "--trust") == (0, LINE, "trusted: a: make\ntrusted: b: x\n")
    last: Any = engine.last()
    assert replace(last, environment=None) == RetryTaskspace(taskspace_uuid=ID, trusted="d1")
    assert last.environment is not None

    engine.set(RetryTaskspace, TaskMade(taskspace=failed))
    code, out, err = task("resume", "fix", "--agent", "eliza")
    assert (code, out) == (1, f"x {'fix login':32}  {'setup failed':18}  6f1c2a77\n")
    assert err.splitlines() == [
        "exit 1",
        "the task has no agent; `symposium task resume 6f1c2a77 --agent AGENT` assigns one",
    ]
    last = engine.last()
    assert (last.agent, last.trusted) == ("eliza", "")


@pytest.mark.requirement("tasks.agent-missing")
def test_no_task_is_made_or_resumed_with_a_missing_agent(
    engine: AnsweringPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SHELL", "/nonexistent")
    codes = [
        task("new", "fix", "--agent", "terminal:no-such-agent")[0],
        task("resume", "fix", "--agent", "terminal:no-such-agent")[0],
    ]

    assert codes == [4, 4]
    assert engine.took(CreateTaskspace) + engine.took(RetryTaskspace) == []


@pytest.mark.requirement("tasks.look")
def test_open_starts_the_named_editor_on_the_worktree(
    engine: AnsweringPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(TASK, worktree=str(tmp_path))
    for name in ("VISUAL", "SYMPOSIUM_EDITOR"):
        monkeypatch.delenv(name, raising=False)
    missing = task("open", "fix")
    engine.set(FindTaskspace, Tasks(taskspaces=(here,), total=1))

    assert missing == (
        4,
        "",
        "symposium: /p.tasks/a does not exist\n  `symposium task undo` restores it\n",
    )
    assert task("open", "fix") == (0, f"{tmp_path}\n", "")
    assert task("open", "fix", "--editor", "test ! -d")[0] == 1
    monkeypatch.setenv("VISUAL", "no-such-editor -n")
    code, out, err = task("open", "fix")
    assert (code, out, "add" in err) == (4, "", False)
    assert "cannot start the editor 'no-such-editor -n'" in err
    assert err.endswith("\n  choose another with --editor\n")
    assert task("open", "fix", "--editor", "vi '") == (
        *(4, ""),
        (
            'symposium: cannot start the editor "vi \'": No closing quotation\n'
            "  choose another with --editor\n"
        ),
    )
    monkeypatch.setenv("SYMPOSIUM_EDITOR", "test -d")
    assert task("open", "fix") == (0, "", "")


@pytest.mark.requirement("tasks.watch")
def test_watch_passes_the_project_and_prints_its_tasks(
    engine: AnsweringPart, tmp_path: Path
) -> None:
    # The fake daemon has no inbox, so the board ends with the refusal.
    done = task("watch", "--project", str(tmp_path))
    everything = task("watch")

    assert [done[0], everything[0]] == [4, 4]
    assert [each.project for each in engine.took(ListTaskspaces)] == [str(tmp_path), None]
    assert engine.took(ListTaskspaces)[0].limit == 1000


@pytest.mark.requirement("policy.no-start")
def test_task_command_starts_no_agent_while_the_policy_is_unusable(
    engine: AnsweringPart, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "policy.toml").write_text("[[rule")
    bare = replace(TASK, agent=None, session=None)
    refused = [
        task("new", "fix", "--agent", "eliza"),
        task("land", "fix", "--resolve"),
        task("resume", "fix"),
    ]
    asked = [FindTaskspace(named="fix")] * 2
    assert engine.asked == asked
    engine.set(FindTaskspace, Tasks(taskspaces=(bare,), total=1))
    refused.append(task("resume", "fix", "--agent", "eliza"))

    assert {(code, out) for code, out, _ in refused} == {(1, "")}
    assert all(f"{tmp_path}/home/policy.toml: line 1" in err for _, _, err in refused)
    assert engine.asked == [*asked, FindTaskspace(named="fix")]
    assert [task(*words)[0] for words in (("new", "a", "--agent", "none"), ("resume", "fix"))] == [
        *(0, 0),
    ]
    assert task("land", "fix")[0] == 0


@pytest.mark.requirement("tasks.agent-knows-tools")
def test_new_terminal_agent_is_warned_about_tools_and_policy(
    engine: AnsweringPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("claude", "other"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    (tmp_path / "home").mkdir()
    missing = "claude cannot read its task: it has no MCP server `symposium`; `symposium setup "
    tools = f"{missing}claude-mcp --write` adds it\n"
    policy = (
        "policy.toml does not apply to this agent: it runs in a terminal and does not ask "
        'Symposium; see the page "Decide what agents may do"\n'
    )

    assert task("new", "fix", "--agent", "claude")[::2] == (0, tools)
    rule = '[[rule]]\nname = "no"\neffect = "forbid"\ncommand = "rm"\n'
    (tmp_path / "home" / "policy.toml").write_text(rule)
    assert task("new", "fix", "--agent", "claude")[::2] == (0, tools + policy)
    assert task("new", "fix", "--agent", "terminal:other")[::2] == (0, policy)
    assert task("new", "fix", "--agent", "eliza")[::2] == (0, "")
    bare = TaskMade(taskspace=replace(TASK, agent=None))
    engine.set(RetryTaskspace, bare)
    assert task("resume", "fix", "--agent", "claude")[2].startswith(tools)


@pytest.mark.requirement("tasks.delete")
@pytest.mark.parametrize(
    ("answer", "archives", "deletes_for_good"),
    [
        (b"\n", True, False),
        (b"archive\n", True, False),
        (b" Yes\n", True, True),
        (b"y\n", True, True),
        (b"no\n", False, False),
        (b"\x04", False, False),
    ],
)
def test_rm_asks_on_a_terminal(
    engine: AnsweringPart, answer: bytes, *, archives: bool, deletes_for_good: bool
) -> None:
    engine.set(ReportTaskspace, SafetyReport(is_safe=False, lines=("a.py is new",)))
    codes: list[Any] = []
    for words, question in (
        ([], "Archive and delete it? `symposium task undo` restores it. [Y/n] "),
        (["--no-archive"], "Delete it without an archive? This cannot be undone. [y/N] "),
    ):
        with typed(question, answer), pytest.raises(SystemExit) as ended:
            main(["task", "rm", "fix", *words])
        codes.append(ended.value.code)

    expected = (archives, deletes_for_good)
    assert codes == [0 if is_deleted else 5 for is_deleted in expected]
    assert engine.took(RemoveTaskspace) == [
        RemoveTaskspace(taskspace_uuid=ID, archived_for_good=is_final)
        for is_final, is_deleted in zip((False, True), expected, strict=True)
        if is_deleted
    ]


def changed_checkout(path: Path) -> GitRepository:
    """A checkout with a commit, changes, and new files; its base has moved on."""
    repository = GitRepository(path)
    repository.write("a.txt", "one\n")
    repository.write("b.txt", "one\n")
    repository.write(".gitignore", "ignored\n")
    repository.write(".gitattributes", "*.txt diff=other\n")
    repository.commit()
    repository.git("checkout", "-q", "-b", "work")
    repository.write("a.txt", "two\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("later.txt", "of the base\n")
    repository.commit()
    repository.git("checkout", "-q", "work")
    repository.git("config", "diff.external", "echo another program")
    repository.git("config", "diff.other.textconv", "echo another text; :")
    repository.write("b.txt", "two\n")
    repository.write("ignored", "x\n")
    repository.write("new.txt", "new\n")
    repository.write("one-more.txt", "new\n")
    return repository


@pytest.mark.requirement("tasks.look")
def test_diff_shows_commits_changes_and_new_files(
    engine: AnsweringPart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repository = changed_checkout(tmp_path / "tree")
    monkeypatch.setattr(tasks, "MAX_NEW", 1)
    GitRepository(tmp_path / "tree" / "inner").write("x", "x")
    here = replace(TASK, worktree=str(repository.path), base="main")
    engine.set(FindTaskspace, Tasks(taskspaces=(here,), total=1))
    code, out, err = task("diff", "fix")
    stat = task("diff", "fix", "--stat")
    engine.set(FindTaskspace, Tasks(taskspaces=(replace(here, base=""),), total=1))
    no_base = task("diff", "fix")

    kept = [line for line in out.splitlines() if not line.startswith("index")]
    left_out = "new, not shown: one-more.txt\nnew, not shown: inner/\n"
    assert (code, err) == (0, left_out)
    assert kept == [
        *("diff --git a/a.txt b/a.txt", "--- a/a.txt", "+++ b/a.txt"),
        *("@@ -1 +1 @@", "-one", "+two"),
        *("diff --git a/b.txt b/b.txt", "--- a/b.txt", "+++ b/b.txt"),
        *("@@ -1 +1 @@", "-one", "+two"),
        *("diff --git a/new.txt b/new.txt", "new file mode 100644", "--- /dev/null"),
        *("+++ b/new.txt", "@@ -0,0 +1 @@", "+new"),
    ]
    assert [line.split("|")[0].strip() for line in stat[1].splitlines()] == [
        *("a.txt", "b.txt", "2 files changed, 2 insertions(+), 2 deletions(-)"),
        *("/dev/null => new.txt", "1 file changed, 1 insertion(+)"),
    ]
    assert "a.txt" not in no_base[1]
    assert no_base[2] == (f"base branch unknown; showing only uncommitted changes\n{left_out}")


@pytest.mark.requirement("tasks.commands")
def test_attach_shows_the_output_of_an_ended_agent(engine: AnsweringPart, tmp_path: Path) -> None:
    del engine
    store = SessionStore(paths())
    store.add(SessionSpec(ID, SessionKind.ACP, ("eliza",), str(tmp_path), {OF_TASK: ID}))
    store.write_state(ID, ServerSessionState(Status.EXITED, reason="ended as asked"))
    EventLog(store.directory(ID), ID).add("prompt", {"text": "first"})

    assert task("attach", "fix", "--no-follow")[:2] == (0, "\n[prompt] first\n\n")
    assert as_json("attach", "fix", "--no-follow")["seq"] == 1
    restart = f"run `symposium task resume {ID}` to restart it"
    for words in (["attach", "fix"], ["say", "fix", "x"]):
        assert task(*words) == (
            *(1, ""),
            f"symposium: the session {ID} is not running (exited: ended as asked)\n  {restart}\n",
        )
