"""Rejections that the broker sends to the sender of a message. No I/O.

It does not look up requests: the broker passes the one that it found.
"""

from collections.abc import Mapping, Sequence

from localio.text import near_names
from peerwire.jsonrpc.transport import OversizedLine
from symposium.bus import error_codes
from symposium.bus.envelope import (
    NO_ID,
    Envelope,
    early_id,
    refusal,
    version_one_response,
)
from symposium.bus.peers import BusPeer, Peers
from symposium.bus.protocol import ASSIGNED_ROLES, BusMessage
from symposium.bus.routing import Action, Deliver, OpenRequest, Warn


def refuse(peer: BusPeer, request_id: str, code: str, text: str) -> Deliver:
    """Reject the message of this id."""
    return Deliver((peer.id,), refusal(request_id, code, text))


def refuse_legacy(
    peer: BusPeer, envelope: Envelope, kind: type[BusMessage] | None, peers: Peers
) -> list[Action]:
    """Reject requests that version 1 cannot send, unless another such peer may answer."""
    if kind is None or not kind.about.budget or len(peers.legacy()) > 1:
        return []
    reason = f"{envelope.type} requires protocol version 2; use a newer MCP server"
    line = refusal(envelope.id, error_codes.FORBIDDEN, reason)
    return [Deliver((peer.id,), version_one_response(line))]


def refuse_answer(
    peer: BusPeer, envelope: Envelope, request: OpenRequest | None
) -> Sequence[Action]:
    """Reject a response to a request of another peer, or to one that is not open."""
    if peer.role in ASSIGNED_ROLES or (request is None and envelope.type != "response"):
        # Version 1 has no such error, and late progress is harmless.
        return []
    if request is None:
        reason = f"request {envelope.id} is not open; it timed out, was canceled, or never existed"
        return [refuse(peer, NO_ID, error_codes.NOT_ASKED, reason)]
    reason = f"request {request.id} was sent to another peer; ignored the {envelope.type}"
    rejection = refuse(peer, NO_ID, error_codes.FORBIDDEN, reason)
    if peer.has_forged:
        # Warn once, so that a broken peer cannot fill the log.
        return [rejection]
    peer.has_forged = True
    who = f"{peer.name} ({peer.id}, {peer.role.value})"
    return [rejection, Warn(f"{who} sent a {envelope.type} to a {request.type} of another peer")]


def refuse_overlong(
    peer: BusPeer | None, line: bytes | OversizedLine | Envelope
) -> Sequence[Action]:
    """Reject a line above the limit; peers of version 1 get no answer."""
    if peer is None or peer.is_legacy or not isinstance(line, OversizedLine):
        return ()
    text = f"a line may have at most {line.limit} bytes; dropped a longer one"
    return [refuse(peer, early_id(line.head), error_codes.TOO_LONG, text)]


def refuse_type(
    peer: BusPeer, envelope: Envelope, known: Mapping[str, type[BusMessage]]
) -> Sequence[Action]:
    """Reject a message type that is unknown, or that the peer's role may not send."""
    type_, role = envelope.type, peer.role.value
    if type_ in known:
        reason = f"a peer of role {role} may not send {type_}"
        # A rejected response must not look like an answer to the request of that id.
        request_id = NO_ID if type_ == "response" else envelope.id
        return [refuse(peer, request_id, error_codes.FORBIDDEN, reason)]
    near = near_names(type_, known)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    reason = f"unknown message type {type_!r}{meant}"
    return [refuse(peer, envelope.id, error_codes.UNKNOWN_TYPE, reason)]
