"""The tool that finds, searches, and reads the source of a dependency."""

import json
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from symposium.code.packages.answers import Named, fetch_answer, read_answer, search_answer
from symposium.errors import SymposiumError
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class PatternAndPathError(SymposiumError):
    """A call gave both `pattern` and `path`."""


class GetPackageSourceParams(Struct, forbid_unknown_fields=True):
    ecosystem: Annotated[Literal["python", "npm", "rust"], Meta(description="Package ecosystem.")]
    name: Annotated[
        str, Meta(min_length=1, max_length=300, description="Package name, as in its registry.")
    ]
    version: Annotated[
        str | None,
        Meta(
            description="Version range, such as >=1.2. Default: the version this project uses, "
            "else the latest."
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Meta(
            description="Regular expression to search for in the package's files. Default: no "
            "search. Do not combine it with path."
        ),
    ] = None
    path: Annotated[
        str | None,
        Meta(
            description="File to read, relative to the package's root. Default: read no file. Do "
            "not combine it with pattern."
        ),
    ] = None
    start_line: Annotated[
        int, Meta(ge=1, description="First line to read of path, counted from 1. Default: 1.")
    ] = 1
    end_line: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Last line to read of path, included. Default: the end of the file."),
    ] = None


@tool("packages", Hints("Package source", reads_only=True, repeats_well=True, reaches_out=True))
async def get_package_source(params: GetPackageSourceParams, call: Call) -> Answer:
    """Find, search, or read the source of a Python, npm, or Rust dependency.

    Use it instead of guessing an API from memory. By default it uses the version of this project,
    from this machine, and downloads only what is missing. It returns where the source is; with
    `pattern` also the matches, with `path` the lines of that file.
    """
    root = call.workplace.root
    named: Named = (params.ecosystem, params.name, params.version)
    told: dict[str, Any]
    match params.pattern, params.path:
        case None, None:
            told = await fetch_answer(root, named, None)
        case str(pattern), None:
            told = await search_answer(root, named, pattern)
        case None, str(path):
            told = await read_answer(root, named, path, (params.start_line, params.end_line))
        case _:
            raise PatternAndPathError(
                "`pattern` and `path` cannot be combined", "search first, then read"
            )
    return Answer(json.dumps(told, indent=2, ensure_ascii=False), told)
