"""Faulty messages and handlers: the peer gets an error, and the connection stays (§1.6)."""

import asyncio
import logging
from typing import Any

import pytest

from peerwire.errors import INVALID_PARAMS, RpcError, invalid_params
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.testing import LinePeer, facing_bytes


def fail(request: Request) -> Any:
    raise ValueError(f"no {request.params}")


async def fail_later(request: Request) -> Any:
    await asyncio.sleep(0)
    raise ValueError(f"no {request.params}")


def refuse(_: Request) -> Any:
    raise RpcError(-32000, {"a": 1}, message="Sign in")


async def refuse_later(request: Request) -> Any:
    await asyncio.sleep(0)
    return refuse(request)


def fail_on_notification(_: Any) -> None:
    raise ValueError("deaf")


class Unwritable:
    """Has no JSON form."""


HANDLERS = Handlers(
    requests={
        "ok": lambda _: "ok",
        "fail": fail,
        "fail_later": fail_later,
        "fail_silently": lambda _: (_ for _ in ()).throw(RuntimeError),
        "refuse": refuse,
        "refuse_later": refuse_later,
        "unwritable": lambda _: Unwritable(),
        "unwritable_error": lambda _: (_ for _ in ()).throw(RpcError(1, Unwritable())),
    },
    notifications={"fail": fail_on_notification},
)


async def answers_to(*lines: bytes, number: int) -> list[Any]:
    """Answers to these lines and to a valid request after them."""
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(*lines, b'{"id":"last","method":"ok"}')
        answers = await peer.read(number + 1)
        assert await _still_serves(peer, number + 2)
    assert answers[-1] == {"jsonrpc": "2.0", "id": "last", "result": "ok"}
    return answers[:-1]


async def _still_serves(peer: LinePeer, number: int) -> bool:
    peer.write(b'{"id":"more","method":"ok"}')
    answers = await peer.read(number)
    return len(answers) == number and answers[-1]["id"] == "more"


@pytest.mark.requirement("jsonrpc.error-handler-raises")
@pytest.mark.parametrize("method", ["fail", "fail_later"])
async def test_a_handler_that_raises_is_answered_and_the_connection_lives(method: str) -> None:
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(b'{"id":1,"method":"%b","params":[7]}' % method.encode())
        (answer,) = await peer.read(1)
        assert await _still_serves(peer, 2)
    error = {"code": -32603, "message": "Internal error", "data": "no [7]"}
    assert answer == {"jsonrpc": "2.0", "id": 1, "error": error}


@pytest.mark.requirement("jsonrpc.handler-faults")
async def test_a_handler_that_raises_without_a_text_is_answered_with_the_kind() -> None:
    (answer,) = await answers_to(b'{"id":1,"method":"fail_silently"}', number=1)
    assert answer["error"]["data"] == "RuntimeError"


@pytest.mark.requirement("jsonrpc.error-handler-returns-error")
@pytest.mark.parametrize("method", ["refuse", "refuse_later"])
async def test_an_error_raised_on_purpose_is_the_response(method: str) -> None:
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(b'{"id":1,"method":"%b"}' % method.encode())
        (answer,) = await peer.read(1)
    assert answer["error"] == {"code": -32000, "message": "Sign in", "data": {"a": 1}}


@pytest.mark.requirement("jsonrpc.handler-faults")
async def test_what_a_handler_gives_that_has_no_json_form_is_our_fault() -> None:
    one, two = await answers_to(
        b'{"id":1,"method":"unwritable"}', b'{"id":2,"method":"unwritable_error"}', number=2
    )
    assert one["error"]["code"] == -32603
    assert two["error"]["code"] == 1
    assert "Unwritable" in two["error"]["data"]


@pytest.mark.requirement("jsonrpc.error-bad-params")
async def test_params_that_cannot_be_read_are_answered_with_what_they_were() -> None:
    line = b'{"id":1,"method":"ok","params":[1e99999999999999999999]}'
    (answer,) = await answers_to(line, number=1)
    assert answer["error"]["code"] == INVALID_PARAMS
    assert answer["error"]["data"].keys() == {"error", "json", "phase"}
    assert answer["error"]["data"]["json"] == "[1e99999999999999999999]"
    assert invalid_params("no cwd", {"a": 1}).data["json"] == {"a": 1}


@pytest.mark.requirement("jsonrpc.error-bad-notification", "jsonrpc.error-notification-unhandled")
async def test_a_notification_is_never_answered_whatever_is_wrong_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    nothing = await answers_to(
        b'{"method":"unknown"}',
        b'{"method":"$/unknown","params":{}}',
        b'{"method":"fail"}',
        b'{"method":"fail","params":[1e99999999999999999999]}',
        b'{"method":"fail","params":1}',
        b'{"method":"fail","result":1}',
        number=0,
    )
    assert nothing == []
    assert len(caplog.records) == 2


@pytest.mark.requirement("jsonrpc.error-unparsable-line", "jsonrpc.error-invalid-utf8")
async def test_a_line_that_is_not_json_is_answered_and_the_next_is_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = b"{oops \x1b\xff" + b"x" * 300
    one, two, three = await answers_to(first, b"\xff\xfe", b"NaN", number=3)
    for answer in (one, two, three):
        assert answer["id"] is None
        assert (answer["error"]["code"], answer["error"]["message"]) == (-32700, "Parse error")
    assert one["error"]["data"]["line"].startswith("{oops")
    shown = "{oops \\x1b\\ufffd" + "x" * 192
    warned = f"the peer wrote text that is not JSON-RPC; the first line: {shown}"
    assert [record.getMessage() for record in caplog.records] == [warned]


@pytest.mark.requirement("jsonrpc.error-not-jsonrpc", "jsonrpc.error-id-of-wrong-type")
async def test_json_that_is_no_message_is_answered_under_no_id() -> None:
    answers = await answers_to(b"1", b"{}", b'{"id":{},"method":"ok"}', number=3)
    assert [answer["id"] for answer in answers] == [None] * 3
    assert {answer["error"]["code"] for answer in answers} == {-32600}
    assert {answer["error"]["message"] for answer in answers} == {"Invalid Request"}


@pytest.mark.requirement("jsonrpc.params-scalar", "jsonrpc.envelope-conflict")
async def test_a_request_that_is_not_allowed_is_refused_under_its_id() -> None:
    answers = await answers_to(
        b'{"id":1,"method":"ok","params":"x"}', b'{"id":2,"method":"ok","result":1}', number=2
    )
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [
        (1, -32600),
        (2, -32600),
    ]


@pytest.mark.requirement("jsonrpc.error-response-garbage")
async def test_what_looks_like_a_response_is_never_answered() -> None:
    nothing = await answers_to(
        b'{"result":1}', b'{"error":7}', b'{"id":{},"result":1}', b'{"id":5,"result":1,"error":{}}',
        b'{"id":null,"error":{"code":1,"message":"m"}}', b'{"method":7,"id":1,"error":{}}',
        number=0,
    )  # fmt: skip
    assert nothing == []


@pytest.mark.requirement("jsonrpc.line-blank", "jsonrpc.line-newline-only")
async def test_blank_lines_and_carriage_returns_are_ignored() -> None:
    (answer,) = await answers_to(b"\r", b" ", b'{"id":1,"method":"ok"}\r', number=1)
    assert answer["result"] == "ok"


@pytest.mark.requirement("jsonrpc.frame-deeply-nested")
async def test_what_is_nested_too_deeply_is_answered_and_the_connection_lives() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    bare, asked = await answers_to(deep, b'{"id":4,"method":"ok","params":%b}' % deep, number=2)
    assert (bare["id"], bare["error"]["code"]) == (None, -32700)
    assert (asked["id"], asked["error"]["code"]) == (4, -32700)
