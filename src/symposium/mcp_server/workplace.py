"""Shared context of an agent's tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from symposium.code.query.functions import IdePort
from symposium.documents.boot import BootPrompts
from symposium.documents.guidance import GuidanceLibrary, checkout_of
from symposium.documents.references import ReferenceStore
from symposium.documents.walkthroughs.store import WalkthroughStore
from symposium.errors import SymposiumError
from symposium.mcp_server.bus_port import Bus
from symposium.mcp_server.detection import Standing
from symposium.mcp_server.expansion import Expansion
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.readings import Readings
from symposium.mcp_server.review_desk import ReviewDesk


class NoTaskspaceError(SymposiumError):
    """A tool needs a taskspace, and the agent is in none."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """Directory, stores, and ports for tools.

    Attributes:
        standing: the directory and its taskspace.
        library: the guidance that holds there.
        boot: the prompts made of it.
        references: what was attached to messages.
        walkthroughs: where what was presented is kept.
        bus: whom to ask about taskspaces, editors and people.
        ide: whom to ask about code.
        outbox: where reports wait for a daemon.
        tools: which tools are listed; see `symposium.mcp_server.tool_choice`.
        readings: takes which guidance the agent was given.
        reviews: those that were asked for, and who waits for a word on them.
    """

    standing: Standing
    library: GuidanceLibrary
    boot: BootPrompts
    references: ReferenceStore
    walkthroughs: WalkthroughStore
    bus: Bus
    ide: IdePort
    outbox: Outbox
    reviews: ReviewDesk
    readings: Readings
    tools: Sequence[str] = ("auto",)

    @property
    def expansion(self) -> Expansion:
        """Expands ids of references, guidance, and prompts."""
        return Expansion(self.library, self.boot, self.references)

    @property
    def root(self) -> Path:
        """The root of the checkout, else the directory."""
        return checkout_of(self.standing.directory)

    def base(self, uri: str) -> str:
        """The folder of a base URI; the root if it does not exist."""
        if uri.startswith("file:"):
            return uri
        place = self.standing.directory / uri
        return str(place.resolve() if place.is_dir() else self.root)

    def taskspace(self) -> Standing:
        """The taskspace the agent is in.

        Raises:
            NoTaskspaceError: it is in none.
        """
        if not self.standing.is_in_taskspace:
            raise NoTaskspaceError(
                f"{self.standing.directory} is not in a taskspace",
                "the tool works only in a taskspace; the user creates one with "
                "`symposium task new`",
            )
        return self.standing
