"""The user's policy is in every chain with an agent, once and next to the agent."""

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from symposium.chain.blueprint import Blueprint, Component, InProcess
from symposium.mods.policy import PolicyMod
from symposium.permissions.verdict import PolicyError
from symposium.planning.chain_spec import ChainSpec, read_chain
from symposium.planning.planned_chain import planned_chain

SOURCES = Path(__file__).parents[2] / "src"

MAKES_CHAINS = {
    "symposium/planning/chain_spec.py": "adds the policy",
    "symposium/planning/planned_chain.py": "uses the mods of `ChainSpec`",
    "symposium/chain/serve_one_mod.py": "one mod, whose agent is another conductor's",
    "symposium/testing.py": "chains of tests",
}


def planned(chain: ChainSpec) -> Blueprint:
    return planned_chain(chain, {"protocolVersion": 1, "clientCapabilities": {}}).blueprint


def rules_in(mods: Sequence[Component]) -> list[int]:
    return [
        at
        for at, mod in enumerate(mods)
        if isinstance(mod, InProcess) and isinstance(mod.mod, PolicyMod)
    ]


@pytest.mark.requirement("policy.every-chain")
@pytest.mark.parametrize("is_planned", [False, True])
@pytest.mark.parametrize("proxies", [[], ["tag"], ["policy"], ["policy", "tag", "policy"]])
def test_policy_is_next_to_the_agent_exactly_once(proxies: list[str], *, is_planned: bool) -> None:
    chain = read_chain(proxies, "eliza")
    mods = (planned(chain) if is_planned else chain.blueprint()).mods

    assert rules_in(mods) == [len(mods) - 1]
    last = mods[-1]
    assert isinstance(last, InProcess)
    assert last.is_hidden
    assert sum(mod.name == "policy" for mod in mods) == 1


@pytest.mark.requirement("policy.every-chain")
def test_chain_without_an_agent_has_the_policy_only_if_named() -> None:
    assert rules_in(read_chain(["tag"], None).blueprint().mods) == []
    assert rules_in(read_chain(["policy", "tag"], None).blueprint().mods) == [0]


@pytest.mark.requirement("policy.every-chain")
def test_only_chain_specs_build_chains_with_agents() -> None:
    found: set[str] = set()
    for file in sorted(SOURCES.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "Blueprint" in text else ():
            match node:
                case ast.Call(func=ast.Name(id="Blueprint")):
                    found.add(str(file.relative_to(SOURCES)))
                case _:
                    pass

    assert found == set(MAKES_CHAINS)


@pytest.mark.requirement("policy.no-start")
def test_no_chain_is_built_when_the_policy_is_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    (tmp_path / "policy.toml").write_text('[[rule]]\nname = "x"\neffect = "deny"\n')

    with pytest.raises(PolicyError, match="line 1, column 1"):
        read_chain([], "eliza")
    assert read_chain(["tag"], None).agent is None


STARTING = """
import sys
from symposium.cli.commands import run, run_with
from symposium.planning.chain_spec import check_policy, read_chain
check_policy()
read_chain([], "eliza").blueprint().mods[-1].mod.interceptions()
heavy = {"tomllib", "tree_sitter", "tree_sitter_bash"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.requirement("policy.start-up")
@pytest.mark.parametrize(("rules", "parsers"), [(None, "[]\n"), ("# none\n", "['tomllib']\n")])
def test_start_imports_no_unneeded_parsers(
    rules: str | None, parsers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    if rules is not None:
        (tmp_path / "policy.toml").write_text(rules)
    words = [sys.executable, "-c", STARTING]
    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert done.stdout == parsers
