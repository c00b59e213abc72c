"""Capabilities that an editor offers, and those announced to both ends."""

from typing import Any

import pytest

from symposium.chain.capabilities import primitives
from symposium.chain.mod import Needs
from symposium.planning.planner import ChainEntry, plan, to_agent, to_chain, to_editor

WORKSPACE = {"symposium": {"workspace": {"cwd": "/w/app", "roots": ["/w/app"]}}}


def params(**symposium: Any) -> dict[str, Any]:
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
    }
    if symposium:
        capabilities["_meta"] = {"symposium": {"version": "1.0", **symposium}}
    return {
        "protocolVersion": 1,
        "clientInfo": {"name": "zed", "version": "1.4"},
        "clientCapabilities": capabilities,
        "_meta": WORKSPACE,
    }


def offered(capabilities: object, member: str = "clientCapabilities") -> dict[str, Any]:
    return primitives({"protocolVersion": 1, member: capabilities})


@pytest.mark.requirement("planning.native-primitives")
def test_native_capabilities_are_primitives() -> None:
    assert offered({"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": True}) == {
        "fs_read": True,
        "bash": True,
    }
    assert offered({"elicitation": {"form": {}, "url": None}}) == {"elicitation_form": True}


@pytest.mark.requirement("planning.explicit-wins")
def test_an_explicit_key_wins_over_the_native_one_and_keeps_its_detail() -> None:
    detail = {"operations": ["hover"]}
    declared = {"fs_read": False, "bash": None, "ide_operations": detail, "vendor_thing": 0}
    native = {"fs": {"readTextFile": True}, "terminal": True, "_meta": {"symposium": declared}}
    assert offered(native) == {"ide_operations": detail, "vendor_thing": 0}


@pytest.mark.requirement("planning.strange-meta")
def test_a_meta_that_is_no_object_or_of_another_major_is_passed_over_and_forwarded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert offered({"_meta": {"symposium": ["ide_operations"]}}) == {}
    later = {"_meta": {"symposium": {"version": "2.0", "ide_operations": True}}}
    assert offered(later) == {}
    assert offered({"_meta": {"symposium": {"version": "1.7", "x": True}}}) == {"x": True}
    assert [record.message for record in caplog.records] == [
        "ignoring _meta.symposium, which is not an object: ['ide_operations']",
        "ignoring capabilities of unknown _meta.symposium version 2.0",
    ]
    forwarded = to_chain({"clientCapabilities": later})["clientCapabilities"]["_meta"]["symposium"]
    assert forwarded["ide_operations"] is True
    assert forwarded["version"] == "2.0"


@pytest.mark.requirement("planning.version-two")
def test_version_two_names_the_member_otherwise() -> None:
    declared = {"_meta": {"symposium": {"ide_operations": True}}}
    assert offered(declared, "capabilities") == {"ide_operations": True}
    told = to_chain({"protocolVersion": 2, "capabilities": declared})
    assert "clientCapabilities" not in told
    assert told["capabilities"]["_meta"]["symposium"]["proxy"] is True


@pytest.mark.requirement("planning.version-two")
def test_answer_of_version_two_is_enriched_in_its_own_member() -> None:
    answer: dict[str, Any] = {"protocolVersion": 2, "capabilities": {"session": {}}}
    told = to_editor(answer, plan([], [], []), "0.1.0")
    assert "agentCapabilities" not in told
    assert told["capabilities"]["session"] == {}
    assert told["capabilities"]["_meta"]["symposium"]["proxy"] is True


@pytest.mark.requirement("planning.strange-meta")
@pytest.mark.parametrize("given", [None, [], "x", {}, {"clientCapabilities": None}])
def test_an_initialize_without_capabilities_offers_nothing(given: object) -> None:
    assert primitives(given) == {}


IDE_OPS = ChainEntry("ide-ops", Needs(requires=("ide_operations",)))
ADAPTER = ChainEntry("ide-ops-adapter", Needs("adapter", provides=("ide_operations",)))


@pytest.mark.requirement("planning.told-the-agent")
def test_agent_learns_capabilities_of_editor_adapters_and_host() -> None:
    asked = params()
    made = plan(primitives(asked), [IDE_OPS], [ADAPTER])
    told = to_agent(asked, made)
    assert told == {
        **asked,
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "_meta": {
                "symposium": {
                    "version": "1.0",
                    "ide_operations": True,
                    "mcp_acp_transport": True,
                    "proxy": True,
                }
            },
        },
    }


@pytest.mark.requirement("planning.told-the-editor")
def test_editor_learns_its_components_and_their_origin() -> None:
    made = plan(primitives(params()), [IDE_OPS], [ADAPTER])
    answer: dict[str, Any] = {
        "protocolVersion": 1,
        "agentInfo": {"name": "claude-code-acp", "version": "0.9"},
        "authMethods": [],
        "agentCapabilities": {"loadSession": True, "mcpCapabilities": {"http": True, "acp": True}},
    }
    told = to_editor(answer, made, "0.1.0")
    meta = told["agentCapabilities"].pop("_meta")
    assert told == answer
    assert meta == {
        "symposium": {
            "version": "1.0",
            "fs_read": True,
            "fs_write": True,
            "bash": True,
            "ide_operations": True,
            "mcp_acp_transport": True,
            "proxy": True,
            "details": {
                "provided_by": {
                    "fs_read": "editor",
                    "fs_write": "editor",
                    "bash": "editor",
                    "ide_operations": "ide-ops-adapter",
                },
                "chain": [
                    {"id": "ide-ops-adapter", "kind": "adapter"},
                    {"id": "ide-ops", "kind": "component"},
                ],
                "degraded": [],
                "symposium": {"version": "0.1.0"},
            },
        }
    }
