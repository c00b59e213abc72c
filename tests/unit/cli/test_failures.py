"""What each exception means to a person, and to a program."""

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.errors import ConnectionClosedError, LocalError
from peerwire.jsonrpc.errors import RpcError
from symposium.cli.ending import MEANINGS, ExitCode, Failure
from symposium.cli.failures import LONGEST_SHOWN, failure_of
from symposium.errors import StepError, SymposiumError

DEATH = {"reason": "component_exited", "component": "mod", "index": 0, "argv": ["mod", "a b"]}


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
        (ZeroDivisionError("by zero"), 1, "host", "a bug of symposium: ZeroDivisionError: by zero"),
        (
            ExceptionGroup("two", [ExceptionGroup("one", [KeyError("x")])]),
            1,
            "host",
            "a bug of symposium: KeyError: 'x'",
        ),
    ],
)
def test_an_exception_becomes_one_message(
    error: Exception, code: int, origin: str, message: str
) -> None:
    failure = failure_of(error)

    assert (failure.code, failure.origin) == (code, origin)
    assert message in failure.message
    assert failure.text().startswith(f"symposium: {failure.message}")


@pytest.mark.requirement("cli.bad-agent-closes", "cli.errors-what-where-how")
def test_the_last_words_of_a_dead_program_are_shown_and_made_safe() -> None:
    words = "\n".join(f"line {number}" for number in range(20)) + "\n\x1b[31mred\n"
    data = {**DEATH, "exitCode": 7, "signal": None, "stderrTail": words}
    failure = failure_of(StepError("session/new", RpcError(-32603, data)))

    assert failure.message == "component mod `mod 'a b'` exited with code 7 at session/new"
    assert failure.hint.splitlines() == [
        *("its last words:", "| line 16", "| line 17", "| line 18", "| line 19", "| ␛[31mred"),
    ]


@pytest.mark.requirement("cli.errors-what-where-how")
def test_what_an_agent_answers_is_cut_and_made_safe() -> None:
    error = RpcError(-1, "x" * 10_000, message="\x1b]0;owned\x07")
    message = failure_of(StepError("session/prompt", error)).message

    assert "␛]0;owned␇" in message
    assert len(message) < LONGEST_SHOWN + 100


@pytest.mark.requirement("cli.errors-what-where-how")
@pytest.mark.parametrize("data", [None, [], "text", {"reason": "else"}, {"reason": ["x"]}])
def test_an_answer_of_any_shape_is_told_as_the_agents_own(data: object) -> None:
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
def test_data_that_looks_like_ours_and_is_not_breaks_nothing(
    reason: str, data: dict[str, Any]
) -> None:
    error = StepError("initialize", RpcError(-32603, {**data, "reason": reason}))
    text = failure_of(error).text()

    assert "\x1b" not in text
    assert "at initialize" in text


@pytest.mark.requirement("cli.error-object")
def test_every_exit_code_has_its_meaning_on_the_page() -> None:
    assert set(MEANINGS) == set(ExitCode)


@pytest.mark.requirement("cli.error-object")
def test_the_object_has_the_members_that_programs_rely_on() -> None:
    failure = Failure(ExitCode.TIMEOUT, "no_answer", "m", "h", "agent", is_retryable=True)

    assert failure.body() == {
        "code": "TIMEOUT",
        "detailCode": "no_answer",
        "message": "m",
        "hint": "h",
        "retryable": True,
        "origin": "agent",
        "docs": "docs/reference/exit-codes.md",
    }
