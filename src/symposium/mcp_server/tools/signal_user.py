"""Ask for a person."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import SignalUser
from symposium.mcp_server.reporting import Report, report
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class SignalUserParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What you want from the user.")
    ]


@tool("taskspaces", Hints("Signal the user"), result=Report)
async def signal_user(params: SignalUserParams, call: Call) -> Answer:
    """Ask for the user's attention: you are done, or cannot go on without them.

    Say what you want from them. Use it once for each time you need somebody. The answer says
    whether it is recorded, and how many views show it now.
    """
    where = call.workplace.taskspace()
    message = SignalUser(
        project_path=where.project, taskspace_uuid=where.taskspace, message=params.message
    )
    return await report(message, call)
