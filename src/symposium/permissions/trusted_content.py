"""Content of a workspace that needs the user's trust, and other tools' settings.

An agent may start it by itself, so whoever opens the workspace is to know.
"""

import hashlib
import json
import os
import shlex
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from symposium.errors import SymposiumError

EffectKind: TypeAlias = Literal["command", "server", "variable", "link", "text", "mod"]
"""It starts a program, reaches a server, sets a variable, follows a link, tells the agent, or uses
a built-in mod."""

MAX_BYTES: Final = 1024 * 1024
"""What is read of one file; more than a person could judge is no content to be trusted."""


class TrustError(SymposiumError):
    """Stored content can neither be judged nor used."""


@dataclass(frozen=True, slots=True)
class TrustEffect:
    """One thing that trusting would allow.

    Attributes:
        kind: what sort of thing.
        detail: in full, for a person: the command line, the URL, the name of the variable.
    """

    kind: EffectKind
    detail: str

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"kind": self.kind, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class TrustLink:
    """A symbolic link on the way to a file.

    Attributes:
        path: where it stands, relative to the workspace.
        target: what it leads to, resolved.
    """

    path: str
    target: str

    @property
    def text(self) -> str:
        """Both, to read and to compare."""
        return f"{self.path} -> {self.target}"


@dataclass(frozen=True, slots=True)
class TrustItem:
    """Content as it was read; whoever was allowed to use it uses `content`, never the file again.

    Attributes:
        workspace: the directory it is stored in, canonical.
        kind: what it is for, as in `recommendations`, `mods`, `setup`, `guidance`.
        name: its path relative to the workspace, or another name that is unique for the kind.
        content: all of it.
        links: those on the way to it.
        allows: what else trusting it would allow; whoever reads the content fills it in.
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
        """Where it stands, whatever its content: the workspace, the kind and the name."""
        return readable(str(self.workspace)), self.kind, self.name

    @property
    def effects(self) -> tuple[TrustEffect, ...]:
        """Everything that trusting it would allow, each link included."""
        return (*self.allows, *(_followed(link, self.workspace) for link in self.links))

    def as_json(self) -> Mapping[str, Any]:
        """For programs; without the content."""
        return {
            "workspace": self.place[0],
            "kind": self.kind,
            "name": self.name,
            "sha256": self.digest,
            "allows": [effect.as_json() for effect in self.effects],
        }


def readable(path: str) -> str:
    """A path as text that can be written down, whatever bytes its names are made of."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _followed(link: TrustLink, workspace: Path) -> TrustEffect:
    is_inside = Path(link.target).is_relative_to(workspace)
    return TrustEffect("link", link.text + ("" if is_inside else " (outside the workspace)"))


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""The resolved path holds no link any more, and a pipe shall not hold us up."""


def read_item(workspace: Path, kind: str, name: str, *, most: int = MAX_BYTES) -> TrustItem | None:
    """What a workspace stores under a relative path; None if there is nothing.

    Args:
        workspace: the directory; made canonical here.
        kind: what the content is for.
        name: the path, relative to the workspace.
        most: bytes that are read.

    Raises:
        TrustError: its name leaves the workspace; it is no file, is too large, cannot be read, or
            was changed meanwhile.
    """
    root = canonical(workspace)
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise _error(root, name, "its name leaves the workspace")
    links: tuple[TrustLink, ...] = ()
    try:
        links = _links(root, name)
        content, seen = _content(os.path.realpath(root / name), most)
    except (FileNotFoundError, NotADirectoryError) as error:
        if links:
            raise _error(root, name, "its link leads nowhere") from error
        return None
    except (OSError, ValueError) as error:
        raise _error(root, name, str(error)) from error
    if links != _links(root, name) or not _is_still(root / name, seen):
        raise _error(root, name, "it was changed while it was read")
    return TrustItem(root, kind, name, content, links)


def canonical(workspace: Path) -> Path:
    """The one path that stands for a workspace."""
    return Path(os.path.realpath(workspace))


def _content(target: str, most: int) -> tuple[bytes, os.stat_result]:
    handle = os.open(target, _FLAGS)
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise ValueError("it is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes, which nobody would read")
    return content, seen


def _links(root: Path, name: str) -> tuple[TrustLink, ...]:
    """The links among the parts of a relative path, with what each leads to."""
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
    return TrustError(f"{root / name}: {reason}", "it is not used; mend it, or take it away")


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
"""Where agents and editors look for programs to start with a workspace."""

_COMMANDS: Final = frozenset({"command", "cmd", "apiKeyHelper"})
_URLS: Final = frozenset({"url", "httpUrl", "serverUrl", "baseUrl", "base_url"})
_VARIABLES: Final = frozenset({"env", "environment", "headers"})

MAX_EFFECTS: Final = 200
"""Of one file; how many more there are is said."""

MAX_DEPTH: Final = 30


def foreign_items(workspace: Path) -> list[TrustItem]:
    """The files of a workspace that name programs, servers or variables for others."""
    return [item for name in FILES if (item := _item(workspace, name)) is not None]


def _item(workspace: Path, name: str) -> TrustItem | None:
    try:
        item = read_item(workspace, KIND, name)
    except TrustError:
        return None  # whoever reads it will not get further than we
    if item is None:
        return None
    parse: Callable[[str], Any] = tomllib.loads if name in _TOML else json.loads
    try:
        value: Any = parse(item.content.decode())
    except (ValueError, RecursionError):
        # Another reader may be more tolerant: JSON with comments, say.
        effects: Sequence[TrustEffect] = [TrustEffect("command", "something that we cannot read")]
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
                yield TrustEffect("command", _line(detail, table.get("args")))
            elif key in _URLS and isinstance(detail, str):
                yield TrustEffect("server", detail)
            elif key in _VARIABLES and isinstance(detail, Mapping):
                names = cast("Mapping[str, Any]", detail)
                yield from (TrustEffect("variable", f"{name}={names[name]}") for name in names)
            elif key not in _COMMANDS:
                yield from _effects(detail, depth + 1)


def _line(command: Any, arguments: Any) -> str:
    """A command line; a string is one for a shell where no arguments stand beside it."""
    if isinstance(command, str) and not isinstance(arguments, list):
        return command
    words = [command] if isinstance(command, str) else cast("list[Any]", command)
    more = cast("list[Any]", arguments) if isinstance(arguments, list) else []
    return shlex.join(str(word) for word in [*words, *more])
