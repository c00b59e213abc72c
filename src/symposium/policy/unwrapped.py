"""What programs run in their turn: `sudo x`, `bash -c 'x'`, `xargs x`; all the way down."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from symposium.policy.script import Redirect, Script, SimpleCommand, Word, read_script

DEEPEST: Final = 8
"""Scripts within scripts that are followed; what lies deeper is a doubt."""

MOST: Final = 2000
"""Commands that are looked at; a script with more of them is in doubt."""

FARTHEST: Final = 64
"""Words behind `sudo` and its like among which the command that it runs may begin."""

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

_WRAPPERS: Final = frozenset(
    {
        *("sudo", "doas", "su", "runuser", "env", "nohup", "nice", "ionice", "chrt", "taskset"),
        *("time", "timeout", "stdbuf", "unbuffer", "setsid", "script", "strace", "ltrace"),
        *("command", "builtin", "exec", "eval", "source", ".", "trap", "coproc", "busybox"),
        *("xargs", "parallel", "watch", "entr", "flock", "ssh"),
        *("chroot", "unshare", "nsenter", "systemd-run"),
    }
)
_FINDERS: Final = {"find": ("-exec", "-ok", "-delete"), "fd": ("-x", "-X", "--exec")}
_READ_AS_SCRIPT: Final = frozenset({"trap", "su", "ssh", "watch", "script", "parallel"})


@dataclass(frozen=True, slots=True)
class Found:
    """One command of a script, or one that another runs.

    Attributes:
        is_direct: the script runs it as it stands; False where another program runs it, and may
            give it other arguments, another user or another environment.
    """

    command: SimpleCommand
    is_direct: bool


@dataclass(frozen=True, slots=True)
class Everything:
    """All that a script would run."""

    found: tuple[Found, ...]
    redirects: tuple[Redirect, ...]
    doubts: tuple[str, ...]


def everything_in(text: str) -> Everything:
    """All commands of a script, and those that they run in their turn."""
    walk = _Walk([], [], [])
    walk.script(read_script(text), depth=0, is_direct=True)
    return Everything(tuple(walk.found), tuple(walk.redirects), tuple(dict.fromkeys(walk.doubts)))


def program_name(command: SimpleCommand) -> str | None:
    """The program's file name; None where it cannot be known."""
    if not command.words or command.words[0].text is None:
        return None
    return PurePosixPath(command.words[0].text).name


@dataclass(frozen=True, slots=True)
class _Walk:
    found: list[Found]
    redirects: list[Redirect]
    doubts: list[str]

    def script(self, script: Script, *, depth: int, is_direct: bool) -> None:
        self.doubts.extend(script.doubts)
        self.redirects.extend(script.redirects)
        for command in script.commands:
            self.command(command, depth=depth, is_direct=is_direct)

    def command(self, command: SimpleCommand, *, depth: int, is_direct: bool) -> None:
        if depth > DEEPEST or len(self.found) > MOST:
            self.doubts.append("it runs scripts within scripts, too deep or too many to follow")
            return
        name = program_name(command)
        script = _shell_script(name, command)
        if script is not None:
            self.script(read_script(script), depth=depth + 1, is_direct=is_direct)
            return
        self.found.append(Found(command, is_direct))
        if name is None and command.words:
            self.doubts.append(f"which program `{command.words[0].source}` is cannot be known")
        elif name in SHELLS:
            self.doubts.append(f"`{name}` runs what cannot be read here")
        elif name in _WRAPPERS or _finds_and_runs(name, command):
            self._wrapped(name, command, depth)

    def _wrapped(self, name: str | None, command: SimpleCommand, depth: int) -> None:
        """Options differ from wrapper to wrapper: each word may be where the command begins."""
        self.doubts.append(f"`{name}` runs another command")
        rest = command.words[1:]
        if name == "eval":
            script = " ".join(word.text or word.source for word in rest)
            self.script(read_script(script), depth=depth + 1, is_direct=False)
        for at, word in enumerate(rest[:FARTHEST]):
            if word.text is None or word.text.startswith("-"):
                continue
            inner = SimpleCommand(_plain(rest[at : at + FARTHEST]))
            self.found.append(Found(inner, is_direct=False))
            nested = _shell_script(program_name(inner), inner)
            if nested is None and (name in _READ_AS_SCRIPT or " " in word.text):
                nested = word.text
            if nested is not None:
                self.script(read_script(nested), depth=depth + 1, is_direct=False)


def _shell_script(name: str | None, command: SimpleCommand) -> str | None:
    """The script of `bash -c SCRIPT` or `bash -lc SCRIPT`."""
    if name not in SHELLS:
        return None
    words = command.words[1:]
    for at, word in enumerate(words[:-1]):
        text = word.text or ""
        if text.startswith("-") and not text.startswith("--") and "c" in text:
            return words[at + 1].text
        if not text.startswith("-"):
            return None
    return None


def _finds_and_runs(name: str | None, command: SimpleCommand) -> bool:
    options = _FINDERS.get(name or "", ())
    return any((word.text or "").startswith(options) for word in command.words[1:] if options)


def _plain(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple(word for word in words if word.text not in {";", "+", "{}", "--"})
