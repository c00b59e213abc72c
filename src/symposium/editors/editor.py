"""What we know of an editor: what to write, and where."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from localio.jsonc import json_text
from symposium.editors.launch import Launch


@dataclass(frozen=True, slots=True)
class Surroundings:
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

    file: Callable[[Surroundings], Path]
    keys: tuple[str, ...]
    value: Callable[[Launch], Any]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of ours in the editor's directory, in the editor's language.

    Attributes:
        file: where the file is.
        comment: what begins a comment.
        text: what it says.
    """

    file: Callable[[Surroundings], Path]
    comment: str
    text: Callable[[Launch], str]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A line to type; the editor has no settings for agents.

    Attributes:
        text: the line.
    """

    text: Callable[[Launch], str]


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


def snippet(setting: Setting, launch: Launch) -> str:
    """What a person pastes, or types."""
    match setting:
        case JsonSetting():
            value = setting.value(launch)
            for key in reversed(setting.keys):
                value = {key: value}
            return json_text(value, "  ") + "\n"
        case OwnFile() | CommandLine():
            return setting.text(launch)
