"""The commands that a person has added as agents, in a file of our own beside the config."""

import os
import re
import secrets
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from peerwire.transports.command import Command
from symposium.errors import SpecError, SymposiumError

FILE: Final = "agents.json"

_UNFIT: Final = re.compile(r"[^a-z0-9]+", re.ASCII)


class AddedAgent(Struct, frozen=True):
    """A command, under an id of its own."""

    id: str
    argv: tuple[str, ...]
    env: dict[str, str] = {}

    @property
    def command(self) -> Command:
        """What starts it."""
        return Command(self.argv, dict(self.env), self.id)


class AddedAgents:
    """The added agents of one home; the file is read each time and replaced in one step."""

    def __init__(self, home: Path) -> None:
        self._file = home / FILE

    def all(self) -> list[AddedAgent]:
        """By id.

        Raises:
            ExplainedError: the file is there and cannot be read.
        """
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=list[AddedAgent])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, UnicodeError) as error:
            raise SymposiumError(
                f"{self._file} cannot be read: {error}",
                "mend it, or move it away and add the agents again",
            ) from error
        return sorted(found, key=lambda each: each.id)

    def find(self, agent_id: str) -> AddedAgent | None:
        """The one of that id."""
        return next((each for each in self.all() if each.id == agent_id), None)

    def add(self, agent: AddedAgent) -> None:
        """Add it, in place of one of its id.

        Raises:
            ExplainedError: the file is there and cannot be read.
        """
        self._write([*(each for each in self.all() if each.id != agent.id), agent])

    def remove(self, agent_id: str) -> bool:
        """Remove it; False if it was not there.

        Raises:
            ExplainedError: the file is there and cannot be read.
        """
        before = self.all()
        after = [each for each in before if each.id != agent_id]
        if len(after) == len(before):
            return False
        self._write(after)
        return True

    def _write(self, agents: list[AddedAgent]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = self._file.with_name(f".{FILE}.{secrets.token_hex(4)}")
        try:
            # Its environment may hold a key.
            with open(beside, "xb", opener=_private) as file:
                file.write(msgspec.json.format(msgspec.json.encode(agents)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._file)
        finally:
            beside.unlink(missing_ok=True)


def id_of(command: Command) -> str:
    """An id from a command's name, or its program's.

    Raises:
        SpecError: neither holds a letter.
    """
    name = command.name or command.argv[0].rpartition("/")[2]
    found = _UNFIT.sub("-", name.lower()).strip("-0123456789")
    if not found:
        raise SpecError(f"no id can be made of {name!r}", "give one with --id")
    return found


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
