"""One table of names: no other module spells one out (acp-host §1.2, D5)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from peerwire.acp.names import ENVELOPES, ERAS, MCP_ERAS, PROXY_INITIALIZE

SOURCES = Path(__file__).parents[3] / "src"
TABLES = SOURCES / "peerwire" / "acp"


def spelt_out(text: str) -> Iterator[str]:
    """The strings of a module that are such a name."""
    mcp = {name for era in MCP_ERAS.values() for name in (era.connect, era.request, era.disconnect)}
    known = {*PROXY_INITIALIZE, *ENVELOPES, *mcp} - {""}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known:
            yield node.value


@pytest.mark.requirement("acp.names-one-table")
@pytest.mark.project
def test_names_of_an_era_occur_only_in_the_tables() -> None:
    others = [path for path in SOURCES.rglob("*.py") if TABLES not in path.parents]

    assert len(others) > 50
    assert {str(path): [*spelt_out(path.read_text(encoding="utf-8"))] for path in others} == {
        str(path): [] for path in others
    }


@pytest.mark.requirement("acp.names-spelled-out")
@pytest.mark.project
def test_spelled_out_name_is_found() -> None:
    assert [*spelt_out('x = "_proxy/successor"; y = {"mcp/message"}')] == [
        "_proxy/successor",
        "mcp/message",
    ]


@pytest.mark.requirement("acp.emit-canonical")
def test_every_envelope_of_every_era_is_known_by_its_name() -> None:
    for dialect, era in ERAS.items():
        for names in (era.to_proxy, era.to_conductor):
            for name in (names.request, names.notification):
                assert ENVELOPES[name] is dialect or ERAS[ENVELOPES[name]].to_proxy == era.to_proxy
