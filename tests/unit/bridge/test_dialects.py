"""Versions of MCP over ACP: forwarded, rejected, and retried messages."""

from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec import Raw

from peerwire.errors import METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.values import encode_value
from symposium.bridge.dialects import Dialects
from symposium.chain.messages import UNCHANGED, Answer, ChainMessage
from symposium.chain.mod import Forward, Refuse, Reply


def asked(method: str, params: Any) -> ChainMessage:
    return ChainMessage(method, Raw(encode_value(params)), is_request=True)


def connected(dialects: Dialects) -> None:
    """Declare a server of the first era, and connect to it."""
    servers: dict[str, Any] = {
        "mcpServers": [{"type": "http", "name": "t", "url": "acp:t", "headers": []}]
    }
    dialects.declare(asked("session/new", servers))
    outcome = dialects.connect(asked("mcp/connect", {"serverId": "acp:t"}))
    assert isinstance(outcome, Forward)
    assert (outcome.method, outcome.params) == ("_mcp/connect", {"acp_url": "acp:t"})
    assert outcome.then is not None
    outcome.then(Answer(value={"connection_id": "c"}))


@pytest.mark.requirement("bridge.odd-params")
@pytest.mark.parametrize("params", [[], "x", None, 7])
def test_params_that_are_not_an_object_are_forwarded_to_the_owner(params: Any) -> None:
    dialects = Dialects()
    for take, method in (
        (dialects.connect, "mcp/connect"),
        (dialects.ask, "mcp/message"),
        (dialects.disconnect, "mcp/disconnect"),
        (dialects.forward_to_agent, "_mcp/message"),
        (dialects.ended, "mcp/disconnect"),
    ):
        outcome = take(asked(method, params))
        assert isinstance(outcome, Forward)
        assert (outcome.params, outcome.method, outcome.then) == (UNCHANGED, None, None)
    notification = ChainMessage("mcp/connect", Raw(b'{"serverId":7}'), is_request=False)
    assert dialects.connect(notification) == Forward()
    refusal = dialects.connect(asked("mcp/connect", {"serverId": 7}))
    assert isinstance(refusal, Refuse)
    assert refusal.error.data == "mcp/connect needs the id of a server"


class Client:
    """An owner of the first era that knows split names only."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None) -> Any:
        self.requests.append((method, params))
        return {"serverInfo": {}}

    def notify(self, method: str, params: Any = None) -> None:
        raise AssertionError([method, params])


@pytest.mark.requirement("bridge.odd-params")
@pytest.mark.parametrize("code", [METHOD_NOT_FOUND, -32000])
async def test_initialize_is_tried_in_split_names_only_if_its_method_is_unknown(code: int) -> None:
    dialects = Dialects()
    dialects.client = client = Client()
    connected(dialects)
    outcome = dialects.ask(asked("mcp/message", {"connectionId": "c", "method": "initialize"}))
    assert isinstance(outcome, Forward)
    assert outcome.method == "_mcp/message"
    assert outcome.catch is not None
    revision = outcome.catch(Answer(error=RpcError(code)))
    assert isinstance(revision, Awaitable)

    again = await revision
    if code == METHOD_NOT_FOUND:
        assert again == Reply({"serverInfo": {}})
        assert client.requests == [("_mcp/request", {"connection_id": "c", "method": "initialize"})]
    else:
        assert again is None
        assert client.requests == []
