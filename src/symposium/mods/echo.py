"""Mod with two tools for tests: an MCP server over ACP, without a process."""

from symposium.chain.mod import ComponentSpec
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer


def echo(message: str) -> str:
    """Return the message unchanged."""
    return f"Echo: {message}"


def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


def make() -> ToolMod:
    """Create a mod with its own server."""
    return ToolMod(ToolServer("echo", [echo, add]))


spec = ComponentSpec(
    name="echo",
    summary="Adds the MCP server `echo`, with the tools `echo` and `add`.",
    make=make,
)
