"""From what an agent has written to what is shown: the one door for tools and commands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from symposium.ide.dialect.evaluator import new_id as unique_id
from symposium.ide.dialect.port import IdePort
from symposium.ide.dialect.workspace import workspace
from symposium.walkthroughs.document import Document
from symposium.walkthroughs.fragment import fragment
from symposium.walkthroughs.grammar import parse_walkthrough
from symposium.walkthroughs.places import BlockDiagnostic, Resolved, resolve


@dataclass(frozen=True, slots=True)
class Presentation:
    """A walkthrough that is ready to be shown.

    Attributes:
        resolved: the document and what it speaks of.
        html: what a viewer of the first protocol is sent.
    """

    resolved: Resolved
    html: str

    @property
    def document(self) -> Document:
        """As it was written."""
        return self.resolved.document

    @property
    def diagnostics(self) -> Sequence[BlockDiagnostic]:
        """What became of each block and link."""
        return self.resolved.diagnostics


async def present(
    markdown: str, base_uri: str, port: IdePort, *, new_id: Callable[[], str] = unique_id
) -> Presentation:
    """Read a walkthrough and look for what it speaks of.

    Args:
        markdown: as an agent has written it.
        base_uri: the folder that paths are relative to, as a path or a `file` URI.
        port: who knows the code.
        new_id: makes the ids of comments.

    Raises:
        WalkthroughError: it is too long.
        ExplainedError: there is no such folder.
    """
    resolved = await resolve(parse_walkthrough(markdown), workspace(base_uri), port)
    return Presentation(resolved, fragment(resolved, new_id))
