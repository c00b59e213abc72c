"""Who looks at an agent: they are told each event once it has been kept."""

from collections.abc import Mapping
from typing import Any

from peerwire.errors import invalid_params
from peerwire.jsonrpc.handlers import Request
from peerwire.jsonrpc.values import as_object
from symposium.agent_sessions.keeper_client import EVENT
from symposium.keepers.event_log import EventLog
from symposium.keepers.keeper import Viewer


class Audience:
    """The viewers of one agent.

    Args:
        events: what was told before, and where what is told is kept.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._viewers: set[Viewer] = set()

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._events.seq

    def tell(self, kind: str, data: dict[str, Any]) -> None:
        """Keep an event, and tell it.

        Raises:
            OSError: it cannot be kept.
        """
        event = self._events.add(kind, data)
        for viewer in tuple(self._viewers):
            viewer.notify(EVENT, event)

    def watch(self, viewer: Viewer, request: Request) -> Mapping[str, Any]:
        """Let somebody look on: what they have missed, and from now on what comes."""
        since = as_object(request.params).get("since", 0)
        if not isinstance(since, int):
            raise invalid_params("since is the number of an event", request.params)
        self._viewers.add(viewer)
        return {"events": self._events.since(since), "seq": self._events.seq}

    def left(self, viewer: Viewer) -> None:
        """Tell them no more."""
        self._viewers.discard(viewer)
