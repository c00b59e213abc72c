"""Tell whoever watches the taskspace how far the work is."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import LogProgress, ProgressCategory
from symposium.mcp_server.reporting import Report, report
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class LogProgressParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="One sentence, the main word first.")
    ]
    category: Annotated[
        str,
        Meta(
            description="info, warn, error, milestone or question, or its sign "
            "(ℹ️ ⚠️ ❌ ✅ ❓); anything else counts as info."  # noqa: RUF001 - the sign itself
        ),
    ]


@tool("taskspaces", Hints("Log progress"), result=Report)
async def log_progress(params: LogProgressParams, call: Call) -> Answer:
    """Put a line into the log of your taskspace, for people who watch it.

    Use it after each step that a person would call a step: `milestone` for what is complete,
    `question` when you need an answer, `warn` and `error` for trouble. The answer says whether it
    is recorded, and how many views show it now.
    """
    where = call.workplace.taskspace()
    message = LogProgress(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        message=params.message,
        category=ProgressCategory(params.category),
    )
    return await report(message, call)
