"""Words for what a task does, as lists of tasks show them."""

from enum import StrEnum
from typing import Final


class Activity(StrEnum):
    """Words for `TaskView.state` (users §8.5); the time follows `NO_ANSWER`."""

    SETTING_UP = "setting up"
    SETUP_FAILED = "setup failed"
    READY = "ready"
    WORKING = "working"
    IDLE = "idle"
    ASKS_TRUST = "waiting: trust"
    ASKS_APPROVAL = "waiting: approval"
    ASKS_QUESTION = "waiting: question"
    NEEDS_LOGIN = "waiting: login"
    OVER_BUDGET = "paused: budget"
    NO_ANSWER = "no answer since"
    LOST = "lost contact"
    AGENT_ENDED = "agent ended"
    FINISHED = "finished (unreviewed)"
    LANDED = "landed"
    DELETING = "deleting"
    ARCHIVED = "archived"
    MISSING = "missing"


WAITS_FOR_USER: Final = frozenset(
    {
        Activity.ASKS_TRUST,
        Activity.ASKS_APPROVAL,
        Activity.ASKS_QUESTION,
        Activity.NEEDS_LOGIN,
        Activity.OVER_BUDGET,
    }
)
"""What a task does while the user has to answer."""

_BY_WORD: Final = {each.value: each for each in Activity}


def activity_of(state: str) -> Activity | None:
    """The activity that a state names; None for one of a newer version."""
    if state.startswith(Activity.NO_ANSWER):
        return Activity.NO_ANSWER
    return _BY_WORD.get(state)
