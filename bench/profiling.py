"""Profiles for missed targets: the host of that variant under that load, in a separate run."""

import pstats
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from bench.editor import Editor
from bench.modes.round_trip import long_lines, round_trips
from bench.modes.slow import SHORT, slow_client
from bench.modes.stream import flat_out, paced
from bench.targets import Target
from bench.variants import Variant

LEAVE: Final = 10.0
"""Seconds until a profiled host must have written its profile."""

LINES: Final = 40
"""Number of functions in a profile."""


def profile(target: Target, variant: Variant, folder: Path) -> Path:
    """Write a profile of the host's time, or of its imports if its start missed the target.

    Raises:
        ChainEndedError: the host exited.
        OSError: the profile could not be written, or the host was stuck.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{variant.name}-{target.figure}".replace(" ", "-")
    if target.figure == "start":
        return _imports(variant.command, folder / f"{stem}.imports.txt")
    raw = folder / f"{stem}.pstats"
    editor = Editor(profiled(variant.command, raw))
    try:
        editor.open_session()
        bear(editor, target.figure)
    finally:
        editor.close(LEAVE)
    return _listing(raw, folder / f"{stem}.profile.txt")


def profiled(command: Sequence[str], raw: Path) -> list[str]:
    """The command of the same host under the profiler of the standard library."""
    return [sys.executable, "-m", "cProfile", "-o", str(raw), "-m", "symposium", *command[1:]]


def bear(editor: Editor, figure: str) -> None:
    """Run the load of a figure."""
    match figure:
        case "rate" | "memory":
            flat_out(editor, 20_000)
        case "paced_p50":
            paced(editor, 1_000)
        case "round_trip":
            round_trips(editor, 1_000)
        case "line":
            long_lines(editor, 5)
        case _:
            slow_client(editor, SHORT)


def _listing(raw: Path, listing: Path) -> Path:
    text = StringIO()
    pstats.Stats(str(raw), stream=text).sort_stats("tottime").print_stats(LINES)
    listing.write_text(text.getvalue(), encoding="utf-8")
    raw.unlink()
    return listing


def _imports(command: Sequence[str], listing: Path) -> Path:
    timed = [sys.executable, "-X", "importtime", "-m", "symposium", *command[1:]]
    with listing.open("wb") as file:
        editor = Editor(timed, stderr=file)
        editor.close(LEAVE)
    return listing
