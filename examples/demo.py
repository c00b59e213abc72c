"""A conversation through a chain of three mods, and proof that each of them did its part.

    client → arrow → shout.py → echo → agent

`arrow` runs in this process, `shout.py` is a program of its own, and `echo` gives the agent a tool
over ACP. The agent is the built-in Eliza, and then the one that AGENT names, if it names one.
"""

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from localio.errors import ExplainedError
from localio.text import plain_text
from symposium.chain.blueprint import Blueprint
from symposium.chain.conductor import Settings
from symposium.chain_spec import ChainSpec, read_chain
from symposium.cli.failures import failure_of
from symposium.client.conversation import Conversation, Terms, converse
from symposium.client.events import Text, ToolCall, read_event
from symposium.client.permissions import Decision, DenyAll, Permission
from symposium.errors import SymposiumError

SHOUT: Final = shlex.join([sys.executable, str(Path(__file__).with_name("shout.py"))])
MODS: Final = ("arrow", SHOUT, "echo")
MESSAGE: Final = "Hello through the bridge"
NEXT: Final = (
    ". .venv/bin/activate",
    "symposium setup zed --write",
    "symposium agents list",
    "symposium task new 'fix the login test' --agent ID",
)
"""What a user types next; README explains each."""

PATIENCE: Final = 120.0
"""Seconds for each answer: an agent with a model may be slow."""


class Transcript:
    """Prints a conversation, and keeps what the agent said in the last turn."""

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self._is_open_line = False

    @property
    def said(self) -> str:
        """What the agent said in this turn."""
        return "".join(self.chunks)

    def you(self, text: str) -> None:
        """Begin a turn."""
        self.chunks.clear()
        self._line("you", text)

    def update(self, params: Any) -> None:
        """Show what the agent reports, as it comes."""
        match read_event(params["update"]):
            case Text("agent", text):
                self.chunks.append(text)
                if not self._is_open_line:
                    print("   agent  ", end="")
                self._is_open_line = True
                print(plain_text(text).replace("\n", "\n          "), end="", flush=True)
            case ToolCall(title=str(title), status=status):
                self._line("tool", f"{plain_text(title)}: {status or 'pending'}")
            case _:
                pass

    def decided(self, permission: Permission, decision: Decision) -> None:
        """Show what was asked: the demo allows nothing."""
        del decision
        self._line("asked", f"{plain_text(permission.tool_call.title or 'a tool call')}: refused")

    def note(self, text: str) -> None:
        """Say what this shows."""
        self._line("", f"✔ {text}")

    def _line(self, who: str, text: str) -> None:
        if self._is_open_line:
            print()
        self._is_open_line = False
        print(f"{who:>8}  {text}", flush=True)


class WrongError(SymposiumError):
    """The demo does not show what it should."""


def expect(*, that: bool, otherwise: str) -> None:
    """Go on only if it is so.

    Raises:
        WrongError: it is not.
    """
    if not that:
        raise WrongError(otherwise, "this is a bug of symposium, or of the agent")


Talk: TypeAlias = Callable[[Conversation, Transcript], Awaitable[None]]


async def talk_to_eliza(conversation: Conversation, transcript: Transcript) -> None:
    """Show all three mods at work, word by word."""
    session = await conversation.new_session(str)
    transcript.you("Hello")
    await conversation.prompt(session, "Hello")
    expect(
        that=transcript.said == ">HOW DO YOU DO. PLEASE STATE YOUR PROBLEM.",
        otherwise=f"the mods made {transcript.said!r} of Eliza's greeting",
    )
    transcript.note("shout.py, a program of its own, raised her voice; arrow put > before it")
    call = f'use tool echo::echo with {{"message": "{MESSAGE}"}}'
    transcript.you(call)
    await conversation.prompt(session, call)
    expect(
        that=f"ECHO: {MESSAGE.upper()}" in transcript.said,
        otherwise=f"the tool of mod echo gave {transcript.said!r}",
    )
    transcript.note("the mod echo answered her tool call, which the bridge carried to it over ACP")


async def talk_to_agent(conversation: Conversation, transcript: Transcript) -> None:
    """Show that any agent can stand at the end of the same chain."""
    session = await conversation.new_session(str)
    text = "Say hello in one short sentence."
    transcript.you(text)
    reason = await conversation.prompt(session, text)
    expect(that=reason == "end_turn", otherwise=f"the turn ended with {reason}")
    expect(
        that=bool(transcript.chunks)
        and all(chunk.startswith(">") for chunk in transcript.chunks)
        and transcript.said == transcript.said.upper(),
        otherwise=f"the mods made {transcript.said!r} of what it said",
    )
    transcript.note("its answer went through the same mods")


async def show(chain: ChainSpec, talk: Talk) -> None:
    """One conversation with one agent."""
    assert chain.agent is not None
    print(f"\n  client → arrow → shout.py → echo → {chain.agent.name}\n")
    transcript = Transcript()
    terms = Terms(Path.cwd(), DenyAll(), transcript.update, transcript.decided, PATIENCE)

    def instantiate(_: object) -> Blueprint:
        return chain.blueprint()

    async with converse(instantiate, terms, Settings(initialize_timeout=PATIENCE)) as conversation:
        await conversation.initialize()
        await talk(conversation, transcript)


def main(words: Sequence[str]) -> int:
    """Run the demo; 0 if everything was as it should be."""
    agent = " ".join(words) or os.environ.get("AGENT", "")
    try:
        asyncio.run(show(read_chain(MODS, "eliza"), talk_to_eliza))
        if agent:
            asyncio.run(show(read_chain(MODS, agent), talk_to_agent))
        else:
            print("\n  The same with another agent: make demo AGENT='npx some-agent --acp'")
            print("\n  Your turn:\n", *(f"    {line}" for line in NEXT), sep="\n")
    except ExplainedError as error:
        print(f"\n\n{failure_of(error).text()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
