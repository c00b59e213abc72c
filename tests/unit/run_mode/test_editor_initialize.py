"""The editor's initialize request, and the version that each agent answers."""

import pytest

from peerwire.acp.names import INITIALIZE
from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import encode_value
from symposium.chain.messages import Answer, ChainMessage
from symposium.run_mode.chain_starts import EditorInitialize


def asked(version: int) -> ChainMessage:
    """An initialize request of this version."""
    return ChainMessage(INITIALIZE, encode_value({"protocolVersion": version}), is_request=True)


@pytest.mark.requirement("run-mode.version-sentence")
@pytest.mark.parametrize("answered", [{}, {"answered": None}, {"answered": "2"}])
def test_version_error_without_an_answered_version_reaches_the_editor_unchanged(
    answered: dict[str, object],
) -> None:
    initialize = EditorInitialize(asked(1))
    initialize.promised = 1
    error = RpcError(INTERNAL_ERROR, {"reason": "protocol_version_mismatch", **answered})

    with pytest.raises(RpcError) as raised:
        initialize.check(asked(1), Answer(error=error), "agent")

    assert raised.value is error
