"""Measured variants: command lines and their loads."""

import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Final

from bench.peers.install import Peers

HERE: Final = Path(__file__).parent
AGENT: Final = [sys.executable, "-I", "-S", str(HERE / "load_agent.py")]
HOST: Final = [str(Path(sys.executable).with_name("symposium")), "run-with"]

LENGTHS: Final = (1, 3, 5, 10)
"""Mods in a chain."""

SHARE: Final = 0.5
"""Part of the stream for chains of processes, of Symposium and of the SDKs."""

FAST: Final = 3
"""The same for variants with 500,000 updates a second, which would end after 40 ms."""


class Load(Enum):
    """Loads, in the order of a repetition."""

    STREAM = auto()
    PACED = auto()
    ROUND_TRIP = auto()
    LONG_LINE = auto()
    SLOW = auto()


SESSION: Final = frozenset({Load.STREAM, Load.PACED, Load.ROUND_TRIP, Load.LONG_LINE})


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table.

    Attributes:
        name: name in the table.
        command: command line.
        loads: loads to run; the start is always timed.
        is_ours: whether a lost message is a fault.
        share: part of the stream's messages, for chains that would take minutes.
        speaks: whether it answers `initialize`; otherwise the program is timed until its exit.
    """

    name: str
    command: Sequence[str]
    loads: frozenset[Load] = SESSION
    is_ours: bool = True
    share: float = 1.0
    speaks: bool = True


@dataclass(frozen=True, slots=True)
class Absent:
    """A row that cannot be measured here, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Field:
    """Available and unavailable variants."""

    variants: list[Variant] = field(default_factory=list[Variant])
    absent: list[Absent] = field(default_factory=list[Absent])


def standard(peers: Peers) -> Field:
    """Every row, in the table's order."""
    found = Field()
    found.variants.extend(
        (_theirs("direct", AGENT), _theirs("cat", _shell(f"cat | {_agent()} | cat")))
    )
    for name, proxy, reason in (
        ("python sdk", peers.python, peers.python_missing),
        ("typescript sdk", peers.typescript, peers.typescript_missing),
    ):
        for length in (1, 3):
            row = name if length == 1 else f"{name} x{length}"
            if proxy is None:
                found.absent.append(Absent(row, reason))
            else:
                found.variants.append(_sdk(row, proxy, length))
    found.variants.extend(in_process(mod, length) for mod in ("pass", "tag") for length in LENGTHS)
    found.variants.extend(out_of_process(length) for length in LENGTHS)
    found.variants.append(run_mode(LENGTHS[1]))
    eliza = [*HOST, "--agent", "eliza"]
    found.variants.append(Variant("eliza", eliza, loads=frozenset()))
    found.variants.append(Variant("eliza in run mode", configured("eliza"), loads=frozenset()))
    bare = [sys.executable, "-c", "pass"]
    found.variants.append(Variant("bare python", bare, frozenset(), is_ours=False, speaks=False))
    return found


def in_process(mod: str, length: int) -> Variant:
    """Symposium with `length` built-in mods of a kind."""
    loads = SESSION | {Load.SLOW} if (mod, length) == ("pass", 3) else SESSION
    return Variant(f"{mod} x{length}", _host([mod] * length), loads, share=FAST)


def out_of_process(length: int) -> Variant:
    """Symposium with `length` mods, each a separate process of Symposium as a proxy."""
    proxy = shlex.join([*HOST, "--proxy", "pass"])
    loads = SESSION | {Load.SLOW} if length == LENGTHS[1] else SESSION
    return Variant(f"process x{length}", _host([proxy] * length), loads, share=SHARE)


def run_mode(length: int) -> Variant:
    """The same chain as `pass` of that length, from a config file."""
    return Variant(f"run x{length}", configured(_agent(), ["pass"] * length), share=FAST)


def configured(agent: str, mods: Sequence[str] = ()) -> list[str]:
    """The command of run mode with such a config file."""
    text = json.dumps({"agent": agent, "proxies": [{"name": each} for each in mods]})
    config = Path(tempfile.mkdtemp(prefix="bench-")) / "config.jsonc"
    config.write_text(text, encoding="utf-8")
    return [HOST[0], "run", "--no-registry", "--config", str(config)]


def _host(mods: Sequence[str]) -> list[str]:
    proxies = [word for mod in mods for word in ("--proxy", mod)]
    return [*HOST, *proxies, "--agent", _agent()]


def _sdk(name: str, proxy: Sequence[str], length: int) -> Variant:
    loads = SESSION | {Load.SLOW} if length == 1 else SESSION
    command = [*(word for _ in range(length) for word in proxy), *AGENT]
    return Variant(name, command, loads, is_ours=False, share=1 if length == 1 else SHARE)


def _theirs(name: str, command: Sequence[str]) -> Variant:
    return Variant(name, command, is_ours=False, share=FAST)


def _shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def _agent() -> str:
    return shlex.join(AGENT)
