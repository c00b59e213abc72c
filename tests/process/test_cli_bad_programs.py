"""Missing or misbehaving programs with the real command: errors, or survived faults."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from symposium.__main__ import main

AGENT: Final = f"'{sys.executable}' '{Path(__file__).parent / 'agents' / 'scripted_agent.py'}'"


@dataclass(frozen=True)
class Case:
    """An agent, the exit code of its prompt, and the expected message."""

    agent: str
    code: int
    says: tuple[str, ...] = ()
    answer: str = ""
    options: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])


def scripted(behaviour: str, code: int, *says: str, answer: str = "") -> Case:
    return Case(f"{AGENT} {behaviour}", code, says, answer)


def hasty(agent: str, *says: str) -> Case:
    return Case(agent, 3, says, options=("--timeout", "0.5"))


def survived(behaviour: str) -> Case:
    return scripted(behaviour, 0, answer="Answered.\n")


MISSING: Final = [
    Case("nosuchprogram --acp", 4, ("nosuchprogram", "at initialize", "ENOENT", "on PATH?")),
    Case("./nosuch", 4, ("./nosuch", "ENOENT", "correct the path")),
    Case("/no/such/agent x", 4, ("/no/such/agent x", "ENOENT", "correct the path")),
    Case("~/agent", 4, ("no shell reads it", "write the full path")),
    Case("$AGENT --acp", 4, ("no shell reads it",)),
    Case("/tmp", 1, ("/tmp", "EACCES", "directory")),
    Case("/tmp --acp", 1, ("/tmp --acp", "EACCES")),
    Case("./plain", 1, ("./plain", "EACCES", "chmod +x"), files={"plain": ("x", 0o644)}),
    Case("./bad", 4, ("./bad", "interpreter"), files={"bad": ("#!/no/such/sh\n", 0o755)}),
    Case("./empty", 1, ("./empty", "ENOEXEC"), files={"empty": ("\0\1\2", 0o755)}),
    Case('{"command": "nosuch", "args": ["a b"]}', 4, ("nosuch 'a b'", "ENOENT")),
    Case('{"command": "cat", "cwd": "/no/such"}', 4, ("/no/such", "create its directory")),
    Case("true", 1, ("component true", "exited with code 0", "at initialize")),
    Case("false", 1, ("component false", "exited with code 1", "at initialize")),
    Case("sh -c 'echo oops >&2; exit 3'", 1, ("exited with code 3", "| oops")),
    Case("sh -c 'kill -9 $$'", 1, ("was killed by SIGKILL", "at initialize")),
    Case("cat", 1, ("initialize", "error -32601")),
]

CLOSES: Final = [
    scripted("initialize=exit:3", 1, "exited with code 3", "at initialize", "| giving up"),
    scripted("after-initialize=exit:3", 1, "exited with code 3", "at session/new"),
    scripted("new=exit:0", 1, "exited with code 0", "at session/new", "| giving up"),
    scripted("new=kill", 1, "was killed by SIGKILL", "at session/new"),
    scripted("after-new=exit:4", 1, "exited with code 4", "at session/prompt"),
    scripted("prompt=exit:5", 1, "exited with code 5", "at session/prompt", "| giving up"),
    scripted("prompt=kill", 1, "was killed by SIGKILL", "at session/prompt"),
    scripted("prompt=say:Half prompt=exit:1", 1, "at session/prompt", answer="Half\n"),
    scripted("initialize=close", 1, "at initialize"),
    scripted("prompt=close", 1, "at session/prompt"),
    scripted("after-prompt=exit:0", 0, answer="Answered.\n"),
]

TEXT: Final = [
    survived("any=text"),
    survived("initialize=text:Welcome"),
    survived("any=text:{}"),
    survived("any=text:[]"),
    survived("any=text:7"),
    survived("any=text:null"),
    survived('any=text:"{"'),
    survived('\'any=text:{"level":"info","msg":"started"}\''),
]

TWICE: Final = [
    survived("initialize=twice"),
    survived("new=twice"),
    scripted("prompt=twice", 0),
]

UNKNOWN_IDS: Final = [
    survived("any=unknown-id"),
    survived("prompt=unknown-id"),
    survived("after-prompt=unknown-id"),
]

SILENT: Final = [
    hasty(f"{AGENT} initialize=silent", "timed out after 0.5 s", "at initialize"),
    hasty(f"{AGENT} new=silent", "did not answer session/new", "--timeout"),
    hasty(f"{AGENT} prompt=silent", "session/prompt", "--timeout"),
    hasty("sleep 60", "component sleep timed out after 0.5 s", "--acp"),
]

WRONG_ANSWERS: Final = [
    scripted("'initialize=result:{}'", 1, "protocolVersion", "at initialize"),
    scripted("initialize=result:null", 1, "protocolVersion"),
    scripted("'initialize=result:{\"protocolVersion\":99}'", 1, "99", "its version of ACP"),
    scripted("initialize=error:-32603:broken", 1, "initialize", "error -32603", "broken"),
    scripted("initialize=both", 1, "initialize"),
    scripted("new=error:-32000:login", 5, "requires a login", "at session/new"),
    scripted("new=error:-32002:gone", 4, "session/new", "-32002", "gone"),
    scripted("'new=result:{}'", 1, "session/new", "no sessionId"),
    scripted("new=both", 1, "session/new", "both a result and an error"),
    scripted("prompt=error:-1:overloaded", 1, "session/prompt", "-1", "overloaded"),
    scripted("prompt=result:null", 1, "none given"),
    scripted("prompt=stop:max_tokens", 1, "max_tokens"),
    scripted("prompt=stop:max_turn_requests", 1, "max_turn_requests"),
    scripted("prompt=stop:refusal", 5, "refusal"),
    scripted("prompt=stop:cancelled", 130, "cancelled"),
    scripted("prompt=stop:tired", 1, "tired"),
    survived('\'prompt=update:{"sessionUpdate":"weather","sky":"grey"}\''),
    survived("prompt=update:7"),
    survived('\'prompt=update:{"sessionUpdate":"plan","entries":{}}\''),
]


def name_of(case: Case) -> str:
    return case.agent.removeprefix(AGENT).strip()


@pytest.fixture
def check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Case], None]:
    """Prompt the agent of a case, a real program, and compare the result."""

    def prompt(case: Case) -> None:
        for name, (text, mode) in case.files.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(mode)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main(["prompt", "--agent", case.agent, *case.options, "hello"], prog_name="symposium")
        written = capsys.readouterr()

        assert ended.value.code == case.code, written.err
        assert [part for part in case.says if part not in written.err] == [], written.err
        assert "Traceback" not in written.err
        assert len(written.err.splitlines()) <= 10
        if case.answer:
            assert written.out == case.answer

    return prompt


@pytest.mark.requirement("cli.bad-program", "cli.exit-not-found")
@pytest.mark.parametrize("case", MISSING, ids=name_of)
def test_program_that_cannot_start_is_reported_with_the_reason(
    case: Case, check: Callable[[Case], None]
) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-agent-closes", "cli.exit-runtime")
@pytest.mark.parametrize("case", CLOSES, ids=name_of)
def test_component_that_exited_is_named_with_the_step(
    case: Case, check: Callable[[Case], None]
) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-agent-text")
@pytest.mark.parametrize("case", TEXT, ids=name_of)
def test_text_between_the_messages_does_not_lose_the_answer(
    case: Case, check: Callable[[Case], None]
) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-agent-twice")
@pytest.mark.parametrize("case", TWICE, ids=name_of)
def test_second_response_changes_nothing(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-agent-unknown-id")
@pytest.mark.parametrize("case", UNKNOWN_IDS, ids=name_of)
def test_responses_to_nothing_are_ignored(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-agent-silent", "cli.exit-timeout")
@pytest.mark.parametrize("case", SILENT, ids=name_of)
def test_silent_agent_times_out(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.requirement("cli.prompt-stop-reasons", "cli.exit-denied", "cli.exit-runtime")
@pytest.mark.parametrize("case", WRONG_ANSWERS, ids=name_of)
def test_every_outcome_has_its_exit_code(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.requirement("cli.bad-cases-hundred")
def test_cases_of_every_kind_of_misbehavior_exist() -> None:
    # With the 95 of tests/unit/cli/test_bad_command_lines.py they are more than 150.
    kinds = [MISSING, CLOSES, TEXT, TWICE, UNKNOWN_IDS, SILENT, WRONG_ANSWERS]

    assert all(len(kind) >= 3 for kind in kinds)
    assert sum(map(len, kinds)) >= 60
