"""`reload_window`: editors, load your windows anew."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Announcement, Target


class ReloadWindow(Announcement, frozen=True, kw_only=True):
    """Tell editors that the daemon is gone on purpose and they may come again."""

    about: ClassVar = About(
        "reload_window",
        sent_by=frozenset({Role.DAEMON}),
        target=Target.EVERYBODY,
        source="bus §1.10, §1.4",
    )
