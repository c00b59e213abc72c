"""A mod that lets the agent shout."""

from symposium import ChainMessage, Forward, Mod, from_agent, run_mod


class Shout(Mod):
    @from_agent("session/update")
    def shout(self, message: ChainMessage) -> Forward:
        match message.params:
            case {"update": {"content": {"type": "text", "text": str(text)} as content}}:
                content["text"] = text.upper()
                return Forward(message.params)
            case _:
                return Forward()


if __name__ == "__main__":
    run_mod(Shout())
