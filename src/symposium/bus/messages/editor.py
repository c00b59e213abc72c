"""Messages of editors: selection, symbols, walkthroughs, reviews, references."""

from enum import Enum
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from msgspec import Meta, Raw, Struct, field

from symposium.bus.protocol import (
    AGENTS,
    USER_ROLES,
    Ack,
    Announcement,
    BusReply,
    BusRequest,
    MessageSpec,
    MessageTarget,
    PayloadError,
    Role,
    read_as,
)


class PresentWalkthrough(BusRequest[Ack], frozen=True, kw_only=True):
    """Show a walkthrough in the sender's window.

    Attributes:
        content: HTML, with all locations resolved.
        base_uri: base directory of relative paths.
    """

    about: ClassVar = MessageSpec(
        "present_walkthrough",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.WINDOW,
        budget=30.0,
        source="bus §1.10; §1.11, row 4",
    )
    content: str
    base_uri: str = field(name="baseUri")


class ReviewMode(Enum):
    """State of the review that is shown."""

    REPLACE = "Replace"
    APPEND = "Append"
    UPDATE_SECTION = "UpdateSection"


class PresentReview(BusRequest[Ack], frozen=True, kw_only=True):
    """Show a review as Markdown, in place of the current one or in addition.

    Attributes:
        content: Markdown.
        mode: effect on the current review.
        section: heading of the section to replace.
        base_uri: base directory of relative paths.
    """

    about: ClassVar = MessageSpec(
        "present_review",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.WINDOW,
        budget=30.0,
        source="bus §1.10, §6 A2",
    )
    content: str
    mode: ReviewMode = ReviewMode.REPLACE
    section: str | None = None
    base_uri: str = ""


class UserFeedback(BusRequest[Ack], frozen=True, kw_only=True):
    """Report the user's feedback on a review.

    Attributes:
        review_id: id of the review.
        feedback_type: `comment` or `complete_review`; other values count as the latter.
        file_path, line_number, comment_text, context_lines: for a comment.
        completion_action: `request_changes`, `checkpoint`, or `return`.
        additional_notes: for a completion.
    """

    about: ClassVar = MessageSpec(
        "user_feedback",
        sent_by=USER_ROLES | {Role.LEGACY},
        target=MessageTarget.MCP_SERVER,
        budget=5.0,
        is_idempotent=True,
        source="bus §4.9, seed 001",
    )
    review_id: str
    feedback_type: str
    file_path: str | None = None
    line_number: int | None = None
    comment_text: str | None = None
    completion_action: str | None = None
    additional_notes: str | None = None
    context_lines: tuple[str, ...] | None = None


class StoreReference(BusRequest[Ack], frozen=True, kw_only=True):
    """Store a value under a key; replaces an existing value.

    Attributes:
        key: key in compact references.
        value: any JSON, defined by its sender.
    """

    about: ClassVar = MessageSpec(
        "store_reference",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=5.0,
        is_idempotent=True,
        source="bus §1.10, seed 001",
    )
    key: str
    value: Any


class ReloadWindow(Announcement, frozen=True, kw_only=True):
    """Announce that the daemon stops on purpose; editors may reconnect."""

    about: ClassVar = MessageSpec(
        "reload_window",
        sent_by=frozenset({Role.DAEMON}),
        target=MessageTarget.EVERYBODY,
        source="bus §1.10, §1.4",
    )


class Registered(BusReply, frozen=True):
    """Confirmation of a registered window."""

    success: bool = True


class RegisterTaskspaceWindow(BusRequest[Registered], frozen=True, kw_only=True):
    """Register a window for a taskspace.

    Attributes:
        window_title: contains `[SYMPOSIUM:<uuid>]`, so that window managers can find it.
        taskspace_uuid: taskspace of the window.
    """

    about: ClassVar = MessageSpec(
        "register_taskspace_window",
        sent_by=USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=5.0,
        is_idempotent=True,
        source="bus §1.10, §3.8",
    )
    window_title: str
    taskspace_uuid: str


_OneBased: TypeAlias = Annotated[int, Meta(ge=0)]


class FileLocation(Struct, frozen=True):
    """Position in a file; line and column start at 1."""

    line: _OneBased
    column: _OneBased


class FileRange(Struct, frozen=True, omit_defaults=True):
    """Range of positions; the end is exclusive."""

    path: str
    start: FileLocation
    end: FileLocation
    content: str | None = None


class SymbolDef(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Definition of a symbol."""

    name: str
    defined_at: FileRange
    kind: str | None = None


class Selection(BusReply, frozen=True, rename="camel", omit_defaults=True):
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
        """Parse an editor's response: an object, a string, or null (seed 001).

        Raises:
            PayloadError: it is neither of them.
        """
        if bytes(data) == b"null":
            return cls(selected_text=None)
        if bytes(data).startswith(b'"'):
            return cls(selected_text=read_as(str, data))
        return read_as(cls, data)


class ReviewFile(Struct, frozen=True):
    """One changed file of a review; `hunks` as bus §4.8 writes them."""

    path: str
    status: str
    additions: int = 0
    deletions: int = 0
    hunks: tuple[Any, ...] = ()


class CommentThread(Struct, frozen=True):
    """Comments on one line."""

    thread_id: str
    file_path: str
    line_number: int
    comment_type: str
    content: str
    responses: tuple[str, ...] = ()


class GetSelection(BusRequest[Selection], frozen=True, kw_only=True):
    """Ask the sender's window for its selection."""

    about: ClassVar = MessageSpec(
        "get_selection",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10, §5.3",
    )


class _WrittenSymbol(Struct):
    """A symbol by any of its member names, as editors and the seed write them."""

    symbol: SymbolDef | str | None = None
    symbol_name: str | None = None
    name: str | None = None


class FindAllReferences(BusRequest[list[FileRange]], frozen=True, kw_only=True):
    """Find the uses of a symbol.

    Attributes:
        symbol: its definition or its name; also read as `symbol_name` and `name`.
    """

    about: ClassVar = MessageSpec(
        "find_all_references",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10; §1.11, row 2",
    )
    symbol: SymbolDef | str

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """Accept the seed's spelling, too."""
        written = read_as(_WrittenSymbol, payload)
        symbol = written.symbol or written.symbol_name or written.name
        if symbol is None:
            raise PayloadError("Object missing required field `symbol`")
        return cls(symbol=symbol)


class ResolveSymbolByName(BusRequest[list[SymbolDef]], frozen=True, kw_only=True):
    """Find the definitions of a symbol.

    Attributes:
        name: name of the symbol; also read as `symbol_name` and `symbol`.
    """

    about: ClassVar = MessageSpec(
        "resolve_symbol_by_name",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.WINDOW,
        budget=30.0,
        is_idempotent=True,
        source="bus §1.10; §1.11, row 2",
    )
    name: str

    @classmethod
    def read(cls, payload: Raw) -> Self:
        """Accept the seed's spelling, too."""
        written = read_as(_WrittenSymbol, payload)
        symbol = written.symbol.name if isinstance(written.symbol, SymbolDef) else written.symbol
        name = written.name or written.symbol_name or symbol
        if name is None:
            raise PayloadError("Object missing required field `name`")
        return cls(name=name)


class CreateSyntheticPr(BusRequest[Any], frozen=True, kw_only=True, omit_defaults=False):
    """Show a review and wait for feedback; the reply is the review's id or the feedback."""

    about: ClassVar = MessageSpec(
        "create_synthetic_pr",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=3600.0,
        source="bus §4.8, seed 001",
    )
    review_id: str
    title: str
    commit_range: str
    description: Any = None
    status: str = "Pending"
    files_changed: tuple[ReviewFile, ...] = ()
    comment_threads: tuple[CommentThread, ...] = ()
    created_at: Any = None
    updated_at: Any = None


class UpdateSyntheticPr(BusRequest[Any], frozen=True, kw_only=True, omit_defaults=False):
    """Show an updated review and wait for feedback; the reply is its id or the feedback."""

    about: ClassVar = MessageSpec(
        "update_synthetic_pr",
        sent_by=AGENTS | USER_ROLES | {Role.LEGACY},
        target=MessageTarget.ENGINE,
        budget=3600.0,
        source="bus §4.8, seed 001",
    )
    review_id: str
    title: str = ""
    commit_range: str = ""
    description: Any = None
    status: str = "Pending"
    files_changed: tuple[ReviewFile, ...] = ()
    comment_threads: tuple[CommentThread, ...] = ()
    created_at: Any = None
    updated_at: Any = None
