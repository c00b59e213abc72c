"""Conflicts between taskspaces that change the same lines, as a resource (users B-10)."""

from typing import Final

from symposium.bus.errors import BusError
from symposium.bus.messages.worktrees import FindOverlaps
from symposium.mcp_server.part import Json
from symposium.mcp_server.workplace import Workplace

CONFLICTS: Final = "taskspace://conflicts"

LISTED: Final[Json] = {
    "uri": CONFLICTS,
    "name": "Conflicts with other taskspaces",
    "description": "Lines you change that other taskspaces change too, uncommitted work included.",
    "mimeType": "text/plain",
}

COMPARISON_TIMEOUT: Final = 20.0
"""Seconds to wait for the comparison of all taskspaces."""


async def conflicts(workplace: Workplace) -> str:
    """The text of the resource; it reports a daemon that cannot be reached."""
    where = workplace.standing
    if not where.is_in_taskspace:
        return "Not in a taskspace: no conflicts are possible.\n"
    request = FindOverlaps(project=where.project)
    try:
        found = await workplace.bus.request(request, patience=COMPARISON_TIMEOUT)
    except BusError as error:
        return f"Unknown: {error}\n"
    lines = [
        f"with {each.second if each.first == where.taskspace else each.first}: {line}"
        for each in found.overlaps
        if where.taskspace in {each.first, each.second}
        for line in each.lines
    ]
    return "\n".join(lines or ["No other taskspace changes your lines."]) + "\n"
