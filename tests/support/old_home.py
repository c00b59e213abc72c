"""Home of an earlier version of Symposium, as data in tests/golden/old_home/.

`files.jsonl` has one line for each file, link, and directory. Placeholders replace machine-specific
text: `@ROOT@` is the common root directory, `@SYMPOSIUM@` and `@PYTHON@` are programs, `@NOW@` is
the time in seconds since 1970, and `@SHA256:20:clone/.git@` is the start of the hash of a path. The
placeholders follow the rules of the version that wrote the home, so no code of Symposium computes
them.
"""

import base64
import hashlib
import json
import os
import re
import sqlite3
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parents[1] / "golden" / "old_home"
FILES: Final = DATA / "files.jsonl"

_PLACES: Final = ("clone", "clone/.git", "clone.tasks/live-work", "clone.tasks/landed-work")
"""Paths whose hashes are names in a home."""

_SIZES: Final = (24, 20, 12)
_HASH: Final = re.compile(r"@SHA256:(\d+):([^@]+)@")
_BLOB: Final = re.compile(r"X'((?:[0-9a-f]{2})+)'", re.IGNORECASE)
_STORED: Final = re.compile(r"(INSERT INTO \"reference\" VALUES\(.*,)[\d.]+(,'[^']*'\))")
_DATABASES: Final = {".db", ".sqlite"}


def _words(root: Path) -> dict[str, str]:
    program = Path(sys.executable)
    return {
        "@ROOT@": str(root),
        "@SYMPOSIUM@": str(program.with_name("symposium")),
        "@PYTHON@": str(program),
        "@TESTS@": str(Path(__file__).parents[1]),
    }


def filled(text: str, root: Path) -> str:
    """Replace placeholders with the values of this machine."""

    def digest(found: re.Match[str]) -> str:
        return hashlib.sha256(os.fsencode(root / found[2])).hexdigest()[: int(found[1])]

    text = _HASH.sub(digest, text).replace("@NOW@", str(time.time()))
    for name, value in _words(root).items():
        text = text.replace(name, value)
    return text


def unfilled(text: str, root: Path) -> str:
    """Replace the values of this machine with placeholders."""
    for place in _PLACES:
        digest = hashlib.sha256(os.fsencode(root / place)).hexdigest()
        for size in _SIZES:
            text = text.replace(digest[:size], f"@SHA256:{size}:{place}@")
    for name, value in _words(root).items():
        text = text.replace(value, name)
    return text


def environment_of(root: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which commands use the old home."""
    return {
        **environment,
        "HOME": str(root / "user"),
        "PATH": os.defpath,
        "SYMPOSIUM_HOME": str(root / "home"),
        "SYMPOSIUM_RECOMMENDATIONS": "none",
        "SYMPOSIUM_REGISTRY": str(root / "registry.json"),
        "TERM": "xterm",
    }


def unpack(root: Path) -> None:
    """Write the old home, its clone and its worktrees below a directory."""
    folders: list[tuple[Path, int]] = []
    for line in FILES.read_text(encoding="utf-8").splitlines():
        entry: dict[str, Any] = json.loads(line)
        path = root / filled(entry["path"], root)
        if "folder" in entry:
            path.mkdir(parents=True)
            folders.append((path, int(entry["folder"], 8)))
        elif "link" in entry:
            path.symlink_to(filled(entry["link"], root))
        else:
            _write(path, entry, root)
            path.chmod(int(entry["mode"], 8))
    for path, mode in folders:
        path.chmod(mode)


def _write(path: Path, entry: Mapping[str, Any], root: Path) -> None:
    if "sql" in entry:
        with closing(sqlite3.connect(path)) as database:
            if entry["wal"]:
                database.execute("PRAGMA journal_mode=WAL")
            database.executescript(filled("\n".join(entry["sql"]), root))
    elif "text" in entry:
        path.write_bytes(filled(entry["text"], root).encode())
    else:
        path.write_bytes(base64.b64decode(entry["base64"]))


def pack(root: Path, *, left_out: Sequence[str]) -> None:
    """Write everything below a directory into the data, except these paths."""
    lines: list[str] = []
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if any(re.fullmatch(each, name) for each in left_out) or path.is_socket():
            continue
        entry = {"path": unfilled(name, root), **_entry(path, root)}
        lines.append(json.dumps(entry, ensure_ascii=False))
    FILES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entry(path: Path, root: Path) -> dict[str, Any]:
    mode = f"{path.lstat().st_mode & 0o777:o}"
    if path.is_symlink():
        return {"link": unfilled(str(path.readlink()), root)}
    if path.is_dir():
        return {"folder": mode}
    if path.suffix in _DATABASES:
        return {"mode": mode, **_dumped(path, root)}
    content = path.read_bytes()
    try:
        return {"mode": mode, "text": unfilled(content.decode(), root)}
    except UnicodeDecodeError:
        assert str(root).encode() not in content, path
        return {"mode": mode, "base64": base64.b64encode(content).decode()}


def _dumped(path: Path, root: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as database:
        (journal,) = database.execute("PRAGMA journal_mode").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        lines = [_readable(each) for each in database.iterdump()]
    version_line = f"PRAGMA user_version={version};"
    return {
        "wal": journal == "wal",
        "sql": [unfilled(each, root) for each in [*lines, version_line]],
    }


def _readable(statement: str) -> str:
    """Return a statement with blobs as text, and without a time after which a row expires."""

    def text(found: re.Match[str]) -> str:
        words = bytes.fromhex(found[1]).decode().replace("'", "''")
        return f"CAST('{words}' AS BLOB)"

    return _STORED.sub(r"\1@NOW@\2", _BLOB.sub(text, statement))
