"""The agents on offer: programs found on this machine first, then those that are built in."""

import os
from dataclasses import dataclass
from typing import Final

from symposium.catalog import builtin_agents
from symposium.run_mode.menu_text import AgentChoice, AgentChoices


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that people install by themselves.

    Attributes:
        name: as its makers call it.
        program: what is looked for on PATH.
        arguments: what makes it speak ACP.
    """

    name: str
    program: str
    arguments: str = ""


KNOWN: Final = (
    KnownAgent("Claude Code", "claude-code-acp"),
    KnownAgent("Claude Agent", "claude-agent-acp"),
    KnownAgent("Codex", "codex-acp"),
    KnownAgent("Gemini CLI", "gemini", "--experimental-acp"),
    KnownAgent("OpenCode", "opencode", "acp"),
    KnownAgent("Goose", "goose", "acp"),
    KnownAgent("Kimi CLI", "kimi", "acp"),
    KnownAgent("Qwen Code", "qwen", "--acp"),
    KnownAgent("Mistral Vibe", "vibe-acp"),
    KnownAgent("Kiro CLI", "kiro-cli", "acp"),
    KnownAgent("fast-agent", "fast-agent-acp"),
)
"""Agents that speak ACP once they are installed."""


class LocalDirectory:
    """What can be started without fetching anything."""

    def __init__(self, *, path: str | None = None) -> None:
        self._path = path

    async def choices(self) -> AgentChoices:
        """The agents on offer."""
        return AgentChoices([*self._found(), *_built_in()])

    async def refresh(self) -> None:
        """Nothing here grows old."""

    def _found(self) -> list[AgentChoice]:
        found: list[AgentChoice] = []
        for known in KNOWN:
            place = self._place(known.program)
            if place is not None:
                command = f"{known.program} {known.arguments}".strip()
                found.append(AgentChoice(known.name, f"Found at {place}", command, (place,)))
        return found

    def _place(self, program: str) -> str | None:
        path = os.environ.get("PATH", os.defpath) if self._path is None else self._path
        for folder in path.split(os.pathsep):
            place = f"{folder or '.'}/{program}"
            if os.access(place, os.X_OK) and not os.path.isdir(place):  # noqa: PTH112 - starts fast
                return place
        return None


class FullDirectory:
    """What is here, and what the registry lists; the built-in agents that it leaves out too."""

    async def choices(self) -> AgentChoices:
        """The agents on offer; asks the network nothing."""
        from symposium.run_mode.registry_agents import registry_choices  # noqa: PLC0415 - see there

        listed = await registry_choices()
        known = {label for agent in listed.agents for label in agent.labels}
        more = [agent for agent in _built_in() if agent.agent not in known]
        return AgentChoices([*listed.agents, *more], listed.warning)

    async def refresh(self) -> None:
        """Renew what is known of the registry."""
        from symposium.run_mode.registry_agents import refresh_registry  # noqa: PLC0415 - see there

        await refresh_registry()


def _built_in() -> list[AgentChoice]:
    return [
        AgentChoice(spec.name.capitalize(), f"Built in: {spec.summary}", spec.name)
        for spec in builtin_agents()
    ]
