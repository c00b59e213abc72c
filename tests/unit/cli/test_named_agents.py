"""Agents that `symposium task new --agent` names."""

from pathlib import Path

import pytest

from symposium.cli.chain_options import configured_agent
from symposium.cli.task_agents import NONE, chosen_agent, is_terminal, named_agent


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.requirement("tasks.agent-anywhere")
def test_relative_program_becomes_absolute_and_keeps_its_arguments(place: Path) -> None:
    (place / "agent").write_text("#!/bin/sh\n", encoding="utf-8")
    (place / "agent").chmod(0o755)

    relative = named_agent("./agent --fast")

    assert relative == f'{{"command":"{place}/agent","args":["--fast"]}}'
    assert named_agent(f"{place}/agent --fast") == f"{place}/agent --fast"


@pytest.mark.requirement("tasks.agent-anywhere")
@pytest.mark.parametrize("written", ["terminal:./agent x", "eliza", "claude"])
def test_other_names_stay_as_written(written: str) -> None:
    assert named_agent(written) == written


@pytest.mark.requirement("tasks.agent-anywhere")
def test_none_and_a_config_without_an_agent_give_no_agent() -> None:
    assert chosen_agent(NONE) is None
    assert chosen_agent(None) is None
    assert chosen_agent("eliza") == "eliza"


@pytest.mark.requirement("tasks.agent-anywhere")
@pytest.mark.parametrize(
    ("agent", "expected"),
    [(None, False), ("terminal:vi", True), ("claude", True), ("eliza", False)],
)
def test_agent_of_a_terminal_is_known_by_its_prefix(agent: str | None, *, expected: bool) -> None:
    assert is_terminal(agent) is expected


@pytest.mark.requirement("tasks.agent-anywhere")
@pytest.mark.parametrize(
    ("agent", "names", "spec"),
    [
        (None, [], None),
        ('" "', [], None),
        ('"my-agent --acp"', ["my-agent --acp"], "named"),
        ('{"builtin": "eliza"}', [], "eliza"),
        ('{"registry": "gemini"}', ["gemini"], "named"),
        (
            '{"local": {"command": "sh", "args": ["-c", "x"], "env": {"A": "b"}}}',
            [],
            '{"name":"sh","command":"sh","args":["-c","x"],"env":{"A":"b"}}',
        ),
    ],
)
def test_agent_of_the_config_is_read_as_its_option_would_be(
    place: Path, agent: str | None, names: list[str], spec: str | None
) -> None:
    if agent is not None:
        (place / "home").mkdir()
        (place / "home" / "config.jsonc").write_text(f'{{"agent": {agent}}}', encoding="utf-8")
    named: list[str] = []

    def name(written: str) -> str:
        named.append(written)
        return "named"

    assert (configured_agent(name), named) == (spec, names)
