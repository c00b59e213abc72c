"""Mod that changes every update, to measure the cost of a change."""

from typing import Final

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import ComponentSpec, Forward, Mod, from_agent

TAG: Final = "symposium/tag"
"""Key that is added to `_meta`."""


class Tag(Mod):
    """Add a key to the `_meta` of each `session/update`."""

    @from_agent("session/update")
    def tag(self, message: ChainMessage) -> Forward:
        """Mark the update, keeping all other keys of its `_meta`."""
        match message.params:
            case {"_meta": {**meta}}:
                return Forward(message.params | {"_meta": {**meta, TAG: True}})
            case {}:
                return Forward(message.params | {"_meta": {TAG: True}})
            case _:
                return Forward()


spec = ComponentSpec(
    name="tag",
    summary=f"Adds `{TAG}` to the `_meta` of every update.",
    make=Tag,
)
