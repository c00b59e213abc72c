"""Messages read from one line, and written as one."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, UnsetType

from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, STANDARD_TEXT, RpcError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.values import encode_value, strict_decoder

texts = st.text(st.characters(codec=None, exclude_categories=[]))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
objects = st.dictionaries(texts, values, max_size=5)


def message(line: bytes) -> Message:
    found = wire.decode(line)
    assert isinstance(found, Message)
    return found


def malformed(line: bytes) -> Malformed:
    found = wire.decode(line)
    fault = wire.check(found) if isinstance(found, Message) else found
    assert isinstance(fault, Malformed)
    return fault


def written(body: Raw | UnsetType) -> bytes | None:
    return None if body is UNSET else bytes(body)


@pytest.mark.requirement("acp.t1-raw")
@given(objects, st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r: ")]))
def test_params_are_kept_byte_for_byte_however_they_are_written(
    value: dict[str, Any], separators: tuple[str, str]
) -> None:
    escaped = json.dumps(value, separators=separators)
    try:
        as_is = json.dumps(value, separators=separators, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        as_is = escaped.encode()
    for params in (escaped.encode(), as_is):
        line = b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % params

        assert written(message(line).params) == params
        assert wire.request(b"1", "m", message(line).params) == line


@pytest.mark.requirement("jsonrpc.fuzz-codec")
@given(st.binary(max_size=200) | texts.map(lambda text: text.encode(errors="replace")))
def test_no_bytes_at_all_make_decoding_raise(line: bytes) -> None:
    found = wire.decode(line)

    if isinstance(found, Message):
        wire.check(found)
        wire.extra_members(found, line)
        if found.id is not UNSET:
            wire.id_key(found.id)


names = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "_meta", "x"])


@pytest.mark.requirement("jsonrpc.reading")
@given(st.lists(st.tuples(names, values), max_size=6), st.sampled_from(["", " ", "\r", "]", ","]))
def test_a_line_is_unreadable_exactly_if_it_is_not_json(
    pairs: list[tuple[str, Any]], after: str
) -> None:
    inner = ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in pairs)
    line = ("{" + inner + "}" + after).encode()

    found = wire.decode(line)

    try:
        value = strict_decoder.decode(line.decode())
    except ValueError:
        assert isinstance(found, Malformed)
        assert found.error.code == PARSE_ERROR
        return
    if isinstance(found, Malformed):
        assert found.error.code == INVALID_REQUEST
        assert not isinstance(value.get("method", ""), str)
        return
    assert isinstance(found, Message)
    for name in ("id", "params", "result", "error"):
        body = written(getattr(found, name))
        assert body == (json.dumps(value[name], default=float).encode() if name in value else None)
    extra = wire.extra_members(found, line)
    kept = json.loads("{" + extra.decode().removeprefix(",") + "}")
    assert kept.keys() == value.keys() - {"jsonrpc", "id", "method", "params", "result", "error"}


@pytest.mark.requirement("acp.t12-lone-surrogates")
def test_a_method_with_a_lone_surrogate_is_a_method() -> None:
    line = b'{"jsonrpc":"2.0","method":"\\ud800","params":{"a":1.0}}'

    found = message(line)

    assert found.method == "\ud800"
    assert wire.notification("\ud800", found.params) == line


@pytest.mark.requirement("acp.t12-duplicate-keys")
def test_of_a_member_written_twice_the_last_counts() -> None:
    for method in (b'"m"', b'"\\ud800"'):
        found = message(b'{"id":1,"method":"first","id":2,"method":%b}' % method)
        assert (written(found.id), found.method) == (b"2", json.loads(method))


@pytest.mark.requirement("jsonrpc.params-absent-or-null")
def test_params_may_be_absent_null_an_object_or_an_array() -> None:
    for params in (b"", b',"params":null', b',"params":{}', b',"params":[1]', b',"params": { } '):
        assert wire.check(message(b'{"id":1,"method":"m"%b}' % params)) is None


@pytest.mark.requirement("jsonrpc.params-scalar")
@pytest.mark.parametrize("params", [b"1", b'"x"', b"true", b"-1.5"])
def test_scalar_params_are_refused_under_the_requests_own_id(params: bytes) -> None:
    fault = malformed(b'{"id":"a","method":"m","params":%b}' % params)

    assert (fault.error.code, fault.answer, fault.id) == (INVALID_REQUEST, True, b'"a"')
    assert not malformed(b'{"method":"m","params":%b}' % params).answer


@pytest.mark.requirement("jsonrpc.envelope-conflict")
@pytest.mark.parametrize("other", [b'"result":1', b'"error":{}'])
def test_a_method_beside_a_result_or_an_error_is_refused(other: bytes) -> None:
    fault = malformed(b'{"id":7,"method":"m",%b}' % other)

    assert (fault.error.code, fault.answer, fault.id) == (INVALID_REQUEST, True, b"7")
    assert not malformed(b'{"method":"m",%b}' % other).answer


@pytest.mark.requirement("jsonrpc.envelope-conflict")
def test_a_result_beside_an_error_is_refused_and_never_answered() -> None:
    fault = malformed(b'{"id":7,"result":1,"error":{}}')

    assert (fault.error.code, fault.answer, fault.id) == (INTERNAL_ERROR, False, b"7")
    assert wire.check(message(b'{"id":7,"result":1,"error":null}')) is None
    assert wire.check(message(b'{"id":7,"result":null,"error":{}}')) is None


@pytest.mark.requirement("jsonrpc.error-id-of-wrong-type")
@pytest.mark.parametrize("request_id", [b"{}", b"[1]", b"true", b"false"])
def test_an_id_of_another_type_is_refused_under_no_id(request_id: bytes) -> None:
    fault = malformed(b'{"id":%b,"method":"m"}' % request_id)

    assert (fault.error.code, fault.answer, fault.id) == (INVALID_REQUEST, True, b"null")
    assert not malformed(b'{"id":%b,"result":1}' % request_id).answer


@pytest.mark.requirement("jsonrpc.error-not-jsonrpc")
@pytest.mark.parametrize(
    "line", [b"1", b'"text"', b"null", b"true", b"{}", b'{"jsonrpc":"2.0"}', b'{"method":1}']
)
def test_json_that_is_no_message_is_an_invalid_request_without_id(line: bytes) -> None:
    fault = malformed(line)

    assert (fault.error.code, fault.answer, fault.id) == (INVALID_REQUEST, True, b"null")


@pytest.mark.requirement("jsonrpc.error-response-garbage")
@pytest.mark.parametrize(
    "line", [b'{"result":1}', b'{"error":{}}', b'{"method":1,"id":2,"result":1}']
)
def test_what_looks_like_a_response_is_owed_nothing(line: bytes) -> None:
    assert not malformed(line).answer


@pytest.mark.requirement("jsonrpc.reading")
def test_a_request_whose_method_is_no_text_is_refused_under_its_id() -> None:
    assert malformed(b'{"method":1,"id":2}').id == b"2"
    assert malformed(b'{"method":1,"id":[]}').id == b"null"


@pytest.mark.requirement("jsonrpc.error-unparsable-line", "jsonrpc.error-unparsable-line-cut")
def test_a_line_that_is_not_json_is_quoted_up_to_a_kibibyte() -> None:
    fault = malformed(b"{nonsense}" + b"\xc3\xa9" * 2000)

    assert (fault.error.code, fault.answer, fault.id) == (PARSE_ERROR, True, b"null")
    assert fault.error.data["line"].startswith("{nonsense}")
    assert len(fault.error.data["line"].encode()) <= 1024 + 2


@pytest.mark.requirement("jsonrpc.error-invalid-utf8")
@pytest.mark.parametrize(
    "line", [b'{"method":"\xff"}', b'{"method":"m","params":["\xed\xa0\x80"]}']
)
def test_a_line_that_is_not_utf8_is_no_json(line: bytes) -> None:
    assert malformed(line).error.code == PARSE_ERROR


@pytest.mark.requirement("jsonrpc.line-blank")
@pytest.mark.parametrize("line", [b"\r", b" \t", b""])
def test_a_blank_line_is_owed_nothing(line: bytes) -> None:
    assert not malformed(line).answer


@pytest.mark.requirement("jsonrpc.frame-deeply-nested")
def test_what_is_nested_too_deeply_is_refused_under_the_id_it_was_written_with() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000

    request = malformed(b'{"id":3,"method":"m","params":%b}' % deep)
    late = malformed(b'{"method":"m","params":%b,"id":"z"}' % deep)
    response = malformed(b'{"id":3,"result":%b}' % deep)

    assert (request.error.code, request.answer, request.id) == (PARSE_ERROR, True, b"3")
    assert (late.answer, late.id) == (True, b'"z"')
    assert (response.answer, response.id) == (False, b"3")
    for line in (deep, b'["\\ud800",%b]' % deep, b'{"method":"\\ud800","params":%b}' % deep):
        assert (malformed(line).error.code, malformed(line).id) == (PARSE_ERROR, b"null")


@pytest.mark.requirement("jsonrpc.reading")
def test_the_members_of_a_batch_are_lines() -> None:
    assert wire.decode(b' [ {"a":1.0} , [] ,2]\r') == Batch((b'{"a":1.0}', b"[]", b"2"))
    assert wire.decode(b"[]") == Batch(())
    lone = b' [ {"a":"\\ud800" } ,\t1.0]\r'
    assert wire.decode(lone) == Batch((b'{"a":"\\ud800" }', b"1.0"))
    for line in (b"[1,", b"[1]]", b"[1 2]", b"[,]", b'["\\ud800",]', b'["\\ud800"]]'):
        assert malformed(line).error.code == PARSE_ERROR


@pytest.mark.requirement("jsonrpc.batch-bounded")
def test_a_batch_of_too_many_entries_is_refused_before_it_costs_memory() -> None:
    full = b"[" + b",".join([b"1"] * wire.MAX_BATCH) + b"]"
    assert wire.decode(full) == Batch((b"1",) * wire.MAX_BATCH)
    for line in (full[:-1] + b",1]", b"[" + b",".join([b"1"] * 4_000_000) + b"]"):
        tracemalloc.start()
        fault = malformed(line)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert fault.error.data == {"reason": "batch_too_long", "limit": wire.MAX_BATCH}
        assert (fault.answer, fault.id) == (True, b"null")
        assert peak < 40_000_000
    few = b"[" + b",".join([b'"%b"' % (b"x" * 1_000_000)] * 3) + b"]"
    found = wire.decode(few)
    assert isinstance(found, Batch)
    assert [len(entry) for entry in found.lines] == [1_000_002] * 3


@pytest.mark.requirement("jsonrpc.ids-any-type")
@pytest.mark.parametrize(
    "request_id", [b"null", b"0", b"-7", b"12345678901234567890123", b"1.5", b'"a\\u00e9"', b'""']
)
def test_id_of_any_type_is_written_unchanged(request_id: bytes) -> None:
    found = message(b'{"id": %b ,"method":"m"}' % request_id)

    assert wire.check(found) is None
    assert found.id is not UNSET
    assert (
        wire.result_response(found.id, b"1") == b'{"jsonrpc":"2.0","id":%b,"result":1}' % request_id
    )


@pytest.mark.requirement("jsonrpc.ids-one-writing")
def test_all_writings_of_one_id_have_one_key() -> None:
    assert wire.id_key(b'"\\u0061"') == wire.id_key(b'"a"') == b'"a"'
    assert wire.id_key(b'"\\uD800"') == wire.id_key(b'"\\ud800"')
    assert wire.id_key(b"7.0") == wire.id_key(Raw(b"7")) == b"7"
    assert wire.id_key(b"-7.00") == b"-7"
    assert (
        len({wire.id_key(raw) for raw in (b"1", b'"1"', b"1.5", b"null", b'"null"', b'"1.0"')}) == 6
    )


@pytest.mark.requirement("jsonrpc.keys")
@given(texts, texts)
def test_ids_have_one_key_exactly_if_they_are_one_text(one: str, other: str) -> None:
    keys = [wire.id_key(json.dumps(text).encode()) for text in (one, other)]

    assert (keys[0] == keys[1]) == (one == other)
    assert keys[0] == wire.id_key(encode_value(one))


@pytest.mark.requirement("jsonrpc.envelope-unknown-members")
def test_members_of_the_envelope_that_we_do_not_know_are_kept_as_written() -> None:
    line = b'{"jsonrpc":"2.0","trace":"00-a","id":1,"method":"m", "_meta" :{"x":1.0} ,"params":{}}'

    assert wire.extra_members(message(line), line) == b',"trace":"00-a","_meta":{"x":1.0}'
    bare = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{}}'
    assert wire.extra_members(message(bare), bare) == b""
    # As long as the member that it replaces.
    same = b'{"abcdefg":"2.0","id":1,"method":"m","params":{}}'
    assert wire.extra_members(message(same), same) == b',"abcdefg":"2.0"'


@pytest.mark.requirement("jsonrpc.envelope-unknown-members")
@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"2.0","id":1,"result":[1]}', b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
    b'{"jsonrpc":"2.0","method":"m"}', '{"jsonrpc":"2.0","method":"mé\\u0001/"}'.encode(),
])  # fmt: skip
def test_what_we_write_has_no_unknown_members(line: bytes) -> None:
    assert wire.extra_members(message(line), line) == b""


@pytest.mark.requirement("jsonrpc.keys")
def test_what_we_write_is_what_we_read() -> None:
    for line in (
        wire.notification("m"),
        wire.notification("m", b"{}", b',"x":1'),
        wire.request(b"1", "m"),
        wire.request(b"1", "m", b"[]"),
        wire.error_response(b'"a"', b'{"code":1,"message":"x"}'),
    ):
        assert wire.check(message(line)) is None
        assert message(line) == message(line)


@pytest.mark.requirement("jsonrpc.keys")
@pytest.mark.parametrize("params", [UNSET, b"{}"])
def test_method_with_special_characters_is_escaped(params: bytes | UnsetType) -> None:
    method = 'a","id":7,"b":"\\\n\ud800é'

    asked = message(wire.request(b"1", method, params))
    noted = message(wire.notification(method, params))

    assert (asked.method, written(asked.id)) == (method, b"1")
    assert (noted.method, noted.id) == (method, UNSET)


@pytest.mark.requirement("jsonrpc.keys")
def test_the_texts_of_methods_are_kept_within_bounds() -> None:
    assert all(wire.quoted(f"method/{number}") == b'"method/%d"' % number for number in range(2000))
    assert wire.quoted("x" * 1000) == b'"' + b"x" * 1000 + b'"'
    kept: Any = wire.quoted.__self__  # pyright: ignore[reportFunctionMemberAccess] - the bound dict
    assert len(kept) <= 512
    assert max(map(len, kept)) <= 128


@pytest.mark.requirement("jsonrpc.error-codes-and-texts")
def test_the_codes_have_their_standard_texts() -> None:
    assert STANDARD_TEXT == {
        -32700: "Parse error", -32600: "Invalid Request", -32601: "Method not found",
        -32602: "Invalid params", -32603: "Internal error", -32800: "Request cancelled",
        -32000: "Authentication required", -32002: "Resource not found",
    }  # fmt: skip
    assert RpcError(-32601, "x").body() == {
        "code": -32601,
        "message": "Method not found",
        "data": "x",
    }
    assert RpcError(7).body() == {"code": 7, "message": "Error"}
    assert str(RpcError(-32603, {"a": 1})) == "Internal error: {'a': 1}"


@pytest.mark.requirement("jsonrpc.error-relayed")
def test_an_error_object_becomes_an_exception_and_back() -> None:
    body = b'{"code":-31999,"message":"No","data":{"a":[null]}}'

    assert encode_value(wire.rpc_error(body).body()) == body


@pytest.mark.requirement("jsonrpc.reading")
@pytest.mark.parametrize("body", [b"null", b'"no"', b"[]", b"1e99999999999999999999"])
def test_what_is_no_error_object_becomes_an_internal_error(body: bytes) -> None:
    assert wire.rpc_error(body).code == INTERNAL_ERROR
    assert wire.rpc_error(b'{"code":"x","message":1}').body() == {
        "code": -32603,
        "message": "Internal error",
    }
