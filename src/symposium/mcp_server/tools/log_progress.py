"""The tool that adds a line to the task's log."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.bus.messages.agents import LogProgress, ProgressCategory
from symposium.mcp_server.reporting import Report, report
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class LogProgressParams(Struct, forbid_unknown_fields=True):
    message: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description="One short sentence, most important word first.",
        ),
    ]
    category: Annotated[
        str,
        Meta(
            description="info, warn, error, milestone, or question, or the emoji for it "
            "(ℹ️ ⚠️ ❌ ✅ ❓). Any other value counts as info."  # noqa: RUF001 - the emoji itself
        ),
    ]


@tool("taskspaces", Hints("Log progress"), result=Report)
async def log_progress(params: LogProgressParams, call: Call) -> Answer:
    """Log progress on your task. The user sees it in the task list.

    Use it after each completed step: `milestone` for a finished part, `question` when you need an
    answer, `warn` and `error` for problems, else `info`. It returns whether the line was recorded
    or queued, and how many views show it now.
    """
    where = call.workplace.taskspace()
    message = LogProgress(
        project_path=where.project,
        taskspace_uuid=where.taskspace,
        message=params.message,
        category=ProgressCategory(params.category),
    )
    return await report(message, call)
