"""What a language server tells unasked: how its work goes on, and what is wrong in files."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from symposium.ide.documents import path_of

PATIENCE: Final = 15.0
"""Seconds that a server gets to read the workspace before its answers count as whole."""


class ServerNews:
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
            async with asyncio.timeout(PATIENCE):
                while path not in self._pushed:
                    await self.after(self.count)
        return self._pushed.get(path, [])

    def _note(self) -> None:
        self.count += 1
        self._came.set()
