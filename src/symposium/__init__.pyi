from peerwire.errors import RpcError
from symposium.chain.capabilities import has_capability, with_capability
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import (
    ComponentSpec,
    Deferred,
    Drop,
    Forward,
    Mod,
    Needs,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.chain.run_mod import run_mod
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContent, ToolContext, ToolServer

__all__ = [
    "Answer",
    "ChainMessage",
    "ComponentSpec",
    "Deferred",
    "Drop",
    "Forward",
    "Mod",
    "Needs",
    "Refuse",
    "Reply",
    "RpcError",
    "ToolContent",
    "ToolContext",
    "ToolMod",
    "ToolServer",
    "from_agent",
    "from_client",
    "has_capability",
    "run_mod",
    "with_capability",
]
