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
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import Content, ToolContext, ToolServer

__all__ = [
    "Answer",
    "ComponentSpec",
    "Content",
    "Crossing",
    "Drop",
    "Forward",
    "Later",
    "Mod",
    "Needs",
    "Refuse",
    "Reply",
    "RpcError",
    "ToolContext",
    "ToolMod",
    "ToolServer",
    "from_agent",
    "from_client",
    "has_capability",
    "run_mod",
    "with_capability",
]
