"""Mod that marks the agent's messages, to show that a chain works."""

from typing import Final

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import ComponentSpec, Forward, Mod, from_agent

MARK: Final = ">"


class Arrow(Mod):
    """Insert a mark before the text of each message chunk of the agent."""

    @from_agent("session/update")
    def mark(self, message: ChainMessage) -> Forward:
        """Mark text chunks of the agent; forward other updates unchanged."""
        match message.params:
            case {
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": str(text)} as content,
                }
            }:
                content["text"] = MARK + text
                return Forward(message.params)
            case _:
                return Forward()


spec = ComponentSpec(
    name="arrow",
    summary=f"Inserts `{MARK}` before each text chunk of the agent.",
    make=Arrow,
)
