"""The tool that returns the text selected in the editor."""

from typing import Any

from msgspec import Struct, to_builtins

from symposium.bus.errors import BusError
from symposium.bus.messages.editor import GetSelection, Selection
from symposium.mcp_server.tool import Answer, Call, Hints, tool

SELECTION_TIMEOUT = 5.0
"""Seconds to wait for an editor."""


class GetSelectionParams(Struct, forbid_unknown_fields=True):
    pass


@tool("code", Hints("Get the selection", reads_only=True, repeats_well=True), result=Selection)
async def get_selection(params: GetSelectionParams, call: Call) -> Answer:
    """Get the text that the user has selected in the editor.

    Use it when the user says "this" or "here". It returns the text with its file, lines, and
    columns, counted from 1. If no editor is attached or nothing is selected, the text is null and
    a message gives the reason; then ask the user.
    """
    del params
    try:
        selection = await call.workplace.bus.request(GetSelection(), patience=SELECTION_TIMEOUT)
    except BusError as error:
        reason = f"no editor answered ({error.message}); ask the user which place they mean"
        selection = Selection(selected_text=None, message=reason)
    return Answer(_text(to_builtins(selection)), selection)


def _text(selection: dict[str, Any]) -> str:
    text = selection.get("selectedText")
    if text is None:
        return str(selection.get("message") or "nothing is selected")
    file, first, last = (selection.get(key) for key in ("filePath", "startLine", "endLine"))
    if file is None:
        return str(text)
    lines = "" if first is None else f":{first}" if last is None else f":{first}-{last}"
    return f"{file}{lines}\n{text}"
