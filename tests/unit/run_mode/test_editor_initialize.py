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


@pytest.mark.requirement("run-mode.version-sentence")
@pytest.mark.parametrize(
    ("highest", "promised", "answered", "has_hint"),
    [(2, 1, 2, True), (1, 1, 2, False), (2, None, 2, False), (1, 1, 1, True)],
)
def test_version_error_says_to_reconnect_if_that_would_help(
    highest: int, promised: int | None, answered: int, *, has_hint: bool
) -> None:
    initialize = EditorInitialize(asked(highest))
    initialize.promised = promised
    data = {"reason": "protocol_version_mismatch", "answered": answered}

    with pytest.raises(RpcError) as raised:
        initialize.check(asked(1), Answer(error=RpcError(INTERNAL_ERROR, data)), "agent")

    assert ("hint" in raised.value.data) is has_hint
    assert {**raised.value.data, "hint": 0} == {**data, "hint": 0}
