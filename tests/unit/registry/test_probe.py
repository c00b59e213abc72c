"""The probe of an agent: its answer to `initialize`, and errors."""

import sys
from typing import Any

import pytest

from peerwire.transports.command import Command
from symposium.errors import SymposiumError
from symposium.registry.probe import AgentProbe, AgentTimeoutError, probe_agent

ANSWER: dict[str, Any] = {
    "protocolVersion": 1,
    "agentInfo": {"name": "one", "version": "1.0"},
    "agentCapabilities": {
        "loadSession": True,
        "mcpCapabilities": {"http": True, "sse": False, "acp": 1},
        "sessionCapabilities": {"list": {}},
    },
    "authMethods": [{"id": "web"}, "odd"],
}


@pytest.mark.requirement("registry.cli-test")
def test_an_answer_is_read_by_what_it_offers() -> None:
    probe = AgentProbe(ANSWER, 0.1)

    assert probe.agent == "one 1.0"
    assert probe.auth_methods == [{"id": "web"}]
    assert probe.session_methods == [
        *("session/new", "session/prompt", "session/cancel"),
        *("session/load", "session/list"),
    ]
    assert probe.mcp_transports == ["stdio", "http"]


@pytest.mark.requirement("registry.cli-test")
@pytest.mark.parametrize(
    "answer", [{}, {"agentInfo": 3, "authMethods": {}, "agentCapabilities": 1}]
)
def test_an_answer_that_says_nothing_offers_the_least(answer: dict[str, Any]) -> None:
    probe = AgentProbe(answer, 0.1)

    assert (probe.agent, probe.auth_methods, probe.mcp_transports) == ("", [], ["stdio"])
    assert probe.session_methods == ["session/new", "session/prompt", "session/cancel"]


async def failure(code: str, seconds: float = 45) -> SymposiumError:
    with pytest.raises(SymposiumError) as caught:
        await probe_agent(Command((sys.executable, "-c", code)), seconds=seconds)
    return caught.value


@pytest.mark.requirement("registry.cli-test")
async def test_an_agent_that_exits_is_reported_with_its_last_lines() -> None:
    error = await failure("import sys; sys.exit('\\n'.join(map(str, range(9))))")

    assert "is not a working agent" in error.message
    assert error.hint.splitlines()[1:] == [f"| {number}" for number in range(4, 9)]
    assert (await failure("")).hint == "it wrote nothing to stderr"


@pytest.mark.requirement("registry.cli-test")
async def test_an_answer_that_is_no_object_is_shown_in_part() -> None:
    error = await failure(
        "import json; request = json.loads(input());"
        "print(json.dumps({'jsonrpc': '2.0', 'id': request['id'], 'result': ['x' * 300]}))"
    )

    assert error.message.endswith(f"` answered ['{'x' * 198}")


@pytest.mark.requirement("registry.cli-test")
async def test_an_agent_that_does_not_answer_is_given_up_after_its_time() -> None:
    error = await failure("import time; time.sleep(60)", 0.2)

    assert isinstance(error, AgentTimeoutError)
    assert "did not answer initialize within 0.2 s" in error.message
