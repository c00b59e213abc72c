"""Commands that signals end, and permission options."""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path

import pytest
from tests.support.web import serving

from symposium.cli.chain_options import agent_spec, source_spec
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import run
from symposium.cli.output import Output
from symposium.cli.session_view import is_of_deleted_task
from symposium.cli.talk_options import Permits, allowing_options, chooser_of, denies_unasked
from symposium.config.component_source import ComponentSource
from symposium.registry.index import registry_context
from symposium.sessions.session import OF_TASK, ServerSessionState, SessionKind, SessionSpec, Status

ENDS = [
    (signal.SIGTERM, ExitCode.TERMINATED),
    (signal.SIGHUP, ExitCode.HUNG_UP),
    (signal.SIGINT, ExitCode.INTERRUPTED),
]


@pytest.mark.requirement("cli.exit-interrupted")
@pytest.mark.parametrize(("number", "code"), ENDS)
def test_signal_ends_a_command_with_its_exit_code(number: signal.Signals, code: ExitCode) -> None:
    cleaned: list[bool] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)
        return 0

    assert (run(work()), cleaned) == (code, [True])


@pytest.mark.requirement("cli.exit-interrupted")
@pytest.mark.parametrize(("number", "code"), ENDS)
def test_signal_during_an_agent_download_ends_the_command_with_its_exit_code(
    number: signal.Signals, code: ExitCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    monkeypatch.setenv("SYMPOSIUM_REGISTRY", str(tmp_path / "registry.json"))
    over = threading.Event()

    def interrupt(_: object) -> None:
        os.kill(os.getpid(), number)
        over.wait()

    with serving() as web:
        web.answers["/agent"] = interrupt
        target = {"archive": web.url("/agent"), "cmd": "./agent"}
        ways = {"binary": {registry_context(os.environ).platform: target}}
        agent = {"id": "some-agent", "name": "A", "version": "1.0", "description": "d"}
        index = {"agents": [{**agent, "distribution": ways}]}
        (tmp_path / "registry.json").write_text(json.dumps(index))

        with pytest.raises(SystemExit) as of_source:
            source_spec(ComponentSource("url", web.url("/agent")))
        with pytest.raises(SystemExit) as of_name:
            agent_spec("some-agent")
        over.set()

    assert (of_source.value.code, of_name.value.code) == (code, code)


@pytest.mark.requirement("front.json-asked-for")
def test_empty_text_keeps_the_last_line_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(on_broken=str)
    output.write("a\n")
    output.write("")
    output.end_line()
    output.write("b")
    output.write("")
    output.end_line()

    assert capsys.readouterr().out == "a\nb\n"


@pytest.mark.requirement("cli.prompt-approve-reads")
@pytest.mark.parametrize(
    ("permits", "kind", "attended", "alone"),
    [
        (Permits("reads", "deny"), "read", "rule:approve-reads", "rule:approve-reads"),
        (Permits("reads", "deny"), "edit", "user", "rule:unattended-deny"),
        (Permits("ask", "fail"), "read", "user", "rule:unattended-fail"),
        (Permits("all", "deny"), "edit", "rule:approve-all", "rule:approve-all"),
        (Permits("none", "deny"), "read", "rule:deny-all", "rule:deny-all"),
    ],
)
def test_record_names_the_option_that_decided_else_the_user_or_their_absence(
    permits: Permits, kind: str, attended: str, alone: str
) -> None:
    params = {"toolCall": {"kind": kind}}

    chosen = [chooser_of(permits, has_person=each)(params) for each in (True, False)]
    assert chosen == [attended, alone]


@pytest.mark.requirement("cli.prompt-approve-reads")
def test_request_is_denied_when_no_option_applies_and_no_one_can_answer() -> None:
    permits = [Permits("ask", "deny"), Permits("ask", "fail"), Permits("all", "deny")]

    assert [denies_unasked(each) for each in permits] == [True, False, False]
    assert allowing_options(Permits("reads", "deny")) == ["--approve-all"]


@pytest.mark.requirement("showing.session-ids")
@pytest.mark.parametrize(
    ("status", "of_task", "is_there", "is_gone"),
    [
        (Status.EXITED, True, False, True),
        (Status.LOST, True, False, True),
        (Status.RUNNING, True, False, False),
        (Status.EXITED, False, False, False),
        (Status.EXITED, True, True, False),
    ],
)
def test_session_of_a_deleted_task_has_ended_and_has_no_worktree(
    status: Status, tmp_path: Path, *, of_task: bool, is_there: bool, is_gone: bool
) -> None:
    cwd = tmp_path if is_there else tmp_path / "gone"
    env = {OF_TASK: "one" if of_task else "two"}
    spec = SessionSpec("one", SessionKind.ACP, ("x",), str(cwd), env)

    assert is_of_deleted_task(spec, ServerSessionState(status)) is is_gone
