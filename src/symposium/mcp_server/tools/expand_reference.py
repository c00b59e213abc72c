"""The tool that returns the content of a reference."""

from typing import Annotated

from msgspec import Meta, Struct

from symposium.mcp_server.task_lookup import look_up
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class ExpandReferenceParams(Struct, forbid_unknown_fields=True):
    id: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=200,
            description='The id from a <symposium-ref id="…"/> tag, the name of a guidance file '
            "such as main.md, or yiasou for the first prompt.",
        ),
    ]


@tool("references", Hints("Expand a reference", reads_only=True, repeats_well=True))
async def expand_reference(params: ExpandReferenceParams, call: Call) -> Answer:
    """Get the content of a `<symposium-ref id="…"/>` tag in a message of the user.

    Call it before you answer such a message. It returns the content as text. It also returns a
    guidance file by its name, and the complete first prompt for the id `yiasou`.
    """
    workplace = call.workplace
    task = await look_up(workplace.standing, workplace.bus)
    expanded = workplace.expansion.expand(params.id, task)
    workplace.readings.note(expanded.guidance)
    return Answer(expanded.text)
