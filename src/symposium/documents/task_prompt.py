"""First prompt of a task's agent: location, the user's words, and reserved resources.

This module writes and parses the prompt; users are shown only their own words.
"""

import re
from collections.abc import Sequence
from typing import Final

_BEGINS: Final = "You work in a taskspace of the project "
_TASK: Final = "\n\nThe task:\n\n"
_OWN: Final = "\nOthers work beside you. Yours alone are "
_END: Final = re.compile(re.escape(_OWN) + r"[^\n]*\.\n\Z")


def prompt_for(project: str, task: str) -> str:
    """The task, with the context that its agent needs (bus-mcp-taskspaces §3.5)."""
    return (
        f"{_BEGINS}{project}: your own worktree and branch, which no one else changes.\n"
        "First read the task below. Call `update_taskspace` with a name and a description that "
        f"tell the user what you are doing. Ask what is unclear before you begin.{_TASK}{task}\n"
    )


def with_own(prompt: str, own: Sequence[str]) -> str:
    """The prompt with the resources reserved for the agent (users B-4)."""
    return f"{prompt}{_OWN}{' and '.join(own)}.\n" if own else prompt


def user_words(prompt: str) -> str:
    """The user's part of a task prompt; the whole text if it is not a task prompt."""
    if not prompt.startswith(_BEGINS):
        return prompt
    _, _, rest = prompt.partition(_TASK)
    return _END.sub("", rest).removesuffix("\n") or prompt
