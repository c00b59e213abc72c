"""Resolve a walkthrough: places of comments and links, and diffs (§4.2)."""

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from msgspec import Struct

from localio.errors import ExplainedError
from symposium.code.diffs import Changes, DiffRange, changes
from symposium.code.ide_operations import CodePosition, CodeRange
from symposium.code.query.evaluator import run
from symposium.code.query.file_functions import Lines, places
from symposium.code.query.functions import DialectWorkspace, Hint, IdePort, Scope
from symposium.code.query.search import Wanted, search_files
from symposium.documents.walkthroughs.document import (
    ActionBlock,
    CodeLink,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
    Document,
    LinkSpan,
    Placed,
    code_link,
)
from symposium.errors import NotFoundError

LOCATE_TIMEOUT: Final = 120.0
"""Maximum seconds for all places; the rest are reported as errors."""

_AT_ONCE: Final = 4
_CANDIDATES: Final = 10

Kind = Literal["comment", "gitdiff", "action", "mermaid", "link", "text"]


class BlockDiagnostic(Struct, frozen=True, omit_defaults=True):
    """Result for one block or link.

    Attributes:
        kind: kind of the block; `text` for text that only looks like a block.
        line: line of the document, from 1.
        status: `ambiguous` for several places, `empty` for none.
        block: number of the block, from 0; None for links and text.
        count: number of places or changed files.
        message: problem and fix.
        replacements: more specific expressions or links.
    """

    kind: Kind
    line: int
    status: Literal["ok", "ambiguous", "empty", "error"]
    block: int | None = None
    count: int = 0
    message: str = ""
    replacements: list[str] = []

    @property
    def is_fault(self) -> bool:
        """Whether some content could not be shown."""
        return self.status in {"empty", "error"}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A document with its resolved places.

    Attributes:
        document: the document.
        workspace: base of relative paths.
        locations: places of each comment, by the number of its block.
        diffs: changes of each range, by the number of its block.
        targets: places of each link, by URL; several if its pattern matches more than once.
        diagnostics: results in the order of the document.
    """

    document: Document
    workspace: DialectWorkspace
    locations: Mapping[int, Sequence[CodeRange]]
    diffs: Mapping[int, Changes]
    targets: Mapping[str, Sequence[CodeRange]]
    diagnostics: Sequence[BlockDiagnostic]


async def resolve(document: Document, workspace: DialectWorkspace, port: IdePort) -> Resolved:
    """Resolve a document; problems are reported in its diagnostics."""
    search = _Search(workspace, port)
    async with asyncio.TaskGroup() as tasks:
        searching = [
            tasks.create_task(search.block(number, placed))
            for number, placed in enumerate(document.blocks)
        ]
        following = [tasks.create_task(search.link(link)) for link in document.links]
    diagnostics = [each.result() for each in searching]
    diagnostics += [each for task in following if (each := task.result()) is not None]
    diagnostics += [
        BlockDiagnostic("text", note.line, "error", message=note.message) for note in document.notes
    ]
    diagnostics.sort(key=lambda each: (each.line, each.block is None))
    return Resolved(
        document, workspace, search.locations, search.diffs, search.targets, diagnostics
    )


@dataclass(slots=True)
class _Found:
    count: int
    hints: Sequence[Hint] = ()
    places: Sequence[CodeRange] = ()


@dataclass(slots=True)
class _Search:
    """Resolution of one document."""

    workspace: DialectWorkspace
    port: IdePort
    locations: dict[int, Sequence[CodeRange]] = field(
        default_factory=dict[int, Sequence[CodeRange]]
    )
    diffs: dict[int, Changes] = field(default_factory=dict[int, Changes])
    targets: dict[str, Sequence[CodeRange]] = field(default_factory=dict[str, Sequence[CodeRange]])
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _deadline: float = field(
        default_factory=lambda: asyncio.get_running_loop().time() + LOCATE_TIMEOUT
    )

    async def block(self, number: int, placed: Placed) -> BlockDiagnostic:
        line = placed.line
        match placed.block:
            case CommentBlock(location=location):
                return await self._located("comment", line, number, self._comment(number, location))
            case DiffBlock() as block:
                return await self._located("gitdiff", line, number, self._diff(number, block))
            case ActionBlock(message=message):
                return _of_text("action", line, number, message)
            case DiagramBlock(source=source):
                return _of_text("mermaid", line, number, source.strip())

    async def link(self, link: LinkSpan) -> BlockDiagnostic | None:
        target = code_link(link.url)
        if target is None:
            return None
        return await self._located("link", link.line, None, self._link(link.url, target))

    async def _located(
        self, kind: Kind, line: int, number: int | None, work: Awaitable[_Found]
    ) -> BlockDiagnostic:
        try:
            async with self._places, asyncio.timeout_at(self._deadline):
                found = await work
        except TimeoutError:
            message = f"timed out after {LOCATE_TIMEOUT:g} s"
            return BlockDiagnostic(kind, line, "error", number, message=message)
        except (ExplainedError, OSError) as error:
            return BlockDiagnostic(kind, line, "error", number, message=str(error))
        return _diagnostic(kind, line, number, found)

    async def _comment(self, number: int, location: str) -> _Found:
        if not location:
            return _Found(0, [Hint("", "the comment has no location", [])])
        result = await run(location, self.port, self.workspace)
        if isinstance(result.value, str):
            # A quoted location is a string that contains a program.
            result = await run(result.value, self.port, self.workspace)
        found = [
            CodeRange(self.workspace.shown(each.path), each.start, each.end, each.content)
            for each in places(result.value)
        ]
        self.locations[number] = found
        return _Found(len(found), result.hints, found)

    async def _diff(self, number: int, block: DiffBlock) -> _Found:
        if not block.range:
            return _Found(0, [Hint("", "the diff has no range, as in range: HEAD~1..HEAD", [])])
        wanted = DiffRange(block.range, block.excludes_unstaged, block.excludes_staged)
        found = await changes(self.workspace.root, wanted)
        self.diffs[number] = found
        # A diff of many files is not ambiguous.
        return _Found(min(len(found.files), 1))

    async def _link(self, url: str, link: CodeLink) -> _Found:
        path = self.workspace.find(link.path)
        if not path.exists():
            raise NotFoundError(f"{link.path} does not exist", "use an existing file")
        shown = self.workspace.shown(path)
        found: list[CodeRange] = []
        if link.regex is not None and path.is_file():
            hits = await search_files([path], Wanted(link.regex, is_whole=True))
            found = [CodeRange(shown, each.start, each.end, each.content) for each in hits]
        if not found and link.span is not None:
            last = max(link.span.last_line or link.span.line, link.span.line)
            lines = Lines(link.path, link.span.line, last)
            found = [await lines.run(Scope(self.workspace, self.port, str))]
        if not found and link.regex is None:
            first = CodePosition(1, 1)
            found = [CodeRange(shown, first, first)]
        self.targets[url] = found
        hint = Hint(url, f"{link.regex!r} is not found in {link.path}", [])
        return _Found(len(found), () if found else [hint], found)


def _of_text(kind: Kind, line: int, number: int, text: str) -> BlockDiagnostic:
    status, message = ("ok", "") if text else ("empty", "the block is empty")
    return BlockDiagnostic(kind, line, status, number, message=message)


def _diagnostic(kind: Kind, line: int, number: int | None, found: _Found) -> BlockDiagnostic:
    status = "ambiguous" if found.count > 1 else "ok" if found.count else "empty"
    message = "; ".join(hint.message for hint in found.hints)
    if status == "empty" and not message:
        message = "nothing was found"
    replacements = [each for hint in found.hints for each in hint.replacements]
    if status == "ambiguous" and not replacements:
        named = [f"{each.path}:{each.start.line}" for each in found.places[:_CANDIDATES]]
        more = ["…"] if found.count > len(named) else []
        message = f"found at {', '.join([*named, *more])}"
        replacements = [_one(kind, each) for each in found.places[:_CANDIDATES]]
    return BlockDiagnostic(kind, line, status, number, found.count, message, replacements)


def _one(kind: Kind, place: CodeRange) -> str:
    """Expression for one of several places."""
    first, last = place.start.line, place.end.line
    if kind == "link":
        return f"{place.path}#L{first}"
    return f"lines({json.dumps(place.path, ensure_ascii=False)}, {first}, {last})"
