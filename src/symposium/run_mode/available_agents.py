"""Available agents: installed programs first, then built-in agents."""

import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from localio.files import trusted_places
from symposium.catalog import builtin_agents
from symposium.config.paths import paths
from symposium.config.user_config import Config
from symposium.run_mode.menu_ports import AgentChoice, AgentChoices, ModChoices


class MenuAgent(Struct, frozen=True):
    """An agent that users install without Symposium.

    Attributes:
        name: the product name.
        program: the program to find on PATH.
        arguments: the arguments for ACP.
    """

    name: str
    program: str
    arguments: str = ""


KNOWN: Final = (
    MenuAgent("Claude Code", "claude-code-acp"),
    MenuAgent("Claude Agent", "claude-agent-acp"),
    MenuAgent("Codex", "codex-acp"),
    MenuAgent("Gemini CLI", "gemini", "--experimental-acp"),
    MenuAgent("OpenCode", "opencode", "acp"),
    MenuAgent("Goose", "goose", "acp"),
    MenuAgent("Kimi CLI", "kimi", "acp"),
    MenuAgent("Qwen Code", "qwen", "--acp"),
    MenuAgent("Mistral Vibe", "vibe-acp"),
    MenuAgent("Kiro CLI", "kiro-cli", "acp"),
    MenuAgent("fast-agent", "fast-agent-acp"),
)
"""Agents that speak ACP once they are installed."""


class LocalDirectory:
    """Agents and mods on this machine."""

    def __init__(self, *, path: str | None = None) -> None:
        self._path = path

    async def choices(self) -> AgentChoices:
        """Return the available agents."""
        path = os.environ.get("PATH", os.defpath) if self._path is None else self._path
        return AgentChoices([*programs_here(path).values(), *_built_in()])

    async def mods(self) -> ModChoices:
        """Return the available mods."""
        from symposium.run_mode.available_mods import local_mods

        return local_mods()

    async def older(self, workspace: str) -> Config | None:
        """Return the config of an older layout for a workspace."""
        return older_config(workspace)

    async def refresh(self) -> None:
        """Do nothing: local entries need no refresh."""


class FullDirectory:
    """Agents and mods on this machine and in the registry."""

    async def choices(self) -> AgentChoices:
        """Return the available agents without network access."""
        from symposium.run_mode.registry_agents import registry_choices

        return await registry_choices(programs_here)

    async def mods(self) -> ModChoices:
        """Return the available mods without network access."""
        from symposium.run_mode.available_mods import all_mods

        return all_mods()

    async def older(self, workspace: str) -> Config | None:
        """Return the config of an older layout for a workspace."""
        return older_config(workspace)

    async def refresh(self) -> None:
        """Update the stored registry index."""
        from symposium.run_mode.registry_agents import refresh_registry

        await refresh_registry()


def programs_here(path: str) -> dict[str, AgentChoice]:
    """Find the known agents on a PATH, by program."""
    folders = trusted_places(path)
    places = {known: _place(known.program, folders) for known in KNOWN}
    return {
        known.program: AgentChoice(
            known.name, f"Found at {place}", f"{known.program} {known.arguments}".strip(), (place,)
        )
        for known, place in places.items()
        if place is not None
    }


def _place(program: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        place = f"{folder}/{program}"
        if os.access(place, os.X_OK) and not os.path.isdir(place):  # noqa: PTH112 - starts fast
            return place
    return None


def older_config(workspace: str) -> Config | None:
    """Read the config of an older layout on this machine for a workspace."""
    from pathlib import Path

    from symposium.config.legacy import find_legacy

    return find_legacy(paths(), Path(workspace))


def _built_in() -> list[AgentChoice]:
    return [
        AgentChoice(spec.name.capitalize(), f"Built in: {spec.summary}", spec.name)
        for spec in builtin_agents()
    ]
