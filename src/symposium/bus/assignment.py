"""Who is to answer a request: one peer, never several (bus §7, rows 2, 13 and 15)."""

from msgspec import UNSET

from symposium.bus.envelope import Envelope
from symposium.bus.peers import Peer, Peers
from symposium.bus.roles import Role
from symposium.bus.routing import Place, is_same_taskspace, window_for
from symposium.bus.vocabulary import About, Target


def assign(about: About, envelope: Envelope, asker: Peer, peers: Peers, now: float) -> Peer | None:
    """The peer of version 2 that is to answer; None if nobody can.

    Whoever the envelope names, if it answers the type. Else, for a window, the one that the rules
    of `routing` find, and the daemon where there is none; for an MCP server, the one that stands in
    the asker's taskspace; for anything else the daemon, or whoever came first.
    """
    able = [each for each in peers.handlers(about.type) if each is not asker]
    if envelope.to is not UNSET:
        able = [each for each in able if each.is_meant(envelope.to)]
    if len(able) <= 1 and envelope.to is not UNSET:
        return able[0] if able else None
    daemon = next((each for each in able if each.role is Role.DAEMON), None)
    match about.target:
        case Target.WINDOW:
            return _window(envelope, able, peers, now) or daemon
        case Target.MCP_SERVER:
            here = [each for each in able if is_same_taskspace(each.taskspace, asker.taskspace)]
            return (here or able or [None])[-1]
        case _:
            return daemon or next(iter(able), None)


def _window(envelope: Envelope, able: list[Peer], peers: Peers, now: float) -> Peer | None:
    sender = envelope.sender
    directory = peers.directory(sender.working_directory)
    place = Place(directory, sender.taskspace_uuid, sender.shell_pid)
    found = window_for(place, peers.windows(able, now))
    return None if found is None else peers.get(found.connection)
