"""The tools on walkthroughs and references."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, field, to_builtins

from symposium.bus.endpoint import Bus
from symposium.bus.error_codes import TIMEOUT
from symposium.bus.errors import BusError, BusLostError, BusRefusedError
from symposium.bus.messages.editor import PresentWalkthrough
from symposium.documents.walkthroughs.places import BlockDiagnostic
from symposium.documents.walkthroughs.rendering import present
from symposium.documents.walkthroughs.store import Draft, Mode
from symposium.mcp_server.task_lookup import look_up
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

VIEWER_TIMEOUT = 10.0
"""Seconds to wait for a viewer."""


class PresentWalkthroughParams(Struct, forbid_unknown_fields=True):
    content: Annotated[
        str,
        Meta(
            min_length=1,
            description="Markdown document in the format of the resource walkthrough-format.md.",
        ),
    ]
    base_uri: Annotated[
        str,
        Meta(
            description="Folder that paths in the document are relative to: absolute, or relative "
            "to your working directory. Default: your working directory."
        ),
    ] = field(default=".", name="baseUri")
    mode: Annotated[
        Mode,
        Meta(
            description="replace: make a new walkthrough, or rewrite the one with `id`. append or "
            "update-section: change the one with `id`, else the latest. Default: replace."
        ),
    ] = "replace"
    id: Annotated[
        str | None,
        Meta(description="Id of the walkthrough to change, as returned before. Default: see mode."),
    ] = None
    section: Annotated[
        str | None,
        Meta(description="Heading of the section to replace. Required for update-section."),
    ] = None
    validate: Annotated[
        bool, Meta(description="Check locations only; do not show anything. Default: false.")
    ] = False


class Presented(Struct, rename="camel"):
    """Status of a walkthrough.

    Attributes:
        status: `shown`; `delivered` to an editor that did not confirm it; `stored` or `checked`.
        faults: blocks whose location was not found or is ambiguous, each with suggestions.
    """

    status: str
    faults: list[Any]
    id: str | None = None
    version: int | None = None


@tool("walkthroughs", Hints("Present a walkthrough"), result=Presented)
async def present_walkthrough(params: PresentWalkthroughParams, call: ToolInvocation) -> ToolAnswer:
    """Show the user an explanation next to the code: comments, diffs, diagrams, buttons.

    Use it when an explanation involves more than one place. It returns whether the walkthrough was
    shown, and every location that was not found or is ambiguous; correct those and call it again.
    Symposium stores the walkthrough; the user can read it with `symposium walkthrough show`.
    """
    workplace = call.workplace
    base = workplace.base(params.base_uri)
    shown = await present(params.content, base, workplace.ide)
    faults = [each for each in shown.diagnostics if each.status != "ok"]
    listed = to_builtins(faults)
    if params.validate:
        text = _text("Checked; nothing was shown.", faults)
        return ToolAnswer(text, Presented("checked", listed))
    draft = Draft(params.content, base, params.mode, params.id, params.section)
    stored = await asyncio.to_thread(workplace.walkthroughs.save, draft)
    whole = (
        shown if params.mode == "replace" else await present(stored.markdown, base, workplace.ide)
    )
    request = PresentWalkthrough(content=whole.html, base_uri=base)
    status, said = await _deliver(request, workplace.bus)
    said = f"{said} The walkthrough is stored as {stored.id} (version {stored.version})."
    if status != "shown":
        said = f"{said} The user can read it with `symposium walkthrough show {stored.id}`."
    before = _older_faults(whole.diagnostics, shown.diagnostics)
    result = Presented(status, [*listed, *to_builtins(before)], stored.id, stored.version)
    return ToolAnswer("\n".join(filter(None, [_text(said, faults), _rest_text(before)])), result)


async def _deliver(request: PresentWalkthrough, bus: Bus) -> tuple[str, str]:
    """Send a walkthrough to the user's editor; the status and a sentence on it."""
    try:
        await bus.request(request, timeout=VIEWER_TIMEOUT)
    except BusLostError:
        return "stored", "Lost the connection to the editor; it may not have been shown."
    except BusRefusedError as error:
        if error.code != TIMEOUT:
            return "stored", f"Not shown: {error.message}."
        # Editors may not answer: seed 001 defines no response.
        return "delivered", "Delivered to the user's editor, which did not confirm it."
    except BusError as error:
        return "stored", f"Not shown: {error.message}."
    return "shown", "Shown to the user."


def _older_faults(
    whole: Sequence[BlockDiagnostic], new: Sequence[BlockDiagnostic]
) -> list[BlockDiagnostic]:
    """Faults in the parts of the walkthrough that existed before."""
    known = Counter((each.kind, each.status, each.message) for each in new)
    rest: list[BlockDiagnostic] = []
    # New blocks are at the end, or equal to older ones: subtract them from the end.
    for each in reversed(whole):
        if known[each.kind, each.status, each.message] > 0:
            known[each.kind, each.status, each.message] -= 1
        elif each.is_fault:
            rest.append(each)
    return rest[::-1]


def _rest_text(faults: list[BlockDiagnostic]) -> str:
    if not faults:
        return ""
    first = f"{len(faults)} older block(s) need correction (lines of the whole walkthrough):"
    return "\n".join([first, *_lines(faults)])


def _text(said: str, faults: list[BlockDiagnostic]) -> str:
    if not faults:
        return f"{said} Every location that you sent was found."
    missing = [each for each in faults if each.is_fault]
    several = [each for each in faults if not each.is_fault]
    found = f"{said} Every location that you sent was found, some more than once."
    lines = [said] if missing else [found]
    if missing:
        lines += [f"{len(missing)} block(s) need correction:", *_lines(missing)]
    if several:
        lines += [f"{len(several)} block(s) match several places; to select one, write it:"]
        lines += _lines(several)
    return "\n".join(lines)


def _lines(faults: list[BlockDiagnostic]) -> Iterator[str]:
    for each in faults:
        status = each.status if each.is_fault else f"ambiguous({each.count})"
        yield f"- line {each.line}: {each.kind}: {status}: {each.message}"
        yield from (f"  - write instead: {other}" for other in each.replacements)


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
async def expand_reference(params: ExpandReferenceParams, call: ToolInvocation) -> ToolAnswer:
    """Get the content of a `<symposium-ref id="…"/>` tag in a user message.

    Call it before you answer such a message. It returns the content as text. Two other ids
    work: the name of a guidance file returns that file, and `yiasou` returns the first prompt.
    """
    workplace = call.workplace
    task = await look_up(workplace.standing, workplace.bus)
    expanded = workplace.expansion.expand(params.id, task)
    workplace.readings.note(expanded.guidance)
    return ToolAnswer(expanded.text)
