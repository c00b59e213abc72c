"""Where the source of a crate is."""

import json
from typing import Annotated, Any

from msgspec import Meta, Struct

from symposium.mcp_server.tool import Answer, Call, Hints, tool
from symposium.package_sources.answers import crate_answer


class GetRustCrateSourceParams(Struct, forbid_unknown_fields=True):
    crate_name: Annotated[str, Meta(min_length=1, max_length=200, description="As in Cargo.toml.")]
    version: Annotated[
        str | None,
        Meta(
            description="A range of versions; without it the one of this project, else the newest."
        ),
    ] = None
    pattern: Annotated[
        str | None, Meta(description="A regular expression to look for in the .rs files.")
    ] = None


class Crate(Struct, omit_defaults=True):
    """Where it is; with a pattern also what matches, examples apart."""

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
    """Find the source of a Rust crate in the version that this project uses, and search it.

    What is on this machine is used first; only what is missing is fetched.
    """
    root = call.workplace.root
    told = await crate_answer(root, params.crate_name, params.version, params.pattern)
    return Answer(json.dumps(told, indent=2, ensure_ascii=False), told)
