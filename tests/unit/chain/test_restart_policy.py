"""Limits on restarts, and the requests that open sessions again."""

from typing import Any

import pytest
from msgspec import structs

from symposium.chain.restart_policy import (
    RUN_MODE,
    SESSION_SERVER,
    FailureWindow,
    RestartPolicy,
    resume_methods,
)


@pytest.mark.requirement("stories.a-04-gives-up")
def test_window_is_full_while_the_last_failures_are_recent() -> None:
    now = [0.0]
    window = FailureWindow(RestartPolicy(max_failures=2, window=10.0, clock=lambda: now[0]))
    assert (len(window), window.is_full) == (0, False)

    window.add()
    now[0] = 9.9
    window.add()
    assert (len(window), window.is_full) == (2, True)

    now[0] = 10.0
    assert (len(window), window.is_full) == (1, False)

    window.add()
    assert window.is_full
    window.clear()
    assert (len(window), window.is_full) == (0, False)


@pytest.mark.requirement("stories.a-04-gives-up", "agent-sessions.acp-dies")
@pytest.mark.parametrize(("policy", "restarts"), [(RUN_MODE, 2), (SESSION_SERVER, 3)])
def test_policy_allows_a_number_of_restarts_within_five_minutes(
    policy: RestartPolicy, restarts: int
) -> None:
    window = FailureWindow(structs.replace(policy, clock=lambda: 0.0))
    allowed = 0
    window.add()
    while not window.is_full:
        allowed += 1
        window.add()

    assert (allowed, policy.window) == (restarts, 300.0)


@pytest.mark.requirement("stories.a-04-resumed")
@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        (None, []),
        ({}, []),
        ({"loadSession": False, "sessionCapabilities": {"resume": False}}, []),
        ({"sessionCapabilities": {"resume": None}}, []),
        ({"sessionCapabilities": "x", "loadSession": True}, ["session/load"]),
        ({"sessionCapabilities": {"resume": {}}}, ["session/resume"]),
        (
            {"sessionCapabilities": {"resume": {}}, "loadSession": True},
            ["session/resume", "session/load"],
        ),
    ],
)
def test_sessions_are_resumed_before_they_are_loaded(capabilities: Any, expected: Any) -> None:
    assert resume_methods({"agentCapabilities": capabilities}) == expected
