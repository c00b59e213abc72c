"""Lines that are not UTF-8, and lines whose id is cut off."""

import pytest

from symposium.bus.envelope import EnvelopeError, early_id, read_envelope

SENDER = b'"sender":{"workingDirectory":"/"}'


@pytest.mark.requirement("bus.malformed")
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"polo","id":"i",%b,"payload":{"name":"\xff"}}' % SENDER,
        b'{"type":"polo","id":"i",%b,"payload":{},"unknown":"\xc3"}' % SENDER,
    ],
)
def test_line_that_is_not_utf_8_is_malformed_in_members_that_are_only_forwarded(
    line: bytes,
) -> None:
    with pytest.raises(EnvelopeError, match="malformed bus message"):
        read_envelope(line)


@pytest.mark.requirement("bus.long-lines")
@pytest.mark.parametrize(
    ("head", "id_"),
    [
        (b'{"type":"polo","id":"big","payload":"xxx', "big"),
        (b'{"type":"polo","id":"bi', ""),
        (b'{"type":"polo","payload":"xxx', ""),
    ],
)
def test_id_of_a_long_line_is_used_only_if_it_is_complete(head: bytes, id_: str) -> None:
    assert early_id(head) == id_
