"""Says for people why an agent has ended: what a chain tells of it is meant for programs."""

import shlex
from collections.abc import Mapping
from typing import Any, Final, cast

from localio.text import one_line, plain_text
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.errors import StepError

WIDTH: Final = 200
"""Characters of the last words of an agent that are shown."""


def why_it_ended(error: Exception) -> str:
    """In one or two sentences, the most useful first."""
    if not isinstance(error, StepError) or not isinstance(error.reason, RpcError):
        return str(error)
    found = as_object(error.reason.data)
    match found.get("reason"):
        case "component_start_failed":
            return plain_text(str(found.get("detail") or error))
        case "component_exited":
            return _exit(found)
        case _:
            return str(error)


def _exit(found: Mapping[str, Any]) -> str:
    argv = found.get("argv")
    words = cast("list[Any]", argv if isinstance(argv, list) else [])
    agent = f"`{plain_text(shlex.join(map(str, words)))}`" if words else "the agent"
    if (signal := found.get("signal")) is not None:
        manner = f"was ended by {signal}"
    elif (code := found.get("exitCode")) is not None:
        manner = f"exited with code {code}"
    else:
        manner = "closed its side"
    lines = plain_text(str(found.get("stderrTail") or "")).strip().splitlines()
    said = f": {one_line(lines[-1], width=WIDTH)}" if lines else ""
    return f"{agent} {manner}{said}"
