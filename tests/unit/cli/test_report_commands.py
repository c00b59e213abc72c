"""Commands that report what was recorded: whole outputs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import to_builtins
from tests.support.typed_answer import typed

from localio.text import minute_of, second_of
from symposium.__main__ import main
from symposium.bus.daemon_start import daemon_address
from symposium.cli.commands.handoff import NEXT, LinkingReport
from symposium.cli.commands.uninstall import PROGRAM
from symposium.cli.exit_codes import ExitCode, ReportedFailure
from symposium.client.events import ToolCall
from symposium.client.permissions import Decision, Declined, Permission
from symposium.config.paths import paths, policy_file
from symposium.documents.timelines import TimelineStore
from symposium.permissions.audit_log import AuditLog
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    monkeypatch.setenv("SYMPOSIUM_HOME", str(made))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SYMPOSIUM_SOCKET", raising=False)
    monkeypatch.chdir(tmp_path)
    return made


def run(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.requirement("timelines.list")
def test_timelines_are_listed_and_shown(tmp_path: Path) -> None:
    empty = run("timeline", "list")
    store = TimelineStore()
    for session, cwd in (("one", tmp_path), ("two", tmp_path / "other")):
        timeline = store.open(session)
        timeline.add("session", {"session": session, "cwd": str(cwd), "agent": "eli\x1bza"})
        timeline.add("prompt", {"text": f"goal of\n{session}\x1b"})
    made = store.open("one")
    made.add("said", {"text": "an\nanswer\x1b"})
    made.add("plan", {"entries": [{"status": "completed", "content": "a\x1b"}, {"content": "b"}]})
    made.add("stop", {"reason": "end_turn\x1b\nx"})
    found = {each.session: each for each in store.summaries()}
    times = [second_of(each.ts) for each in store.read("one")]
    listed, shown = run("timeline", "list", "--cwd", ".", "--json"), run("timeline", "show", "one")
    mine, json_lines = json.loads(listed[1]), run("timeline", "show", "one", "--json")
    entries = json_lines[1].splitlines()

    assert empty == (0, "", "No timelines are recorded; the mod `timeline` records them.\n")
    assert run("timeline", "list") == (
        0,
        "".join(
            f"{minute_of(each.started)}  {each.session}  eli␛za  {each.cwd}\n"
            f"    goal of {each.session}␛\n"
            for each in store.summaries()
        ),
        "",
    )
    assert mine == [
        {
            "session": "one",
            "cwd": str(tmp_path),
            "agent": found["one"].agent,
            "started": found["one"].started,
            "goal": found["one"].goal,
            "file": str(found["one"].file),
        }
    ]
    assert [json.loads(line) for line in entries] == [*map(to_builtins, store.read("one"))]
    assert shown[1].splitlines()[1:] == [
        f"{times[1]}  prompt  goal of",
        "one␛",
        f"{times[2]}  said  an",
        "answer␛",
        f"{times[3]}  plan  ",
        *("  [completed] a␛", "  [None] b"),
        f"{times[4]}  stop  reason: end_turn␛ x",
    ]
    assert [each[::2] for each in (listed, shown, json_lines)] == [(0, "")] * 3
    assert run("timeline", "show", "none") == (
        *(4, ""),
        f"symposium: no timeline of session none\n  {LISTED}\n",
    )


@pytest.mark.requirement("stories.a-07-command")
def test_audit_lists_and_verifies_its_entries() -> None:
    folder = paths().audit
    assert run("audit", "list") == (0, "", f"no entries in {folder}\n")
    assert run("audit", "list", "--json") == (0, "[]\n", "")
    call = {"title": "Run `ls`", "kind": "execute", "rawInput": {"command": "ls"}}
    long = {**call, "rawInput": {"command": f"ls {'x' * 200}"}}
    log = AuditLog(folder)
    log.write({"agent": "eliza", "toolCall": call, "chosen": "allow", "by": "the user"})
    log.write({"agent": "eli\x1bza\n", "toolCall": long, "outcome": "cancelled", "by": "no one"})
    code, out, err = run("audit", "list")
    at = [second_of(each["ts"]) for each in log.entries()]

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{at[0]} eliza: run: ls → allow by the user",
        f"{at[1]} eli␛za : run: ls {'x' * 51}… → cancelled by no one",
    ]
    assert json.loads(run("audit", "list", "--json")[1]) == log.entries()
    assert run("audit", "verify") == (0, "2 entries; none was changed, removed, or moved\n", "")
    assert run("audit", "verify", "--json") == (0, '{"entries": 2, "faults": []}\n', "")

    (file,) = [each for each in folder.iterdir() if b"allow" in each.read_bytes()]
    file.write_bytes(file.read_bytes().replace(b"allow", b"alloy"))
    faults = log.verify()
    assert run("audit", "verify") == (
        1,
        "".join(f"{each.place}: {each.reason}\n" for each in faults),
        "",
    )
    assert json.loads(run("audit", "verify", "--json")[1]) == {
        "entries": 2,
        "faults": [{"place": each.place, "reason": each.reason} for each in faults],
    }
    assert faults


AGENTS = "2 agents of tasks and sessions  (`symposium session list`)"


@pytest.mark.requirement("cli.status-hosts")
def test_status_without_hosts_shows_the_policy_and_running_agents(tmp_path: Path) -> None:
    bare = run("status")
    file = policy_file()
    without = f"policy  none (no {file})"
    store = SessionStore(paths())
    *kept, _ = _sessions(store, tmp_path)
    held = [store.lock(id_) for id_ in kept]
    with_agents = run("status")
    found = json.loads(run("status", "--json")[1])
    for each in held:
        os.close(each)

    assert bare == (0, f"{without}\n", "no host is running\n")
    assert with_agents[:2] == (0, f"{without}\n{AGENTS}\n")
    assert {**found, "agents": sorted(found["agents"])} == {
        "hosts": [],
        "daemon": None,
        "agents": kept,
        "policy": {"file": str(file), "rules": None, "error": None},
    }
    assert run("status", "--mcp") == (0, "", "no host is running\n")
    assert run("status", "--short") == (0, "0 hosts, 0 sessions\n", "")


@pytest.mark.requirement("cli.status-hosts")
def test_status_shows_the_daemon_and_the_rules_or_the_error_of_the_policy(home: Path) -> None:
    home.mkdir()
    file, lock = policy_file(), daemon_address().life_lock
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(str(os.getpid()))
    file.write_text('[[rule]]\nname = "x"\neffect = "allow"\ncommand = "ls"\n')
    working, found = run("status"), json.loads(run("status", "--json")[1])
    lock.write_text("no number")
    file.write_text('[[rule]]\nname = "x\\u001b"\n')
    broken = run("status")

    assert working[1].splitlines() == [
        f"policy  1 rule ({file})",
        f"daemon  pid {os.getpid()}  (`symposium daemon status`)",
    ]
    assert found["daemon"] == os.getpid()
    assert found["policy"] == {"file": str(file), "rules": 1, "error": None}
    (error,) = broken[1].splitlines()
    assert error.startswith(f"policy  UNREADABLE, no agent starts: {file}: line 1, column 1: ")
    assert error.isprintable()


def _sessions(store: SessionStore, cwd: Path) -> list[str]:
    ids = [f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123"]
    for id_ in ids:
        store.add(SessionSpec(id_, SessionKind.ACP, ("eliza",), str(cwd)))
    return ids


@pytest.mark.requirement("cli.uninstall")
def test_uninstall_lists_and_asks_before_it_removes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = run("uninstall")
    (home / "log").mkdir(parents=True)
    refused = run("uninstall")
    codes: list[Any] = []
    for answer in (b"n\n", b"\n", b"y\n"):
        with typed("cannot be restored. [y/N]:", answer), pytest.raises(SystemExit) as ended:
            main(["uninstall"])
        codes.append((ended.value.code, home.exists()))
    capsys.readouterr()
    home.mkdir()

    assert nothing == (0, "", f"Nothing to remove. {PROGRAM}\n")
    assert (refused[0], str(home) in refused[1]) == (2, True)
    assert "cannot ask for confirmation here; check the list and rerun with --yes" in refused[2]
    assert codes == [(5, True), (5, True), (0, False)]
    assert run("uninstall", "--yes")[::2] == (0, f"Removed. {PROGRAM}\n")
    assert not home.exists()


@pytest.mark.requirement("cli.exit-usage")
def test_mcp_port_needs_http_and_a_probe_prints_the_place(tmp_path: Path) -> None:
    code, out, err = run("mcp", "--port", "4000")
    probed = run("mcp", "--probe", "--directory", str(tmp_path))

    assert (code, out, "--port needs --http" in err) == (2, "", True)
    assert (probed[0], probed[2]) == (0, "")
    assert json.dumps(json.loads(probed[1]), indent=2) + "\n" == probed[1]
    assert str(tmp_path) in probed[1]


LISTED = "`symposium timeline list` shows all timelines"


@pytest.mark.requirement("timelines.handoff")
def test_handoff_prints_the_summary_of_the_latest_or_named_session(tmp_path: Path) -> None:
    store = TimelineStore()
    none = run("handoff", "--print")
    for session in ("one", "two"):
        timeline = store.open(session)
        timeline.add("session", {"session": session, "cwd": str(tmp_path), "agent": "eliza"})
        timeline.add("prompt", {"text": f"goal of {session}"})
    both = run("handoff", "--to", "a", "--agent", "b")
    latest = store.summaries(tmp_path)[0].session
    shown, named = run("handoff", "--print"), run("handoff", "--print", "--session", "one")

    assert none[:2] == (4, "")
    assert f"no session of {tmp_path} was recorded" in none[2]
    assert "`symposium timeline list` lists them" in none[2]
    assert (both[0], "--to and --agent both name the new agent" in both[2]) == (2, True)
    missing = run("handoff")
    assert (missing[0], "Missing option '--to'" in missing[2]) == (2, True)
    assert (shown[0], f"goal of {latest}" in shown[1], shown[1][-1]) == (0, True, "\n")
    assert (named[0], "goal of one" in named[1]) == (0, True)
    gone = (4, "", f"symposium: no timeline of session none\n  {LISTED}\n")
    assert run("handoff", "--print", "--session", "none") == gone
    assert run("handoff", "--to", "no-such-agent", "--session", "none") == gone
    unknown = run("handoff", "--to", "no-such-agent")
    assert (unknown[0], unknown[2].startswith("symposium: --to: 'no-such-agent'")) == (2, True)


@pytest.mark.requirement("timelines.handoff")
@pytest.mark.parametrize(("words", "text"), [([], NEXT), (["Finish it"], "Finish it")])
def test_handoff_sends_the_summary_and_links_both_timelines(
    tmp_path: Path, words: list[str], text: str
) -> None:
    store = TimelineStore()
    source = store.open("old")
    source.add("session", {"session": "old", "cwd": str(tmp_path), "agent": "codex"})
    source.add("prompt", {"text": "the first goal"})
    (tmp_path / "work").mkdir()
    summary = run("handoff", "--print", "--session", "old", "--cwd", str(tmp_path / "work"))[1]

    place = ("--cwd", str(tmp_path / "work"), "--trace-dir", str(tmp_path / "traces"))
    mods = ("--proxy", "pass", "--session", "old")
    code, out, err = run("handoff", "--to", "eliza", "--json", *mods, *place, *words)
    (made,) = [each for each in store.summaries() if each.session != "old"]
    new = made.session
    of_old, of_new = ([(each.type, each.data) for each in store.read(id_)] for id_ in ("old", new))

    assert (code, err, made.cwd) == (0, "", str(tmp_path / "work"))
    (trace,) = (tmp_path / "traces").iterdir()
    text_of_trace = trace.read_text(encoding="utf-8")
    assert ['"Proxy(1)"' in text_of_trace, '"Proxy(2)"' in text_of_trace] == [True, False]
    events = [json.loads(line) for line in out.splitlines()]
    assert (events[0]["data"], events[-1]["data"]) == (
        {"sessionId": new},
        {"stopReason": "end_turn"},
    )
    assert of_old[2:] == [("link", {"to": new, "agent": "eliza"})]
    assert ("link", {"from": "old"}) in of_new
    prompts = [data["text"] for kind, data in of_new if kind == "prompt"]
    assert prompts == [f"{summary.rstrip()}\n\n---\n\n{text}"]


class Recorded:
    """A report that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def opened(self, session_id: str) -> None:
        self.calls.append(("opened", session_id))

    def update(self, params: Any) -> None:
        self.calls.append(("update", params))

    def decided(self, permission: Permission, decision: Decision) -> None:
        self.calls.append(("decided", (permission, decision)))

    def finished(self, stop_reason: str) -> None:
        self.calls.append(("finished", stop_reason))

    def advised(self, advice: str) -> None:
        self.calls.append(("advised", advice))

    def failed(self, failure: ReportedFailure) -> None:
        self.calls.append(("failed", failure))


@pytest.mark.requirement("timelines.handoff")
def test_handoff_reports_all_of_the_turn() -> None:
    permission = Permission(ToolCall("1", "go", "pending", "other"), ())
    failure = ReportedFailure(ExitCode.RUNTIME, "agent", "no", "")
    recorded = Recorded()
    report = LinkingReport(recorded, TimelineStore(), "old", "eliza")
    report.opened("new")
    report.update({"x": 1})
    report.decided(permission, Declined())
    report.finished("end_turn")
    report.advised("try this")
    report.failed(failure)

    assert recorded.calls == [
        ("opened", "new"),
        ("update", {"x": 1}),
        ("decided", (permission, Declined())),
        ("finished", "end_turn"),
        ("advised", "try this"),
        ("failed", failure),
    ]
