"""Stored session ids of editors that the agents do not know, for the next start.

A session that was set up in the chat, or restored with a fresh context, has different ids for the
editor and for the agent. Each pair is a separate file, so that no host waits for another.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from localio.files import write_whole
from peerwire.jsonrpc.values import as_object, decode_value, encode_value
from symposium.config.user_config import Config

MAX_NAMES: Final = 1000
"""Maximum stored ids of one agent; the oldest are removed."""


class SessionNames:
    """Stored session ids of one config's agent.

    Args:
        folder: folder of all agents; created with the first id.
        config: the config of the agent; its mods do not matter.
    """

    def __init__(self, folder: Path, config: Config) -> None:
        agent = json.loads(config.with_mods().key())
        self._folder = folder / _hashed(json.dumps(agent, sort_keys=True))

    def keep(self, outer: str, inner: str) -> None:
        """Store both ids of a session.

        Raises:
            OSError: the file cannot be written.
        """
        write_whole(self._path(outer), encode_value({"editor": outer, "agent": inner}))
        for path in self._newest_first()[MAX_NAMES:]:
            path.unlink(missing_ok=True)

    def inner(self, outer: str) -> str | None:
        """Return the agent's id of the session; None if it is the same."""
        names = _read(self._path(outer))
        return names["agent"] if names.get("editor") == outer else None

    def outer(self) -> Mapping[str, str]:
        """Map the agent's ids to the editor's; the latest of two."""
        found = [_read(path) for path in reversed(self._newest_first())]
        return {names["agent"]: names["editor"] for names in found if names}

    def forget(self, outer: str) -> None:
        """Remove a deleted session.

        Raises:
            OSError: the file cannot be removed.
        """
        self._path(outer).unlink(missing_ok=True)

    def _path(self, outer: str) -> Path:
        return self._folder / f"{_hashed(outer)}.json"

    def _newest_first(self) -> list[Path]:
        dated: list[tuple[float, Path]] = []
        for path in self._folder.glob("*.json"):
            try:
                dated.append((path.stat().st_mtime, path))
            except FileNotFoundError:
                continue
        return [path for _, path in sorted(dated, reverse=True)]


def _read(path: Path) -> dict[str, str]:
    try:
        names: Any = as_object(decode_value(path.read_bytes()))
    except (OSError, ValueError):
        return {}
    both = {key: names.get(key) for key in ("editor", "agent")}
    found = {key: name for key, name in both.items() if isinstance(name, str)}
    return found if found.keys() == both.keys() else {}


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]
