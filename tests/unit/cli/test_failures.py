"""Messages and exit codes for exceptions."""

import errno
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localio.errors import ExplainedError, LocalIOError, ProgramNotFoundError
from peerwire.errors import (
    AUTH_REQUIRED,
    RESOURCE_NOT_FOUND,
    ConnectionClosedError,
    LocalError,
    RpcError,
)
from symposium.bus.errors import BusRefusedError
from symposium.chain.calls import FAULTS
from symposium.cli import stderr_log
from symposium.cli.exit_codes import MEANINGS, ExitCode, ReportedFailure
from symposium.cli.failures import MAX_SHOWN, failure_of
from symposium.cli.stderr_log import ABOVE, ComponentTalk
from symposium.errors import (
    AgentTimeoutError,
    BadValueError,
    NotFoundError,
    SpecError,
    StepError,
    SymposiumError,
)
from symposium.permissions.verdict import PolicyError

EXIT = {"reason": "component_exited", "component": "mod", "index": 0, "argv": ["mod", "a b"]}


def missing() -> OSError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", "/no/such")


@pytest.mark.requirement("cli.errors-what-where-how", "cli.error-object")
@pytest.mark.parametrize(
    ("error", "code", "origin", "message"),
    [
        (missing(), 4, "cli", "/no/such: No such file or directory"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "cli", "Permission denied"),
        (LocalError("a bad call"), 1, "host", "a bad call"),
        (SymposiumError("it is so", "do this"), 1, "host", "it is so"),
        (StepError("initialize", ConnectionClosedError("gone")), 1, "component", "at initialize"),
        (ZeroDivisionError("by zero"), 1, "host", "a bug in Symposium: ZeroDivisionError: by zero"),
        (
            ExceptionGroup("two", [ExceptionGroup("one", [KeyError("x")])]),
            1,
            "host",
            "a bug in Symposium: KeyError: 'x'",
        ),
    ],
)
def test_exception_becomes_one_message(
    error: Exception, code: int, origin: str, message: str
) -> None:
    failure = failure_of(error)

    assert (failure.code, failure.origin) == (code, origin)
    assert message in failure.message
    assert failure.text().startswith(f"symposium: {failure.message}")


@pytest.mark.requirement("cli.bad-agent-closes", "cli.errors-what-where-how")
def test_stderr_of_an_exited_program_is_shown_sanitized() -> None:
    words = "\n".join(f"line {number}" for number in range(20)) + "\n\x1b[31mred\n"
    data = {**EXIT, "exitCode": 7, "signal": None, "stderrTail": words}
    failure = failure_of(StepError("session/new", RpcError(-32603, data)))

    few = {**data, "stderrTail": "\n\n  only\n\n"}
    short = failure_of(StepError("session/new", RpcError(-32603, few))).hint
    assert short == "its last stderr lines:\n| only"
    assert failure.message == "component mod `mod 'a b'` exited with code 7 at session/new"
    assert failure.hint.splitlines() == [
        *(
            "its last stderr lines:",
            "| line 16",
            "| line 17",
            "| line 18",
            "| line 19",
            "| ␛[31mred",
        ),
    ]


@pytest.mark.requirement("cli.errors-what-where-how")
def test_error_message_of_an_agent_is_truncated_and_sanitized() -> None:
    error = RpcError(-1, "x" * 10_000, message="\x1b]0;owned\x07")
    message = failure_of(StepError("session/prompt", error)).message

    assert "␛]0;owned␇" in message
    assert len(message) < MAX_SHOWN + 100


@pytest.mark.requirement("cli.errors-what-where-how")
@pytest.mark.parametrize("data", [None, [], "text", {"reason": "else"}, {"reason": ["x"]}])
def test_unknown_error_data_is_attributed_to_the_agent(data: object) -> None:
    failure = failure_of(StepError("session/prompt", RpcError(-1, data, message="no")))

    assert failure.origin == "agent"
    assert "session/prompt" in failure.message


REASONS = [
    *("component_start_failed", "component_exited", "initialize_timeout"),
    *("protocol_version_missing", "protocol_version_mismatch"),
]
MEMBERS = ["component", "detail", "argv", "signal", "exitCode", "stderrTail", "seconds", "errno"]
ODD: st.SearchStrategy[Any] = (
    st.none() | st.integers() | st.text() | st.lists(st.integers() | st.text()) | st.just("\x1b[2J")
)


@pytest.mark.requirement("cli.errors-what-where-how")
@given(st.sampled_from(REASONS), st.dictionaries(st.sampled_from(MEMBERS), ODD))
def test_malformed_error_data_raises_nothing(reason: str, data: dict[str, Any]) -> None:
    error = StepError("initialize", RpcError(-32603, {**data, "reason": reason}))
    text = failure_of(error).text()

    assert "\x1b" not in text
    assert "at initialize" in text


@pytest.mark.requirement("cli.error-object")
def test_every_exit_code_is_documented() -> None:
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.requirement("cli.error-object")
def test_json_error_has_the_documented_members() -> None:
    failure = ReportedFailure(ExitCode.TIMEOUT, "no_answer", "m", "h", "agent", is_retryable=True)

    assert failure.body() == {
        "code": "TIMEOUT",
        "detailCode": "no_answer",
        "message": "m",
        "hint": "h",
        "retryable": True,
        "origin": "agent",
        "docs": "docs/reference/exit-codes.md",
    }


@pytest.mark.requirement("cli.error-object")
@pytest.mark.parametrize(
    ("error", "code", "detail", "origin", "is_retryable"),
    [
        (SpecError("m", "h"), ExitCode.USAGE, "bad_spec", "cli", False),
        (BadValueError("m", "h"), ExitCode.USAGE, "bad_value", "cli", False),
        (NotFoundError("m", "h"), ExitCode.NOT_FOUND, "not_found", "cli", False),
        (ProgramNotFoundError("m", "h"), ExitCode.NOT_FOUND, "not_found", "cli", False),
        (LocalIOError("m", "h"), ExitCode.RUNTIME, "failed", "host", False),
        (PolicyError("m", "h"), ExitCode.RUNTIME, "policy", "cli", False),
        (AgentTimeoutError("m", "h"), ExitCode.TIMEOUT, "no_answer", "agent", True),
        (SymposiumError("m", "h"), ExitCode.RUNTIME, "failed", "host", False),
        (BusRefusedError("m", "already_answered", "h"), 4, "already_answered", "host", False),
        (BusRefusedError("m", "bad_choice", "h"), ExitCode.USAGE, "bad_choice", "host", False),
        (BusRefusedError("m", "bad_value", "h"), ExitCode.USAGE, "bad_value", "host", False),
        (BusRefusedError("m", "forbidden", "h"), ExitCode.DENIED, "forbidden", "host", False),
        (BusRefusedError("m", "no_handler", "h"), ExitCode.NOT_FOUND, "no_handler", "host", False),
        (BusRefusedError("m", "not_found", "h"), ExitCode.NOT_FOUND, "not_found", "host", False),
        (BusRefusedError("m", "timeout", "h"), ExitCode.TIMEOUT, "timeout", "host", True),
        (BusRefusedError("m", "new", "h"), ExitCode.RUNTIME, "new", "host", False),
        (BusRefusedError("m", "", "h"), ExitCode.RUNTIME, "refused", "host", False),
    ],
)
def test_each_error_has_its_exit_code_and_hint(
    error: ExplainedError, code: int, detail: str, origin: str, *, is_retryable: bool
) -> None:
    assert failure_of(error) == ReportedFailure(
        ExitCode(code), detail, "m", "h", origin, is_retryable
    )


@pytest.mark.requirement("cli.errors-what-where-how", "cli.error-object")
@pytest.mark.parametrize(
    ("data", "code", "detail", "origin", "message"),
    [
        (
            {"reason": "policy", "detail": "line 3"},
            *(ExitCode.RUNTIME, "policy", "cli"),
            "cannot read your policy rules, so no agent starts (at initialize): line 3",
        ),
        (
            {"reason": "component_start_failed", "errno": errno.ENOENT, "detail": "no x; install"},
            *(ExitCode.NOT_FOUND, "start_failed", "component"),
            "component agent did not start (at initialize): no x",
        ),
        (
            {"reason": "component_start_failed", "errno": errno.EACCES, "detail": "no x; install"},
            *(ExitCode.RUNTIME, "start_failed", "component"),
            "component agent did not start (at initialize): no x",
        ),
        (
            {"reason": "component_exited", "signal": "SIGKILL", "exitCode": None},
            *(ExitCode.RUNTIME, "exited", "component"),
            "component agent was killed by SIGKILL at initialize",
        ),
        (
            {"reason": "component_exited"},
            *(ExitCode.RUNTIME, "exited", "component"),
            "component agent closed the connection at initialize",
        ),
        (
            {"reason": "initialize_timeout", "seconds": 3},
            *(ExitCode.TIMEOUT, "no_answer", "component"),
            "component agent timed out after 3 s (at initialize)",
        ),
        (
            {"reason": "protocol_version_missing"},
            *(ExitCode.RUNTIME, "version", "component"),
            "component agent answered without a protocolVersion (at initialize)",
        ),
        (
            {"reason": "protocol_version_mismatch", "answered": 9},
            *(ExitCode.RUNTIME, "version", "component"),
            "component agent answered 9 as its version of ACP (at initialize)",
        ),
        (
            {"reason": "mod_failed", "mod": "m", "method": "x", "fault": "KeyError"},
            *(ExitCode.RUNTIME, "mod_failed", "component"),
            "mod m failed on x (at initialize): KeyError",
        ),
        (
            {"reason": "mod_gave_no_answer", "mod": "m", "method": "x"},
            *(ExitCode.RUNTIME, "mod_failed", "component"),
            "mod m gave no answer to x (at initialize)",
        ),
    ],
)
def test_error_of_a_failed_start_names_component_step_and_reason(
    data: dict[str, Any], code: ExitCode, detail: str, origin: str, message: str
) -> None:
    error = StepError("initialize", RpcError(-32603, {"component": "agent", **data}))
    failure = failure_of(error)

    assert (failure.code, failure.detail_code, failure.origin) == (code, detail, origin)
    assert failure.message == message
    assert failure.is_retryable == (code is ExitCode.TIMEOUT)
    assert failure.hint or data["reason"] in {"policy", *VERSIONS}


VERSIONS = {"protocol_version_missing", "protocol_version_mismatch"}


@pytest.mark.requirement("cli.error-object")
@pytest.mark.parametrize(
    ("number", "code", "detail"),
    [
        (AUTH_REQUIRED, ExitCode.DENIED, "auth_required"),
        (RESOURCE_NOT_FOUND, ExitCode.NOT_FOUND, "agent_error"),
        (-32603, ExitCode.RUNTIME, "agent_error"),
    ],
)
def test_error_of_the_agent_has_its_exit_code_and_a_hint(
    number: int, code: ExitCode, detail: str
) -> None:
    failure = failure_of(StepError("session/new", RpcError(number, "words")))

    assert (failure.code, failure.detail_code, failure.origin) == (code, detail, "agent")
    assert "session/new" in failure.message
    assert "words" in failure.message
    assert failure.hint


class KeptRecords(logging.Handler):
    """Keeps every record; other tests change the handlers of the real loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.mark.requirement("cli.component-stderr", "showing.once")
@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_stderr_of_a_component_is_an_error_only_where_a_mod_failed(
    caplog: pytest.LogCaptureFixture, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptRecords()
    for name in (FAULTS, stderr_log.__name__):
        caplog.set_level(level, logger=name)
        monkeypatch.setattr(logging.getLogger(name), "handlers", [kept])
        monkeypatch.setattr(logging.getLogger(name), "propagate", False)
    talk = ComponentTalk()
    for component, line in (
        ("a", b"ready \x1b[31m\xff  "),
        ("a", b"Traceback (most recent call last):"),
        ("b", b"  of another component"),
        ("a", b"  File x"),
        ("a", b"\tand a tab"),
        ("a", b"KeyError: 'x'"),
        ("a", b"after it"),
        ("b", b"mod my_mod failed on session/new \x07"),
    ):
        talk(component, line)

    faults = [
        "a! Traceback (most recent call last):",
        "a!   File x",
        "a! \tand a tab",
        "a! KeyError: 'x'",
        "b! mod my_mod failed on session/new ␇",
    ]
    others = ["a! ready ␛[31m\ufffd  ", "b!   of another component", "a! after it"]
    found = [(each.levelno, each.getMessage()) for each in kept.records]
    assert [text for number, text in found if number == logging.ERROR] == faults
    assert [text for number, text in found if number == logging.INFO] == (
        others if level == logging.INFO else []
    )
    message = ["it failed", "|   File x", "| KeyError: 'x'", "| new", "| ready ␛[31m\ufffd"]
    assert talk.not_yet_shown(message) == [
        *("it failed", ABOVE, "| new"),
        ABOVE if level == logging.INFO else "| ready ␛[31m\ufffd",
    ]
