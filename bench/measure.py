"""Interleaved measurements: all variants once, then again; each load of all close in time."""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.editor import ChainEndedError, Editor
from bench.modes.round_trip import long_lines, round_trips
from bench.modes.slow import SHORT, Pace, slow_client
from bench.modes.stream import flat_out, paced
from bench.variants import Load, Variant


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths of the loads.

    Attributes:
        stream: updates at full speed.
        paced: updates at 1,000 a second.
        round_trips: sequential requests.
        long_lines: lines of 5 MB.
        slow: speed of the slow client.
    """

    stream: int = 20_000
    paced: int = 300
    round_trips: int = 200
    long_lines: int = 3
    slow: Pace = SHORT


QUICK: Final = Sizes(stream=10_000, paced=200, round_trips=100, long_lines=2)


def orders(variants: Sequence[Variant], repetitions: int) -> Iterator[list[Variant]]:
    """The order of each repetition; every other one reversed, so that no place stays warm."""
    for number in range(repetitions):
        yield list(variants)[:: -1 if number % 2 else 1]


class Measurement:
    """One run over all variants.

    Attributes:
        results: variant to its figures in each repetition; empty if it failed.
        problems: errors, one line each.
    """

    def __init__(
        self, variants: Sequence[Variant], sizes: Sizes, say: Callable[[str], None]
    ) -> None:
        self.results: dict[str, list[dict[str, float]]] = {row.name: [] for row in variants}
        self.problems: list[str] = []
        self._variants = variants
        self._sizes = sizes
        self._say = say
        self._open: dict[str, Editor] = {}

    def run(self, repetitions: int) -> None:
        """Run the repetitions; the slow client runs once, because speed does not matter there."""
        for number, order in enumerate(orders(self._variants, repetitions), 1):
            self._say(f"repetition {number} of {repetitions}")
            for variant in self._variants:
                self.results[variant.name].append({})
            self._repeat(order)
        for variant in self._variants:
            if Load.SLOW in variant.loads:
                self._say(f"slow client of {variant.name}")
                self._attempt(variant, self._start)
                self._attempt(variant, self._slow)
                self._close(variant)

    def _repeat(self, order: Sequence[Variant]) -> None:
        try:
            for variant in order:
                self._attempt(variant, self._start)
            # Start all before the first load, so that each load of all is close in time.
            for load in (self._stream, self._paced, self._round_trips, self._long_lines):
                for variant in order:
                    if variant.name in self._open:
                        self._attempt(variant, load)
        finally:
            for variant in order:
                self._close(variant)

    def _attempt(self, variant: Variant, load: Callable[[Variant], dict[str, float]]) -> None:
        try:
            self.results[variant.name][-1].update(load(variant))
        except (ChainEndedError, OSError, subprocess.SubprocessError) as error:
            self.problems.append(f"{variant.name}: {error}")
            self._close(variant)

    def _close(self, variant: Variant) -> None:
        if editor := self._open.pop(variant.name, None):
            editor.close()

    def _start(self, variant: Variant) -> dict[str, float]:
        if not variant.speaks:
            begun = time.monotonic()
            subprocess.run(variant.command, check=True)
            return {"start": (time.monotonic() - begun) * 1e3}
        editor = Editor(variant.command)
        if variant.loads:
            self._open[variant.name] = editor
            editor.open_session()
        else:
            editor.close()
        return {"start": editor.start_seconds * 1e3}

    def _stream(self, variant: Variant) -> dict[str, float]:
        count = int(self._sizes.stream * variant.share)
        return flat_out(self._open[variant.name], count)

    def _paced(self, variant: Variant) -> dict[str, float]:
        return paced(self._open[variant.name], self._sizes.paced)

    def _round_trips(self, variant: Variant) -> dict[str, float]:
        return round_trips(self._open[variant.name], self._sizes.round_trips)

    def _long_lines(self, variant: Variant) -> dict[str, float]:
        return long_lines(self._open[variant.name], self._sizes.long_lines)

    def _slow(self, variant: Variant) -> dict[str, float]:
        if variant.name not in self._open:
            return {}
        return slow_client(self._open[variant.name], self._sizes.slow)
