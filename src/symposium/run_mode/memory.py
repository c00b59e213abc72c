"""Short transcript of a session, for an agent that has lost its context."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct, field

from peerwire.jsonrpc.values import as_object, decode_value

MOST_TURNS: Final = 40
"""Turns that are remembered, the latest."""

LONGEST_ASKED: Final = 1000
"""Characters of a prompt that are remembered, its beginning."""

LONGEST_SAID: Final = 1500
"""Characters of what the agent said in a turn that are remembered, its end."""

LONGEST_DIGEST: Final = 8000
"""Characters of a summary."""

_CUT: Final = "[…]"

_TEXT: Final = b'"agent_message_chunk"'


class _Turn(Struct, frozen=True):
    asked: str
    said: str


class Memory(Struct):
    """The latest turns of one session, as far as they passed here as text."""

    _turns: deque[_Turn] = field(default_factory=lambda: deque[_Turn](maxlen=MOST_TURNS))

    def turn_ended(self, asked: str, recent: Iterable[bytes], session: str) -> None:
        """Remember a turn.

        Args:
            asked: the text of the prompt.
            recent: lines of the agent since the prompt.
            session: the agent's id of the session.
        """
        said = "".join(_texts(recent, session))
        if asked or said:
            self._turns.append(_Turn(_beginning(asked), _end(said)))

    def digest(self) -> str:
        """A summary of bounded length, in which the latest turns stand whole; empty if none."""
        parts: list[str] = []
        room = LONGEST_DIGEST - len(_CUT) - 2
        for turn in reversed(self._turns):
            part = f"User: {turn.asked}\n\nAgent: {turn.said or '(no text)'}\n"
            if len(part) + 1 > room:
                parts.append(f"{_CUT}\n")
                break
            room -= len(part) + 1
            parts.append(part)
        return "\n".join(reversed(parts))


def recap(digest: str) -> str:
    """Make the prompt that gives the agent a summary of the conversation."""
    return (
        "You were restarted and have lost the context of this conversation. Below is an excerpt "
        "of it, recorded by the program between you and the editor; long parts are cut. "
        "Read it, do nothing else yet, and answer in one sentence.\n\n"
        f"<conversation>\n{digest}</conversation>"
    )


def _texts(recent: Iterable[bytes], session: str) -> Sequence[str]:
    mark = session.encode()
    found: list[str] = []
    for line in recent:
        if _TEXT not in line or mark not in line:
            continue
        params = as_object(as_object(decode_value(line)).get("params"))
        text = _text_of(params.get("update"))
        if params.get("sessionId") == session and text:
            found.append(text)
    return found


def _text_of(update: Any) -> str:
    text = as_object(as_object(update).get("content")).get("text")
    return text if isinstance(text, str) else ""


def _beginning(text: str) -> str:
    return text if len(text) <= LONGEST_ASKED else f"{text[:LONGEST_ASKED]}{_CUT}"


def _end(text: str) -> str:
    return text if len(text) <= LONGEST_SAID else f"{_CUT}{text[-LONGEST_SAID:]}"
