"""Which events a person wants to see."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from symposium.trace_view.events import Event


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of events; what is empty chooses nothing away.

    Attributes:
        sessions: ids, or the beginnings of ids.
        methods: patterns as in a shell: `session/*`; an answer has the method it answers.
        protocol: `acp` or `mcp`.
    """

    sessions: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    protocol: str = ""

    def has(self, event: Event) -> bool:
        """Whether the event is among those chosen."""
        return (
            (not self.sessions or event.session.startswith(self.sessions))
            and (not self.methods or any(fnmatchcase(event.method, m) for m in self.methods))
            and (not self.protocol or event.protocol == self.protocol)
        )
