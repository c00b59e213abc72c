"""The mod that touches every update: what it costs to change a message."""

from typing import Final

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import ComponentSpec, Forward, Mod, from_agent

TAG: Final = "symposium/tag"
"""The member of `_meta` that it adds."""


class Tag(Mod):
    """Adds a member to the `_meta` of each `session/update`."""

    @from_agent("session/update")
    def tag(self, message: ChainMessage) -> Forward:
        """Mark the update, and keep all other members of its `_meta`."""
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
