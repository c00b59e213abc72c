"""What the user is told of an agent's end, and of what became of the session; pure."""

from typing import Final, Literal, TypeAlias

from localio.text import one_line
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object

Return: TypeAlias = Literal["session/resume", "session/load", "fresh"]
"""How a session came to its new agent: by one of these requests, or as a new one."""

BEING_STARTED: Final = "It is being started again."

NOT_RUNNING: Final = (
    "The agent of this session is not running. `/symposium:retry` starts it again; "
    "`/symposium:config` chooses another one before."
)

NOTHING_TO_SEND: Final = "The agent is there, and there is no message to send again.\n"

NOTHING_SAID: Final = "There is nothing to tell the agent: no text has passed here yet.\n"

_WIDTH: Final = 300


def exit_manner(death: RpcError) -> str:
    """Who has ended, and how."""
    data = as_object(death.data)
    name = f"`{data.get('component', 'the agent')}`"
    if data.get("reason") == "cancel_ignored":
        return f"{name} went on after it was told to stop, and was ended."
    if (signal := data.get("signal")) is not None:
        return f"{name} was ended by {signal}."
    if (code := data.get("exitCode")) is not None:
        return f"{name} exited with code {code}."
    said = one_line(str(data.get("stderrTail") or ""), width=_WIDTH)
    return f"{name} has gone: {said}." if said else f"{name} closed its side."


def came_back(how: Return, *, has_memory: bool) -> str:
    """That a new agent has the session, and what it knows of it."""
    match how:
        case "session/resume" | "session/load":
            return "It has been started again, and this session goes on where it was."
        case "fresh":
            offer = " `/symposium:recap` sends it a short summary of them." if has_memory else ""
            return (
                "It has been started again with a **fresh context**: it cannot reopen sessions, "
                f"and knows nothing of the earlier messages.{offer}"
            )


def offer(*, was_interrupted: bool) -> str:
    """What can be done about the prompt that was not answered."""
    if not was_interrupted:
        return ""
    return (
        "Your last message was not answered, and is not sent again by itself: "
        "type `/symposium:retry` to send it."
    )


def gave_up(failures: int, window: float, reason: str) -> str:
    """That nothing is started any more."""
    often = f"It has failed {failures} times within {window / 60:g} minutes and is"
    start = "It is" if failures == 1 else often
    why = f" ({one_line(reason, width=_WIDTH)})" if reason else ""
    return (
        f"{start} not started again{why}. `/symposium:retry` tries once more; "
        "`/symposium:config` chooses another agent before."
    )


def notice(*parts: str) -> str:
    """The parts as one paragraph that stands apart from what the agent says."""
    return f"\n\n⚠ {' '.join(part for part in parts if part)}\n\n"
