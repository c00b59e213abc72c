"""Ask for the taskspace to be taken away."""

from typing import Final

from msgspec import Struct

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import DeleteTaskspace
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.tool import Answer, Call, Hints, tool

DECISION_TIMEOUT: Final = 1800.0
"""Seconds to wait for the user; after that the request stays open and the result says so."""

CANCELLED: Final = "deletion was cancelled by user"
"""In the text of the reference's refusal."""

_WORDS: Final = {
    "deleted": "The taskspace has been deleted. Stop working here: its files are gone.",
    "archived": "The taskspace has been archived: its files are gone from here, and can be had "
    "back with `symposium task undo`. Stop working here.",
    "cancelled": "The user has decided to keep the taskspace. Nothing has been deleted.",
    "expired": "Nobody has decided in time. Nothing has been deleted.",
    "pending": "Nobody has decided yet. Nothing has been deleted; the request stands.",
}


class DeleteTaskspaceParams(Struct, forbid_unknown_fields=True):
    pass


class Outcome(Struct):
    """What was decided: deleted, archived, cancelled, expired or pending."""

    outcome: str


@tool("taskspaces", Hints("Delete the taskspace", destroys=True), result=Outcome)
async def delete_taskspace(params: DeleteTaskspaceParams, call: Call) -> Answer:
    """Ask the user to delete the taskspace you are in, and wait until they have decided.

    Nothing is deleted before the answer says so: deleted, archived, cancelled, expired or pending.
    """
    del params
    where = call.workplace.taskspace()
    request = DeleteTaskspace(project_path=where.project, taskspace_uuid=where.taskspace)
    try:
        first = "Asking for the user's decision."
        decided = (await ask_telling(request, call, first=first, limit=DECISION_TIMEOUT)).outcome
    except BusRefusedError as error:
        if CANCELLED in error.message.lower():
            decided = "cancelled"
        elif error.code == TIMEOUT:
            decided = "pending"
        else:
            raise
    return Answer(_WORDS.get(decided, f"The answer is: {decided}."), Outcome(decided))
