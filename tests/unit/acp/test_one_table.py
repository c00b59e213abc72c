"""The names of every version are in one table, and in no other place (D5)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from peerwire.acp.names import ENVELOPES, ERAS, INITIALIZE, MCP_ERAS, PROXY_INITIALIZE

pytestmark = pytest.mark.project

SOURCES = Path(__file__).parents[3] / "src"
TABLES = {"peerwire/acp/names.py", "peerwire/acp/methods.py"}


def wire_names() -> set[str]:
    greetings = {era.initialize for era in ERAS.values()} - {INITIALIZE}
    tunnels = [
        name
        for era in MCP_ERAS.values()
        for name in (era.connect, era.request, era.notification, era.disconnect)
    ]
    return {*greetings, *tunnels, *ENVELOPES, *PROXY_INITIALIZE} - {""}


def spelled_out(source: str, names: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in names:
            yield f"line {node.lineno}: {node.value}"


@pytest.mark.requirement("acp.names-one-table")
def test_no_other_module_spells_out_a_name_of_an_era() -> None:
    names = wire_names()
    assert {"_proxy/successor", "proxy/successor", "mcp/connect", "_mcp/message"} <= names
    found = {
        f"{path.relative_to(SOURCES)} {place}"
        for path in SOURCES.rglob("*.py")
        if str(path.relative_to(SOURCES)) not in TABLES
        for place in spelled_out(path.read_text(encoding="utf-8"), names)
    }
    assert found == set()


@pytest.mark.requirement("acp.names-one-table")
def test_a_name_that_is_spelled_out_is_found() -> None:
    source = 'link.ask("_proxy/successor", {})'
    assert list(spelled_out(source, wire_names())) == ["line 1: _proxy/successor"]
