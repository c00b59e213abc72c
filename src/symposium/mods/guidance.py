"""The mod that tells the agent how people and agents work together here, once in each session.

The text travels in front of what the person says first, and the person's editor does not see it:
what an agent repeats of it, as when it replays a session, is taken out again.
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

SERVER: Final = "guidance"
"""What the agent knows the tools by."""

FIRST: Final = "main.md"
"""What is brought in by itself; the rest is read when it is needed."""

META: Final = "symposium/guidance"
"""The member of a block's `_meta` that tells it from what the person says."""

META_SHA256: Final = "symposium/guidance/sha256"
"""The member with the hash of the text, by which a repeated one can be recognized."""

MAX_BYTES: Final = 3000
"""Bytes of the first text in a session; a longer one is given by its summary."""

BEGIN: Final = '<guidance from="symposium">'
END: Final = "</guidance>"


class UnknownGuidanceError(Exception):
    """There is no such text: what it says is what the model reads."""


class GuidanceTools:
    """The tools of one session.

    What reads the texts is imported with the first of them: a chain starts without.

    Args:
        folder: the session's directory, whose texts hold.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_guidance(self) -> list[dict[str, str]]:
        """List the guidance for work in this project, in the order in which to read it."""
        return [
            {"id": each["id"], "name": each["name"], "description": each["description"]}
            for each in _texts(self._folder)
        ]

    def read_guidance(self, id: str) -> dict[str, str]:  # noqa: A002 - as the wire calls it
        """Read a guidance text by its id, for example `walkthrough-format.md`."""
        texts = _texts(self._folder)
        for each in texts:
            if each["id"] == id:
                return each
        names = ", ".join(each["id"] for each in texts)
        raise UnknownGuidanceError(f"unknown guidance {id[:80]!r}; known: {names}")

    def server(self) -> ToolServer:
        """The MCP server of these tools."""
        return ToolServer(SERVER, [self.list_guidance, self.read_guidance])


@dataclass(slots=True, eq=False)
class Telling:
    """What is known of one session.

    Attributes:
        is_told: whether its agent has been given the text, or is being given it.
        is_hiding: whether what the agent repeats is in the midst of the text.
    """

    folder: Path
    is_told: bool = False
    is_hiding: bool = False


class Guidance(ToolMod):
    """Brings the text in, keeps it from the editor, and offers the others."""

    def __init__(self) -> None:
        super().__init__()
        self._by_server: dict[str, Telling] = {}
        self._by_id: dict[str, Telling] = {}

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """The tools of this session."""
        named = params.get("cwd")
        folder = Path(named if isinstance(named, str) else "/")
        server = GuidanceTools(folder).server()
        session = self._by_server[server.server_id] = Telling(folder)
        known = params.get("sessionId")
        if isinstance(known, str):
            # A session that goes on, or is forked, has the text in what was said before.
            session.is_told = True
            self._by_id.setdefault(known, session)
        return [server]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        """Learn which session the text is for."""
        for server in servers:
            self._by_id[session_id] = self._by_server[server.server_id]

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        """Forget it."""
        gone = [self._by_server.pop(each.server_id, None) for each in servers]
        ids = [id_ for id_, session in self._by_id.items() if session in gone]
        for id_ in ids:
            del self._by_id[id_]

    @from_client("session/prompt")
    def prompted(self, message: ChainMessage) -> Outcome:
        """Put the text before the first thing that the person says."""
        session = self._by_id.get(message.session_id or "")
        if session is None or session.is_told:
            return Forward()
        params = cast("dict[str, Any]", message.params)
        blocks = params.get("prompt")
        if not isinstance(blocks, list) or _is_command(cast("list[Any]", blocks)):
            return Forward()
        given = _brought_in(session.folder, _words_in(cast("list[Any]", blocks)))
        if given is None:
            return Forward()
        session.is_told = True

        def failed(_: Answer) -> None:
            session.is_told = False

        block = {
            "type": "text",
            "text": given,
            "annotations": {"audience": ["assistant"]},
            "_meta": {META: FIRST, META_SHA256: hashlib.sha256(given.encode()).hexdigest()},
        }
        return Forward({**params, "prompt": [block, *cast("list[Any]", blocks)]}, catch=failed)

    @from_agent("session/update")
    def repeated(self, message: ChainMessage) -> Outcome:
        """Take the text out of what the agent repeats of what it was told."""
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
    from symposium.documents.guidance import library_for  # noqa: PLC0415 - see the class

    return [
        {"id": each.id, "name": each.name, "description": each.description, "text": each.body}
        for each in library_for(folder).shelf().listed
    ]


def _brought_in(folder: Path, words: str) -> str | None:
    """What a session is given: the first text within the budget, and the names of the others."""
    from symposium.documents.boot import GuidanceWorkspace, applicable, fit  # noqa: PLC0415 - see the class
    from symposium.documents.guidance import library_for  # noqa: PLC0415 - see the class

    library = library_for(folder)
    texts = applicable(library.shelf().listed, GuidanceWorkspace(library.project), words)
    first = next((each for each in texts if each.id == FIRST), None)
    if first is None:
        return None
    (excerpt,) = fit([first], MAX_BYTES)
    others = [each for each in texts if each.id != FIRST and each.text != first.text]
    lines = [f"- `{each.id}`: {each.description or each.name}" for each in others]
    whole = [] if excerpt.is_whole else [f"- `{FIRST}`: all of the above, with examples"]
    more = f"To read more, call the tool `read_guidance` of the MCP server `{SERVER}`:"
    listed = "\n".join([more, *whole, *lines])
    return f"{BEGIN}\n# {first.name}\n\n{excerpt.body}\n\n{listed}\n{END}\n"


def _words_in(blocks: Sequence[Any]) -> str:
    """The words of a prompt, by which texts for one kind of task are chosen."""
    found: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                found.append(text)
            case _:
                pass
    return "\n".join(found)


def _is_command(blocks: Sequence[Any]) -> bool:
    """Whether it is for the agent's own commands, which it looks for at the very begin."""
    match blocks:
        case [{"type": "text", "text": str(text)}, *_]:
            return text.lstrip().startswith("/")
        case _:
            return False


def without_text(session: Telling, text: str) -> str:
    """What is left of a piece of what was said; the text may come in several pieces."""
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
    summary="Tells the agent how we work together, once in each session; `sparkle` names it too.",
    make=Guidance,
    tokens=620,
)
