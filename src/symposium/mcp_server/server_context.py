"""Context of an MCP server: directory, services that its tools use, and references.

The reference implementation looks up stored values first, so a stored key can replace guidance.
Here guidance and prompts come first, so a stored value cannot instruct an agent.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from symposium.bus.client import ClientSettings
from symposium.bus.endpoint import Bus
from symposium.code.query.functions import IdePort
from symposium.documents.first_prompt import BootPrompts, TaskContext
from symposium.documents.guidance import URI, GuidanceLibrary, GuidanceText, checkout_of
from symposium.documents.references import ReferenceStore
from symposium.documents.walkthroughs.store import WalkthroughStore
from symposium.errors import SymposiumError
from symposium.mcp_server.location import AgentLocation
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.review_inbox import PendingReviews
from symposium.mcp_server.task_lookup import Readings

PROMPTS: Final = ("yiasou", "hi")

Source: TypeAlias = Literal["guidance", "prompt", "stored"]


class UnknownReferenceError(SymposiumError):
    """An id does not exist."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The content of an id.

    Attributes:
        text: a stored value is indented JSON.
        guidance: the guidance texts in it.
    """

    source: Source
    text: str
    guidance: Sequence[GuidanceText] = ()


class Expansion:
    """Look up ids in guidance, prompts, and stored references, in that order."""

    def __init__(
        self, library: GuidanceLibrary, boot: BootPrompts, references: ReferenceStore
    ) -> None:
        self._library = library
        self._boot = boot
        self._references = references

    def expand(self, id_: str, task: TaskContext | None) -> Expanded:
        """Return the content of an id.

        Raises:
            UnknownReferenceError: the id does not exist.
            ReferenceStoreError: the stored value cannot be read.
        """
        text = self._library.shelf().get(id_.removeprefix(URI))
        if text is not None:
            return Expanded("guidance", text.text, [text])
        if id_ in PROMPTS:
            return Expanded("prompt", self._boot.inlined(task), self._boot.texts(task))
        stored = self._references.get(id_)
        if stored is None:
            known = ", ".join(each.id for each in self._library.shelf().listed)
            raise UnknownReferenceError(
                f"Reference not found: {id_[:200]!r}",
                f"use the id of a <symposium-ref>, `yiasou`, or one of: {known}",
            )
        return Expanded("stored", json.dumps(stored.value, indent=2, ensure_ascii=False))


class NoTaskspaceError(SymposiumError):
    """A tool needs a taskspace, and the agent is in none."""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Directory, stores, and ports for tools.

    Attributes:
        standing: the directory and its taskspace.
        library: the guidance for this directory.
        boot: the prompts made from the guidance.
        references: values attached to messages.
        walkthroughs: store of presented walkthroughs.
        bus: access to tasks, editors, and users.
        ide: source of answers about code.
        outbox: queue of reports while no daemon runs.
        tools: which tools are listed; see `symposium.mcp_server.offering`.
        readings: receives which guidance the agent has read.
        reviews: requested reviews, and the tools that wait for feedback.
    """

    standing: AgentLocation
    library: GuidanceLibrary
    boot: BootPrompts
    references: ReferenceStore
    walkthroughs: WalkthroughStore
    bus: Bus
    ide: IdePort
    outbox: Outbox
    reviews: PendingReviews
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

    def taskspace(self) -> AgentLocation:
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


@dataclass(frozen=True, slots=True)
class Site:
    """Configuration of a server.

    Attributes:
        directory: working directory of the agent.
        environment: variables that identify its task and terminal.
        bus: settings of the connection to the daemon.
        tools: which tools are listed; see `symposium.mcp_server.offering`.
    """

    directory: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    bus: ClientSettings = field(default_factory=ClientSettings)
    tools: Sequence[str] = ("auto",)
