"""The tool that finds and searches the source of a Rust crate."""

import json
from typing import Annotated, Any

from msgspec import Meta, Struct

from symposium.code.packages.answers import crate_answer
from symposium.mcp_server.tool import Answer, Call, Hints, tool


class GetRustCrateSourceParams(Struct, forbid_unknown_fields=True):
    crate_name: Annotated[
        str, Meta(min_length=1, max_length=200, description="Name of the crate, as in Cargo.toml.")
    ]
    version: Annotated[
        str | None,
        Meta(
            description="Version range, such as ^1.2. Default: the version this project uses, "
            "else the latest."
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Meta(
            description="Regular expression to search for in the crate's .rs files. Default: no "
            "search."
        ),
    ] = None


class Crate(Struct, omit_defaults=True):
    """Location of a crate's source; with a pattern also its matches, those in examples first."""

    crate_name: str
    version: str
    checkout_path: str
    message: str
    example_matches: list[Any] | None = None
    other_matches: list[Any] | None = None
    is_cut: bool = False


@tool(
    "packages",
    Hints("Rust crate source", reads_only=True, repeats_well=True, reaches_out=True),
    result=Crate,
)
async def get_rust_crate_source(params: GetRustCrateSourceParams, call: Call) -> Answer:
    """Find the source of a Rust crate, and search it.

    Use it instead of guessing a crate's API from memory. By default it uses the version of this
    project, from this machine, and downloads only what is missing. It returns where the source is;
    with `pattern` also the matches, separately for examples and for other files.
    """
    root = call.workplace.root
    told = await crate_answer(root, params.crate_name, params.version, params.pattern)
    return Answer(json.dumps(told, indent=2, ensure_ascii=False), told)
