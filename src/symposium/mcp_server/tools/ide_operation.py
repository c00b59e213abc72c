"""The tool that evaluates an expression about the code."""

import json
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from symposium.code.query.evaluator import run
from symposium.code.query.functions import workspace
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class IdeOperationParams(Struct, forbid_unknown_fields=True):
    program: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100_000,
            description="One call, such as findDefinitions(`Session`), findReferences(`Session`), "
            "search(`src`, `retry.*timeout`, `.py`), lines(`src/app.py`, 40, 60), or "
            "gitDiff(`HEAD~2..HEAD`). An argument can be another call. Paths are relative to the "
            "root of the checkout.",
        ),
    ]


class Evaluated(Struct):
    """The value of an expression, and suggestions for an ambiguous or unknown name."""

    value: Any
    hints: list[Any] = []


@tool("code", Hints("IDE operation", reads_only=True, repeats_well=True), result=Evaluated)
async def ide_operation(params: IdeOperationParams, call: Call) -> Answer:
    """Find definitions, references, text, lines, or diffs with one expression.

    Use it to look something up before you make a claim about the code, and to test a location for
    a walkthrough. It asks an attached editor first, then a language server. It returns the value
    as JSON; if a name is ambiguous or unknown, hints list the alternatives.
    """
    workplace = call.workplace
    root = workspace(str(workplace.root))
    found = await run(params.program, workplace.ide, root)
    hints = [to_builtins(hint) for hint in found.hints]
    shown = {"value": found.value, "hints": hints} if hints else found.value
    return Answer(json.dumps(shown, indent=2, ensure_ascii=False), Evaluated(found.value, hints))
