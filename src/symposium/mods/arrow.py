"""The mod that shows that it was there: it marks what the agent says."""

from typing import Final

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import ComponentSpec, Forward, Mod, from_agent

MARK: Final = ">"


class Arrow(Mod):
    """Puts a mark before the text of each chunk of an agent's message."""

    @from_agent("session/update")
    def mark(self, message: ChainMessage) -> Forward:
        """Mark a text chunk of the agent; anything else passes unchanged."""
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
    summary=f"Puts `{MARK}` before each chunk of text that the agent says.",
    make=Arrow,
)
