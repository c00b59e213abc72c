"""The chain that an editor gets from `symposium run`, over real programs (acp-host §3.3)."""

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
    """The config file that `symposium run` reads here."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "config.jsonc"


def greeted(start: Start, **symposium: Any) -> tuple[Editor, dict[str, Any]]:
    """An editor with these capabilities of ours; what it is told of the chain."""
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
def test_an_adapter_stands_in_the_chain_where_the_editor_lacks_what_is_needed(
    start: Start, config: Path, chain: list[str], *, native: bool
) -> None:
    server = {"name": "web", "source": {"http": {"name": "web", "url": "http://x/"}}, "kind": "mcp"}
    config.write_text(json.dumps({"agent": "eliza", "proxies": [{"name": "ide-ops"}, server]}))
    it, told = greeted(start, **({"ide_operations": True} if native else {}))
    assert [each["id"] for each in told["details"]["chain"]] == chain
    provider = "editor" if native else "ide-ops-adapter"
    assert told["details"]["provided_by"] == {"ide_operations": provider}
    assert told["ide_operations"] is True
    session = it.session()
    assert f"editor → {' → '.join(chain)} → eliza" in it.say(session, "/symposium:status")
    assert it.end() == 0


@pytest.mark.requirement("run-mode.planned-once-more")
def test_a_wrong_prediction_starts_the_agent_once_more_with_what_the_chain_asks(
    start: Start, config: Path, tmp_path: Path, ourselves: Spec
) -> None:
    program = tmp_path / "surprise.py"
    program.write_text(SURPRISE)
    starts = tmp_path / "starts"
    shell = f"echo started >> {starts}; exec {ourselves('eliza')}"
    agent = f"sh -c '{shell}'"
    mod = local("surprise", sys.executable, str(program))
    config.write_text(json.dumps({"agent": agent, "proxies": [mod]}))
    it, told = greeted(start)
    assert [each["id"] for each in told["details"]["chain"]] == ["surprise"]
    assert it.say(it.session(), "Hello") == ANSWER
    assert starts.read_text() == "started\n" * 2
    assert it.end() == 0


@pytest.mark.requirement("run-mode.optional-bypassed")
def test_an_optional_mod_that_ends_is_left_out_and_told(start: Start, config: Path) -> None:
    mods = [local("mine", "false", optional=True), {"name": "arrow"}]
    config.write_text(json.dumps({"agent": "eliza", "proxies": mods}))
    it, told = greeted(start)
    assert [each["id"] for each in told["details"]["chain"]] == ["arrow"]
    session = it.session()
    assert "The mod `mine` is left out: it did not start" in it.notices(session)
    assert it.say(session, "Hello") == f">{ANSWER}"
    assert it.end() == 0


@pytest.mark.requirement("run-mode.required-missing")
def test_a_mod_that_is_required_is_not_left_out(start: Start, config: Path) -> None:
    mods = [local("mine", "/no/such/mod", optional=False)]
    config.write_text(json.dumps({"agent": "eliza", "proxies": mods}))
    it, _ = greeted(start)
    told = it.notices(it.session())
    assert "The mod `mine` did not start" in told
    assert "/no/such/mod" in told
    assert it.end() == 0
