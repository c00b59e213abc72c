"""The four roles of ACP, and whom each of them faces (acp-host §1.1)."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class Role(Enum):
    """What a program is in a conversation; the values are what people write and read."""

    CLIENT = "client"
    AGENT = "agent"
    PROXY = "proxy"
    CONDUCTOR = "conductor"


COUNTERPART: Final[Mapping[Role, Role]] = MappingProxyType(
    {
        Role.CLIENT: Role.AGENT,
        Role.AGENT: Role.CLIENT,
        Role.PROXY: Role.CONDUCTOR,
        Role.CONDUCTOR: Role.PROXY,
    }
)
"""Whom a role faces. A conductor also faces the client as its agent and the agent as its client."""
