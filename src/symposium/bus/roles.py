"""What a peer of the bus is; a message class says who of them may send it (bus §7, row 1)."""

from enum import Enum
from typing import Final


class Role(Enum):
    """What a peer has said it is.

    The bus is one user's: roles keep parts of the host from each other's mistakes, and a stray
    program from the levers. Nobody connects as `daemon` or as `legacy`.
    """

    DAEMON = "daemon"
    MCP_SERVER = "mcp-server"
    HOST = "host"
    EDITOR = "editor"
    APP = "app"
    CLI = "cli"
    OBSERVER = "observer"
    LEGACY = "legacy"


GIVEN: Final = frozenset({Role.DAEMON, Role.LEGACY})
"""Roles that no `hello` may claim."""

PEOPLE: Final = frozenset({Role.APP, Role.CLI, Role.EDITOR})
"""Peers that act for a person."""

AGENTS: Final = frozenset({Role.MCP_SERVER, Role.HOST})
"""Peers that act for an agent."""

ANYONE: Final = frozenset(Role) - {Role.OBSERVER, Role.LEGACY}
"""Everyone who has said hello, but for those who only watch."""
