"""The measurements of one chain's mods, by their places."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from symposium.conductor.blueprint import Component, InProcess
from symposium.conductor.latency import Durations, Latency, Passing


class Measures(Struct, frozen=True):
    """What is measured of each mod that a person has put into the chain.

    Attributes:
        names: the mods, from the client's side, each with its measurements.
        in_process: those of mods in this process, by the identity of the mod.
    """

    names: Sequence[tuple[str, Durations | Passing]]
    in_process: Mapping[int, Durations]

    @classmethod
    def of(cls, mods: Sequence[Component]) -> "Measures":
        """For a chain of these mods."""
        names: list[tuple[str, Durations | Passing]] = []
        in_process: dict[int, Durations] = {}
        for mod in mods:
            if not isinstance(mod, InProcess):
                names.append((mod.name, Passing()))
            elif not mod.is_hidden:
                in_process[id(mod.mod)] = durations = Durations()
                names.append((mod.name, durations))
        return cls(names, in_process)

    def programs(self) -> Sequence[Passing]:
        """Those of the mods that are programs, in their order."""
        return [measure for _, measure in self.names if isinstance(measure, Passing)]

    def latencies(self) -> Sequence[tuple[str, Latency | None]]:
        """What each adds."""
        return [
            (name, (each.durations if isinstance(each, Passing) else each).latency())
            for name, each in self.names
        ]
