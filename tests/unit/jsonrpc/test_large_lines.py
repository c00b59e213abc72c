"""Lines of some megabytes: looked at in pieces, and no piece's edge is seen."""

import json

import pytest

from peerwire.jsonrpc.messages import (
    Malformed,
    Message,
    check_utf8,
    decode,
    notification,
    request,
    result_response,
)

PIECE = 64 * 1024


@pytest.mark.requirement("jsonrpc.large-lines")
@pytest.mark.parametrize("text", ["é", "€", "𝄞"])
@pytest.mark.parametrize("shift", range(5))
def test_a_character_may_lie_across_two_pieces(text: str, shift: int) -> None:
    check_utf8(b"x" * (PIECE - shift) + text.encode() * PIECE)


@pytest.mark.requirement("jsonrpc.large-lines")
@pytest.mark.parametrize("place", [0, PIECE - 1, PIECE, 2 * PIECE, 3 * PIECE - 1])
@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xed\xa0\x80"])
def test_a_broken_byte_is_found_wherever_it_is(place: int, broken: bytes) -> None:
    whole = b"x" * 3 * PIECE

    with pytest.raises(UnicodeDecodeError):
        check_utf8(whole[:place] + broken + whole[place:])


@pytest.mark.requirement("jsonrpc.large-lines")
def test_a_line_cut_inside_a_character_is_not_utf_8() -> None:
    with pytest.raises(UnicodeDecodeError):
        check_utf8(b"x" * PIECE + "é".encode()[:1])


@pytest.mark.requirement("jsonrpc.large-lines")
def test_a_large_line_that_is_not_utf_8_is_no_message() -> None:
    text = "é" * PIECE
    line = result_response(b"1", json.dumps(text, ensure_ascii=False).encode())

    assert isinstance(decode(line), Message)
    assert isinstance(decode(line.replace("é".encode(), b"\xe9", 1)), Malformed)


@pytest.mark.requirement("jsonrpc.large-lines")
def test_a_large_body_is_written_as_it_came() -> None:
    body = b'{"text":"%b"}' % (b"x" * 3 * PIECE)
    extra = b',"trace":1'

    assert result_response(b"7", body, extra) == (
        b'{"jsonrpc":"2.0","id":7,"result":%b,"trace":1}' % body
    )
    assert request(b"7", "a/b", body, extra) == (
        b'{"jsonrpc":"2.0","id":7,"method":"a/b","params":%b,"trace":1}' % body
    )
    assert notification("a/b", body, extra) == (
        b'{"jsonrpc":"2.0","method":"a/b","params":%b,"trace":1}' % body
    )
