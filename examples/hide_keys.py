"""A mod that hides API keys in what the agent writes."""

import re

from symposium import ChainMessage, Forward, Mod, from_agent, run_mod

KEY = re.compile(r"\bsk-[\w-]+")


class HideKeys(Mod):
    @from_agent("session/update")
    def hide(self, message: ChainMessage) -> Forward:
        match message.params:
            case {"update": {"content": {"type": "text", "text": str(text)} as content}}:
                content["text"] = KEY.sub("[hidden key]", text)
                return Forward(message.params)
            case _:
                return Forward()


if __name__ == "__main__":
    run_mod(HideKeys())
