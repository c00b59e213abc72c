"""`register_taskspace_window`: this window shows that taskspace."""

from typing import ClassVar

from symposium.bus.roles import PEOPLE, Role
from symposium.bus.vocabulary import About, Reply, Request, Target


class Registered(Reply, frozen=True):
    """The window is known."""

    success: bool = True


class RegisterTaskspaceWindow(Request[Registered], frozen=True, kw_only=True):
    """Register a window for a taskspace.

    Attributes:
        window_title: holds `[SYMPOSIUM:<uuid>]`, by which a window manager finds it.
        taskspace_uuid: the taskspace it shows.
    """

    about: ClassVar = About(
        "register_taskspace_window",
        sent_by=PEOPLE | {Role.LEGACY},
        target=Target.ENGINE,
        budget=5.0,
        is_idempotent=True,
        source="bus §1.10, §3.8",
    )
    window_title: str
    taskspace_uuid: str
