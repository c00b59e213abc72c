"""Frames and columns: what comes out is what went in, and nothing hostile goes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.code.lsp.documents import to_column, to_units
from symposium.code.lsp.framing import MAX_HEADER, Frames, FramingError, frame


@pytest.mark.requirement("ide.framing")
@given(st.lists(st.binary(max_size=60), max_size=6), st.lists(st.integers(1, 40), max_size=30))
def test_frames_survive_being_cut_anywhere(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frame(body) for body in bodies)
    frames = Frames()
    seen: list[bytes] = []
    for cut in [*cuts, len(stream)]:
        seen += frames.feed(stream[:cut])
        stream = stream[cut:]
    assert seen == bodies


@pytest.mark.requirement("ide.framing")
@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_refused(data: bytes) -> None:
    frames = Frames(max_body=100)
    try:
        bodies = frames.feed(data)
    except FramingError:
        return
    assert all(body in data for body in bodies)


@pytest.mark.requirement("ide.framing")
def test_other_headers_and_other_spellings_are_taken() -> None:
    header = b"content-LENGTH :  2\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n"
    assert Frames().feed(header + b"{}") == [b"{}"]


@pytest.mark.requirement("ide.framing")
@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n",
        b"Content-Length: 101\r\n\r\n",
        b"Content-Length: " + b"9" * 3000 + b"\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"x" * (MAX_HEADER + 1),
        b"Content-Length: 2\r\n" + b"x" * MAX_HEADER,
        b"Content-Length: 2\r\nX: " + b"x" * MAX_HEADER + b"\r\n\r\n{}",
    ],
)
def test_invalid_or_too_large_header_is_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        Frames(max_body=100).feed(data)


@pytest.mark.requirement("ide.columns")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.integers(1, 25))
def test_columns_and_units_are_the_same_place(line: str, column: int) -> None:
    units = to_units(line, column)
    assert units == len(line[: column - 1].encode("utf-16-le")) // 2
    assert to_column(line, units) == min(column, len(line) + 1)


@pytest.mark.requirement("ide.columns")
def test_a_unit_inside_a_character_is_that_character() -> None:
    assert to_column("😀a", 1) == 1
    assert to_column("😀a", 2) == 2
