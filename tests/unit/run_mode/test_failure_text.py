"""Texts about failed agents in the chat."""

from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import AUTH_REQUIRED, INTERNAL_ERROR, RpcError
from symposium.chain.handshake import VERSION_MISMATCH
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.failure_text import (
    CHOICES,
    Return,
    came_back,
    exit_manner,
    gave_up,
    not_reopened,
    notice,
    of_chain,
    offer,
)


@pytest.mark.requirement("stories.a-04-told-once")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"component": "x", "reason": "cancel_ignored", "signal": "SIGKILL"},
         "`x` did not stop when asked, so it was killed."),
        ({"component": "x", "signal": "SIGSEGV", "exitCode": 1}, "`x` was killed by SIGSEGV."),
        ({"component": "x", "exitCode": 0, "stderrTail": "s"}, "`x` exited with code 0."),
        ({"component": "x", "stderrTail": "a\nb"}, "`x` ended: a b."),
        ({"component": "x", "stderrTail": "a" * 301}, f"`x` ended: {'a' * 299}…."),
        ({}, "`the agent` closed the connection."),
    ],
)  # fmt: skip
def test_the_end_of_a_component_is_described(data: dict[str, Any], text: str) -> None:
    assert exit_manner(RpcError(INTERNAL_ERROR, data)) == text


FRESH = (
    "It was restarted with a **fresh context**: it cannot reopen sessions, so it does not know "
    "the earlier messages."
)
RECAP = " `/symposium:recap` sends it a short summary of them."
CONTINUES = "It was restarted; this session continues where it left off."


@pytest.mark.requirement("stories.a-04-resumed", "stories.a-05-fresh", "stories.a-05-recap")
@pytest.mark.parametrize(
    ("how", "has_memory", "text"),
    [
        ("session/resume", True, CONTINUES),
        ("session/load", False, CONTINUES),
        ("fresh", False, FRESH),
        ("fresh", True, FRESH + RECAP),
    ],
)
def test_the_return_of_an_agent_is_described(how: Return, has_memory: bool, text: str) -> None:  # noqa: FBT001 - pytest passes it
    assert came_back(how, has_memory=has_memory) == text


@pytest.mark.requirement("stories.a-04-offered")
def test_the_parts_of_a_notice_are_one_paragraph() -> None:
    unanswered = (
        "Your last message was not answered. It is not sent again automatically: "
        "type `/symposium:retry` to send it."
    )
    assert notice("It.", offer(was_interrupted=False)) == "\n\n⚠ It.\n\n"
    assert notice("It.", offer(was_interrupted=True)) == f"\n\n⚠ It. {unanswered}\n\n"


@pytest.mark.requirement("stories.a-04-gives-up")
@pytest.mark.parametrize(
    ("failures", "reason", "text"),
    [
        (1, "", "It is not restarted."),
        (2, "", "It has failed 2 times within 10 minutes, so Symposium does not restart it again."),
        (
            3,
            "why\nso",
            (
                "It has failed 3 times within 10 minutes, so Symposium does not restart it again "
                "(why so)."
            ),
        ),
    ],
)
def test_the_end_of_the_restarts_gives_its_reason_and_the_ways_on(
    failures: int, reason: str, text: str
) -> None:
    assert gave_up(failures, 600.0, reason) == (
        f"{text} `/symposium:retry` tries again. "
        "To choose another agent before that, type `/symposium:config`."
    )


@pytest.mark.requirement("stories.a-04-gives-up")
def test_session_that_the_restarted_agent_does_not_open_is_described() -> None:
    text = "It was restarted but did not open this session (no)."
    assert not_reopened("no").startswith(f"{text} `/symposium:retry` tries again.")


PATH = Path("/home/config.jsonc")
CONFIG = Config("claude", (ModEntry("off", enabled=False), ModEntry("tag")))
AGENT = "**This session has no agent yet.** The agent `claude`"
AGENT_END = f"\n\nThe config file is `{PATH}`.\n\n"
LOG_IN = (
    "Log in with the agent's own command in a terminal, then send any message here to try again."
)
EXITED: dict[str, Any] = {"reason": "component_exited", "component": "claude"}


@pytest.mark.requirement("run-mode.mending-opens")
@pytest.mark.parametrize(
    ("error", "manner"),
    [
        (
            RpcError(INTERNAL_ERROR, {**EXITED, "argv": ["a b", 1], "signal": "SIGKILL"}),
            (
                "did not start: its command `'a b' 1` was killed by SIGKILL and wrote nothing to "
                "stderr. Check that it speaks ACP."
            ),
        ),
        (
            RpcError(INTERNAL_ERROR, {**EXITED, "argv": "a", "exitCode": 0, "stderrTail": " \n"}),
            (
                "did not start: it exited with code 0 and wrote nothing to stderr. "
                "Check that it speaks ACP."
            ),
        ),
        (
            RpcError(
                INTERNAL_ERROR,
                {**EXITED, "stderrTail": "".join(f"{number}\n" for number in range(10))},
            ),
            "did not start: it closed the connection. Its last stderr lines:\n\n"
            + "\n".join(f"    {number}" for number in range(2, 10)),
        ),
        (
            RpcError(INTERNAL_ERROR, {"reason": "initialize_timeout", "seconds": 30}),
            "did not answer `initialize` within 30 seconds; check that it speaks ACP.",
        ),
        (
            RpcError(INTERNAL_ERROR, {"reason": "missing_capability", "capability": "bash"}),
            "needs `bash`, which neither the editor nor a mod offers.",
        ),
        (
            RpcError(
                INTERNAL_ERROR,
                {"reason": VERSION_MISMATCH, "answered": 2, "selected": 1, "hint": "update it"},
            ),
            (
                "did not start: it uses version 2 of ACP, but this connection uses version 1. "
                "To fix that, update it."
            ),
        ),
        (
            RpcError(INTERNAL_ERROR, {"reason": "config", "detail": "--agent: no such agent"}),
            "did not start: no such agent",
        ),
        (
            RpcError(INTERNAL_ERROR, {"detail": "", "details": 3, "message": "in \x1b[1mbold"}),
            "did not start: Internal error: in ␛[1mbold",
        ),
        (RpcError(INTERNAL_ERROR, "text"), "did not start: Internal error: text"),
        (RpcError(INTERNAL_ERROR, {"odd": 1}), "did not start: Internal error: {'odd': 1}"),
        (RpcError(INTERNAL_ERROR), "did not start: Internal error"),
    ],
)
def test_an_agent_that_does_not_start_is_described(error: RpcError, manner: str) -> None:
    text = of_chain(error, CONFIG, PATH).text()

    assert text == f"{AGENT} {manner}{AGENT_END}{CHOICES}"


@pytest.mark.requirement("run-mode.mending-opens")
def test_the_fix_fits_the_failed_component() -> None:
    login = of_chain(RpcError(AUTH_REQUIRED, message="Log in"), CONFIG, PATH).text()
    assert login == f"{AGENT} requires a login: Log in{AGENT_END}{LOG_IN}\n\n{CHOICES}"

    mod = of_chain(RpcError(INTERNAL_ERROR, {"mod": "tag", "reason": "broke"}), CONFIG, PATH)
    assert mod.text() == (
        "**This session has no agent yet.** The mod `tag` did not start: Internal error: broke"
        f"\n\nThe config file is `{PATH}`.\n\n"
        f"To turn it off, type `/symposium:config`, then `2`, then `SAVE`.\n\n{CHOICES}"
    )
    # A mod that is turned off is in no chain.
    disabled = of_chain(RpcError(INTERNAL_ERROR, {"component": "off"}), CONFIG, PATH)
    assert disabled.reason.startswith("The agent `claude` did not start: ")

    policy = of_chain(RpcError(INTERNAL_ERROR, {"reason": "policy", "detail": "x:1"}), CONFIG, PATH)
    assert policy.text() == (
        "**This session has no agent yet.** Your policy rules cannot be read, so no agent starts:"
        "\n\nx:1\n\nFix the file, then send any message to try again.\n"
    )
