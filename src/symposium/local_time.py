"""Moments as people are shown them: on the clock where they sit. What is kept is UTC."""

from datetime import UTC, datetime

from symposium.plain_text import one_line

_WIDTH = 32


def minute_of(moment: str | float) -> str:
    """Day, hour and minute.

    Args:
        moment: ISO 8601, in UTC where it names no zone, or seconds since 1970. What is no moment
            is shown as it stands.
    """
    return _shown(moment, "%Y-%m-%d %H:%M")


def second_of(moment: str | float) -> str:
    """Day, hour, minute and second of a moment as `minute_of` takes it."""
    return _shown(moment, "%Y-%m-%d %H:%M:%S")


def day_of(moment: str | float) -> str:
    """The day of a moment as `minute_of` takes it."""
    return _shown(moment, "%Y-%m-%d")


def clock_of(moment: str | float) -> str:
    """The time of day, to the microsecond, of a moment as `minute_of` takes it."""
    return _shown(moment, "%H:%M:%S.%f")


def iso_of(seconds: float) -> str:
    """Seconds since 1970 as programs read them: ISO 8601 in UTC, and it says so."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _shown(moment: str | float, form: str) -> str:
    try:
        return _read(moment).astimezone().strftime(form)
    except (ValueError, OverflowError, OSError):
        # A file of an earlier version, or of another program: no reason to show nothing.
        return one_line(str(moment), width=_WIDTH)


def _read(moment: str | float) -> datetime:
    if not isinstance(moment, str):
        return datetime.fromtimestamp(moment, UTC)
    found = datetime.fromisoformat(moment)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
