"""Labels of agents in lists of tasks."""

import pytest

from symposium.catalog import agent_label


@pytest.mark.requirement("tasks.agent-shown")
@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("npx some-agent --acp", "npx some-agent --acp"),
        ("KEY=canary npx some-agent", "KEY=… npx some-agent"),
        ('{"command": "a", "args": ["b c"], "env": {"KEY": "canary"}}', "KEY=… a 'b c'"),
        ('{"command": "a", "name": "mine", "env": {"KEY": "canary"}}', "mine"),
        ("'not closed", "''\"'\"'not closed'"),
    ],
)
def test_label_of_an_agent_shows_no_json_and_no_keys(spec: str, label: str) -> None:
    assert agent_label(spec) == label
