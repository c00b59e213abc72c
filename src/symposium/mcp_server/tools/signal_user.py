"""The tool that asks for the user's attention."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import SignalUser
from symposium.mcp_server.reporting import Report, report
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class SignalUserParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description='What you need, such as "Ready for review: the import resumes after a '
            'crash".',
        ),
    ]


@tool("taskspaces", Hints("Signal the user"), result=Report)
async def signal_user(params: SignalUserParams, call: Call) -> Answer:
    """Ask for the user's attention. It appears in the user's inbox.

    Use it when you are done, or cannot continue without the user. State what you need. Call it
    once per request. It returns whether the request was recorded or queued, and how many views
    show it now.
    """
    where = call.workplace.taskspace()
    message = SignalUser(
        project_path=where.project, taskspace_uuid=where.taskspace, message=params.message
    )
    return await report(message, call)
