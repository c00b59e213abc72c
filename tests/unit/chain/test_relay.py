"""Envelopes added and removed by copying bytes, and the cases that need decoding."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.chain.ends import OPENING, opened, put_in

NOTE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}'
bodies = st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=4)


def envelope(inner: bytes, rest: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0","method":"_proxy/successor","params":%b%b}' % (inner, rest)


@pytest.mark.requirement("conductor.relay-bytes")
def test_a_notification_is_put_in_and_taken_out_unchanged() -> None:
    wrapped = put_in(NOTE)

    assert wrapped is not None
    assert wrapped == envelope(b'{"method":"session/update","params":{"sessionId":"s"}}')
    assert wrapped.startswith(OPENING)
    found = opened(wrapped)
    assert found is not None
    assert found[0].method == "session/update"
    assert found[1] == NOTE


@pytest.mark.requirement("conductor.relay-bytes")
@given(bodies)
def test_any_params_pass_as_they_were_written(params: dict[str, object]) -> None:
    for written in (json.dumps(params), json.dumps(params, ensure_ascii=False, indent=1)):
        body = written.encode("utf-8", "surrogatepass")
        line = b'{"jsonrpc":"2.0","method":"session/update","params":%b}' % body

        wrapped = put_in(line)

        assert wrapped is not None
        assert wrapped == envelope(b'{"method":"session/update","params":%b}' % body)
        found = opened(wrapped)
        assert found is None or found[1] == line


@pytest.mark.requirement("conductor.relay-bytes")
def test_members_that_json_rpc_does_not_name_go_into_the_envelope() -> None:
    line = b'{"jsonrpc":"2.0","method":"x","params":{},"_meta":{"a":1}}'

    assert put_in(line) == envelope(b'{"method":"x","params":{},"_meta":{"a":1}}')


@pytest.mark.requirement("conductor.relay-bytes")
@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"x","params":{},"jsonrpc":"2.0"}',
        b'{"jsonrpc": "2.0","method":"x","params":{}}',
        b'{ "jsonrpc":"2.0","method":"x"}',
    ],
)
def test_an_unusual_writing_is_not_put_in_by_moving_bytes(line: bytes) -> None:
    assert put_in(line) is None


@pytest.mark.requirement("conductor.relay-bytes")
@pytest.mark.parametrize(
    "line",
    [
        envelope(b'{"params":{},"method":"x","id":1}'),
        envelope(b'{"method":"x","params":{},"id":1}'),
        envelope(b'{"method":"x","params":{},"jsonrpc":"2.0"}'),
        envelope(b'{"method":"x","params":{},"_meta":{}}'),
        envelope(b'{"method":"x","params": {}}'),
        envelope(b'{"method":"x"}'),
        envelope(b'{"method":7,"params":{}}'),
        envelope(b'{"method":"\\u0078","params":{}}'),
        envelope(b'{"method":"x","params":{}}', b',"id":5'),
        envelope(b'{"method":"x","params":{}}', b" "),
        envelope(b'{"method":"x","params":{}}') + b" ",
        envelope(b'{"method":"x","params":{}}')[:-1] + b"]",
        envelope(b'{"method":"x","params":{}}')[:-1] + b"\r",
        envelope(b'{"method":"x","params":{}')[:-1],
        envelope(b'{"method":"x","params":{"a":"\xff"}}'),
        envelope(b'{"method":"x","params":' + b"[" * 100_000 + b"}"),
    ],
)
def test_envelope_that_is_not_a_plain_notification_is_decoded(line: bytes) -> None:
    assert opened(line) is None
