"""One language server: requests, answers, notifications.

Source: LSP 3.17. Positions go out in UTF-16 units, the encoding that every server knows.
"""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from peerwire.errors import PeerwireError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.code.lsp.documents import Documents, first_file, path_of, to_units, uri_of
from symposium.code.lsp.servers import ServerSpec
from symposium.code.operations import CodeRange, Diagnostic, Hover, SymbolDefinition

SERVER_READY_TIMEOUT: Final = 15.0
"""Seconds that a server gets to read the workspace before its answers count as whole."""


class ServerNotifications:
    """Kept for whoever waits for it.

    Attributes:
        count: how much there has been.
    """

    def __init__(self) -> None:
        self._progress: set[str] = set()
        self._pushed: dict[Path, list[Any]] = {}
        self._came = asyncio.Event()
        self.count = 0

    @property
    def is_at_rest(self) -> bool:
        """Whether the server has worked, and has ended all the work that it told of."""
        return self.count > 0 and not self._progress

    def progressed(self, params: Any) -> None:
        """Take `$/progress`."""
        token, kind = str(params["token"]), params["value"].get("kind")
        (self._progress.discard if kind == "end" else self._progress.add)(token)
        self._note()

    def published(self, params: Any) -> None:
        """Take `textDocument/publishDiagnostics`."""
        self._pushed[path_of(params["uri"])] = params["diagnostics"]
        self._note()

    def forget(self, path: Path) -> None:
        """Count on nothing that was published for this file: it has changed."""
        self._pushed.pop(path, None)

    async def after(self, count: int) -> None:
        """Wait until there is more than this."""
        while self.count == count:
            self._came.clear()
            await self._came.wait()

    async def diagnostics(self, path: Path) -> list[Any]:
        """What was published for a file last, waited for within bounds."""
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
"""The first is number 1."""

SEVERITIES: Final = ("error", "warning", "information", "hint")
"""The first is number 1."""


def symbol_kind(number: object) -> str | None:
    """The word for a kind; None for a number that has none."""
    return _word(SYMBOL_KINDS, number)


def severity(number: object) -> str:
    """The word for a severity; a server that gives none means an error."""
    return _word(SEVERITIES, number) or SEVERITIES[0]


def _word(words: tuple[str, ...], number: object) -> str | None:
    if not isinstance(number, int) or not 1 <= number <= len(words):
        return None
    return words[number - 1]


def ranges(documents: Documents, found: Any) -> list[CodeRange]:
    """One location, several, or links to some."""
    each_of = cast("list[Any]", found if isinstance(found, list) else [found])
    return [
        documents.range(each["targetUri"], each["targetSelectionRange"])
        if "targetUri" in each
        else documents.range(each["uri"], each["range"])
        for each in each_of
    ]


def diagnostic(documents: Documents, uri: str, item: Any) -> Diagnostic:
    """One entry of a report."""
    code = item.get("code")
    return Diagnostic(
        documents.range(uri, item["range"]),
        severity(item.get("severity")),
        item["message"],
        None if code is None else str(code),
        item.get("source"),
    )


def selection_of(outline: list[Any], name: str, span: Any) -> Any:
    """The range of the name of the symbol with this whole range; None if it is not there."""
    for entry in outline:
        if entry["name"] == name and entry.get("range") == span:
            return entry["selectionRange"]
        if (found := selection_of(entry.get("children") or [], name, span)) is not None:
            return found
    return None


def text_of(contents: Any) -> str:
    """The text of a hover: a string, markup, or a list of either."""
    match contents:
        case str():
            return contents.strip()
        case {"value": str(value)}:
            return value.strip()
        case list():
            return "\n\n".join(text_of(each) for each in cast("list[Any]", contents))
        case _:
            raise TypeError(f"no hover has such contents: {contents!r}")


MAX_SYMBOLS: Final = 50
"""Symbols of a search that are told of."""

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
    """A server that has been started; `run` serves its connection.

    Attributes:
        connection: to the server.
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

    async def greet(self, options: Mapping[str, Any]) -> None:
        """Shake hands.

        Raises:
            PeerwireError: the server refuses, or has gone.
        """
        params = {
            "processId": os.getpid(),
            "rootUri": uri_of(self._root),
            "workspaceFolders": [self._folder()],
            "initializationOptions": options,
            "capabilities": _CAPABILITIES,
        }
        result = await self.connection.request("initialize", params)
        provider = result["capabilities"].get("diagnosticProvider")
        self._pulls = provider is not None and provider is not False
        self.connection.notify("initialized", {})

    async def shutdown(self) -> None:
        """Ask the server to end, for a second at most."""
        with suppress(PeerwireError, TimeoutError):
            async with asyncio.timeout(1):
                await self.connection.request("shutdown")
                self.connection.notify("exit")

    async def symbols(self, name: str) -> list[SymbolDefinition]:
        """The symbols that a workspace search for this name brings."""
        # Some servers search only projects of which a file is open.
        if (found := first_file(self._root, frozenset(self._spec.ids))) is not None:
            self._show(found)
        listed = await self._asked_until_warm("workspace/symbol", {"query": name})
        return [await self._symbol(entry) for entry in listed[:MAX_SYMBOLS]]

    async def definitions(self, path: Path, line: int, column: int) -> list[CodeRange]:
        """Where that which stands there is defined."""
        at = self._at(path, line, column)
        found = await self.connection.request("textDocument/definition", at)
        return ranges(self._documents, found or [])

    async def references(self, path: Path, line: int, column: int) -> list[CodeRange]:
        """Where that which stands there is used."""
        at = {**self._at(path, line, column), "context": {"includeDeclaration": True}}
        found = ranges(self._documents, await self._asked_until_warm("textDocument/references", at))
        # Left to the server, one leaves out where the question stands, another leaves nothing out.
        defined = await self.definitions(path, line, column)
        return [each for each in found if each not in defined]

    async def hover(self, path: Path, line: int, column: int) -> Hover:
        """What the server says of it."""
        at = self._at(path, line, column)
        found = await self.connection.request("textDocument/hover", at)
        if not found:
            return Hover(None)
        span = found.get("range")
        where = None if span is None else self._documents.range(uri_of(path), span)
        return Hover(text_of(found["contents"]), where)

    async def diagnostics(self, path: Path) -> list[Diagnostic]:
        """What is wrong in a file, as it is on the disk."""
        version = self._documents.version(path)
        uri = self._show(path)
        if self._documents.version(path) != version:
            self._news.forget(path)
        if self._pulls:
            document = {"textDocument": {"uri": uri}}
            report = await self.connection.request("textDocument/diagnostic", document)
            items: list[Any] = report.get("items", [])
        else:
            items = await self._news.diagnostics(path)
        return [diagnostic(self._documents, uri, item) for item in items]

    # -- asking

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
        """The answer about all files, once the server has read them."""
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

    # -- in our own terms

    async def _symbol(self, entry: Any) -> SymbolDefinition:
        location = entry["location"]
        span = await self._name_span(entry["name"], location["uri"], location["range"])
        where = self._documents.range(location["uri"], span)
        return SymbolDefinition(entry["name"], where, symbol_kind(entry.get("kind")))

    async def _name_span(self, name: str, uri: str, span: Any) -> Any:
        """Where the name itself stands: some servers tell of the whole definition."""
        if span["start"]["line"] == span["end"]["line"]:
            where = self._documents.range(uri, span)
            text = (where.content or "")[where.start.column - 1 : where.end.column - 1]
            if text == name:
                return span
        path = path_of(uri)
        if not path.is_relative_to(self._root):
            return span
        self._show(path)
        document = {"textDocument": {"uri": uri}}
        outline = await self.connection.request("textDocument/documentSymbol", document)
        return selection_of(outline or [], name, span) or span
