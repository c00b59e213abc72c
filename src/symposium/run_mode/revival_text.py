"""Messages about an agent's exit and the recovery of its session. No I/O."""

from typing import Final, Literal, TypeAlias

from localio.text import one_line
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object

Return: TypeAlias = Literal["session/resume", "session/load", "fresh"]
"""The request that restored a session at its new agent, or `fresh` for a new session."""

BEING_STARTED: Final = "It is being restarted."

NOT_RUNNING: Final = (
    "The agent of this session is not running. `/symposium:retry` restarts it; "
    "`/symposium:config` chooses another agent first."
)

NOTHING_TO_SEND: Final = "The agent is running; there is no unanswered message to send again.\n"

NOTHING_SAID: Final = "There is nothing to summarize: this session has no messages yet.\n"

_WIDTH: Final = 300


def exit_manner(death: RpcError) -> str:
    """Describe which component ended, and how."""
    data = as_object(death.data)
    name = f"`{data.get('component', 'the agent')}`"
    if data.get("reason") == "cancel_ignored":
        return f"{name} did not stop when asked, so it was killed."
    if (signal := data.get("signal")) is not None:
        return f"{name} was killed by {signal}."
    if (code := data.get("exitCode")) is not None:
        return f"{name} exited with code {code}."
    said = one_line(str(data.get("stderrTail") or ""), width=_WIDTH)
    return f"{name} ended: {said}." if said else f"{name} closed the connection."


def came_back(how: Return, *, has_memory: bool) -> str:
    """Report that the agent was restarted, and whether it knows the session."""
    match how:
        case "session/resume" | "session/load":
            return "It was restarted; this session continues where it left off."
        case "fresh":
            offer = " `/symposium:recap` sends it a short summary of them." if has_memory else ""
            return (
                "It was restarted with a **fresh context**: it cannot reopen sessions, "
                f"so it does not know the earlier messages.{offer}"
            )


def offer(*, was_interrupted: bool) -> str:
    """Offer to send the unanswered prompt again."""
    if not was_interrupted:
        return ""
    return (
        "Your last message was not answered. It is not sent again automatically: "
        "type `/symposium:retry` to send it."
    )


def gave_up(failures: int, window: float, reason: str) -> str:
    """Report that the agent is no longer restarted."""
    often = f"It has failed {failures} times within {window / 60:g} minutes and is"
    start = "It is" if failures == 1 else often
    why = f" ({one_line(reason, width=_WIDTH)})" if reason else ""
    return (
        f"{start} not restarted{why}. `/symposium:retry` tries once more; "
        "`/symposium:config` chooses another agent first."
    )


def notice(*parts: str) -> str:
    """Format the parts as one paragraph, separate from the agent's text."""
    return f"\n\n⚠ {' '.join(part for part in parts if part)}\n\n"
