"""Registries of agents and mods for tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Write: TypeAlias = Callable[..., Path]


def writer_of(file: Path) -> Write:
    """Write an empty registry; return a function that writes one with these entries."""

    def write(*agents: dict[str, Any], mods: tuple[dict[str, Any], ...] = ()) -> Path:
        file.write_text(json.dumps({"version": "1.0.0", "agents": agents, "extensions": mods}))
        return file

    write()
    return write


def entry(agent_id: str, ways: dict[str, Any], version: str = "1.0.0") -> dict[str, Any]:
    """An agent of the registry, with the ways to install it."""
    return {
        "id": agent_id,
        "name": agent_id.title(),
        "version": version,
        "description": "An agent.",
        "distribution": ways,
    }
