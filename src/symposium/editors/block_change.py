"""Puts a marked block into a text, and takes it out again."""

from pathlib import Path

from symposium.editors.receipt import Receipt, SettingsError, digest

_OPENS = ">>> symposium >>>"
_CLOSES = "<<< symposium <<<"


def put_block(file: Path, text: str | None, comment: str, body: str) -> tuple[str, Receipt]:
    """The text with the block in it, in place of an older one, and what undoes it.

    Raises:
        SettingsError: a mark stands alone.
    """
    block = f"{comment} {_OPENS}\n{body}{comment} {_CLOSES}\n"
    before, found, after = _split(file, text or "", comment)
    if not found and before and not before.endswith("\n"):
        before += "\n"
    whole = before + block + after
    previous = (found,) if found else ()
    return whole, Receipt(str(file), digest(whole), text, block, previous)


def take_block(text: str, comment: str, receipt: Receipt) -> str | None:
    """The text without the block; None if the file goes too.

    Raises:
        SettingsError: somebody has changed the block since.
    """
    if digest(text) == receipt.wrote:
        return receipt.original
    before, found, after = _split(Path(receipt.file), text, comment)
    if not found:
        return text
    if found != receipt.value:
        raise SettingsError(
            f"{receipt.file}: the block between the marks is not what was written there",
            "somebody has changed it since; take it out by hand if it is not wanted",
        )
    rest = before + "".join(receipt.previous) + after
    return None if receipt.original is None and not rest.strip() else rest


def _split(file: Path, text: str, comment: str) -> tuple[str, str, str]:
    opening, closing = f"{comment} {_OPENS}\n", f"{comment} {_CLOSES}\n"
    if text.count(opening) != text.count(closing) or text.count(opening) > 1:
        raise SettingsError(
            f"{file}: a mark of Symposium stands alone, or more than once", "take it out by hand"
        )
    before, opened, rest = text.partition(opening)
    if not opened:
        return text, "", ""
    body, closed, after = rest.partition(closing)
    if not closed:
        raise SettingsError(f"{file}: the marks of Symposium are turned round", "mend them")
    return before, opening + body + closing, after
