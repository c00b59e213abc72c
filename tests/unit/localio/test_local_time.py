"""Local display of points in time."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from localio.text import clock_of, day_of, iso_of, minute_of, second_of
from symposium import cli
from symposium.tasks import handlers as tasks

SECONDS = 1795311905.5
"""2026-11-22 01:45:05 UTC."""


@pytest.fixture(autouse=True)
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.requirement("showing.local-time")
@pytest.mark.parametrize(
    "moment",
    [
        SECONDS,
        "2026-11-22T01:45:05.500+00:00",
        "2026-11-22T01:45:05Z",
        "2026-11-22T02:45:05+01:00",
        "2026-11-22T01:45:05",
    ],
)
def test_time_is_shown_in_the_local_zone(moment: str | float) -> None:
    assert second_of(moment) == "2026-11-21 20:45:05"
    assert minute_of(moment) == "2026-11-21 20:45"
    assert day_of(moment) == "2026-11-21"
    assert clock_of(moment).startswith("20:45:05.")


@pytest.mark.requirement("showing.local-time")
def test_output_for_programs_includes_the_zone() -> None:
    assert iso_of(SECONDS) == "2026-11-22T01:45:05.500+00:00"


@pytest.mark.requirement("showing.local-time")
@pytest.mark.parametrize("moment", ["", "yesterday\x1b", 1e300, float("nan"), "2026-99-01"])
def test_invalid_time_is_shown_unchanged(moment: str | float) -> None:
    assert minute_of(moment) == str(moment).replace("\x1b", "␛")


@pytest.mark.requirement("showing.local-time")
@pytest.mark.parametrize("package", [cli, tasks])
def test_modules_with_user_output_do_not_format_time_themselves(package: ModuleType) -> None:
    # Output for programs is UTC and marked as such.
    shown = (
        r"localtime",
        r"strftime\(\"%H",
        r"astimezone",
        r"_?(?:at|ts|started)\[:1",
        r"\{[\w.]+_at\}",
    )
    own = re.compile("|".join(shown))
    files = Path(str(package.__file__)).parent.rglob("*.py")

    assert [file.name for file in files if own.search(file.read_text())] == []
