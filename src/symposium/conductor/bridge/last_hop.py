"""What the host puts between the mods of a chain and its agent."""

from typing import Final

from symposium.conductor.blueprint import InProcess
from symposium.conductor.bridge.agent_side import Mode
from symposium.conductor.bridge.bridge import Bridge
from symposium.conductor.bridge.dialects import Dialects
from symposium.conductor.bridge.url_servers import UrlServers

LAST_HOP: Final = ("url servers", "dialects", "bridge")
"""How the components of the bridge are called, in their order."""


def bridge_components(mode: Mode = "auto") -> list[InProcess]:
    """The hidden components to append to the mods of one chain; none where the bridge is off."""
    if mode == "off":
        return []
    return [
        InProcess("url servers", UrlServers(mode), is_hidden=True),
        InProcess("dialects", Dialects(mode), is_hidden=True),
        InProcess("bridge", Bridge(mode), is_hidden=True),
    ]
