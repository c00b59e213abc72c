"""`presence`: where one is, and what one shows."""

from typing import ClassVar

from symposium.bus.roles import ANYONE, Role
from symposium.bus.shapes import WindowKind
from symposium.bus.vocabulary import About, Done, Request, Target


class Presence(Request[Done], frozen=True, kw_only=True):
    """Say where one is; said again it is the heartbeat, and whole each time.

    Attributes:
        kind: editor, terminal, web or acp.
        pid: one's process.
        taskspace_uuid: the taskspace one stands in.
        workspace_folders: absolute paths of what is open.
        terminals: the process ids of the shells in one's terminals.
        focus_uri: what the user looks at; the window with a fresh focus wins a tie.
    """

    about: ClassVar = About(
        "presence",
        sent_by=ANYONE | {Role.OBSERVER},
        target=Target.BROKER,
        budget=5.0,
        is_idempotent=True,
        version=2,
        source="bus §3.8, §7 row 17",
    )
    kind: WindowKind
    pid: int | None = None
    taskspace_uuid: str | None = None
    workspace_folders: tuple[str, ...] = ()
    terminals: tuple[int, ...] = ()
    focus_uri: str | None = None
