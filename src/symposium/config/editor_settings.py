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

OURS: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG")
"""Variables that say where our files are; the editor must pass them on where they are set."""


@dataclass(frozen=True, slots=True)
class EditorLaunch:
    """A command line for a settings file.

    Attributes:
        command: the program, an absolute path.
        args: what follows it.
        env: variables to set.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and what follows it."""
        return self.command, *self.args


def find_launch(
    python: str = sys.executable, environment: Mapping[str, str] | None = None
) -> EditorLaunch:
    """How this installation is started again, by whoever and from wherever.

    Args:
        python: the interpreter that runs us.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    kept = {name: os.path.abspath(os.path.expanduser(env[name])) for name in OURS if env.get(name)}  # noqa: PTH100, PTH111 - a text for a file, no path to be opened
    beside = Path(python).absolute().with_name("symposium")
    found = shutil.which("symposium", path=env.get("PATH"))
    if beside.exists():
        # The name on the PATH survives an upgrade; it counts only if it is the same program.
        is_same = found is not None and Path(found).resolve() == beside.resolve()
        return EditorLaunch(
            str(Path(found).absolute() if found and is_same else beside), ("run",), kept
        )
    return EditorLaunch(str(Path(python).absolute()), ("-P", "-m", "symposium", "run"), kept)


@dataclass(frozen=True, slots=True)
class EditorEnvironment:
    """What decides where settings are.

    Attributes:
        user: the home directory.
        environment: variables.
        platform: as `sys.platform` has it.
    """

    user: Path
    environment: Mapping[str, str]
    platform: str

    @property
    def config(self) -> Path:
        """Where programs keep settings that follow XDG."""
        return Path(self.environment.get("XDG_CONFIG_HOME") or self.user / ".config")

    @property
    def application_support(self) -> Path:
        """Where programs with a window keep theirs, on each platform."""
        if self.platform == "darwin":
            return self.user / "Library" / "Application Support"
        return self.roaming if self.platform == "win32" else self.config

    @property
    def roaming(self) -> Path:
        """Where programs keep theirs on Windows."""
        return Path(self.environment.get("APPDATA") or self.user / "AppData" / "Roaming")


@dataclass(frozen=True, slots=True)
class JsonSetting:
    """A member of a settings file that is JSON, with comments or without.

    Attributes:
        file: where the file is.
        keys: the path to the member.
        value: what it shall be.
    """

    file: Callable[[EditorEnvironment], Path]
    keys: tuple[str, ...]
    value: Callable[[EditorLaunch], Any]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of ours in the editor's directory, in the editor's language.

    Attributes:
        file: where the file is.
        comment: what begins a comment.
        text: what it says.
    """

    file: Callable[[EditorEnvironment], Path]
    comment: str
    text: Callable[[EditorLaunch], str]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line to type; the editor has no settings for agents.

    Attributes:
        text: the line.
    """

    text: Callable[[EditorLaunch], str]


Setting: TypeAlias = JsonSetting | OwnFile | CommandLine


@dataclass(frozen=True, slots=True)
class Editor:
    """One editor.

    Attributes:
        title: its name, for people.
        setting: what makes it know us.
        needs: what must be there first; may be empty.
        then: what to do in the editor afterwards.
    """

    title: str
    setting: Setting
    needs: str
    then: str


def snippet(setting: Setting, launch: EditorLaunch) -> str:
    """What a person pastes, or types."""
    match setting:
        case JsonSetting():
            value = setting.value(launch)
            for key in reversed(setting.keys):
                value = {key: value}
            return json_text(value, "  ") + "\n"
        case OwnFile() | CommandLine():
            return setting.text(launch)


class SettingsError(SymposiumError):
    """An editor's settings cannot be changed, or not be changed back."""


@dataclass(frozen=True, slots=True)
class EditorReceipt:
    """One change to one file.

    Attributes:
        file: the absolute path of the file.
        wrote: what the text was right after the change, as a hash.
        original: the text before the change; None if there was no file.
        value: the member or the block that was written.
        previous: what the member was before, in a list; empty if there was none.
        made: how many objects on the way to the member had to be made.
    """

    file: str
    wrote: str
    original: str | None
    value: Any
    previous: tuple[Any, ...] = ()
    made: int = 0


def digest(text: str) -> str:
    """What a text is known by later."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of one user, a file for each editor.

    Attributes:
        directory: where they are; made when it is needed.
    """

    directory: Path

    def read(self, editor: str) -> EditorReceipt | None:
        """The receipt for an editor; None if nothing of ours is in its settings.

        Raises:
            SettingsError: it cannot be read.
        """
        path = self._path(editor)
        try:
            text = read_text(path)
            return None if text is None else msgspec.json.decode(text, type=EditorReceipt)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise SettingsError(
                f"{path}: this receipt cannot be read: {error}",
                "look at the editor's settings and take Symposium out by hand",
            ) from error

    def write(self, editor: str, receipt: EditorReceipt) -> None:
        """Keep a receipt, and the text before the change as a file of its own beside it."""
        if receipt.original is not None:
            write_whole(self.backup(editor, receipt), receipt.original)
        write_whole(
            self._path(editor), msgspec.json.format(msgspec.json.encode(receipt)).decode() + "\n"
        )

    def remove(self, editor: str) -> None:
        """Forget a change that has been taken back."""
        self._path(editor).unlink(missing_ok=True)

    def backup(self, editor: str, receipt: EditorReceipt) -> Path:
        """Where the text before the change is."""
        return self.directory / f"{editor}.{Path(receipt.file).name}.bak"

    def _path(self, editor: str) -> Path:
        return self.directory / f"{editor}.json"


_OPENS = ">>> symposium >>>"
_CLOSES = "<<< symposium <<<"


def put_block(file: Path, text: str | None, comment: str, body: str) -> tuple[str, EditorReceipt]:
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
    return whole, EditorReceipt(str(file), digest(whole), text, block, previous)


def take_block(text: str, comment: str, receipt: EditorReceipt) -> str | None:
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


def put_member(
    file: Path, text: str | None, keys: Sequence[str], value: Any
) -> tuple[str, EditorReceipt]:
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
    return after, EditorReceipt(str(file), digest(after), text, value, previous, made)


def take_member(text: str, keys: Sequence[str], receipt: EditorReceipt) -> str | None:
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


@dataclass(frozen=True, slots=True)
class SettingsChange:
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
    receipt: EditorReceipt | None

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
    setting: JsonSetting | OwnFile,
    launch: EditorLaunch,
    where: EditorEnvironment,
    old: EditorReceipt | None,
) -> SettingsChange:
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
            after, receipt = put_member(file, base, setting.keys, setting.value(launch))
        case OwnFile():
            after, receipt = put_block(file, base, setting.comment, setting.text(launch))
    return SettingsChange(file, before, after, receipt)


def plan_undo(setting: Setting, receipt: EditorReceipt) -> SettingsChange:
    """The change that takes back what the receipt says, and leaves everything else.

    Raises:
        SettingsError: the file cannot be read, or what we wrote has been changed since.
    """
    file = Path(receipt.file)
    before = _read_text(file)
    after = None if before is None else _taken(setting, before, receipt)
    return SettingsChange(file, before, after, None)


def carry_out(change: SettingsChange, editor: str, receipts: Receipts) -> None:
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


def _taken(setting: Setting, text: str, receipt: EditorReceipt) -> str | None:
    match setting:
        case JsonSetting():
            return take_member(text, setting.keys, receipt)
        case OwnFile():
            return take_block(text, setting.comment, receipt)
        case CommandLine():
            return text


def _read_text(file: Path) -> str | None:
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file}: it cannot be read: {error}", "what cannot be read is not touched"
        ) from error
