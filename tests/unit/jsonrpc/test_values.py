"""JSON values, without loss."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from peerwire.jsonrpc.values import (
    as_list,
    as_object,
    as_objects,
    decode_value,
    early_id,
    encode_value,
    members,
    object_members,
)

texts = st.text(st.characters(codec=None, exclude_categories=[]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.requirement("jsonrpc.values")
@given(values)
def test_value_is_decoded_unchanged(value: Any) -> None:
    text = encode_value(value)

    assert decode_value(text) == value
    assert b"\n" not in text
    text.decode()


@pytest.mark.requirement("acp.t12-numbers")
@pytest.mark.parametrize(
    "digits",
    [b"9007199254740993", b"-18446744073709551617", b"1.0", b"0.10", b"3.141592653589793238462643",
     b"1" * 5000, b"1E+400", b"-0.0"],
    ids=lambda digits: digits[:20].decode(),
)  # fmt: skip
def test_a_number_keeps_its_digits(digits: bytes) -> None:
    assert encode_value(decode_value(digits)) == digits
    assert encode_value(decode_value(b'["\\ud800",%b]' % digits)) == b'["\\ud800",%b]' % digits


@pytest.mark.requirement("acp.t12-duplicate-keys")
@pytest.mark.parametrize("other", [b'"x"', b'"\\ud800"'])
def test_of_a_key_written_twice_the_last_counts(other: bytes) -> None:
    text = b'{"a":1,"o":%b,"a":2}' % other

    assert decode_value(text)["a"] == 2
    assert bytes(members(text)["a"]) == b"2"


@pytest.mark.requirement("acp.t12-lone-surrogates")
def test_a_lone_surrogate_survives_beside_all_else() -> None:
    text = b'{"\\ud83d":["\\udc00",1.50,12345678901234567890123,true,null]}'

    assert encode_value(decode_value(text)) == text


@dataclass
class Point:
    name: str
    share: Decimal


@pytest.mark.requirement("jsonrpc.values")
def test_a_value_of_a_class_with_a_lone_surrogate_in_it_is_written_too() -> None:
    point = Point("\ud800", Decimal("1.10"))

    assert encode_value({"p": (point, Raw(b"7"))}) == b'{"p":[{"name":"\\ud800","share":1.10},7]}'


@pytest.mark.requirement("jsonrpc.error-nothing-multiline", "jsonrpc.line-no-inner-newline")
def test_what_is_given_as_written_over_several_lines_leaves_on_one() -> None:
    pretty = Raw(json.dumps({"text": "a\nb"}, indent=1).encode())

    written = encode_value({"quoted": pretty})

    assert b"\n" not in written
    assert decode_value(written) == {"quoted": {"text": "a\nb"}}


@pytest.mark.requirement("jsonrpc.values")
@pytest.mark.parametrize(
    "text",
    [b"", b"NaN", b"[1,]", b'{"a":1', b"01", b'"\t"', b'"\xff"', b'{"a":1}x', b"\xef\xbb\xbf1",
     b"1e99999999999999999999", b"[" * 100_000, b'["\\ud800",' + b"[" * 100_000],
    ids=lambda text: repr(text[:12]),
)  # fmt: skip
def test_what_is_not_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are those of two decoders
        decode_value(text)


@pytest.mark.requirement("jsonrpc.values")
def test_what_has_no_json_form_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(TypeError):
        encode_value(object())
    with pytest.raises(ValueError, match="nested too deeply, or in itself"):
        encode_value(loop)
    with pytest.raises(ValueError, match="nested too deeply, or in itself"):
        encode_value(["\ud800", loop])


@pytest.mark.requirement("jsonrpc.values")
def test_members_are_kept_as_they_are_written() -> None:
    text = ' { "a" : [ 1.0 , {} ] ,\t"\\u0062":"\\ud800", "c":"é" }\r'

    expected = {"a": b"[ 1.0 , {} ]", "b": b'"\\ud800"', "c": '"é"'.encode()}
    assert object_members(text) == expected
    assert {name: bytes(raw) for name, raw in members(text.encode()).items()} == expected
    assert object_members("{}") == {}
    assert {n: bytes(raw) for n, raw in members(b'{"\\ud800":1 }').items()} == {"\ud800": b"1"}


@pytest.mark.requirement("jsonrpc.values")
@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"}', '{"a":}', '{"a":1 "b":2}', "{a:1}", "{}x"]
)
def test_what_is_not_one_object_has_no_members(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        object_members(text)


@pytest.mark.requirement("jsonrpc.values")
@pytest.mark.parametrize(
    ("head", "tail", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"x', b"", (b"7", False)),
        (b' { "id" : "a\\"b" , "result" : {', b"", (b'"a\\"b"', True)),
        (b'{"id":5,"jsonrpc":"2.0","error":{', b"", (b"5", True)),
        (b'{"method":"m","id":-1.5,"params":[', b"", (b"-1.5", False)),
        (b'{"method":"m","params":{"id":3', b'3}, "id": 9 } \r', (b"9", False)),
        (b'{"result":{"x', b'"},"id":"z"}', (b'"z"', True)),
        (b'{"result":{"x', b'"id":"z"}}', None),
        (b'{"jsonrpc":"2.0","id":12', b"", None),
        (b'{"id":null,"method":"m","params":[', b"", None),
        (b'{"id":false,"method":"m","params":[', b"", None),
        (b'{"id":1,"id":2,"method":"m","params":[', b"", (b"2", False)),
        (b'[{"id":1,"method":"m","params":[', b',"id":1}', None),
        (b'"just text', b',"id":1}', None),
    ],
)
def test_the_id_of_a_line_too_long_is_found_at_either_end(
    head: bytes, tail: bytes, found: tuple[bytes, bool] | None
) -> None:
    assert early_id(head, tail) == found


@pytest.mark.requirement("jsonrpc.values")
@pytest.mark.parametrize("other", [None, True, 1, "text", ("a",), {"a"}])
def test_value_of_another_kind_is_read_as_an_empty_object_or_list(other: object) -> None:
    value = {"object": {"a": 1}, "list": [{"a": 1}, other]}

    assert (as_object(value["object"]), as_list(value["list"])) == ({"a": 1}, [{"a": 1}, other])
    assert (as_object(value["list"]), as_list(value["object"])) == ({}, [])
    assert (as_object(other), as_list(other), as_objects(other)) == ({}, [], [])
    assert as_objects(value["list"]) == [{"a": 1}]
