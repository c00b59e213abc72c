"""A conversation through a chain of mods, and proof that each of them works.

    editor → hide_keys.py → words.py → policy → agent

Both mods are separate programs; `words.py` gives the agent a tool. The policy is in every chain
and runs in the host's process. The agent is `assistant.py`, and then the one that AGENT names.
"""

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from localio.errors import ExplainedError
from localio.text import plain_text
from symposium.chain.blueprint import Blueprint
from symposium.chain.conductor import Settings
from symposium.cli.failures import failure_of
from symposium.client.conversation import Conversation, ConversationConfig, converse
from symposium.client.events import Text, ToolCall, read_event
from symposium.client.permissions import Decision, DenyAll, Permission
from symposium.errors import SymposiumError
from symposium.planning.chain_spec import read_chain

EXAMPLES: Final = Path(__file__).parent
MODS: Final = ("hide_keys.py", "words.py")
ASSISTANT: Final = "assistant.py"
README: Final = "This workspace exists for a demo.\n"
RULE: Final = """
[[rule]]
name = "no-force-push"
effect = "forbid"
command = "git push"
options = ["--force", "-f"]
match = ["git push --force origin main"]
not_match = ["git push origin main"]
"""
NEXT: Final = (
    ". .venv/bin/activate",
    "symposium setup zed --write",
    "symposium agents list",
    "symposium task new 'fix the login test' --agent ID",
)
"""Commands to type next; the README explains each."""

TIMEOUT: Final = 120.0
"""Seconds for each answer: an agent with a model may be slow."""


class Transcript:
    """Print a conversation; keep the agent's last reply."""

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self._is_open_line = False

    @property
    def said(self) -> str:
        """The agent's text in this turn."""
        return "".join(self.chunks)

    def you(self, text: str) -> None:
        """Begin a turn."""
        self.chunks.clear()
        self._line("you", text)

    def update(self, params: Any) -> None:
        """Show an update of the agent."""
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
        """Show a permission request: the demo allows nothing."""
        del decision
        self._line("asked", f"{plain_text(permission.tool_call.title or 'a tool call')}: refused")

    def note(self, text: str) -> None:
        """Explain what just happened."""
        self._line("", f"✔ {text}")

    def _line(self, who: str, text: str) -> None:
        if self._is_open_line:
            print()
        self._is_open_line = False
        print(f"{who:>8}  {text}", flush=True)


class WrongError(SymposiumError):
    """A part of the demo did not work."""


def expect(*, that: bool, otherwise: str) -> None:
    """Raise WrongError unless a part of the demo worked."""
    if not that:
        raise WrongError(otherwise, "this is a bug in Symposium or in the agent")


Talk: TypeAlias = Callable[[Conversation, Transcript], Awaitable[None]]


async def talk_to_assistant(conversation: Conversation, transcript: Transcript) -> None:
    """Show a tool, a changed message, and a rule."""
    session = await conversation.new_session(str)
    text = "How many words does README.md have?"
    transcript.you(text)
    await conversation.prompt(session, text)
    expect(
        that=transcript.said == f"README.md has {len(README.split())} words.",
        otherwise=f"the tool of words.py gave {transcript.said!r}",
    )
    transcript.note("words.py, a mod of a few lines, gave the agent the tool that counts them")
    text = "Which key does the deploy script use?"
    transcript.you(text)
    await conversation.prompt(session, text)
    expect(
        that=transcript.said == "The deploy script uses the key [hidden key].",
        otherwise=f"hide_keys.py did not change {transcript.said!r}",
    )
    transcript.note("hide_keys.py, another mod, hid the key before you or a log could see it")
    text = "Push the branch."
    transcript.you(text)
    await conversation.prompt(session, text)
    expect(
        that="I was not allowed to push the branch." in transcript.said,
        otherwise=f"after a forbidden command the agent wrote {transcript.said!r}",
    )
    transcript.note("your policy forbids git push --force for every agent, without asking you")


async def talk_to_agent(conversation: Conversation, transcript: Transcript) -> None:
    """Show that any agent can be at the end of the same chain."""
    session = await conversation.new_session(str)
    text = "Say hello in one short sentence."
    transcript.you(text)
    reason = await conversation.prompt(session, text)
    expect(that=reason == "end_turn", otherwise=f"the turn ended with {reason}")
    expect(that=bool(transcript.said), otherwise="the agent wrote nothing")
    transcript.note("your agent answered through the same mods and the same policy")


async def show(agent: str, talk: Talk, workspace: Path) -> None:
    """Talk to one agent through the chain."""
    chain = read_chain([python(name) for name in MODS], agent)
    assert chain.agent is not None
    name = ASSISTANT if agent == python(ASSISTANT) else chain.agent.name
    print("\n  one agent, with your tools and your rules")
    print(f"  editor → {' → '.join(MODS)} → policy → {name}\n")
    transcript = Transcript()
    terms = ConversationConfig(workspace, DenyAll(), transcript.update, transcript.decided, TIMEOUT)

    def instantiate(_: object) -> Blueprint:
        return chain.blueprint()

    async with converse(instantiate, terms, Settings(initialize_timeout=TIMEOUT)) as conversation:
        await conversation.initialize()
        await talk(conversation, transcript)


def python(name: str) -> str:
    """The command line of an example."""
    return shlex.join([sys.executable, str(EXAMPLES / name)])


def main(words: Sequence[str]) -> int:
    """Run the demo; 0 if every part worked."""
    agent = " ".join(words) or os.environ.get("AGENT", "")
    with tempfile.TemporaryDirectory(prefix="sym-") as place:
        workspace, home = Path(place, "workspace"), Path(place, "home")
        workspace.mkdir()
        (workspace / "README.md").write_text(README, encoding="utf-8")
        home.mkdir()
        (home / "policy.toml").write_text(RULE, encoding="utf-8")
        os.environ["SYMPOSIUM_HOME"] = str(home)
        try:
            asyncio.run(show(python(ASSISTANT), talk_to_assistant, workspace))
            if agent:
                asyncio.run(show(agent, talk_to_agent, workspace))
        except ExplainedError as error:
            print(f"\n\n{failure_of(error).text()}", file=sys.stderr)
            return 1
    if not agent:
        print("\n  The same with another agent: make demo AGENT='npx some-agent --acp'")
        print("\n  Your turn:\n", *(f"    {line}" for line in NEXT), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
