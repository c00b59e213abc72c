"""Turn an id into what it stands for."""

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
            description='The id of a <symposium-ref id="…"/>, the name of a guidance file such as '
            "main.md, or yiasou.",
        ),
    ]


@tool("references", Hints("Expand a reference", reads_only=True, repeats_well=True))
async def expand_reference(params: ExpandReferenceParams, call: Call) -> Answer:
    """Expand a `<symposium-ref id="…"/>` of the user's before you answer.

    It also gives the guidance texts by their names, and with the id `yiasou` the first prompt with
    everything in it.
    """
    workplace = call.workplace
    task = await look_up(workplace.standing, workplace.bus)
    expanded = workplace.expansion.expand(params.id, task)
    workplace.readings.note(expanded.guidance)
    return Answer(expanded.text)
