"""`find_taskspace`: the taskspaces that a text names."""

from typing import ClassVar

from symposium.bus.messages.list_taskspaces import Tasks
from symposium.bus.roles import PEOPLE
from symposium.bus.vocabulary import About, Request, Target


class FindTaskspace(Request[Tasks], frozen=True, kw_only=True):
    """Find taskspaces by an id, a name, a branch, or the beginning of an id.

    The first of these that fits any taskspace decides; archived ones count where no other fits.
    """

    about: ClassVar = About(
        "find_taskspace",
        sent_by=PEOPLE,
        target=Target.ENGINE,
        budget=10.0,
        is_idempotent=True,
        version=2,
        source="issue part 4, 3",
    )
    named: str
