"""Choice of the peer that handles a request. No I/O.

It does not know open requests or the history; `routing` chooses among windows.
"""

from msgspec import UNSET

from symposium.bus.envelope import Envelope
from symposium.bus.peers import BusPeer, Peers
from symposium.bus.protocol import MessageSpec, MessageTarget, Role
from symposium.bus.routing import MessageOrigin, is_same_taskspace, window_for


def assign(
    about: MessageSpec, envelope: Envelope, asker: BusPeer, peers: Peers, now: float
) -> BusPeer | None:
    """The peer of version 2 that handles a request; None if no peer handles it.

    It is the addressed peer if it handles the type. Otherwise a window request goes to the window
    chosen by `routing`, else to the daemon; a request for an MCP server goes to the one in the
    sender's taskspace; any other goes to the daemon, else to the first connected handler.
    """
    able = [each for each in peers.handlers(about.type) if each is not asker]
    if envelope.to is not UNSET:
        able = [each for each in able if each.is_meant(envelope.to)]
    if len(able) <= 1 and envelope.to is not UNSET:
        return able[0] if able else None
    daemon = next((each for each in able if each.role is Role.DAEMON), None)
    match about.target:
        case MessageTarget.WINDOW:
            return _window(envelope, able, peers, now) or daemon
        case MessageTarget.MCP_SERVER:
            here = [each for each in able if is_same_taskspace(each.taskspace, asker.taskspace)]
            return (here or able or [None])[-1]
        case _:
            return daemon or next(iter(able), None)


def _window(envelope: Envelope, able: list[BusPeer], peers: Peers, now: float) -> BusPeer | None:
    sender = envelope.sender
    directory = peers.directory(sender.working_directory)
    place = MessageOrigin(directory, sender.taskspace_uuid, sender.shell_pid)
    found = window_for(place, peers.windows(able, now))
    return None if found is None else peers.get(found.connection)
