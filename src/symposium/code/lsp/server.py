"""Connection to one language server.

Source: LSP 3.17. Positions are sent in UTF-16 units, which every server supports.
"""

import asyncio
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

from peerwire.errors import PeerwireError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.code.ide_operations import CodeRange, Diagnostic, Hover, SymbolDefinition
from symposium.code.lsp.documents import Documents, first_file, path_of, to_units, uri_of
from symposium.code.lsp.servers import ServerSpec

SERVER_READY_TIMEOUT: Final = 15.0
"""Seconds to read the workspace, before the server's answers count as complete."""


class ServerNotifications:
    """Notifications of a server, with waits for them.

    Attributes:
        count: number of notifications.
    """

    def __init__(self) -> None:
        self._progress: set[str] = set()
        self._pushed: dict[Path, list[Any]] = {}
        self._came = asyncio.Event()
        self.count = 0

    @property
    def is_at_rest(self) -> bool:
        """Whether the server has reported work and finished all of it."""
        return self.count > 0 and not self._progress

    def progressed(self, params: Any) -> None:
        """Track work that the server reports with `$/progress`."""
        token, kind = str(params["token"]), params["value"].get("kind")
        (self._progress.discard if kind == "end" else self._progress.add)(token)
        self._note()

    def published(self, params: Any) -> None:
        """Store the diagnostics of `textDocument/publishDiagnostics`."""
        self._pushed[path_of(params["uri"])] = params["diagnostics"]
        self._note()

    def forget(self, path: Path) -> None:
        """Drop published diagnostics of a file that changed."""
        self._pushed.pop(path, None)

    async def after(self, count: int) -> None:
        """Wait until the count exceeds this number."""
        while self.count == count:
            self._came.clear()
            await self._came.wait()

    async def diagnostics(self, path: Path) -> list[Any]:
        """Last published diagnostics of a file; waits for a limited time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SERVER_READY_TIMEOUT):
                while path not in self._pushed:
                    await self.after(self.count)
        return self._pushed.get(path, [])

    def _note(self) -> None:
        self.count += 1
        self._came.set()


SYMBOL_KINDS: Final = (
    *("File", "Module", "Namespace", "Package", "Class", "Method", "Property", "Field"),
    *("Constructor", "Enum", "Interface", "Function", "Variable", "Constant", "String", "Number"),
    *("Boolean", "Array", "Object", "Key", "Null", "EnumMember", "Struct", "Event", "Operator"),
    "TypeParameter",
)
"""LSP symbol kinds; the first one is number 1."""

SEVERITIES: Final = ("error", "warning", "information", "hint")
"""LSP severities; the first one is number 1."""


def symbol_kind(number: object) -> str | None:
    """Name of a symbol kind; None for an unknown number."""
    return _word(SYMBOL_KINDS, number)


def severity(number: object) -> str:
    """Name of a severity; `error` if missing."""
    return _word(SEVERITIES, number) or SEVERITIES[0]


def _word(words: tuple[str, ...], number: object) -> str | None:
    if not isinstance(number, int) or not 1 <= number <= len(words):
        return None
    return words[number - 1]


class UnexpectedResponseError(Exception):
    """A server's response does not match LSP; its text is the error of reading it."""


@contextmanager
def reading_response() -> Generator[None, None, None]:
    """Read a response in the block; any error of it is one of the server.

    Raises:
        UnexpectedResponseError: the response does not match LSP.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UnexpectedResponseError(repr(error)) from error


def ranges(documents: Documents, found: Any) -> list[CodeRange]:
    """Convert a location, a list of them, or location links."""
    each_of = cast("list[Any]", found if isinstance(found, list) else [found])
    return [
        documents.range(each["targetUri"], each["targetSelectionRange"])
        if "targetUri" in each
        else documents.range(each["uri"], each["range"])
        for each in each_of
    ]


def diagnostic(documents: Documents, uri: str, item: Any) -> Diagnostic:
    code = item.get("code")
    return Diagnostic(
        documents.range(uri, item["range"]),
        severity(item.get("severity")),
        item["message"],
        None if code is None else str(code),
        item.get("source"),
    )


def selection_of(outline: list[Any], name: str, span: Any) -> Any:
    """Range of a symbol's name, given its full range; None if not found."""
    for entry in outline:
        if entry["name"] == name and entry.get("range") == span:
            return entry["selectionRange"]
        if (found := selection_of(entry.get("children") or [], name, span)) is not None:
            return found
    return None


def text_of(contents: Any) -> str:
    """Text of a hover: a string, markup, or a list of either."""
    match contents:
        case str():
            return contents.strip()
        case {"value": str(value)}:
            return value.strip()
        case list():
            return "\n\n".join(text_of(each) for each in cast("list[Any]", contents))
        case _:
            raise TypeError(f"unexpected hover contents: {contents!r}")


MAX_SYMBOLS: Final = 50
"""Maximum number of symbols in a result."""

_CAPABILITIES: Final[dict[str, Any]] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"configuration": True, "workspaceFolders": True, "symbol": {}},
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {},
        "definition": {"linkSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
    },
}


class LanguageServer:
    """A started server; `run` serves its connection.

    Attributes:
        connection: connection to the server.
    """

    def __init__(self, spec: ServerSpec, root: Path, transport: Transport) -> None:
        self._spec = spec
        self._root = root
        self._settings = spec.settings(root)
        self._news = ServerNotifications()
        self._is_warm = False
        self._pulls = False
        self.connection = Connection(
            transport,
            Handlers(
                requests={
                    "workspace/configuration": self._configuration,
                    "workspace/workspaceFolders": lambda _: [self._folder()],
                    "window/workDoneProgress/create": lambda _: None,
                    "client/registerCapability": lambda _: None,
                    "client/unregisterCapability": lambda _: None,
                },
                notifications={
                    "$/progress": self._news.progressed,
                    "textDocument/publishDiagnostics": self._news.published,
                },
                other_notification=lambda _method, _params: None,
            ),
        )
        self._documents = Documents(self.connection)

    async def initialize(self, options: Mapping[str, Any]) -> None:
        """Send `initialize`.

        Raises:
            PeerwireError: the server returned an error or exited.
        """
        params = {
            "processId": os.getpid(),
            "rootUri": uri_of(self._root),
            "workspaceFolders": [self._folder()],
            "initializationOptions": options,
            "capabilities": _CAPABILITIES,
        }
        result = await self.connection.request("initialize", params)
        with reading_response():
            provider = result["capabilities"].get("diagnosticProvider")
        self._pulls = provider is not None and provider is not False
        self.connection.notify("initialized", {})

    async def shutdown(self) -> None:
        """Send `shutdown`, with a timeout of one second."""
        with suppress(PeerwireError, TimeoutError):
            async with asyncio.timeout(1):
                await self.connection.request("shutdown")
                self.connection.notify("exit")

    async def symbols(self, name: str) -> list[SymbolDefinition]:
        """Search the workspace for symbols."""
        # Some servers search only projects with an open file.
        if (found := first_file(self._root, frozenset(self._spec.ids))) is not None:
            self._show(found)
        listed = await self._asked_until_warm("workspace/symbol", {"query": name})
        with reading_response():
            first = list(listed[:MAX_SYMBOLS])
        return [await self._symbol(entry) for entry in first]

    async def definitions(self, path: Path, line: int, column: int) -> list[CodeRange]:
        """Definitions of the symbol at a position."""
        at = self._at(path, line, column)
        found = await self.connection.request("textDocument/definition", at)
        with reading_response():
            return ranges(self._documents, found or [])

    async def references(self, path: Path, line: int, column: int) -> list[CodeRange]:
        """References to the symbol at a position."""
        at = {**self._at(path, line, column), "context": {"includeDeclaration": True}}
        listed = await self._asked_until_warm("textDocument/references", at)
        with reading_response():
            found = ranges(self._documents, listed)
        # Servers differ in whether they include the queried position, so filter here.
        defined = await self.definitions(path, line, column)
        return [each for each in found if each not in defined]

    async def hover(self, path: Path, line: int, column: int) -> Hover:
        """Hover text at a position."""
        at = self._at(path, line, column)
        found = await self.connection.request("textDocument/hover", at)
        if not found:
            return Hover(None)
        with reading_response():
            span = found.get("range")
            where = None if span is None else self._documents.range(uri_of(path), span)
            return Hover(text_of(found["contents"]), where)

    async def diagnostics(self, path: Path) -> list[Diagnostic]:
        """Diagnostics of a file in its state on disk."""
        version = self._documents.version(path)
        uri = self._show(path)
        if self._documents.version(path) != version:
            self._news.forget(path)
        if self._pulls:
            document = {"textDocument": {"uri": uri}}
            report = await self.connection.request("textDocument/diagnostic", document)
            with reading_response():
                items: list[Any] = report.get("items", [])
        else:
            items = await self._news.diagnostics(path)
        with reading_response():
            return [diagnostic(self._documents, uri, item) for item in items]

    def _configuration(self, request: Request) -> list[Any]:
        return [self._settings.get(item.get("section")) for item in request.params["items"]]

    def _folder(self) -> dict[str, str]:
        return {"uri": uri_of(self._root), "name": self._root.name}

    def _show(self, path: Path) -> str:
        return self._documents.show(path, self._spec.ids.get(path.suffix, self._spec.language))

    def _at(self, path: Path, line: int, column: int) -> dict[str, Any]:
        uri = self._show(path)
        units = to_units(self._documents.line(path, line), column)
        position = {"line": max(line - 1, 0), "character": units}
        return {"textDocument": {"uri": uri}, "position": position}

    async def _asked_until_warm(self, method: str, params: Mapping[str, Any]) -> Any:
        """Repeat a request about the workspace until the server has read all files."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SERVER_READY_TIMEOUT):
                while not self._is_warm:
                    seen, was_ready = self._news.count, self._news.is_at_rest
                    found = await self.connection.request(method, params)
                    if was_ready:
                        self._is_warm = True
                        return found or []
                    await self._news.after(seen)
        self._is_warm = True
        return await self.connection.request(method, params) or []

    async def _symbol(self, entry: Any) -> SymbolDefinition:
        with reading_response():
            name, kind = entry["name"], symbol_kind(entry.get("kind"))
            uri, whole = entry["location"]["uri"], entry["location"]["range"]
        span = await self._name_span(name, uri, whole)
        with reading_response():
            return SymbolDefinition(name, self._documents.range(uri, span), kind)

    async def _name_span(self, name: str, uri: str, span: Any) -> Any:
        """Range of the name itself: some servers return the whole definition."""
        with reading_response():
            path = path_of(uri)
            if span["start"]["line"] == span["end"]["line"]:
                where = self._documents.range(uri, span)
                text = (where.content or "")[where.start.column - 1 : where.end.column - 1]
                if text == name:
                    return span
        if not path.is_relative_to(self._root):
            return span
        self._show(path)
        document = {"textDocument": {"uri": uri}}
        outline = await self.connection.request("textDocument/documentSymbol", document)
        with reading_response():
            return selection_of(outline or [], name, span) or span
