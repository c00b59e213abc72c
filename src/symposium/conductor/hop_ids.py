"""The members of messages that name an id of one hop, and must be rewritten on the next.

Cancellations (acp-host §1.8, §7.3 T6) and what refers to a request being served (T7).
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.messages import id_key
from peerwire.jsonrpc.values import Body, decode_value
from symposium.conductor.component import Crossing
from symposium.conductor.link import Waiter

_log = logging.getLogger(__name__)

CANCEL_REQUEST: Final = "$/cancel_request"

NAMES_HOP_IDS: Final = frozenset({"elicitation/create"})
"""Requests whose `requestId` is, on the sender's hop, the id of a request that it is serving."""


class _Named(Struct, frozen=True, gc=False, rename={"request_id": "requestId"}):
    request_id: Raw | UnsetType = UNSET


_decode_named = msgspec.json.Decoder(_Named).decode


def cancelled_id(params: Body | UnsetType) -> bytes:
    """The key of the request that a cancellation names; one never in use where it names none."""
    named = None if params is UNSET else _request_id(params)
    return b"" if named is None else id_key(named)


def cancel_params(request_id: bytes) -> bytes:
    """The params of a cancellation on the hop where the request has this id."""
    return b'{"requestId":%b}' % request_id


def translate_ids(crossing: Crossing, asked: Mapping[bytes, Waiter], sender: str) -> None:
    """Rewrite the id that a request names to the id it has on the next hop.

    An id that names no open request stays as it is.
    """
    named = None if crossing.body is UNSET else _request_id(crossing.body)
    if named is None:
        return
    waiter = asked.get(id_key(named))
    if waiter is None or not waiter.request_id:
        shown = bytes(named)[:64].decode(errors="replace")
        _log.warning("%s named request %s, which is not open", sender, shown)
        return
    params: dict[str, Any] = crossing.params
    params["requestId"] = decode_value(waiter.request_id)
    crossing.replace(method=None, params=params)


def _request_id(params: Body) -> Raw | None:
    try:
        found = _decode_named(params).request_id
    except (ValueError, RecursionError):
        return None
    return None if found is UNSET else found
