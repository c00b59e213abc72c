"""What the agent of a session has spent so far: written by its keeper, read by the daemon."""

from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, field, json

from localio.files import write_whole

FILE: Final = "spent.json"


class Spending(Struct):
    """All lives of an agent together.

    Attributes:
        costs: what it has told, by currency: `usd` and the like; empty if it has told none.
        seconds: in turns.
        turns: that have ended.
        told: the last sums that it has told for its session of that name, which begin anew with
            each session.
    """

    costs: dict[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    turns: int = 0
    session: str = ""
    told: dict[str, float] = field(default_factory=dict[str, float])


def read_spending(directory: Path) -> Spending:
    """What is known; nothing spent where nothing is written."""
    try:
        return json.decode((directory / FILE).read_bytes(), type=Spending)
    except (OSError, DecodeError, ValidationError):
        return Spending()


def write_spending(directory: Path, spending: Spending) -> None:
    """Write it down.

    Raises:
        OSError: that is not possible.
    """
    write_whole(directory / FILE, json.encode(spending).decode())
