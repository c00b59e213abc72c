"""Which session a message belongs to, read from its params without reading the rest."""

from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from peerwire.jsonrpc.values import encode_value
from symposium.conductor.component import Crossing
from symposium.conductor.lanes import Key


class _Scope(Struct, frozen=True, gc=False, rename={"session": "sessionId"}):
    session: Raw | UnsetType = UNSET


_decode_scope: Final = msgspec.json.Decoder(_Scope).decode


def session_key(crossing: Crossing) -> Key:
    """The session that a message belongs to, as the lanes know it; None where it names none."""
    if crossing.body is UNSET:
        session = crossing.session_id
        return None if session is None else encode_value(session)
    try:
        found = _decode_scope(crossing.body).session
    except (ValueError, RecursionError):
        return None
    return None if found is UNSET else bytes(found)
