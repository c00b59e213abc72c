"""Windows that show a taskspace, as the bus knows them (bus-mcp-taskspaces §3.8).

The bus keeps the one table of who is connected; the engine only asks it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from symposium.taskspaces.model import canonical_id


class PresenceKind(StrEnum):
    """What is there."""

    EDITOR = "editor"
    TERMINAL = "terminal"
    WEB = "web"
    ACP = "acp"


@dataclass(frozen=True, slots=True)
class Present:
    """One window.

    Attributes:
        key: its connection on the bus.
        taskspace: the id of the taskspace that it shows.
        window_title: the marked title of an editor of the seed; empty for others.
    """

    key: str
    taskspace: str
    kind: PresenceKind
    window_title: str = ""


class Presence:
    """Asks who is there; nobody, until it is connected to a table."""

    def __init__(self) -> None:
        self._windows: Callable[[], Sequence[Present]] = tuple

    def connect(self, windows: Callable[[], Sequence[Present]]) -> None:
        """Ask this table from now on."""
        self._windows = windows

    def at(self, taskspace: str) -> list[Present]:
        """The windows that show a taskspace at this moment.

        Raises:
            RefusedNameError: the id is none.
        """
        id_ = canonical_id(taskspace)
        return [each for each in self._windows() if each.taskspace.lower() == id_]
