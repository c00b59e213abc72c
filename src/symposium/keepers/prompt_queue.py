"""The prompts that wait for an agent: on the disk before they are promised, said once."""

from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, json

from localio.files import write_whole
from symposium.agent_sessions.session import SessionError

MOST: Final = 100
"""Prompts that may wait."""

LONGEST: Final = 1024 * 1024
"""Characters of one."""


class _Kept(Struct):
    waiting: list[str]
    said: str | None = None


class PromptQueue:
    """A queue that a killed keeper loses nothing of, and says nothing of twice.

    Args:
        directory: of the session.

    Attributes:
        interrupted: the prompt that was being answered when an earlier keeper was killed; it is
            for a person to say again.
    """

    def __init__(self, directory: Path) -> None:
        self._file = directory / "prompts.json"
        self._kept = self._read()
        self.interrupted = self._kept.said
        if self.interrupted is not None:
            self._kept.said = None
            self._write()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._kept.waiting)

    def add(self, text: str) -> int:
        """Put one at the end; how many wait. On return it is on the disk.

        Raises:
            SessionError: there are too many, or it is too long.
            OSError: it cannot be written.
        """
        if len(self._kept.waiting) >= MOST:
            raise SessionError(f"{MOST} prompts wait already", "wait, or cancel the turn")
        if len(text) > LONGEST:
            raise SessionError(f"a prompt of {len(text)} characters; at most {LONGEST}", "")
        self._kept.waiting.append(text)
        try:
            self._write()
        except OSError:
            # What is not on the disk was not promised, and must not be said later.
            self._kept.waiting.pop()
            raise
        return len(self._kept.waiting)

    def take(self) -> str | None:
        """The next one, which is being said from now on; None if none waits."""
        if not self._kept.waiting:
            return None
        self._kept.said = self._kept.waiting.pop(0)
        self._write()
        return self._kept.said

    def done(self) -> None:
        """What was taken last has been answered."""
        self._kept.said = None
        self._write()

    def put_back(self) -> None:
        """What was taken last has not been heard: it is the next one again."""
        if self._kept.said is not None:
            self._kept.waiting.insert(0, self._kept.said)
        self.done()

    def interrupt(self) -> str | None:
        """The agent has died while it answered; the prompt, which is not said again by itself."""
        self.interrupted = self._kept.said
        if self.interrupted is not None:
            self.done()
        return self.interrupted

    def _read(self) -> _Kept:
        try:
            return json.decode(self._file.read_bytes(), type=_Kept)
        except FileNotFoundError:
            return _Kept([])
        except (DecodeError, ValidationError) as error:
            self._file.replace(self._file.with_suffix(".damaged"))
            raise SessionError(
                f"{self._file} could not be read: {error}", "it was put aside"
            ) from error

    def _write(self) -> None:
        write_whole(self._file, json.encode(self._kept).decode())
