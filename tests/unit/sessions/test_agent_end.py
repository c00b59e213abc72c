"""Why an agent has ended, and what a login takes, in words for the user."""

from typing import Any

import pytest

from peerwire.errors import AUTH_REQUIRED, INTERNAL_ERROR, ConnectionClosedError, RpcError
from symposium.errors import StepError, SymposiumError
from symposium.sessions.agent_exit import exit_reason, login_of, wants_login
from symposium.sessions.session import Login


def ended(**data: Any) -> Exception:
    return StepError("session/prompt", RpcError(INTERNAL_ERROR, {**data}))


EXITED = {"reason": "component_exited", "argv": ["agent", "a b"]}


@pytest.mark.requirement("agent-sessions.why-it-ended")
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SymposiumError("no rules", ""), "no rules"),
        (
            ended(reason="component_start_failed", detail="no \x1b[31msuch file"),
            "no ␛[31msuch file",
        ),
        (ended(**EXITED, exitCode=0), "`agent 'a b'` exited with code 0"),
        (ended(**EXITED, signal="SIGKILL", exitCode=-9), "`agent 'a b'` was ended by SIGKILL"),
        (ended(**EXITED), "`agent 'a b'` closed its side"),
        (ended(reason="component_exited", argv="agent"), "the agent closed its side"),
        (
            ended(**EXITED, exitCode=2, stderrTail="first\nno key\n\n"),
            "`agent 'a b'` exited with code 2: no key",
        ),
    ],
)
def test_the_end_of_an_agent_is_explained(error: Exception, text: str) -> None:
    assert exit_reason(error) == text


@pytest.mark.requirement("agent-sessions.why-it-ended")
@pytest.mark.parametrize(
    "error",
    [
        ended(reason="shutting_down"),
        ended(reason="component_start_failed", detail=""),
        StepError("initialize", ConnectionClosedError("closed")),
    ],
)
def test_an_end_without_a_known_reason_is_its_error(error: Exception) -> None:
    assert exit_reason(error) == str(error)


@pytest.mark.requirement("agent-sessions.why-it-ended")
def test_the_last_line_of_an_agent_is_cut() -> None:
    text = exit_reason(ended(**EXITED, exitCode=1, stderrTail="x" * 10_000))
    assert len(text) < 300


def refusal(step: str = "session/new", code: int = AUTH_REQUIRED, **data: Any) -> StepError:
    return StepError(step, RpcError(code, {**data} or None, message="please log in"))


@pytest.mark.requirement("tasks.login")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal(), True),
        (refusal(code=INTERNAL_ERROR), False),
        (refusal("authenticate", INTERNAL_ERROR), True),
        (StepError("authenticate", ConnectionClosedError("closed")), False),
        (RpcError(AUTH_REQUIRED), False),
    ],
)
def test_only_a_refusal_of_the_agent_asks_for_a_login(error: Exception, *, expected: bool) -> None:
    assert wants_login(error) is expected


@pytest.mark.requirement("tasks.login")
def test_a_login_names_the_ways_and_what_the_agent_said() -> None:
    ways = [
        {"id": "web", "name": "Browser"},
        {"id": "term", "name": "Terminal", "type": "terminal", "args": ["login"]},
    ]
    found = login_of(refusal(details="the key is old"), {"authMethods": ways}, ["agent", "--acp"])

    assert found.said == "please log in: the key is old"
    assert found.ways == {"web": "Browser"}
    assert [line.partition(":")[0] for line in found.lines] == ["Browser", "Terminal"]
    assert found.lines[1].endswith("agent --acp login")


@pytest.mark.requirement("tasks.login")
def test_an_agent_that_names_no_way_has_a_command_of_its_own() -> None:
    failed = login_of(refusal("authenticate", INTERNAL_ERROR, details=""), {}, [])

    line = "the agent names no way to log in: use its own command in a terminal"
    assert failed == Login("that did not work: please log in", (line,))
