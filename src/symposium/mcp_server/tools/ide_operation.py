"""Ask about the code in a small language of calls."""

import json
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from symposium.ide.dialect.evaluator import run
from symposium.ide.dialect.workspace import workspace
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class IdeOperationParams(Struct, forbid_unknown_fields=True):
    program: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="A call, such as findDefinitions(`Session`), findReferences(`Session`), "
            "search(`src`, `retry.*timeout`, `.py`), lines(`src/app.py`, 40, 60) or "
            "gitDiff(`HEAD~2..HEAD`). Calls nest.",
        ),
    ]


class Evaluated(Struct):
    """The value of a program, and what it may have meant instead."""

    value: Any
    hints: list[Any] = []


@tool("code", Hints("IDE operation", reads_only=True, repeats_well=True), result=Evaluated)
async def ide_operation(params: IdeOperationParams, call: Call) -> Answer:
    """Ask about the code, in a small language of calls: definitions, references, text, diffs.

    An attached editor answers first, else a language server. Paths are relative to the root of
    the checkout. If a name is ambiguous or unknown, hints say what it may have meant.
    """
    workplace = call.workplace
    root = workspace(str(workplace.root))
    found = await run(params.program, workplace.ide, root)
    hints = [to_builtins(hint) for hint in found.hints]
    shown = {"value": found.value, "hints": hints} if hints else found.value
    return Answer(json.dumps(shown, indent=2, ensure_ascii=False), Evaluated(found.value, hints))
