"""Values that several messages carry, as the reference spells them (bus §3.6, §4.8, §5.3)."""

from enum import Enum
from typing import Annotated, Any, Final, Self, TypeAlias

from msgspec import Meta, Raw, Struct

from symposium.bus.vocabulary import Reply, read_as

_OneBased: TypeAlias = Annotated[int, Meta(ge=0)]


class FileLocation(Struct, frozen=True):
    """A place in a file; both count from 1."""

    line: _OneBased
    column: _OneBased


class FileRange(Struct, frozen=True, omit_defaults=True):
    """From one place to another; the end is exclusive."""

    path: str
    start: FileLocation
    end: FileLocation
    content: str | None = None


class SymbolDef(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Where a symbol is defined."""

    name: str
    defined_at: FileRange
    kind: str | None = None


class Selection(Reply, frozen=True, rename="camel", omit_defaults=True):
    """The selection in an editor; `selectedText` is null if nothing is selected."""

    selected_text: str | None
    file_path: str | None = None
    start_line: int | None = None
    start_column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    line_number: int | None = None
    document_language: str | None = None
    is_untitled: bool | None = None
    message: str | None = None

    @classmethod
    def read(cls, data: Raw) -> Self:
        """Parse an editor's answer: an object, or the text alone, or null (seed 001).

        Raises:
            PayloadError: it is none of them.
        """
        if bytes(data) == b"null":
            return cls(selected_text=None)
        if bytes(data).startswith(b'"'):
            return cls(selected_text=read_as(str, data))
        return read_as(cls, data)


class Recorded(Reply, frozen=True):
    """What became of a report: it is kept, and so many views are there to show it."""

    watchers: int = 0


class ReviewFile(Struct, frozen=True):
    """One changed file of a review; `hunks` as bus §4.8 writes them."""

    path: str
    status: str
    additions: int = 0
    deletions: int = 0
    hunks: tuple[Any, ...] = ()


class CommentThread(Struct, frozen=True):
    """What was said about one line."""

    thread_id: str
    file_path: str
    line_number: int
    comment_type: str
    content: str
    responses: tuple[str, ...] = ()


class ProgressCategory(Enum):
    """How a line of progress is shown; any unknown word counts as `info`."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    MILESTONE = "milestone"
    QUESTION = "question"

    @classmethod
    def _missing_(cls, value: object) -> "ProgressCategory":
        word = str(value).strip().lower()
        return next((each for each in cls if word in {each.value, *SIGNS[each]}), cls.INFO)


SIGNS: Final = {
    ProgressCategory.INFO: ("\u2139\ufe0f", "\u2139"),
    ProgressCategory.WARN: ("\u26a0\ufe0f", "\u26a0"),
    ProgressCategory.ERROR: ("\u274c",),
    ProgressCategory.MILESTONE: ("\u2705",),
    ProgressCategory.QUESTION: ("\u2753",),
}
"""The signs an agent may write for a category instead of its word."""


class WindowKind(Enum):
    """What kind of view a peer is, by which its user is reached."""

    EDITOR = "editor"
    TERMINAL = "terminal"
    WEB = "web"
    ACP = "acp"


class Present(Reply, frozen=True, omit_defaults=True):
    """One peer that is connected.

    Attributes:
        connection: the broker's name for it.
        role: what it has said it is.
        name: what it calls itself, for people.
        since: when it came, in seconds since the epoch.
        seen: when it last said where it is.
        kind: which kind of view it is, if it has said so.
        window_title: the title of its window, if it registered one for a taskspace.
        taskspace_uuid: the taskspace it stands in.
        workspace_folders: the folders it has open.
        terminals: the process ids of its terminals' shells.
        focus_uri: what its user looks at.
        pid: its process.
        handles: the message types it answers.
    """

    connection: str
    role: str
    name: str
    since: float
    seen: float
    kind: WindowKind | None = None
    window_title: str | None = None
    taskspace_uuid: str | None = None
    workspace_folders: tuple[str, ...] = ()
    terminals: tuple[int, ...] = ()
    focus_uri: str | None = None
    pid: int | None = None
    handles: tuple[str, ...] = ()


class Logged(Reply, frozen=True):
    """One message of the history, without secrets.

    Attributes:
        at: when it passed, in seconds since the epoch.
        by: the connection that sent it.
        name: what that called itself.
        size: bytes of the line as it passed.
        line: the line; cut where it is too long to be kept whole.
    """

    at: float
    by: str
    name: str
    size: int
    line: str
