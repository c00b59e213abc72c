"""Configuration of a server before anything is opened."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from symposium.bus.client import ClientSettings


@dataclass(frozen=True, slots=True)
class Site:
    """Configuration of a server.

    Attributes:
        directory: where the agent works.
        environment: variables that say more of it.
        bus: how the daemon is reached.
        tools: which tools are listed; see `symposium.mcp_server.tool_choice`.
    """

    directory: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    bus: ClientSettings = field(default_factory=ClientSettings)
    tools: Sequence[str] = ("auto",)
