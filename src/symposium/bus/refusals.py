"""What the broker answers when it does not pass a message on: one code each, and words."""

from typing import Final

from msgspec import Raw

from symposium.bus.envelope import Envelope, Outcome, Sender, response, write_envelope

BAD_MESSAGE: Final = "bad_message"
BAD_PAYLOAD: Final = "bad_payload"
UNKNOWN_TYPE: Final = "unknown_type"
TOO_LONG: Final = "too_long"
HELLO_REQUIRED: Final = "hello_required"
BAD_HELLO: Final = "bad_hello"
FORBIDDEN: Final = "forbidden"
NO_HANDLER: Final = "no_handler"
TIMEOUT: Final = "timeout"
GONE: Final = "gone"
CANCELLED: Final = "cancelled"
TOO_MANY: Final = "too_many"
DUPLICATE: Final = "duplicate_id"
NOT_ASKED: Final = "not_asked"
FAILED: Final = "failed"
NOT_FOUND: Final = "not_found"
BAD_VALUE: Final = "bad_value"

MAX_TEXT: Final = 1000
"""Characters of a refusal's text."""

NO_ID: Final = "-"
"""Stands for the id of a line that has none."""

DAEMON_SENDER: Final = Sender("/tmp")  # noqa: S108 - what the reference's daemon says of itself


def refusal(request_id: str, code: str, text: str) -> bytes:
    """The line that says so; a text that quotes a long value is shortened."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}…"
    outcome = Outcome(success=False, error=text, code=code)
    return write_envelope(response(request_id or NO_ID, DAEMON_SENDER, outcome))


def answer(request: Envelope, data: Raw) -> bytes:
    """The line of an answer that the broker gives itself."""
    outcome = Outcome(success=True, data=data)
    return write_envelope(response(request.id, DAEMON_SENDER, outcome))
