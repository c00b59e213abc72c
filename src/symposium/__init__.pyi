from peerwire.errors import RpcError
from symposium.chain.capabilities import has_capability, with_capability
from symposium.chain.messages import Answer, Crossing
from symposium.chain.mod import (
    ComponentSpec,
    Drop,
    Forward,
    Later,
    Mod,
    Needs,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.chain.run_mod import run_mod

__all__ = [
    "Answer",
    "ComponentSpec",
    "Crossing",
    "Drop",
    "Forward",
    "Later",
    "Mod",
    "Needs",
    "Refuse",
    "Reply",
    "RpcError",
    "from_agent",
    "from_client",
    "has_capability",
    "run_mod",
    "with_capability",
]
