"""Explanations of agent exits and required logins, for the user."""

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
        (SymposiumError("no \x1b[31mrules", ""), "no ␛[31mrules"),
        (
            StepError("session/prompt", RpcError(INTERNAL_ERROR, None, message="no \x1b[2J")),
            "session/prompt: no ␛[2J",
        ),
        (ended(**EXITED, exitCode=0), "`agent 'a b'` exited with code 0"),
        (ended(**EXITED, signal="SIGKILL", exitCode=-9), "`agent 'a b'` was killed by SIGKILL"),
        (ended(**EXITED), "`agent 'a b'` closed its output"),
        (ended(reason="component_exited", argv="agent"), "the agent closed its output"),
        (
            ended(**EXITED, exitCode=2, stderrTail="first\nno key\n\n"),
            "`agent 'a b'` exited with code 2: no key",
        ),
    ],
)
def test_exit_of_an_agent_is_explained(error: Exception, text: str) -> None:
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
def test_unknown_exit_is_explained_by_its_error(error: Exception) -> None:
    assert exit_reason(error) == str(error)


@pytest.mark.requirement("agent-sessions.why-it-ended")
def test_last_line_of_an_agent_is_truncated() -> None:
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
def test_only_an_auth_error_of_the_agent_requires_a_login(
    error: Exception, *, expected: bool
) -> None:
    assert wants_login(error) is expected


@pytest.mark.requirement("tasks.login")
def test_login_names_the_methods_and_the_agents_message() -> None:
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
def test_agent_without_login_methods_is_explained() -> None:
    failed = login_of(refusal("authenticate", INTERNAL_ERROR, details=""), {}, [])

    line = "the agent names no login method; log in with its own command in a terminal"
    assert failed == Login("the login failed: please log in", (line,))
