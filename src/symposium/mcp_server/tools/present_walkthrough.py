"""Explain code beside the code."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, field, to_builtins

from symposium.bus.envelope import TIMEOUT
from symposium.bus.errors import BusError, BusLostError, BusRefusedError
from symposium.bus.messages.editor import PresentWalkthrough
from symposium.mcp_server.bus_port import Bus
from symposium.mcp_server.tool import Answer, Call, Hints, tool
from symposium.walkthroughs.places import BlockDiagnostic
from symposium.walkthroughs.presentation import present
from symposium.walkthroughs.store import Draft, Mode

PATIENCE = 10.0
"""Seconds for a viewer."""


class PresentWalkthroughParams(Struct, forbid_unknown_fields=True):
    content: Annotated[
        str,
        Meta(min_length=1, description="The walkthrough, in the format of walkthrough-format.md."),
    ]
    base_uri: Annotated[
        str,
        Meta(description="The folder that paths are relative to: absolute, or relative to yours."),
    ] = field(default=".", name="baseUri")
    mode: Annotated[
        Mode, Meta(description="Whether it is a new one, or changes the newest or the one of `id`.")
    ] = "replace"
    id: Annotated[str | None, Meta(description="Of the walkthrough that it changes.")] = None
    section: Annotated[
        str | None, Meta(description="The heading whose content it replaces, for update-section.")
    ] = None
    validate: Annotated[bool, Meta(description="Only look up its locations; show nothing.")] = False


class Presented(Struct, rename="camel"):
    """What became of a walkthrough.

    Attributes:
        status: `shown`; `delivered` to an editor that did not confirm it; `stored` or `checked`.
        faults: blocks with something that was not found, or was found in several places, each with
            what to write instead; to be mended and presented again.
    """

    status: str
    faults: list[Any]
    id: str | None = None
    version: int | None = None


@tool("walkthroughs", Hints("Present a walkthrough"), result=Presented)
async def present_walkthrough(params: PresentWalkthroughParams, call: Call) -> Answer:
    """Show the user an explanation that stands beside the code: comments, real diffs, diagrams.

    The format is in the resource `walkthrough-format.md`. The answer names every location that was
    not found, or was found in several places: mend those, and present again. What is presented is
    kept, and can be read later with `symposium walkthrough show`.
    """
    workplace = call.workplace
    base = workplace.base(params.base_uri)
    shown = await present(params.content, base, workplace.ide)
    faults = [each for each in shown.diagnostics if each.status != "ok"]
    told = to_builtins(faults)
    if params.validate:
        return Answer(_text("Checked; nothing was shown.", faults), Presented("checked", told))
    draft = Draft(params.content, base, params.mode, params.id, params.section)
    stored = await asyncio.to_thread(workplace.walkthroughs.save, draft)
    whole = (
        shown if params.mode == "replace" else await present(stored.markdown, base, workplace.ide)
    )
    request = PresentWalkthrough(content=whole.html, base_uri=base)
    status, said = await _deliver(request, workplace.bus)
    said = f"{said} It is stored as {stored.id} (version {stored.version})."
    if status != "shown":
        said = f"{said} The user can read it with `symposium walkthrough show {stored.id}`."
    before = _of_the_rest(whole.diagnostics, shown.diagnostics)
    result = Presented(status, [*told, *to_builtins(before)], stored.id, stored.version)
    return Answer("\n".join(filter(None, [_text(said, faults), _rest_text(before)])), result)


async def _deliver(request: PresentWalkthrough, bus: Bus) -> tuple[str, str]:
    """Send it to the user's editor; the status and what it means."""
    try:
        await bus.request(request, patience=PATIENCE)
    except BusLostError:
        return "stored", "The connection to the editor was lost; it is unknown if it was shown."
    except BusRefusedError as error:
        if error.code != TIMEOUT:
            return "stored", f"Not shown: {error.message}."
        # An editor need not answer: seed 001 expects no response.
        return "delivered", "Delivered to the user's editor, which did not confirm it."
    except BusError as error:
        return "stored", f"Not shown: {error.message}."
    return "shown", "Shown to the user."


def _of_the_rest(
    whole: Sequence[BlockDiagnostic], new: Sequence[BlockDiagnostic]
) -> list[BlockDiagnostic]:
    """What needs mending in the parts that were there before."""
    known = Counter((each.kind, each.status, each.message) for each in new)
    rest: list[BlockDiagnostic] = []
    # What is new stands at the end, or is alike: it is taken away from there.
    for each in reversed(whole):
        if known[each.kind, each.status, each.message] > 0:
            known[each.kind, each.status, each.message] -= 1
        elif each.is_fault:
            rest.append(each)
    return rest[::-1]


def _rest_text(faults: list[BlockDiagnostic]) -> str:
    if not faults:
        return ""
    first = f"{len(faults)} block(s) of what was there before need mending; lines of the whole:"
    return "\n".join([first, *_lines(faults)])


def _text(said: str, faults: list[BlockDiagnostic]) -> str:
    if not faults:
        return f"{said} Every location of what you sent was found."
    missing = [each for each in faults if each.is_fault]
    several = [each for each in faults if not each.is_fault]
    found = f"{said} Every location of what you sent was found, some more than once."
    lines = [said] if missing else [found]
    if missing:
        lines += [f"{len(missing)} block(s) need mending:", *_lines(missing)]
    if several:
        lines += [f"{len(several)} block(s) stand in several places; if one is meant, name it:"]
        lines += _lines(several)
    return "\n".join(lines)


def _lines(faults: list[BlockDiagnostic]) -> Iterator[str]:
    for each in faults:
        status = each.status if each.is_fault else f"ambiguous({each.count})"
        yield f"- line {each.line}: {each.kind}: {status}: {each.message}"
        yield from (f"  - write instead: {other}" for other in each.replacements)
