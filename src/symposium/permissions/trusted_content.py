"""Content of a workspace that requires the user's trust, and settings of other tools.

An agent may use it without asking, so the user must know about it.
"""

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from localio.toml import parse_toml
from symposium.errors import SymposiumError

EffectKind: TypeAlias = Literal["command", "server", "variable", "link", "text", "mod"]
"""Starts a program, connects to a server, sets a variable, follows a link, instructs the agent, or
uses a built-in mod."""

MAX_BYTES: Final = 1024 * 1024
"""Maximum size of a file; more is not readable for a user and cannot be trusted."""


class TrustError(SymposiumError):
    """Stored content that can neither be judged nor used."""


@dataclass(frozen=True, slots=True)
class TrustEffect:
    """One effect of trusting content.

    Attributes:
        kind: kind of effect.
        detail: complete text for the user: command line, URL, or variable name.
    """

    kind: EffectKind
    detail: str

    def as_json(self) -> dict[str, Any]:
        """JSON form for programs."""
        return {"kind": self.kind, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class TrustLink:
    """A symbolic link in the path of a file.

    Attributes:
        path: its path, relative to the workspace.
        target: its resolved target.
    """

    path: str
    target: str

    @property
    def text(self) -> str:
        """Path and target, for display and comparison."""
        return f"{self.path} -> {self.target}"


@dataclass(frozen=True, slots=True)
class TrustItem:
    """Content as read; users of trusted content take it from here, never from the file again.

    Attributes:
        workspace: canonical directory.
        kind: purpose, such as `recommendations`, `mods`, `setup`, or `guidance`.
        name: path relative to the workspace, or another unique name for the kind.
        content: complete content.
        links: links in its path.
        allows: other effects of trusting it, added by the reader of the content.
    """

    workspace: Path
    kind: str
    name: str
    content: bytes
    links: tuple[TrustLink, ...] = ()
    allows: tuple[TrustEffect, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def place(self) -> tuple[str, str, str]:
        """Key of its location: workspace, kind, and name."""
        return readable(str(self.workspace)), self.kind, self.name

    @property
    def effects(self) -> tuple[TrustEffect, ...]:
        """All effects of trusting it, including its links."""
        return (*self.allows, *(_followed(link, self.workspace) for link in self.links))

    def as_json(self) -> Mapping[str, Any]:
        """JSON form for programs, without the content."""
        return {
            "workspace": self.place[0],
            "kind": self.kind,
            "name": self.name,
            "sha256": self.digest,
            "allows": [effect.as_json() for effect in self.effects],
        }


def readable(path: str) -> str:
    """A path as printable text, for any bytes in its names."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _followed(link: TrustLink, workspace: Path) -> TrustEffect:
    is_inside = Path(link.target).is_relative_to(workspace)
    return TrustEffect("link", link.text + ("" if is_inside else " (outside the workspace)"))


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""The resolved path contains no links; non-blocking, in case it is a pipe."""


def read_item(
    workspace: Path, kind: str, name: str, *, max_bytes: int = MAX_BYTES
) -> TrustItem | None:
    """Content at a relative path in a workspace; None if nothing exists there.

    Args:
        workspace: directory of the workspace.
        kind: purpose of the content.
        name: path relative to the workspace.
        max_bytes: maximum size.

    Raises:
        TrustError: the name leads outside the workspace, or the file is not regular, too large,
            unreadable, or changed while being read.
    """
    root = canonical(workspace)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise _error(root, name, "the name leads outside the workspace")
    links: tuple[TrustLink, ...] = ()
    try:
        links = _links(root, name)
        content, seen = _content(os.path.realpath(root / name), max_bytes)
    except (FileNotFoundError, NotADirectoryError) as error:
        if links:
            raise _error(root, name, "the link has no target") from error
        return None
    except (OSError, ValueError) as error:
        raise _error(root, name, str(error)) from error
    if links != _links(root, name) or not _is_still(root / name, seen):
        raise _error(root, name, "it changed while being read")
    return TrustItem(root, kind, name, content, links)


def canonical(workspace: Path) -> Path:
    return Path(os.path.realpath(workspace))


def _content(target: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    handle = os.open(target, _FLAGS)
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError("not a regular file")
        # `fdopen` fails for a directory, and does not close its handle.
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    finally:
        os.close(handle)
    if len(content) > max_bytes:
        raise ValueError(f"larger than {max_bytes} bytes")
    return content, seen


def _links(root: Path, name: str) -> tuple[TrustLink, ...]:
    """Links in a relative path, with their targets."""
    found: list[TrustLink] = []
    here = root
    for part in Path(name).parts:
        here = here / part
        if here.is_symlink():
            path, target = str(here.relative_to(root)), os.path.realpath(here)
            found.append(TrustLink(readable(path), readable(target)))
    return tuple(found)


def _is_still(path: Path, seen: os.stat_result) -> bool:
    try:
        now = path.stat()
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (seen.st_dev, seen.st_ino)


def _error(root: Path, name: str, reason: str) -> TrustError:
    return TrustError(f"{root / name}: {reason}", "ignored; fix or delete it")


KIND: Final = "for other programs"

_JSON: Final = (
    ".mcp.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".vscode/mcp.json",
    ".zed/settings.json",
    "opencode.json",
)
_TOML: Final = (".codex/config.toml",)
FILES: Final = (*_JSON, *_TOML)
"""Files in which agents and editors look for programs to start in a workspace."""

_COMMANDS: Final = frozenset(
    {
        *("command", "cmd", "program", "notify"),
        *("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"),
    }
)
"""Members with a command: of MCP servers and hooks, of Zed's terminal, Codex, and Claude Code."""

_PROGRAMS: Final = frozenset({*_COMMANDS, "binary"})
"""Members that may be an object with a `path`: context servers and language servers in Zed."""

_URLS: Final = frozenset({"url", "httpUrl", "serverUrl", "baseUrl", "base_url"})
_VARIABLES: Final = frozenset({"env", "environment", "headers"})

MAX_EFFECTS: Final = 200
"""Maximum number of effects shown per file; the rest is counted."""

MAX_DEPTH: Final = 30


def foreign_items(workspace: Path) -> list[TrustItem]:
    """Files of a workspace that name programs, servers, or variables for other tools."""
    return [item for name in FILES if (item := _item(workspace, name)) is not None]


def _item(workspace: Path, name: str) -> TrustItem | None:
    try:
        item = read_item(workspace, KIND, name)
    except TrustError:
        return None  # other tools cannot read it either
    if item is None:
        return None
    parse: Callable[[str], Any] = parse_toml if name in _TOML else json.loads
    try:
        value: Any = parse(item.content.decode())
    except (ValueError, RecursionError):
        # Other readers may accept more, such as JSON with comments.
        effects: Sequence[TrustEffect] = [
            TrustEffect("command", "content that Symposium cannot read")
        ]
    else:
        effects = list(_effects(value, 0))
    shown = effects[:MAX_EFFECTS]
    if len(effects) > MAX_EFFECTS:
        shown = [*shown, TrustEffect("command", f"and {len(effects) - MAX_EFFECTS} more")]
    return replace(item, allows=tuple(shown)) if shown or item.links else None


def _effects(value: Any, depth: int) -> Iterator[TrustEffect]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _effects(each, depth + 1)
    elif isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        for key, detail in table.items():
            if key in _COMMANDS and isinstance(detail, str | list):
                yield TrustEffect("command", _line(detail, _arguments(table)))
            elif key in _URLS and isinstance(detail, str):
                yield TrustEffect("server", detail)
            elif key in _VARIABLES and isinstance(detail, Mapping):
                names = cast("Mapping[str, Any]", detail)
                yield from (TrustEffect("variable", f"{name}={names[name]}") for name in names)
            else:
                if key in _PROGRAMS and isinstance(detail, Mapping):
                    yield from _program(cast("Mapping[str, Any]", detail))
                yield from _effects(detail, depth + 1)


def _program(program: Mapping[str, Any]) -> Iterator[TrustEffect]:
    path = program.get("path")
    if isinstance(path, str):
        yield TrustEffect("command", _line(path, _arguments(program)))


def _arguments(table: Mapping[str, Any]) -> list[Any] | None:
    """All arguments of a command; readers differ in the member that they use."""
    given = [table[name] for name in ("args", "arguments") if isinstance(table.get(name), list)]
    return [each for some in given for each in some] if given else None


def _line(command: Any, arguments: list[Any] | None) -> str:
    """Command line; a string without arguments is a shell command."""
    if isinstance(command, str) and arguments is None:
        return command
    words = [command] if isinstance(command, str) else cast("list[Any]", command)
    return shlex.join(str(word) for word in [*words, *(arguments or ())])
