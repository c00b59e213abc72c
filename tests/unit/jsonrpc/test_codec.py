"""Lines from a stream of bytes."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.jsonrpc.transport import HEAD, LineSplitter, OversizedLine


def split(*pieces: bytes, limit: int = 1000) -> list[bytes | OversizedLine]:
    splitter = LineSplitter(limit)
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    return lines + splitter.finish()


@pytest.mark.requirement("jsonrpc.line-split-anywhere")
def test_a_line_may_come_in_pieces_and_yields_nothing_before_its_newline() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b'{"a"') == []
    assert splitter.held == 4
    assert splitter.feed(b":1}") == []
    assert splitter.feed(b'\n{"b"') == [b'{"a":1}']
    assert splitter.feed(b":2}\n") == [b'{"b":2}']
    assert splitter.held == 0


@pytest.mark.requirement("jsonrpc.line-blank")
def test_empty_lines_are_dropped() -> None:
    assert split(b"\n\na\n\n\nb\n\n") == [b"a", b"b"]


@pytest.mark.requirement("jsonrpc.line-newline-only")
def test_only_a_newline_ends_a_line() -> None:
    text = '"\u2028\u0085\f\v\r \x1c"'.encode()

    assert split(text + b"\r\nnext\n") == [text + b"\r", b"next"]


@pytest.mark.requirement("jsonrpc.line-byte-order-mark")
def test_a_byte_order_mark_before_the_first_line_is_no_part_of_it() -> None:
    assert split(b"\xef\xbb\xbf{}\n\xef\xbb\xbf[]\n") == [b"{}", b"\xef\xbb\xbf[]"]
    assert split(b"\xef", b"\xbb", b"\xbf", b"{}\n") == [b"{}"]
    assert split(b"\xef\xbb", b"x\n") == [b"\xef\xbbx"]
    assert split(b"\xef\xbb") == [b"\xef\xbb"]


@pytest.mark.requirement("jsonrpc.line-over-limit", "jsonrpc.line-limit-configurable")
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_line_over_the_limit_is_reported_in_order_and_the_next_is_read(size: int) -> None:
    stream = b"before\n" + b"<" + b"x" * 30 + b">\nafter\n" + b"y" * 10 + b"\n"
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]

    before, long, after, full = split(*pieces, limit=10)

    assert (before, after, full) == (b"before", b"after", b"y" * 10)
    assert isinstance(long, OversizedLine)
    assert long.limit == 10
    assert long.head.startswith(b"<xxxx")
    assert long.tail.endswith(b"xxxx>")


@pytest.mark.requirement("jsonrpc.cut-overlong")
def test_the_stream_may_end_within_a_line_over_the_limit() -> None:
    assert split(b"z" * 11, limit=10) == [OversizedLine(b"z" * 11, 10, b"z" * 11)]


@pytest.mark.requirement("jsonrpc.line-over-limit-bounded")
def test_an_endless_line_costs_no_more_than_the_limit() -> None:
    limit, chunk = 1_000_000, 10_000
    splitter = LineSplitter(limit)
    tracemalloc.start()
    for number in range(10 * limit // chunk):
        splitter.feed(b"%d" % (number % 10) * chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < limit * 1.2
    assert splitter.held == 0
    (line,) = splitter.feed(b"\n")
    assert isinstance(line, OversizedLine)
    assert len(line.head) == len(line.tail) == HEAD


@pytest.mark.requirement("jsonrpc.line-64-mib")
def test_a_line_of_64_mib_passes_and_one_byte_more_does_not() -> None:
    full = b"x" * (64 * 1024 * 1024)
    splitter = LineSplitter()

    assert splitter.feed(full + b"\n") == [full]
    assert isinstance(splitter.feed(full + b"x\n")[0], OversizedLine)


@pytest.mark.requirement("jsonrpc.fuzz-codec")
@given(st.data())
def test_the_same_lines_come_out_however_the_bytes_are_cut(data: st.DataObject) -> None:
    alphabet = st.sampled_from([b"\n", b"a", b"\xef", b"\xbb", b"\xbf", b"\r", b"longer"])
    stream = b"".join(data.draw(st.lists(alphabet, max_size=60)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    limit = data.draw(st.sampled_from([1, 5, 1000]))
    edges = [0, *cuts, len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]

    whole, cut = split(stream, limit=limit), split(*pieces, limit=limit)

    # How much of a long line's ends is known depends on the pieces; that it is long does not.
    assert [type(line) for line in cut] == [type(line) for line in whole]
    assert [line for line in cut if isinstance(line, bytes)] == [
        line for line in whole if isinstance(line, bytes)
    ]
    expected = [line for line in stream.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line]
    assert len(whole) == len(expected)
    for line, text in zip(whole, expected, strict=True):
        assert line == text if len(text) <= limit else isinstance(line, OversizedLine)
