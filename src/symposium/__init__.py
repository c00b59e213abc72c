"""Host for chains of ACP components between an editor and an agent, and the API for mods.

Each name is imported on first use, to keep the command line fast. The types are in `__init__.pyi`.
"""

# The stub beside this file declares the names.
# pyright: reportUnsupportedDunderAll=false

from importlib import import_module

_MODULES = {
    "Answer": "symposium.chain.messages",
    "ChainMessage": "symposium.chain.messages",
    "ComponentSpec": "symposium.chain.mod",
    "Deferred": "symposium.chain.mod",
    "Drop": "symposium.chain.mod",
    "Forward": "symposium.chain.mod",
    "Mod": "symposium.chain.mod",
    "Needs": "symposium.chain.mod",
    "Refuse": "symposium.chain.mod",
    "Reply": "symposium.chain.mod",
    "RpcError": "peerwire.errors",
    "ToolContent": "symposium.chain.tools",
    "ToolContext": "symposium.chain.tools",
    "ToolMod": "symposium.chain.tool_mod",
    "ToolServer": "symposium.chain.tools",
    "from_agent": "symposium.chain.mod",
    "from_client": "symposium.chain.mod",
    "has_capability": "symposium.chain.capabilities",
    "run_mod": "symposium.chain.run_mod",
    "with_capability": "symposium.chain.capabilities",
}

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


def __getattr__(name: str) -> object:
    """Load a name from the module that defines it."""
    # Mods that were written for version 0.1 import these.
    new = {"Content": "ToolContent", "Crossing": "ChainMessage", "Later": "Deferred"}.get(
        name, name
    )
    if new not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[new]), new)
    return value
