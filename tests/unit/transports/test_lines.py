"""A byte stream gives the same lines however it is cut into reads."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.jsonrpc.transport import HEAD, LineSplitter, OversizedLine

# Few different bytes, so that newlines, blanks and long runs all occur.
streams = st.lists(
    st.one_of(
        st.sampled_from(
            [b"\n", b"\r\n", b"\n\n", b"{}", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x0c"]
        ),
        st.binary(max_size=6),
        st.integers(0, 700).map(lambda count: b"x" * count),
    ),
    max_size=12,
).map(b"".join)


def expected(stream: bytes, limit: int) -> Iterator[bytes | OversizedLine]:
    for line in stream.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if len(line) > limit:
            yield OversizedLine(line[:HEAD], limit, line[-HEAD:])
        elif line:
            yield line


def pieces(stream: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    yield from (stream[start:end] for start, end in pairwise(places))


@pytest.mark.requirement(
    "jsonrpc.line-split-anywhere", "jsonrpc.line-newline-only", "jsonrpc.line-limit-configurable"
)
@given(streams, st.lists(st.integers(0, 2000), max_size=20), st.integers(HEAD, 600))
def test_any_cut_of_any_stream_gives_the_same_lines(
    stream: bytes, cuts: list[int], limit: int
) -> None:
    splitter = LineSplitter(limit)

    lines = [line for piece in pieces(stream, cuts) for line in splitter.feed(piece)]
    lines += splitter.finish()

    assert lines == [*expected(stream, limit)]


@pytest.mark.requirement("jsonrpc.line-split-anywhere")
@given(streams)
def test_byte_by_byte_each_line_comes_with_its_newline(stream: bytes) -> None:
    splitter = LineSplitter()

    seen = [(at, line) for at, byte in enumerate(stream) for line in splitter.feed(bytes([byte]))]

    assert all(stream[at : at + 1] == b"\n" for at, _ in seen)
    assert [line for _, line in seen] + splitter.finish() == [*expected(stream, 1 << 20)]


@pytest.mark.requirement("jsonrpc.line-over-limit-bounded")
@given(st.lists(st.binary(max_size=50).map(lambda part: part.replace(b"\n", b"")), max_size=50))
def test_an_endless_line_is_held_no_longer_than_the_limit(parts: list[bytes]) -> None:
    splitter = LineSplitter(100)

    for part in parts:
        splitter.feed(part)
        assert splitter.held <= 100
