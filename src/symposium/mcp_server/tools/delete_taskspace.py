"""The tool that asks the user to delete the taskspace."""

from typing import Final

from msgspec import Struct

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.agents import DeleteTaskspace
from symposium.mcp_server.latest import ask_telling
from symposium.mcp_server.tool import Answer, Call, Hints, tool

DECISION_TIMEOUT: Final = 1800.0
"""Seconds to wait for the user; then the request stays open and the outcome is `pending`."""

CANCELLED: Final = "deletion was cancelled by user"
"""Text of the reference implementation's refusal."""

_WORDS: Final = {
    "deleted": "The taskspace was deleted with its files. Stop working here.",
    "archived": "The taskspace was archived and its files were removed from here. The user can "
    "restore them with `symposium task undo`. Stop working here.",
    "cancelled": "The user decided to keep the taskspace. Nothing was deleted.",
    "expired": "The user did not answer in time. Nothing was deleted.",
    "pending": "The user has not answered yet. Nothing was deleted; the request stays open.",
}


class DeleteTaskspaceParams(Struct, forbid_unknown_fields=True):
    pass


class Outcome(Struct):
    """The user's decision: deleted, archived, cancelled, expired, or pending."""

    outcome: str


@tool("taskspaces", Hints("Delete the taskspace", destroys=True), result=Outcome)
async def delete_taskspace(params: DeleteTaskspaceParams, call: Call) -> Answer:
    """Ask the user to delete the taskspace you work in, and wait for the decision.

    Use it when the task is obsolete or its result is no longer needed. It returns the outcome:
    deleted, archived, cancelled, expired, or pending. Nothing is deleted unless the outcome is
    deleted or archived.
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
    return Answer(_WORDS.get(decided, f"The outcome is: {decided}."), Outcome(decided))
