"""The agents on offer: programs found on this machine first, then those that are built in."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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


class More(Protocol):
    """Another place where agents are listed, such as the registry."""

    async def choices(self) -> AgentChoices:
        """What it lists; what is at hand at once, never an exception."""
        ...


class LocalDirectory:
    """What can be started without fetching anything, then what others list."""

    def __init__(self, more: Sequence[More] = (), *, path: str | None = None) -> None:
        self._more = more
        self._path = path

    async def choices(self) -> AgentChoices:
        """The agents on offer; of two with one name the first."""
        agents = [*self._found(), *_built_in()]
        warnings: list[str] = []
        for place in self._more:
            listed = await place.choices()
            names = {agent.name for agent in agents}
            agents += [agent for agent in listed.agents if agent.name not in names]
            warnings += [listed.warning] if listed.warning else []
        return AgentChoices(agents, "; ".join(warnings) or None)

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


def _built_in() -> list[AgentChoice]:
    return [
        AgentChoice(spec.name.capitalize(), f"Built in: {spec.summary}", spec.name)
        for spec in builtin_agents()
    ]
