"""What programs run in their turn: `sudo x`, `bash -c 'x'`, `xargs x`; all the way down."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from localio.shell import Redirect, Script, SimpleCommand, Word, read_script
from symposium.policy.programs.arguments import understand
from symposium.policy.programs.catalog import system_program
from symposium.policy.programs.vocabulary import Kind, is_harmless

DEEPEST: Final = 8
"""Scripts within scripts that are followed; what lies deeper is a doubt."""

MOST: Final = 2000
"""Commands that are looked at; a script with more of them is in doubt."""

FARTHEST: Final = 64
"""Words behind `sudo` and its like among which the command that it runs may begin."""

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})

_PLAIN_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh"})
_PLAIN_FLAGS: Final = re.compile(r"-[eluxvco]+")
_PLAIN_SETTINGS: Final = frozenset({"errexit", "nounset", "pipefail", "noglob", "xtrace"})
_SETTING: Final = re.compile(r"^[\w.*-]+=!?")
"""What precedes a command in `exec=COMMAND` of tar and `alias.x=!COMMAND` of git."""

_HOME: Final = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")

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
        self.doubts.extend(_changed_environment(command))
        script = _shell_script(name, command)
        if script is not None:
            if not _is_plain_shell(command):
                self.doubts.append(f"`{command.source}` is not a plain call of a shell")
            self.script(read_script(script), depth=depth + 1, is_direct=is_direct)
            return
        self.found.append(Found(command, is_direct))
        if name is None and command.words:
            self.doubts.append(f"which program `{command.words[0].source}` is cannot be known")
        elif name in SHELLS:
            self.doubts.append(f"`{name}` runs what cannot be read here")
        elif name in _WRAPPERS or _finds_and_runs(name, command):
            self._wrapped(name, command, depth)
        else:
            self._run_by_options(command, depth)

    def _run_by_options(self, command: SimpleCommand, depth: int) -> None:
        """Commands in options of known programs: `tar --to-command`, `git -c alias.x=!…`."""
        uses = understand(guessed_words(command)).uses if command.words else ()
        for use in uses:
            if use.kind is Kind.RUN:
                for text in dict.fromkeys((use.text, _SETTING.sub("", use.text))):
                    self.script(read_script(text), depth=depth + 1, is_direct=False)

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
    words = [word.text for word in command.words[1:]]
    flag = next((at for at, text in enumerate(words) if _holds_script(text)), None)
    if flag is None or not _are_options(words[:flag]):
        return None
    return next((text for text in words[flag + 1 :] if text is None or text[:1] not in "-+"), None)


def _are_options(words: list[str | None]) -> bool:
    """Whether a shell reads all of them as options, with the values that some of them take."""
    before = [None, *words]
    return all(
        (text or "").startswith(("-", "+"))
        or (before[at] or "").endswith(("o", "O", "file", "rcfile"))
        for at, text in enumerate(words)
    )


def _holds_script(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", text) is not None


def _is_plain_shell(command: SimpleCommand) -> bool:
    """Whether it is a known shell with no options but those that leave the script as it is."""
    texts = [word.text for word in command.words]
    if system_program(texts[0] or "") not in _PLAIN_SHELLS:
        return False
    for at, text in enumerate(texts[1:], start=1):
        if text in _PLAIN_SETTINGS and re.fullmatch(r"-[eluxv]*o", texts[at - 1] or ""):
            continue
        if not _PLAIN_FLAGS.fullmatch(text or " "):
            return False
        if "c" in (text or ""):
            follows = texts[at + 1] if at + 1 < len(texts) else None
            return "o" not in (text or "") and (follows or "-")[:1] not in "-+"
    return False


def _changed_environment(command: SimpleCommand) -> list[str]:
    return [
        f"`{name}` can change what runs"
        for name, value in command.assignments
        if not is_harmless(name, value.text)
    ]


def guessed_words(command: SimpleCommand) -> tuple[str, ...]:
    """The words as the program gets them; where only a shell could know, as they are written."""
    return tuple(
        word.text if word.text is not None else _HOME.sub(str(Path.home()), word.source)
        for word in command.words
    )


def _finds_and_runs(name: str | None, command: SimpleCommand) -> bool:
    options = _FINDERS.get(name or "", ())
    return any((word.text or "").startswith(options) for word in command.words[1:] if options)


def _plain(words: tuple[Word, ...]) -> tuple[Word, ...]:
    return tuple(word for word in words if word.text not in {";", "+", "{}", "--"})
