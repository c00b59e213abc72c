"""Run mode checked message by message: a test plays the editor and the agents."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.chain_harness import VERSION_ONE, Peer, PlayedComponent

from peerwire.errors import ErrorBoundary
from peerwire.testing import TEST_TIMEOUT, Recorder
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import InProcess
from symposium.chain.mod import Mod
from symposium.config.user_config import Config, ModEntry
from symposium.errors import SpecError
from symposium.planning.chain_spec import ChainSpec
from symposium.run_mode.menu_ports import AgentChoice, AgentChoices, ModChoice, ModChoices
from symposium.run_mode.serve_editor import ConfigAgent
from symposium.run_mode.settings import Composition, RunSettings

MENU = """## Current Configuration

**Agent:** Claude Code

**Mods:**
1. [x] sparkle
2. [ ] ferris

## Commands

- `SAVE` - Save changes and exit
- `CANCEL` - Discard changes and exit
- `A` or `AGENT` - Change agent
- `1`, `2` - Toggle mod on/off
- `move X to Y` - Reorder mods
- `M` or `ADD` - Add a mod
- `remove X` - Remove a mod
"""
"""The example of acp-host §4.7, with two more lines at the end."""

AGENTS = AgentChoices(
    [
        AgentChoice("Claude Code", "AI coding assistant", "claude", ("npx claude",)),
        AgentChoice("Other", "Another one", "other"),
    ]
)
MODS = ModChoices(
    [
        ModChoice("tag", "Tags everything", ModEntry("tag")),
        ModChoice("ferris", "Sources", ModEntry("ferris")),
    ]
)
CONFIG: dict[str, Any] = {
    "agent": "claude",
    "proxies": [{"name": "sparkle", "enabled": True}, {"name": "ferris", "enabled": False}],
}


HOST_CAPABILITIES: dict[str, Any] = {
    "_meta": {"symposium": {"version": "1.0", "mcp_acp_transport": True, "proxy": True}}
}
"""Capabilities that the host adds to the editor's (acp-host §3.3, step 3)."""


@dataclass
class FixedDirectory:
    """Agents that a test offers; while `gate` is closed, `choices` blocks."""

    offered: AgentChoices = AGENTS
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    older_config: Config | None = None
    asked_for: str = ""

    async def choices(self) -> AgentChoices:
        await self.gate.wait()
        return self.offered

    async def mods(self) -> ModChoices:
        return MODS

    async def older(self, workspace: str) -> Config | None:
        self.asked_for = workspace
        return self.older_config

    async def refresh(self) -> None:
        """Do nothing."""


class PlayedChains:
    """Creates chains whose agents a test plays."""

    def __init__(self) -> None:
        self.started: Recorder[tuple[Config, PlayedComponent]] = Recorder()
        self.mods: dict[str, Callable[[], Mod]] = {}
        self.notes: Sequence[str] = ()

    async def compose(self, config: Config) -> Composition:
        if config.agent == "missing":
            raise SpecError("missing: there is no such agent", "choose another")
        played = PlayedComponent(str(config.agent))
        self.started.note((config, played))
        names = [mod.name for mod in config.mods if mod.enabled and mod.name in self.mods]
        mods = tuple(lambda n=name: InProcess(n, self.mods[n]()) for name in names)
        return Composition(ChainSpec(mods, played.component, bridge="off"), names, self.notes)


@dataclass
class RunModeHarness:
    """Config agent whose editor and agents the test plays."""

    editor: Peer
    config: Path
    workshop: PlayedChains
    directory: FixedDirectory
    agent: ConfigAgent
    running: "asyncio.Task[int]"
    _asked: int = 0

    def write_config(self, value: Any) -> None:
        """Write this into the config file, as a user with a text editor does."""
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        self.config.write_text(text, encoding="utf-8")

    async def chain(self, number: int = 1) -> Peer:
        """Return the agent of the n-th started chain, after it was initialized."""
        started = await self.workshop.started.count(number)
        return await started[number - 1][1].peer()

    async def initialized_agent(
        self, number: int = 1, result: dict[str, Any] | None = None
    ) -> Peer:
        """Return the agent of this chain, after it has answered `initialize`."""
        agent = await self.chain(number)
        greeting = await agent.read()
        assert greeting["method"] == "initialize"
        agent.answer(greeting, result or VERSION_ONE)
        return agent

    async def initialize_editor(self) -> dict[str, Any]:
        """Send `initialize` as the editor; return the result."""
        self.editor.ask("greet", "initialize", VERSION_ONE)
        answer: dict[str, Any] = await self.editor.read()
        return answer["result"]

    async def open(self, result: dict[str, Any] | None = None) -> Peer | None:
        """Send `initialize` and answer it; return the agent, if there is a config."""
        self.editor.ask("open", "initialize", VERSION_ONE)
        agent = await self.initialized_agent(result=result) if self.config.exists() else None
        answer = await self.editor.read()
        assert answer["id"] == "open"
        assert "result" in answer, answer
        return agent

    async def session(self, agent: Peer, name: str = "s") -> None:
        """Create a session with this name on a running agent."""
        self.editor.ask(f"new {name}", "session/new", {"cwd": "/", "mcpServers": []})
        request = await agent.read()
        assert request["method"] == "session/new"
        agent.answer(request, {"sessionId": name})
        assert (await self.editor.read())["result"]["sessionId"] == name
        assert (await self.editor.read())["method"] == "session/update"

    async def without_agent(self) -> tuple[str, str]:
        """Create a session whose agent does not start; return its id and the messages there."""
        self.editor.ask("new", "session/new", {"cwd": "/w", "mcpServers": []})
        answer, commands, told = await self.editor.reads(3)
        assert commands["params"]["update"]["sessionUpdate"] == "available_commands_update"
        return answer["result"]["sessionId"], told["params"]["update"]["content"]["text"]

    async def begin(self) -> Peer:
        """Create a session `s` with the config on disk; return its agent."""
        agent = await self.open()
        assert agent is not None
        await self.session(agent)
        return agent

    def prompt(self, text: str, session: str = "s") -> Any:
        """Write a prompt; return its id."""
        self._asked += 1
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        self.editor.ask(self._asked, "session/prompt", params)
        return self._asked

    async def said(self, request_id: Any) -> tuple[list[str], Any]:
        """Return the messages before the response to a request, and the response."""
        texts: list[str] = []
        while True:
            message = await self.editor.read()
            if message.get("id") == request_id and "method" not in message:
                return texts, message
            update = message["params"]["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                texts.append(update["content"]["text"])

    async def say(self, text: str, session: str = "s") -> list[str]:
        """Type something to a menu, and return its answer."""
        texts, answer = await self.said(self.prompt(text, session))
        assert answer["result"] == {"stopReason": "end_turn"}, answer
        return texts

    async def over(self) -> int:
        """Disconnect, and wait for the end."""
        await self.editor.hang_up()
        async with asyncio.timeout(TEST_TIMEOUT):
            return await self.running


@asynccontextmanager
async def run_mode_harness(
    folder: Path, config: Any = None, *, settings: dict[str, Any] | None = None
) -> AsyncGenerator[RunModeHarness, None]:
    """Run run mode inside the block; check afterwards that nothing is left."""
    near, far = memory_pair()
    workshop, directory = PlayedChains(), FixedDirectory()
    directory.gate.set()
    path = folder / "config.jsonc"
    defaults = (ModEntry("sparkle"), ModEntry("ferris"))
    made = RunSettings(path, workshop.compose, directory, defaults, quiet_grace=0.02)
    agent = ConfigAgent(far, replace(made, **settings) if settings else made)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(agent.run())
        scene = RunModeHarness(Peer(near), path, workshop, directory, agent, running)
        if config is not None:
            scene.write_config(config)
        with ErrorBoundary() as caught:
            yield scene
        await near.aclose()
    if caught.error is not None:
        raise caught.error
