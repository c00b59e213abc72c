"""Ask the running hosts for their status; remove the sockets of crashed hosts."""

import json
import os
import socket
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from symposium.config.paths import paths

PATIENCE: Final = 1.0
"""Time limit for the answer of a host, in seconds."""

_LARGEST: Final = 16 * 1024 * 1024


def hosts_folder() -> Path:
    """Return the directory with the socket of each host."""
    return paths().runtime / "hosts"


def running_hosts() -> Sequence[Mapping[str, Any]]:
    """Collect the report of every host, the oldest first; only the pid of a silent host."""
    folder = hosts_folder()
    if not _is_ours(folder):
        return []
    found = [_ask(path) for path in sorted(folder.glob("*.sock"), key=_number)]
    return [each for each in found if each is not None]


def _is_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _ask(path: Path) -> Mapping[str, Any] | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(str(path))
            parts: list[bytes] = []
            while (part := sock.recv(65536)) and sum(map(len, parts)) < _LARGEST:
                parts.append(part)
            value: Any = json.loads(b"".join(parts))
        except (ConnectionRefusedError, FileNotFoundError):
            # No process listens on the socket, even if its pid was reused.
            with suppress(OSError):
                path.unlink()
            return None
        except (OSError, ValueError):
            return {"pid": _number(path), "kind": "silent", "chains": []}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0
