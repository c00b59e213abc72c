from peerwire.errors import RpcError
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
from symposium.conductor.meta import has_capability, with_capability
from symposium.conductor.needs import Needs
from symposium.conductor.run_mod import run_mod

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
