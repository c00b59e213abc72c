"""`stop_daemon`: end the daemon."""

from typing import ClassVar

from symposium.bus.roles import Role
from symposium.bus.vocabulary import About, Done, Request, Target


class StopDaemon(Request[Done], frozen=True, kw_only=True):
    """End the daemon, as SIGTERM does; the reply comes before the end."""

    about: ClassVar = About(
        "stop_daemon",
        sent_by=frozenset({Role.APP, Role.CLI}),
        target=Target.ENGINE,
        budget=5.0,
        version=2,
        source="issue part 3 §1",
    )
