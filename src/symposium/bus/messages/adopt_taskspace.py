"""`adopt_taskspace`: make a worktree that is there a taskspace."""

from typing import ClassVar

from symposium.bus.messages.create_taskspace import TaskMade
from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Request, Target


class AdoptTaskspace(Request[TaskMade], frozen=True, kw_only=True):
    """Make a worktree that is there a taskspace; nothing in it is changed.

    Attributes:
        worktree: its directory, absolute.
        name: what it is called; by its branch if not given.
    """

    about: ClassVar = About(
        "adopt_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=60.0,
        version=2,
        source="issue part 3 §2",
    )
    worktree: str
    name: str | None = None
