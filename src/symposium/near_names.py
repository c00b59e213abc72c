"""Names that are written almost like the one somebody wrote."""

from collections.abc import Iterable


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """The most alike first, at most three; letter case does not count."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    by_fold = {each.casefold(): each for each in known}
    return [by_fold[fold] for fold in get_close_matches(name.casefold(), by_fold, n=3)]
