"""A host for chains of ACP components between an editor and its agent; here, what a mod imports.

Each name is loaded when it is first read: the command line starts before it needs any. The types
are in `__init__.pyi`.
"""

# The stub beside this file declares the names.
# pyright: reportUnsupportedDunderAll=false

from importlib import import_module

_MODULES = {
    "Answer": "symposium.conductor.component",
    "ComponentSpec": "symposium.conductor.component",
    "Crossing": "symposium.conductor.component",
    "Drop": "symposium.conductor.component",
    "Forward": "symposium.conductor.component",
    "Later": "symposium.conductor.component",
    "Mod": "symposium.conductor.component",
    "Needs": "symposium.conductor.needs",
    "Refuse": "symposium.conductor.component",
    "Reply": "symposium.conductor.component",
    "RpcError": "peerwire.errors",
    "from_agent": "symposium.conductor.component",
    "from_client": "symposium.conductor.component",
    "has_capability": "symposium.conductor.meta",
    "run_mod": "symposium.conductor.run_mod",
    "with_capability": "symposium.conductor.meta",
}

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


def __getattr__(name: str) -> object:
    """Load a name from the module that defines it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
