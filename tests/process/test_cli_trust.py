"""`symposium trust` and `symposium recommendations`, in text and JSON."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

STORED = """
[[recommendation]]
source.npx = { package = "one", env = { KEY = "v" } }
when.any = [{ file-exists = "x" }, { using-crate = "tokio" }]
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Write a file of recommendations in the working directory of the command."""
    file = tmp_path / ".symposium" / "recommendations.toml"
    file.parent.mkdir()
    file.write_text(STORED)
    return file


@pytest.mark.requirement("trust.cli")
@pytest.mark.usefixtures("stored")
def test_stored_items_are_shown_and_allowed_after_a_question(symposium: Run) -> None:
    shown = symposium("trust", "show")
    assert "runs: npx -y one" in shown.stdout
    assert "sets: KEY=v" in shown.stdout
    asked = symposium("trust", "grant")
    assert asked.returncode == 2
    assert "runs: npx -y one" in asked.stderr
    assert json.loads(symposium("trust", "list", "--json").stdout) == []


@pytest.mark.requirement("trust.cli")
def test_allowed_items_are_listed_and_revoked(symposium: Run, stored: Path, tmp_path: Path) -> None:
    (granted,) = json.loads(symposium("trust", "grant", "--yes", "--json").stdout)
    assert granted["name"] == ".symposium/recommendations.toml"
    assert symposium("trust", "show").stdout == ""
    (listed,) = json.loads(symposium("trust", "list", "--json").stdout)
    assert (listed["sha256"], listed["verdict"]) == (granted["sha256"], "trusted")
    assert listed["allows"] == ["command: npx -y one", "variable: KEY=v"]
    stored.write_text(STORED.replace("one", "two"))
    (question,) = json.loads(symposium("trust", "show", "--json").stdout)
    assert question["changed"] is True
    assert '+source.npx = { package = "two"' in question["changes"]
    (gone,) = json.loads(symposium("trust", "revoke", "--json").stdout)
    assert gone["sha256"] == listed["sha256"]
    assert symposium("trust", "revoke", "--all", "--cwd", str(tmp_path)).stderr == "revoked: 0\n"


@pytest.mark.requirement("trust.cli")
def test_single_item_can_be_named_and_a_missing_one_is_an_error(
    symposium: Run, stored: Path
) -> None:
    (stored.parent.parent / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert symposium("trust", "grant", ".mcp.json", "--yes").stderr.endswith("granted: 1\n")
    assert [d["name"] for d in json.loads(symposium("trust", "list", "--json").stdout)] == [
        ".mcp.json"
    ]
    wrong = symposium("trust", "grant", "nothing")
    assert wrong.returncode == 4
    assert "the workspace stores: .mcp.json, .symposium/recommendations.toml" in wrong.stderr


@pytest.mark.requirement("trust.cli", "trust.damage-trusts-nothing")
def test_damaged_file_is_reported(symposium: Run, stored: Path, tmp_path: Path) -> None:
    symposium("trust", "grant", "--yes")
    (tmp_path / "home" / "trust.json").write_text("{")
    messages = symposium("trust", "show")
    assert "nothing is trusted" in messages.stderr
    assert stored.name in messages.stdout


@pytest.mark.requirement("recommendations.cli")
def test_matching_recommendations_are_shown_with_each_condition(
    symposium: Run, stored: Path, tmp_path: Path
) -> None:
    before = symposium("recommendations", "show")
    assert before.stdout == ""
    assert "`symposium trust show` lists it" in before.stderr
    symposium("trust", "grant", "--yes")
    shown = symposium("recommendations", "show").stdout
    assert "does not suit" in shown
    (tmp_path / "x").write_text("")
    messages = json.loads(symposium("recommendations", "show", "--json").stdout)
    (row,) = messages["recommendations"]
    assert (row["name"], row["state"], row["from"]) == ("one", "offered", "workspace")
    assert row["because"] == "because `x` exists"
    assert row["conditions"] == [
        {"condition": "any of", "holds": True, "depth": 0},
        {"condition": "file-exists x", "holds": True, "depth": 1},
        {"condition": "using-crate tokio", "holds": False, "depth": 1},
    ]
    assert row["allows"][0] == {"kind": "command", "detail": "npx -y one"}
    stored.write_text("[[")
    assert "the recommendations are no TOML" in symposium("recommendations", "show").stderr


@pytest.mark.requirement("recommendations.cli")
def test_declined_recommendations_can_be_reset_and_the_network_queried(
    symposium: Run, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    answers = tmp_path / "home" / "recommendation-answers.json"
    answers.write_text('{"declined": ["a", "b"]}')
    assert symposium("recommendations", "forget").stderr == "forgot 2 declined recommendations\n"
    assert json.loads(answers.read_text())["declined"] == []
    messages = json.loads(symposium("recommendations", "update", "--json").stdout)
    assert messages == {"recommendations": 0, "trouble": None}


@pytest.mark.requirement("recommendations.registry-lists-custom")
def test_mods_of_the_config_and_recommended_ones_are_listed_and_resolved(
    symposium: Run, stored: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    registry = tmp_path / "registry.json"
    registry.write_text('{"version": "1", "agents": [], "mods": []}')
    environment["SYMPOSIUM_REGISTRY"] = str(registry)
    (tmp_path / "home" / "config").mkdir(parents=True)
    local = {"local": {"command": "/x/own", "args": ["a"], "env": {"K": "v"}}}
    http = {"http": {"name": "docs", "url": "https://d"}}
    proxies = [{"name": "own", "source": local}, {"name": "docs", "kind": "mcp", "source": http}]
    config = json.dumps({"agent": "eliza", "proxies": proxies})
    (tmp_path / "home" / "config.jsonc").write_text(config)
    users = '[[recommendation]]\nsource.uvx = { package = "users" }\n'
    (tmp_path / "home" / "config" / "recommendations.toml").write_text(users)
    symposium("trust", "grant", "--yes")

    listed = json.loads(symposium("registry", "list-mods").stdout)
    messages = {each["id"]: each["description"] for each in listed}
    assert messages["own"] == "of the config"
    assert messages["users"] == "recommended (user)"
    assert messages["one"] == "recommended (workspace)"
    assert "pass" in messages

    def resolved(name: str) -> dict[str, object]:
        return json.loads(symposium("registry", "resolve-mod", name).stdout)

    env = [{"name": "K", "value": "v"}]
    assert resolved("own") == {"name": "own", "command": "/x/own", "args": ["a"], "env": env}
    assert resolved("docs") == {"type": "http", "name": "docs", "url": "https://d", "headers": []}
    assert resolved("users")["command"] == "uvx"
    stored.write_text(STORED.replace("one", "changed"))
    assert "changed" not in symposium("registry", "list-mods").stdout
