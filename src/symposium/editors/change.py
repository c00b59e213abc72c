"""A change to an editor's settings: made up first, shown, and only then carried out."""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from localio.files import check_writable, read_text, write_whole
from symposium.editors import block_change, json_change
from symposium.editors.editor import CommandLine, JsonSetting, OwnFile, Setting, Surroundings
from symposium.editors.launch import Launch
from symposium.editors.receipt import Receipt, Receipts, SettingsError


@dataclass(frozen=True, slots=True)
class Change:
    """What one file says, and what it shall say.

    Attributes:
        file: its path.
        before: its text; None if there is none.
        after: its text afterwards; None if it is to go.
        receipt: what undoes the change; None if this undoes one.
    """

    file: Path
    before: str | None
    after: str | None
    receipt: Receipt | None

    def diff(self) -> str:
        """The change as lines for people; empty if there is none."""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.file) if self.before is not None else "/dev/null",
            str(self.file) if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_write(
    setting: JsonSetting | OwnFile, launch: Launch, where: Surroundings, old: Receipt | None
) -> Change:
    """The change that makes the editor know us; what an older one of ours did is replaced.

    Raises:
        SettingsError: the file cannot be read, so that it is not touched.
    """
    file = setting.file(where)
    before = _read_text(file)
    base = before
    if old is not None and before is not None and old.file == str(file):
        base = _taken(setting, before, old)
    match setting:
        case JsonSetting():
            after, receipt = json_change.put_member(file, base, setting.keys, setting.value(launch))
        case OwnFile():
            after, receipt = block_change.put_block(
                file, base, setting.comment, setting.text(launch)
            )
    return Change(file, before, after, receipt)


def plan_undo(setting: Setting, receipt: Receipt) -> Change:
    """The change that takes back what the receipt says, and leaves everything else.

    Raises:
        SettingsError: the file cannot be read, or what we wrote has been changed since.
    """
    file = Path(receipt.file)
    before = _read_text(file)
    after = None if before is None else _taken(setting, before, receipt)
    return Change(file, before, after, None)


def carry_out(change: Change, editor: str, receipts: Receipts) -> None:
    """Do it; the receipt is kept before the file is touched.

    Raises:
        SettingsError: the file has been changed since it was read, or cannot be written.
    """
    if _read_text(change.file) != change.before:
        raise SettingsError(f"{change.file} has been changed meanwhile", "try again")
    try:
        check_writable(change.file)
        if change.receipt is not None:
            receipts.write(editor, change.receipt)
        if change.after is not None:
            if change.after != change.before:
                write_whole(change.file, change.after)
        elif change.before is not None:
            change.file.unlink()
        if change.receipt is None:
            receipts.remove(editor)
    except OSError as error:
        raise SettingsError(
            f"{change.file}: it cannot be written: {error.strerror}",
            "mend its permissions, or those of its directory",
        ) from error


def _taken(setting: Setting, text: str, receipt: Receipt) -> str | None:
    match setting:
        case JsonSetting():
            return json_change.take_member(text, setting.keys, receipt)
        case OwnFile():
            return block_change.take_block(text, setting.comment, receipt)
        case CommandLine():
            return text


def _read_text(file: Path) -> str | None:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file}: it cannot be read: {error}", "what cannot be read is not touched"
        ) from error
