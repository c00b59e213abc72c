"""Mod that gives the agent the guidance of the project, once in each session.

The text is inserted before the user's first prompt. The editor does not see it: the mod removes it
from messages that the agent repeats, for example when it replays a session.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import ComponentSpec, Drop, Forward, Outcome, from_agent, from_client
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer
from symposium.errors import SymposiumError

SERVER: Final = "guidance"
"""Name of the MCP server that the agent sees."""

FIRST: Final = "main.md"
"""Id of the text that is inserted; the agent reads others with a tool."""

META: Final = "symposium/guidance"
"""Key in the block's `_meta` that distinguishes it from the user's text."""

META_SHA256: Final = "symposium/guidance/sha256"
"""Key of the hash of the text, to recognize a repeated text."""

MAX_BYTES: Final = 3000
"""Maximum bytes of the inserted text; a longer text is replaced by its summary."""

BEGIN: Final = '<guidance from="symposium">'
END: Final = "</guidance>"


class UnknownGuidanceError(SymposiumError):
    """The id is unknown; the model reads the message."""


class GuidanceTools:
    """The tools of one session.

    The modules that read the texts are imported on first use, so that a chain starts quickly.

    Args:
        folder: the session's directory, which determines the texts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_guidance(self) -> list[dict[str, str]]:
        """List the guidance texts for this project, in reading order."""
        return [
            {"id": each["id"], "name": each["name"], "description": each["description"]}
            for each in _texts(self._folder)
        ]

    def read_guidance(self, id: str) -> dict[str, str]:  # noqa: A002 - name on the wire
        """Read a guidance text by its id, for example `walkthrough-format.md`."""
        texts = _texts(self._folder)
        for each in texts:
            if each["id"] == id:
                return each
        names = ", ".join(each["id"] for each in texts)
        raise UnknownGuidanceError(f"unknown guidance {id[:80]!r}", f"known: {names}")

    def server(self) -> ToolServer:
        """The MCP server of these tools."""
        return ToolServer(SERVER, [self.list_guidance, self.read_guidance])


@dataclass(slots=True, eq=False)
class GuidedSession:
    """State of one session.

    Attributes:
        has_guidance: whether the text was inserted into a prompt, answered or pending.
        is_hiding: whether the agent is repeating the text and has not reached its end.
    """

    folder: Path
    has_guidance: bool = False
    is_hiding: bool = False


class Guidance(ToolMod):
    """Insert the text, hide it from the editor, and offer tools to read others."""

    def __init__(self) -> None:
        super().__init__()
        self._by_server: dict[str, GuidedSession] = {}
        self._by_id: dict[str, GuidedSession] = {}

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session."""
        named = params.get("cwd")
        folder = Path(named if isinstance(named, str) else "/")
        server = GuidanceTools(folder).server()
        session = self._by_server[server.server_id] = GuidedSession(folder)
        known = params.get("sessionId")
        if isinstance(known, str):
            # A resumed or forked session has the text in its history.
            session.has_guidance = True
            self._by_id.setdefault(known, session)
        return [server]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        """Store the id of the new session."""
        for server in servers:
            self._by_id[session_id] = self._by_server[server.server_id]

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        """Remove the state of the session."""
        ended = [self._by_server.pop(each.server_id, None) for each in servers]
        ids = [id_ for id_, session in self._by_id.items() if session in ended]
        for id_ in ids:
            del self._by_id[id_]

    @from_client("session/prompt")
    def prompted(self, message: ChainMessage) -> Outcome:
        """Insert the text before the user's first prompt."""
        session = self._by_id.get(message.session_id or "")
        if session is None or session.has_guidance:
            return Forward()
        params = cast("dict[str, Any]", message.params)
        blocks = params.get("prompt")
        if not isinstance(blocks, list) or _is_command(cast("list[Any]", blocks)):
            return Forward()
        text = _guidance_text(session.folder, _words_in(cast("list[Any]", blocks)))
        if text is None:
            return Forward()
        session.has_guidance = True

        def failed(_: Answer) -> None:
            session.has_guidance = False

        block = {
            "type": "text",
            "text": text,
            "annotations": {"audience": ["assistant"]},
            "_meta": {META: FIRST, META_SHA256: hashlib.sha256(text.encode()).hexdigest()},
        }
        return Forward({**params, "prompt": [block, *cast("list[Any]", blocks)]}, catch=failed)

    @from_agent("session/update")
    def repeated(self, message: ChainMessage) -> Outcome:
        """Remove the text from user messages that the agent repeats."""
        if message.line and b"user_message_chunk" not in message.line:
            return Forward()
        match message.params:
            case {
                "update": {
                    "sessionUpdate": "user_message_chunk",
                    "content": {"type": "text", "text": str(text)} as content,
                }
            }:
                session = self._by_id.get(message.session_id or "")
                left = text if session is None else without_text(session, text)
                if left == text:
                    return Forward()
                if not left.strip():
                    return Drop()
                content["text"] = left
                return Forward(message.params)
            case _:
                return Forward()


def _texts(folder: Path) -> list[dict[str, str]]:
    from symposium.documents.guidance import library_for

    return [
        {"id": each.id, "name": each.name, "description": each.description, "text": each.body}
        for each in library_for(folder).shelf().listed
    ]


def _guidance_text(folder: Path, words: str) -> str | None:
    """The first text within the limit, followed by a list of the others."""
    from symposium.documents.first_prompt import GuidanceWorkspace, applicable, fit
    from symposium.documents.guidance import library_for

    library = library_for(folder)
    texts = applicable(library.shelf().listed, GuidanceWorkspace(library.project), words)
    first = next((each for each in texts if each.id == FIRST), None)
    if first is None:
        return None
    (excerpt,) = fit([first], MAX_BYTES)
    others = [each for each in texts if each.id != FIRST and each.text != first.text]
    lines = [f"- `{each.id}`: {each.description or each.name}" for each in others]
    whole = [] if excerpt.is_whole else [f"- `{FIRST}`: the complete text, with examples"]
    more = f"To read more, call the tool `read_guidance` of the MCP server `{SERVER}`:"
    listed = "\n".join([more, *whole, *lines])
    return f"{BEGIN}\n# {first.name}\n\n{excerpt.body}\n\n{listed}\n{END}\n"


def _words_in(blocks: Sequence[Any]) -> str:
    """Text of a prompt, which determines the applicable guidance."""
    found: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                found.append(text)
            case _:
                pass
    return "\n".join(found)


def _is_command(blocks: Sequence[Any]) -> bool:
    """Whether a prompt is a command of the agent, which must come first in the prompt."""
    match blocks:
        case [{"type": "text", "text": str(text)}, *_]:
            return text.lstrip().startswith("/")
        case _:
            return False


def without_text(session: GuidedSession, text: str) -> str:
    """Remove the guidance from a chunk of a message; it may span several chunks."""
    left = ""
    while text:
        if session.is_hiding:
            _, end, text = text.partition(END)
            session.is_hiding = not end
            text = text.lstrip("\n") if end else ""
        else:
            before, begin, text = text.partition(BEGIN)
            left += before
            session.is_hiding = bool(begin)
    return left


spec = ComponentSpec(
    name="guidance",
    summary="Gives the agent the guidance of the project, once per session. Also named `sparkle`.",
    make=Guidance,
    tokens=620,
)
