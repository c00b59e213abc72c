"""Chain of an editor with `symposium run`, over real programs (acp-host §3.3)."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.editor import Editor, Start

Spec: TypeAlias = Callable[..., str]

ANSWER = "How do you do. Please state your problem."
SURPRISE = """
from symposium import ChainMessage, Forward, Mod, from_client, run_mod

class Surprise(Mod):
    @from_client("initialize")
    def add(self, message: ChainMessage) -> Forward:
        return Forward({**message.params, "surprise": True})

run_mod(Surprise())
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Path of the config file that `symposium run` reads here."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.jsonc"


def initialized(start: Start, **symposium: Any) -> tuple[Editor, dict[str, Any]]:
    """Start an editor with these capabilities; return it and the notices about the chain."""
    it = Editor(start("run", "--no-registry"))
    capabilities = {"_meta": {"symposium": symposium}} if symposium else {}
    params = {"protocolVersion": 1, "clientCapabilities": capabilities}
    result = it.ask("initialize", params)["result"]
    return it, result["agentCapabilities"]["_meta"]["symposium"]


def local(name: str, *argv: str, **more: Any) -> dict[str, Any]:
    program, *arguments = argv
    return {"name": name, "source": {"local": {"command": program, "args": arguments}}, **more}


@pytest.mark.requirement("run-mode.planned")
@pytest.mark.parametrize(
    ("native", "chain"),
    [(True, ["ide-ops"]), (False, ["ide-ops-adapter", "ide-ops"])],
)
def test_adapter_is_in_the_chain_when_the_editor_lacks_a_feature(
    start: Start, config: Path, chain: list[str], *, native: bool
) -> None:
    server = {"name": "web", "source": {"http": {"name": "web", "url": "http://x/"}}, "kind": "mcp"}
    config.write_text(json.dumps({"agent": "eliza", "proxies": [{"name": "ide-ops"}, server]}))
    it, messages = initialized(start, **({"ide_operations": True} if native else {}))
    assert [each["id"] for each in messages["details"]["chain"]] == chain
    provider = "editor" if native else "ide-ops-adapter"
    assert messages["details"]["provided_by"] == {"ide_operations": provider}
    assert messages["ide_operations"] is True
    session = it.session()
    assert f"editor → {' → '.join(chain)} → eliza" in it.say(session, "/symposium:status")
    assert it.end() == 0


@pytest.mark.requirement("run-mode.planned-once-more")
def test_wrong_prediction_restarts_the_agent_once_with_the_right_chain(
    start: Start, config: Path, tmp_path: Path, symposium_spec: Spec
) -> None:
    program = tmp_path / "surprise.py"
    program.write_text(SURPRISE)
    starts = tmp_path / "starts"
    shell = f"echo started >> {starts}; exec {symposium_spec('eliza')}"
    agent = f"sh -c '{shell}'"
    mod = local("surprise", sys.executable, str(program))
    config.write_text(json.dumps({"agent": agent, "proxies": [mod]}))
    it, messages = initialized(start)
    assert [each["id"] for each in messages["details"]["chain"]] == ["surprise"]
    assert it.say(it.session(), "Hello") == ANSWER
    assert starts.read_text() == "started\n" * 2
    assert it.end() == 0


@pytest.mark.requirement("run-mode.optional-bypassed")
def test_optional_mod_that_exits_is_left_out_with_a_notice(start: Start, config: Path) -> None:
    mods = [local("mine", "false", optional=True), {"name": "arrow"}]
    config.write_text(json.dumps({"agent": "eliza", "proxies": mods}))
    it, messages = initialized(start)
    assert [each["id"] for each in messages["details"]["chain"]] == ["arrow"]
    session = it.session()
    assert "Symposium left out the mod `mine`. It did not start" in it.notices(session)
    assert it.say(session, "Hello") == f">{ANSWER}"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.required-missing")
def test_required_mod_is_not_left_out(start: Start, config: Path) -> None:
    mods = [local("mine", "/no/such/mod", optional=False)]
    config.write_text(json.dumps({"agent": "eliza", "proxies": mods}))
    it, _ = initialized(start)
    messages = it.notices(it.session())
    assert "The mod `mine` did not start" in messages
    assert "/no/such/mod" in messages
    assert it.end() == 0
