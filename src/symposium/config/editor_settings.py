"""Edits of editor settings: plan, apply, undo, and receipts."""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec

from localio.files import check_writable, read_text, write_whole
from localio.jsonc import JsoncError, json_text, parse
from localio.jsonc_edit import is_same, rewrite
from symposium.errors import SymposiumError

SYMPOSIUM_VARIABLES: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG")
"""Variables that locate the files of Symposium; the editor must pass them on if set."""


@dataclass(frozen=True, slots=True)
class EditorLaunch:
    """A command line for a settings file.

    Attributes:
        command: the program, an absolute path.
        args: its arguments.
        env: variables to set.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return self.command, *self.args


def find_launch(
    python: str = sys.executable, environment: Mapping[str, str] | None = None
) -> EditorLaunch:
    """Command line that starts this installation, independent of user and directory.

    Args:
        python: this process's interpreter.
        environment: default: this process's.
    """
    env = os.environ if environment is None else environment
    set_names = [name for name in SYMPOSIUM_VARIABLES if env.get(name)]
    kept = {name: os.path.abspath(os.path.expanduser(env[name])) for name in set_names}  # noqa: PTH100, PTH111 - a text for a file, the path is not opened
    beside = Path(python).absolute().with_name("symposium")
    found = shutil.which("symposium", path=env.get("PATH"))
    if beside.exists():
        # The name on the PATH survives an upgrade; use it only if it is the same program.
        is_same = found is not None and Path(found).resolve() == beside.resolve()
        return EditorLaunch(
            str(Path(found).absolute() if found and is_same else beside), ("run",), kept
        )
    return EditorLaunch(str(Path(python).absolute()), ("-P", "-m", "symposium", "run"), kept)


@dataclass(frozen=True, slots=True)
class EditorEnvironment:
    """Parameters that determine the location of settings.

    Attributes:
        user: the home directory.
        environment: variables.
        platform: value of `sys.platform`.
    """

    user: Path
    environment: Mapping[str, str]
    platform: str

    @property
    def config(self) -> Path:
        """Directory for settings of programs that follow XDG."""
        return Path(self.environment.get("XDG_CONFIG_HOME") or self.user / ".config")

    @property
    def application_support(self) -> Path:
        """Directory for settings of graphical programs, by platform."""
        if self.platform == "darwin":
            return self.user / "Library" / "Application Support"
        return self.roaming if self.platform == "win32" else self.config

    @property
    def roaming(self) -> Path:
        """Directory for settings on Windows."""
        return Path(self.environment.get("APPDATA") or self.user / "AppData" / "Roaming")


@dataclass(frozen=True, slots=True)
class JsonSetting:
    """A member of a settings file in JSON, with or without comments.

    Attributes:
        file: returns the path of the file.
        keys: path to the member.
        value: returns its value.
    """

    file: Callable[[EditorEnvironment], Path]
    keys: tuple[str, ...]
    value: Callable[[EditorLaunch], Any]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A separate file in the editor's directory, in the editor's language.

    Attributes:
        file: returns the path of the file.
        comment: prefix of a comment.
        text: returns the content.
    """

    file: Callable[[EditorEnvironment], Path]
    comment: str
    text: Callable[[EditorLaunch], str]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command to type, for an editor without settings for agents.

    Attributes:
        text: returns the command.
    """

    text: Callable[[EditorLaunch], str]


Setting: TypeAlias = JsonSetting | OwnFile | CommandLine


@dataclass(frozen=True, slots=True)
class Editor:
    """Editor that `symposium setup` can configure.

    Attributes:
        title: its display name.
        setting: adds Symposium to the editor.
        needs: prerequisite, as a sentence; may be empty.
        then: next step in the editor.
    """

    title: str
    setting: Setting
    needs: str
    then: str


def snippet(setting: Setting, launch: EditorLaunch) -> str:
    """Text for the user to paste or type."""
    match setting:
        case JsonSetting():
            value = setting.value(launch)
            for key in reversed(setting.keys):
                value = {key: value}
            return json_text(value, "  ") + "\n"
        case OwnFile() | CommandLine():
            return setting.text(launch)


class SettingsError(SymposiumError):
    """An editor's settings cannot be changed or restored."""


@dataclass(frozen=True, slots=True)
class EditorReceipt:
    """A change of one file.

    Attributes:
        file: absolute path of the file.
        wrote: hash of the text after the change.
        original: the text before the change; None if there was no file.
        value: the member or block that was written.
        previous: the previous value in a tuple; empty if there was no value.
        made: number of parent objects that were created for the member.
    """

    file: str
    wrote: str
    original: str | None
    value: Any
    previous: tuple[Any, ...] = ()
    made: int = 0


def digest(text: str) -> str:
    """Hash of a text, to recognize it later."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of one user, one file for each editor.

    Attributes:
        directory: contains the receipts; created when needed.
    """

    directory: Path

    def read(self, editor: str) -> EditorReceipt | None:
        """Read the receipt for an editor; None if its settings do not contain Symposium.

        Raises:
            SettingsError: the receipt cannot be read.
        """
        path = self._path(editor)
        try:
            text = read_text(path)
            return None if text is None else msgspec.json.decode(text, type=EditorReceipt)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise SettingsError(
                f"cannot read the receipt {path}: {error}",
                "remove Symposium from the editor's settings manually",
            ) from error

    def write(self, editor: str, receipt: EditorReceipt) -> None:
        """Save a receipt, and the text before the change in a backup file next to it."""
        if receipt.original is not None:
            write_whole(self.backup(editor, receipt), receipt.original)
        write_whole(
            self._path(editor), msgspec.json.format(msgspec.json.encode(receipt)).decode() + "\n"
        )

    def remove(self, editor: str) -> None:
        """Remove the receipt of a change that was undone."""
        self._path(editor).unlink(missing_ok=True)

    def backup(self, editor: str, receipt: EditorReceipt) -> Path:
        """Path of the backup of the text before the change."""
        return self.directory / f"{editor}.{Path(receipt.file).name}.bak"

    def _path(self, editor: str) -> Path:
        return self.directory / f"{editor}.json"


_OPENS = ">>> symposium >>>"
_CLOSES = "<<< symposium <<<"


def insert_block(
    file: Path, text: str | None, comment: str, body: str
) -> tuple[str, EditorReceipt]:
    """Insert the block, or replace an older one; return the text and the receipt.

    Raises:
        SettingsError: the markers do not match.
    """
    block = f"{comment} {_OPENS}\n{body}{comment} {_CLOSES}\n"
    before, found, after = _split(file, text or "", comment)
    if not found and before and not before.endswith("\n"):
        before += "\n"
    whole = before + block + after
    previous = (found,) if found else ()
    return whole, EditorReceipt(str(file), digest(whole), text, block, previous)


def remove_block(text: str, comment: str, receipt: EditorReceipt) -> str | None:
    """Remove the block; None if the file must be deleted.

    Raises:
        SettingsError: the block was changed since.
    """
    if digest(text) == receipt.wrote:
        return receipt.original
    before, found, after = _split(Path(receipt.file), text, comment)
    if not found:
        return text
    if found != receipt.value:
        raise SettingsError(
            f"{receipt.file}: the block between the markers was changed since it was written",
            "remove it manually if you do not need it",
        )
    rest = before + "".join(receipt.previous) + after
    return None if receipt.original is None and not rest.strip() else rest


def _split(file: Path, text: str, comment: str) -> tuple[str, str, str]:
    opening, closing = f"{comment} {_OPENS}\n", f"{comment} {_CLOSES}\n"
    if text.count(opening) != text.count(closing) or text.count(opening) > 1:
        raise SettingsError(
            f"{file}: unmatched or repeated markers of Symposium", "remove them manually"
        )
    before, opened, rest = text.partition(opening)
    if not opened:
        return text, "", ""
    body, closed, after = rest.partition(closing)
    if not closed:
        raise SettingsError(f"{file}: the markers of Symposium are reversed", "fix their order")
    return before, opening + body + closing, after


def set_member(
    file: Path, text: str | None, keys: Sequence[str], value: Any
) -> tuple[str, EditorReceipt]:
    """Set the member; return the text and the receipt.

    Raises:
        SettingsError: the text is not JSON with comments, or a parent is not an object.
    """
    base = "{}\n" if text is None or not text.strip("\ufeff \t\r\n") else text
    root = _read_object(file, base)
    holder, made = _walk(file, root, keys[:-1])
    previous = (holder[keys[-1]],) if keys[-1] in holder else ()
    holder[keys[-1]] = value
    after = rewrite(base, root)
    return after, EditorReceipt(str(file), digest(after), text, value, previous, made)


def remove_member(text: str, keys: Sequence[str], receipt: EditorReceipt) -> str | None:
    """Remove the member that the receipt describes; None if the file must be deleted.

    Raises:
        SettingsError: the member was changed since.
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
            f"{receipt.file}: `{'.'.join(keys)}` was changed since it was written",
            "remove it manually if you do not need it",
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
            raise SettingsError(f"{file}: `{key}` is not an object", "fix it, then try again")
        holder = cast("dict[str, Any]", inner)
    return holder, made


def _read_object(file: Path, text: str) -> dict[str, Any]:
    try:
        value = parse(text).value
    except JsoncError as error:
        raise SettingsError(
            f"{file}:{error.line}:{error.column}: {error.reason}",
            "nothing was changed; fix the file, then try again",
        ) from error
    if not isinstance(value, Mapping):
        raise SettingsError(f"{file}: the settings are not an object", "fix them, then try again")
    return dict(cast("Mapping[str, Any]", value))


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A planned change of one file.

    Attributes:
        file: its path.
        before: its text, or None if it does not exist.
        after: its text afterwards, or None to delete it.
        receipt: for undoing the change; None if the change is an undo.
    """

    file: Path
    before: str | None
    after: str | None
    receipt: EditorReceipt | None

    def diff(self) -> str:
        """Return a unified diff, or an empty text."""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.file) if self.before is not None else "/dev/null",
            str(self.file) if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_write(
    setting: JsonSetting | OwnFile,
    launch: EditorLaunch,
    where: EditorEnvironment,
    old: EditorReceipt | None,
) -> SettingsChange:
    """Plan to add Symposium to the editor, replacing an older change.

    Raises:
        SettingsError: the file cannot be read.
    """
    file = setting.file(where)
    before = _read_text(file)
    base = before
    if old is not None and before is not None and old.file == str(file):
        base = _removed(setting, before, old)
    match setting:
        case JsonSetting():
            after, receipt = set_member(file, base, setting.keys, setting.value(launch))
        case OwnFile():
            after, receipt = insert_block(file, base, setting.comment, setting.text(launch))
    return SettingsChange(file, before, after, receipt)


def plan_undo(setting: Setting, receipt: EditorReceipt) -> SettingsChange:
    """Plan to undo the change of a receipt, keeping all other settings.

    Raises:
        SettingsError: the file cannot be read, or the change was edited since.
    """
    file = Path(receipt.file)
    before = _read_text(file)
    after = None if before is None else _removed(setting, before, receipt)
    return SettingsChange(file, before, after, None)


def carry_out(change: SettingsChange, editor: str, receipts: Receipts) -> None:
    """Apply a change; the receipt is saved first.

    Raises:
        SettingsError: the file was changed since it was read, or cannot be written.
    """
    if _read_text(change.file) != change.before:
        raise SettingsError(f"{change.file} was changed meanwhile", "try again")
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
            f"cannot write {change.file}: {error.strerror}",
            "fix its permissions, or those of its directory",
        ) from error


def _removed(setting: Setting, text: str, receipt: EditorReceipt) -> str | None:
    match setting:
        case JsonSetting():
            return remove_member(text, setting.keys, receipt)
        case OwnFile():
            return remove_block(text, setting.comment, receipt)
        case CommandLine():
            return text


def _read_text(file: Path) -> str | None:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {file}: {error}"
        raise SettingsError(message, "nothing was changed") from error
