"""What both kinds of keepers have in common."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from peerwire.jsonrpc.handlers import RequestHandler
from symposium.agent_sessions.session import SessionState

OnState: TypeAlias = Callable[[SessionState], None]


class Viewer(Protocol):
    """Somebody who is connected to the keeper."""

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell them; one who does not read is cut off."""
        ...


class Keeper(Protocol):
    """Holds one agent."""

    async def run(self, on_state: OnState) -> SessionState:
        """Start the agent, and hold it until it has ended; how it stands then."""
        ...

    def stop(self) -> None:
        """End the agent, gently first; `run` returns when it has ended."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """What there is to be said of it now."""
        ...

    def requests(self, viewer: Viewer) -> Mapping[str, RequestHandler]:
        """What this viewer can ask, by method."""
        ...

    def notifications(self, viewer: Viewer) -> Mapping[str, Callable[[Any], None]]:
        """What this viewer can tell, by method."""
        ...

    def left(self, viewer: Viewer) -> None:
        """This viewer has gone."""
        ...
