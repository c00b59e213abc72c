"""A leg records every message, and never delays one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from localio.redaction import REDACTED, Redactor
from peerwire.errors import RpcError
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward, Interception
from symposium.chain.record_files import new_file
from symposium.chain.trace import TraceRecorder

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["sessionId", "method", "params", "connectionId", "token", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
BODIES = VALUES.map(lambda value: json.dumps(value).encode()) | st.just(UNSET)
METHODS = st.text(max_size=12) | st.sampled_from(["mcp/message", "_mcp/message", "initialize"])
ANSWERS = st.one_of(
    BODIES.map(Answer),
    BODIES.map(lambda body: Answer(error_body=body)),
    VALUES.map(lambda value: Answer(value=value)),
    VALUES.map(lambda value: Answer(error=RpcError(-1, value, message="no"))),
)


class Written:
    """A recorder with one leg, and what it has written."""

    def __init__(self, directory: Path) -> None:
        self.recorder = TraceRecorder(new_file(directory, "now", ".jsons"), Redactor())
        self.legs = [
            self.recorder.leg("Client", "Proxy(0)"),
            self.recorder.leg("Proxy(0)", "Agent"),
        ]

    def pass_on(self, message: ChainMessage, *, leg: int = 0, way: int = 0) -> Forward:
        """Outcome of a leg for a message toward the agent, or back."""
        interception: Interception = self.legs[leg].interceptions()[way]
        outcome = interception.handler(message)
        assert isinstance(outcome, Forward)
        assert outcome.params is Forward().params
        assert outcome.method is None
        return outcome

    def events(self) -> list[dict[str, Any]]:
        self.recorder.close()
        # Of bytes: text is also divided at U+0085, which a method may contain.
        return [json.loads(line) for line in self.recorder.file.path.read_bytes().splitlines()]


@pytest.mark.requirement("conductor.trace-leg")
@given(METHODS, BODIES, st.integers(0, 1), ANSWERS)
def test_every_message_passes_and_becomes_one_line(
    tmp_path_factory: pytest.TempPathFactory, method: str, body: bytes, way: int, answer: Answer
) -> None:
    written = Written(tmp_path_factory.mktemp("trace"))
    request = ChainMessage(method, body, is_request=True)

    written.pass_on(ChainMessage(method, body, is_request=False), way=way)
    waiting = written.pass_on(request, way=way)
    assert waiting.then is not None
    assert waiting.then(answer) is None

    told, asked, answered = written.events()
    assert (told["type"], asked["type"], answered["type"]) == (
        *("notification", "request", "response"),
    )
    assert asked["id"] == answered["id"]
    assert (asked["from"], asked["to"]) == (answered["to"], answered["from"])
    assert answered["is_error"] == (answer.error is not None)
    assert request.body is body


@pytest.mark.requirement("conductor.trace-leg")
@given(st.binary(max_size=60).map(Raw), METHODS)
def test_arbitrary_bytes_are_forwarded(
    tmp_path_factory: pytest.TempPathFactory, body: Raw, method: str
) -> None:
    written = Written(tmp_path_factory.mktemp("trace"))

    written.pass_on(ChainMessage(method, body, is_request=False))
    written.recorder.close()

    assert written.recorder.file.path.read_bytes().count(b"\n") == 1


@pytest.mark.requirement("conductor.trace-leg")
def test_params_that_a_mod_has_made_are_recorded_and_may_still_change(tmp_path: Path) -> None:
    written = Written(tmp_path)
    message = ChainMessage("x", b"{}", is_request=False)
    message.replace(method=None, params={"a": 1})

    written.pass_on(message)
    message.params["a"] = 2
    written.pass_on(message, leg=1)

    assert message.encoded() == b'{"a":2}'
    assert [event["params"] for event in written.events()] == [{"a": 1}, {"a": 2}]


@pytest.mark.requirement("conductor.trace-leg")
def test_trace_ignores_params_without_a_json_form(tmp_path: Path) -> None:
    written = Written(tmp_path)
    message = ChainMessage("x", UNSET, is_request=False)
    message.replace(method=None, params={"a": object()})

    written.pass_on(message)

    assert "redacted" in written.events()[0]["params"]


@pytest.mark.requirement("conductor.trace-hop-ids")
def test_one_request_has_one_number_on_every_leg_and_another_has_another(tmp_path: Path) -> None:
    written = Written(tmp_path)
    first, second = (ChainMessage("x", UNSET, is_request=True) for _ in range(2))

    waiting = [written.pass_on(message, leg=leg) for message in (first, second) for leg in (0, 1)]
    for forward in reversed(waiting):
        assert forward.catch is not None
        forward.catch(Answer(error=RpcError(-1)))
    written.pass_on(first)

    numbers = [(event["type"][:3], event["hop"], event["id"]) for event in written.events()]
    assert numbers == [
        *(("req", 0, 1), ("req", 1, 1), ("req", 0, 2), ("req", 1, 2)),
        *(("res", 1, 2), ("res", 0, 2), ("res", 1, 1), ("res", 0, 1)),
        ("req", 0, 3),
    ]


@pytest.mark.requirement("conductor.trace-redaction")
def test_no_secret_hides_in_a_method_a_session_or_a_connection(tmp_path: Path) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz"
    written = Written(tmp_path)
    tunnelled = {"connectionId": key, "method": f"x/{key}", "sessionId": key}

    written.pass_on(ChainMessage("mcp/message", json.dumps(tunnelled).encode(), is_request=False))
    written.pass_on(ChainMessage(key, UNSET, is_request=True))

    told, asked = written.events()
    assert (told["method"], told["connection"], told["session"]) == (
        *(f"x/{REDACTED}", REDACTED, REDACTED),
    )
    assert asked["method"] == REDACTED


@pytest.mark.requirement("conductor.trace-leg")
def test_leg_stops_recording_after_the_file_is_removed(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.recorder.close()

    outcome = written.pass_on(ChainMessage("x", UNSET, is_request=True))

    assert outcome.then is None
