"""One piece of content that somebody stored in a workspace, read once: hashed, shown and used."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from symposium.errors import SymposiumError

EffectKind: TypeAlias = Literal["command", "server", "variable", "link", "text", "mod"]
"""It starts a program, reaches a server, sets a variable, follows a link, tells the agent, or uses
a built-in mod."""

MOST_BYTES: Final = 1024 * 1024
"""What is read of one file; more than a person could judge is no content to be trusted."""


class TrustError(SymposiumError):
    """Stored content can neither be judged nor used."""


@dataclass(frozen=True, slots=True)
class Effect:
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
class Link:
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
class Item:
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
    links: tuple[Link, ...] = ()
    allows: tuple[Effect, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def place(self) -> tuple[str, str, str]:
        """Where it stands, whatever its content: the workspace, the kind and the name."""
        return readable(str(self.workspace)), self.kind, self.name

    @property
    def effects(self) -> tuple[Effect, ...]:
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


def _followed(link: Link, workspace: Path) -> Effect:
    is_inside = Path(link.target).is_relative_to(workspace)
    return Effect("link", link.text + ("" if is_inside else " (outside the workspace)"))
