"""Output of the agent commands: tables, or JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from localio.text import iso_of, one_line
from peerwire.jsonrpc.values import as_object, encode_value
from peerwire.transports.command import Command
from symposium.config.component_source import ComponentSource
from symposium.registry.index import InstallReceipt
from symposium.registry.listing import KnownAgent
from symposium.registry.probe import AgentProbe

_WIDE: Final = 60
_LAST: Final = 200


def print_json(value: Any) -> None:
    """Print one JSON document on a line."""
    print(encode_value(value).decode())


def dated(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Convert these members from seconds since 1970 to ISO 8601."""
    return {**members, **{name: iso_of(members[name]) for name in names}}


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; cut cells that are too long."""
    cells = [
        [*(one_line(cell, width=_WIDE) for cell in row[:-1]), one_line(row[-1], width=_LAST)]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())


def server_json(command: Command, name: str) -> dict[str, Any]:
    """Format the stdio form of ACP's McpServer (acp-host §4.10)."""
    env = [{"name": key, "value": value} for key, value in command.env.items()]
    return {"name": name, "command": command.argv[0], "args": list(command.argv[1:]), "env": env}


def known_json(known: KnownAgent) -> dict[str, Any]:
    """Format one agent of the list."""
    agent = known.agent
    return {
        "id": known.id,
        "name": known.name,
        "version": known.version or None,
        "description": known.description,
        "how": known.how,
        "installed": known.is_installed,
        "place": known.place or None,
        "agent": agent.as_json() if isinstance(agent, ComponentSource) else agent,
    }


def receipt_json(receipt: InstallReceipt) -> dict[str, Any]:
    """Format the receipt of an installed agent."""
    return {
        "version": receipt.version,
        "source": receipt.source,
        "origin": receipt.origin,
        "sha256": receipt.sha256,
        "verified": receipt.is_verified,
        "integrity": receipt.integrity,
        "installed": iso_of(receipt.when),
    }


def handshake_json(shaken: AgentProbe, command: Command) -> dict[str, Any]:
    """Format the capabilities of an agent."""
    return {
        "command": list(command.argv),
        "seconds": round(shaken.seconds, 3),
        "protocolVersion": shaken.answer.get("protocolVersion"),
        "agentInfo": shaken.answer.get("agentInfo"),
        "agentCapabilities": shaken.capabilities,
        "authMethods": shaken.auth_methods,
        "sessionMethods": shaken.session_methods,
        "mcpTransports": shaken.mcp_transports,
    }


def print_handshake(shaken: AgentProbe) -> None:
    """Print the capabilities of an agent as a table."""
    prompt = _true(shaken.capabilities.get("promptCapabilities"))
    logins = [str(each.get("name") or each.get("id")) for each in shaken.auth_methods]
    print_table(
        [
            ("agent", shaken.agent or "unnamed"),
            ("answered in", f"{shaken.seconds:.2f} s"),
            ("ACP version", str(shaken.answer.get("protocolVersion"))),
            ("sessions", ", ".join(name.partition("/")[2] for name in shaken.session_methods)),
            ("prompts", ", ".join(["text", *prompt])),
            ("MCP servers", ", ".join(shaken.mcp_transports)),
            ("login methods", ", ".join(logins) or "none named"),
        ]
    )


def _true(value: Any) -> list[str]:
    members = as_object(value)
    return [name for name, is_so in members.items() if is_so is True]
