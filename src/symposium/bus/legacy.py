"""Peers of version 1 among themselves: what the reference's repeater does (bus §1.3, §1.5)."""

import json
from typing import Final

from symposium.bus.actions import Action, Deliver
from symposium.bus.history import History
from symposium.bus.peers import Peer, Peers

IDENTIFY: Final = b"#identify:"
DUMP: Final = b"#debug_dump_messages"


class LegacyPeers:
    """Relays what one of them writes to all of them, and obeys their control lines."""

    def __init__(self, peers: Peers, history: History) -> None:
        self._peers = peers
        self._history = history

    def relay(self, text: bytes) -> list[Action]:
        """The line as it is, to every peer of version 1, its sender too."""
        return [Deliver(self._peers.legacy(), text)]

    def control(self, peer: Peer, text: bytes) -> list[Action]:
        """Obey a control line; what we do not know is ignored (bus §1.3)."""
        if text.startswith(IDENTIFY):
            peer.name = text.removeprefix(IDENTIFY).decode(errors="replace")
        elif text == DUMP:
            return [Deliver((peer.id,), self._dump())]
        return []

    def _dump(self) -> bytes:
        # Only what these peers were sent anyway: what is addressed on version 2 is not theirs.
        ours = [each for each in self._history if each.is_legacy]
        shown = [(each, self._history.logged(each)) for each in ours]
        entries = [
            {
                "timestamp": int(passed.at * 1000),
                "from_identifier": logged.name,
                "content": logged.line,
            }
            for passed, logged in shown
        ]
        return json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
