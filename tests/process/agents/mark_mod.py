"""Mod that puts its letter before the agent's text: `mark_mod.py A`."""

import sys

from symposium import ChainMessage, Forward, Mod, from_agent, run_mod


class Mark(Mod):
    @from_agent("session/update")
    def mark(self, message: ChainMessage) -> Forward:
        match message.params:
            case {"update": {"content": {"type": "text", "text": str(text)} as content}}:
                content["text"] = sys.argv[1] + text
                return Forward(message.params)
            case _:
                return Forward()


if __name__ == "__main__":
    run_mod(Mark())
