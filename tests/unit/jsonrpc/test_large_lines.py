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
from peerwire.jsonrpc.transport import LARGE, LineSplitter, OversizedLine, was_checked

PIECE = 64 * 1024


def received(line: bytes, size: int) -> bytes:
    splitter = LineSplitter()
    lines: list[bytes | OversizedLine] = []
    for at in range(0, len(line), size):
        lines += splitter.feed(line[at : at + size])
    (found,) = lines + splitter.feed(b"\n")
    assert isinstance(found, bytes)
    return found


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
@pytest.mark.parametrize("length", [PIECE, 2 * PIECE - 1, 2 * PIECE])
def test_a_line_cut_inside_a_character_is_not_utf_8(length: int) -> None:
    with pytest.raises(UnicodeDecodeError):
        check_utf8(b"x" * length + "é".encode()[:1])


@pytest.mark.requirement("jsonrpc.large-lines")
def test_a_large_line_that_is_not_utf_8_is_no_message() -> None:
    text = "é" * PIECE
    line = result_response(b"1", json.dumps(text, ensure_ascii=False).encode())

    assert isinstance(decode(line), Message)
    assert isinstance(decode(line.replace("é".encode(), b"\xe9", 1)), Malformed)


@pytest.mark.requirement("jsonrpc.large-lines")
def test_large_body_is_written_unchanged() -> None:
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


@pytest.mark.requirement("jsonrpc.large-lines-on-arrival")
@pytest.mark.parametrize("text", ["x", "é", "€", "𝄞"])
@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_large_line_is_found_to_be_utf_8_while_it_arrives(text: str, size: int) -> None:
    line = text.encode() * (LARGE + PIECE)

    found = received(line, size)

    assert found == line
    assert [was_checked(bytes(bytearray(found))), was_checked(found)] == [False, True]
    assert not was_checked(found), "it is kept no longer than until its decoder asks"


@pytest.mark.requirement("jsonrpc.large-lines-on-arrival")
@pytest.mark.parametrize(
    "place", [0, PIECE - 1, LARGE - 1, LARGE, LARGE + PIECE, LARGE + 2 * PIECE]
)
@pytest.mark.parametrize("broken", [b"\xff", b"\xc3", b"\xed\xa0\x80"])
def test_large_line_with_a_broken_byte_is_not_taken_for_utf_8(place: int, broken: bytes) -> None:
    whole = b"x" * (LARGE + 2 * PIECE)
    line = whole[:place] + broken + whole[place:]

    found = received(line, PIECE)

    assert found == line
    assert not was_checked(found)


@pytest.mark.requirement("jsonrpc.large-lines-on-arrival")
def test_line_after_a_broken_one_is_checked_for_itself() -> None:
    splitter = LineSplitter()
    found: list[bool] = []
    for whole in (b"\xff" * 2 * LARGE, b"x" * 2 * LARGE, b"\xff" + b"x" * 2 * LARGE):
        for at in range(0, len(whole), PIECE):
            splitter.feed(whole[at : at + PIECE])
        (line,) = splitter.feed(b"\n")
        assert isinstance(line, bytes)
        assert line == whole
        found.append(was_checked(line))

    assert found == [False, True, False]


@pytest.mark.requirement("jsonrpc.large-lines-on-arrival")
@pytest.mark.parametrize("text", ["x", "é"])
def test_a_decoded_line_is_kept_no_longer(text: str) -> None:
    line = notification("a/b", json.dumps({"text": text * 2 * LARGE}, ensure_ascii=False).encode())
    found = received(line, PIECE)

    assert isinstance(decode(found), Message)
    assert not was_checked(found)
