"""Puts one member into a text of JSON with comments, and takes it out again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from localio.jsonc import JsoncError, parse
from localio.jsonc_edit import is_same, rewrite
from symposium.editors.receipt import Receipt, SettingsError, digest


def put_member(
    file: Path, text: str | None, keys: Sequence[str], value: Any
) -> tuple[str, Receipt]:
    """The text with the member in it, and what is needed to take it out again.

    Raises:
        SettingsError: the text is not JSON with comments, or something else stands on the way.
    """
    base = "{}\n" if text is None or not text.strip("\ufeff \t\r\n") else text
    root = _read_object(file, base)
    holder, made = _walk(file, root, keys[:-1])
    previous = (holder[keys[-1]],) if keys[-1] in holder else ()
    holder[keys[-1]] = value
    after = rewrite(base, root)
    return after, Receipt(str(file), digest(after), text, value, previous, made)


def take_member(text: str, keys: Sequence[str], receipt: Receipt) -> str | None:
    """The text without what the receipt says was put in; None if the file goes too.

    Raises:
        SettingsError: somebody has changed it since.
    """
    if digest(text) == receipt.wrote:
        return receipt.original
    root = _read_object(Path(receipt.file), text)
    holders = [root]
    for key in keys[:-1]:
        inner = holders[-1].get(key)
        if not isinstance(inner, dict):
            return text
        holders.append(cast("dict[str, Any]", inner))
    if keys[-1] not in holders[-1]:
        return text
    if not is_same(holders[-1][keys[-1]], receipt.value):
        raise SettingsError(
            f"{receipt.file}: `{'.'.join(keys)}` is not what was written there",
            "somebody has changed it since; take it out by hand if it is not wanted",
        )
    del holders[-1][keys[-1]]
    if receipt.previous:
        holders[-1][keys[-1]] = receipt.previous[0]
    _drop_empty(holders, keys, receipt.made)
    after = rewrite(text, root)
    return None if receipt.original is None and after.split() in (["{}"], ["{", "}"]) else after


def _drop_empty(holders: Sequence[dict[str, Any]], keys: Sequence[str], made: int) -> None:
    for index in range(len(holders) - 1, len(holders) - 1 - made, -1):
        if not holders[index]:
            del holders[index - 1][keys[index - 1]]


def _walk(file: Path, root: dict[str, Any], keys: Sequence[str]) -> tuple[dict[str, Any], int]:
    holder, made = root, 0
    for key in keys:
        made += key not in holder
        inner = holder.setdefault(key, {})
        if not isinstance(inner, dict):
            raise SettingsError(f"{file}: `{key}` is no object", "mend it, then try again")
        holder = cast("dict[str, Any]", inner)
    return holder, made


def _read_object(file: Path, text: str) -> dict[str, Any]:
    try:
        value = parse(text).value
    except JsoncError as error:
        raise SettingsError(
            f"{file}:{error.line}:{error.column}: {error.reason}",
            "what cannot be read is not touched; mend it, then try again",
        ) from error
    if not isinstance(value, Mapping):
        raise SettingsError(f"{file}: the settings are no object", "mend them, then try again")
    return dict(cast("Mapping[str, Any]", value))
