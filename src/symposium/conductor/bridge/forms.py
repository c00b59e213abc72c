"""What an agent is declared in place of a mod's server: a URL or a program; pure (§2.5)."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

SHIM: Final = Path(__file__).with_name("shim.py")

TOKEN_VARIABLE: Final = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
"""The environment variable by which the shim learns the token of its endpoint."""

_OURS: Final = frozenset({"type", "serverId"})


def http_declaration(declaration: Mapping[str, Any], url: str, token: str) -> dict[str, Any]:
    """A declaration of ours as one of a server at a URL; what else is in it is kept."""
    header = {"name": "Authorization", "value": f"Bearer {token}"}
    return {"type": "http", **_rest(declaration), "url": url, "headers": [header]}


def stdio_declaration(
    declaration: Mapping[str, Any], port: int, token: str, *, is_typed: bool
) -> dict[str, Any]:
    """A declaration of ours as one of a program: our shim, whose last argument is the port.

    Args:
        declaration: as the mod wrote it; what else is in it is kept.
        port: where the bridge listens.
        token: what the shim has to say first; in `env`, which other users do not see.
        is_typed: whether the form says that it is stdio, as version 2 demands.
    """
    return {
        **({"type": "stdio"} if is_typed else {}),
        **_rest(declaration),
        "command": sys.executable,
        # Isolated, and without site-packages: the shim needs the standard library only.
        "args": ["-I", "-S", str(SHIM), str(port)],
        "env": [{"name": TOKEN_VARIABLE, "value": token}],
    }


def _rest(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in declaration.items() if name not in _OURS}
