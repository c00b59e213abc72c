"""Variables of a session for its agent."""

from collections.abc import Mapping

import pytest

from peerwire.transports.command import Command
from symposium.chain.blueprint import Program
from symposium.planning.chain_spec import ChainSpec
from symposium.sessions.agent_runner import with_variables


def chain(env: Mapping[str, str]) -> ChainSpec:
    return ChainSpec((), Program("agent", Command(("agent", "--acp"), env)))


@pytest.mark.requirement("agent-sessions.variables")
def test_agent_gets_the_variables_of_its_session_except_those_that_its_spec_sets() -> None:
    given = with_variables(chain({"A": "spec", "B": "spec"}), {"A": "session", "C": "session"})

    assert given == chain({"A": "spec", "B": "spec", "C": "session"})
    without_agent = ChainSpec((), None)
    assert with_variables(without_agent, {"A": "session"}) == without_agent
