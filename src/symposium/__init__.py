"""A host for chains of ACP components between an editor and its agent; here, what a mod imports."""

from peerwire.jsonrpc.errors import RpcError
from symposium.conductor.component import (
    Answer,
    ComponentSpec,
    Crossing,
    Drop,
    Forward,
    Later,
    Mod,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.conductor.run_mod import run_mod

__all__ = [
    "Answer",
    "ComponentSpec",
    "Crossing",
    "Drop",
    "Forward",
    "Later",
    "Mod",
    "Refuse",
    "Reply",
    "RpcError",
    "from_agent",
    "from_client",
    "run_mod",
]
