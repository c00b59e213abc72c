"""Where the source of a dependency is, what matches in it, what a file of it says."""

import json
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from symposium.errors import SymposiumError
from symposium.mcp_server.tool import Answer, Call, Hints, tool
from symposium.package_sources.answers import Named, fetch_answer, read_answer, search_answer


class TwoWishesError(SymposiumError):
    """A file and a pattern were asked for at once."""


class GetPackageSourceParams(Struct, forbid_unknown_fields=True):
    ecosystem: Annotated[Literal["python", "npm", "rust"], Meta(description="Where it comes from.")]
    name: Annotated[str, Meta(min_length=1, max_length=300, description="Of the package.")]
    version: Annotated[
        str | None,
        Meta(
            description="A range of versions; without it the one of this project, else the newest."
        ),
    ] = None
    pattern: Annotated[
        str | None, Meta(description="A regular expression to look for in its files.")
    ] = None
    path: Annotated[str | None, Meta(description="A file of it to read, relative to its root.")] = (
        None
    )
    start_line: Annotated[int, Meta(ge=1, description="For path: the first line.")] = 1
    end_line: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="For path: the last line.")
    ] = None


@tool("packages", Hints("Package source", reads_only=True, repeats_well=True, reaches_out=True))
async def get_package_source(params: GetPackageSourceParams, call: Call) -> Answer:
    """Find the source of a dependency in the version that this project uses; search it, or read it.

    For Python, npm and Rust. What is installed or on this machine is used first; only what is
    missing is fetched. With `pattern` it is searched, with `path` a file of it is read.
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
            raise TwoWishesError("pattern and path exclude each other", "search first, then read")
    return Answer(json.dumps(told, indent=2, ensure_ascii=False), told)
