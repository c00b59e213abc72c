"""Who else changes the lines that an agent changes, as a resource (users B-10)."""

from typing import Final

from symposium.bus.errors import BusError
from symposium.bus.messages.worktrees import FindOverlaps
from symposium.mcp_server.part import Json
from symposium.mcp_server.workplace import Workplace

CONFLICTS: Final = "taskspace://conflicts"

LISTED: Final[Json] = {
    "uri": CONFLICTS,
    "name": "Conflicts with other taskspaces",
    "description": "Which lines of yours others change at this moment, uncommitted work included.",
    "mimeType": "text/plain",
}

PATIENCE: Final = 20.0
"""Seconds that the comparison of all taskspaces may take."""


async def conflicts(workplace: Workplace) -> str:
    """What it says now; a daemon that cannot be asked is said, too."""
    where = workplace.standing
    if not where.is_in_taskspace:
        return "This is no taskspace: there is nobody to conflict with.\n"
    try:
        found = await workplace.bus.request(FindOverlaps(project=where.project), patience=PATIENCE)
    except BusError as error:
        return f"It is not known: {error}\n"
    lines = [
        f"with {each.second if each.first == where.taskspace else each.first}: {line}"
        for each in found.overlaps
        if where.taskspace in {each.first, each.second}
        for line in each.lines
    ]
    return "\n".join(lines or ["Nobody changes lines that you change."]) + "\n"
