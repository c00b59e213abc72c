"""Setup files of many tools, read as one recipe.

Which keys each tool reads: spec/users.md §4.4 and the tools' own pages.
"""

import os
import shlex
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from localio.jsonc import JsoncError, parse
from localio.toml import parse_toml
from peerwire.jsonrpc.values import as_list, as_object
from symposium.tasks.recipe import Guess, Recipe, SetUpRecipe
from symposium.tasks.tables import SPACING

MAX_BYTES: Final = 1 << 20
"""Maximum size of a file that is read."""


class UnreadableError(Exception):
    """The content of a file does not match its name."""


def worktree_include(source: str, text: str) -> Recipe:
    """`.worktreeinclude`: patterns as in `.gitignore`."""
    lines = [line.strip() for line in text.splitlines()]
    return Recipe(source, copy=tuple(line for line in lines if line and not line.startswith("#")))


def cursor(source: str, text: str) -> Recipe:
    """`.cursor/worktrees.json`: commands, or the name of a script beside the file."""
    document = _json(text)
    key = f"setup-worktree-{'windows' if sys.platform == 'win32' else 'unix'}"
    wanted: Any = document.get(key, document.get("setup-worktree", []))
    if isinstance(wanted, str):
        return Recipe(source, setup=(f"sh .cursor/{_quoted(wanted)}",))
    return Recipe(source, setup=_commands(wanted, "setup-worktree"))


def codex(source: str, text: str) -> Recipe:
    """`.codex/environments/environment.toml`: `[setup]` and `[cleanup]` scripts, by platform."""
    document = _toml(text)
    return Recipe(
        source,
        setup=_script(document, "setup"),
        teardown=_script(document, "cleanup"),
        run=tuple(
            action["command"]
            for action in as_list(document.get("actions"))
            if isinstance(as_object(action).get("command"), str)
        ),
    )


def conductor_toml(source: str, text: str) -> Recipe:
    """Read the scripts of `.conductor/settings.toml`."""
    return _conductor(source, _toml(text))


def conductor_json(source: str, text: str) -> Recipe:
    """`conductor.json`, its older form."""
    return _conductor(source, _json(text))


def _conductor(source: str, document: Mapping[str, Any]) -> Recipe:
    scripts = as_object(document.get("scripts"))
    return Recipe(
        source,
        setup=_commands(scripts.get("setup", []), "scripts.setup"),
        run=_commands(scripts.get("run", []), "scripts.run"),
        teardown=_commands(scripts.get("archive", []), "scripts.archive"),
        copy=_strings(as_object(document.get("files")).get("copy", [])),
    )


def worktrunk(source: str, text: str) -> Recipe:
    """`.config/wt.toml`: its hooks; background programs are left for the user to start."""
    document = _toml(text)
    setup: list[str] = []
    for hook in ("post-create", "pre-start"):
        setup += _hook(document.get(hook))
    return Recipe(
        source,
        setup=tuple(setup),
        run=tuple(_hook(document.get("post-start"))),
        check=tuple(_hook(document.get("pre-merge"))),
        teardown=tuple(_hook(document.get("pre-remove"))),
        notes=tuple(
            f"{hook} is not run" for hook in document if hook.endswith(("switch", "commit"))
        ),
    )


def devcontainer(source: str, text: str) -> Recipe:
    """`devcontainer.json`: commands for a new container."""
    document = _json(text)
    found: list[str] = []
    for key in ("onCreateCommand", "updateContentCommand", "postCreateCommand"):
        found += _lifecycle(document.get(key))
    notes = [
        f"{key} is for containers" for key in ("image", "build", "features") if key in document
    ]
    return Recipe(source, setup=tuple(found), notes=tuple(notes))


def workspace(source: str, text: str) -> Recipe:
    """`.symposium/workspace.toml`: the format of Symposium.

    Raises:
        UnreadableError: a key is of the wrong kind.
    """
    document = _toml(text)
    ports: Any = document.get("ports")
    if ports is not None and (not isinstance(ports, int) or not 0 < ports <= SPACING):
        raise UnreadableError(f"`ports` must be a number from 1 to {SPACING}")
    known = {"copy", "link", "setup", "run", "check", "teardown", "env", "ports"}
    return Recipe(
        source,
        copy=_strings(document.get("copy", [])),
        link=_strings(document.get("link", [])),
        setup=_commands(document.get("setup", []), "setup"),
        run=_commands(document.get("run", []), "run"),
        check=_commands(document.get("check", []), "check"),
        teardown=_commands(document.get("teardown", []), "teardown"),
        env={key: str(value) for key, value in as_object(document.get("env")).items()},
        ports=ports,
        notes=tuple(f"unknown key `{key}`" for key in document if key not in known),
    )


FORMATS: Final[Mapping[str, Callable[[str, str], Recipe]]] = {
    ".symposium/workspace.toml": workspace,
    ".worktreeinclude": worktree_include,
    ".cursor/worktrees.json": cursor,
    ".codex/environments/environment.toml": codex,
    ".conductor/settings.toml": conductor_toml,
    "conductor.json": conductor_json,
    ".config/wt.toml": worktrunk,
    ".devcontainer/devcontainer.json": devcontainer,
}
"""The setup files, in order of execution."""

INSTEAD: Final[Mapping[str, str]] = {"conductor.json": ".conductor/settings.toml"}
"""A file that counts only if the other does not exist."""

GUESSES: Final[Mapping[str, str]] = {
    "uv.lock": "uv sync",
    "poetry.lock": "poetry install",
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --immutable",
    "bun.lock": "bun install --frozen-lockfile",
    "package-lock.json": "npm ci",
    "Cargo.toml": "cargo fetch",
    "go.mod": "go mod download",
    "Gemfile.lock": "bundle install",
    "mise.toml": "mise install",
    ".tool-versions": "mise install",
}
"""Lock files, and the command for each."""


def guesses(names: set[str]) -> tuple[Guess, ...]:
    """Commands suggested by the files at the top of a clone."""
    return tuple(Guess(name, command) for name, command in GUESSES.items() if name in names)


def _json(text: str) -> Mapping[str, Any]:
    try:
        return as_object(parse(text).value)
    except JsoncError as error:
        raise UnreadableError(error.message) from error


def _toml(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except ValueError as error:
        raise UnreadableError(str(error)) from error


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    listed = as_list(value)
    found = [each for each in listed if isinstance(each, str)]
    if value != listed or len(found) != len(listed):
        raise UnreadableError("expected a list of strings")
    return tuple(found)


def _commands(value: Any, key: str) -> tuple[str, ...]:
    try:
        return tuple(each for each in _strings(value) if each.strip())
    except UnreadableError as error:
        raise UnreadableError(f"`{key}` must be a command, or a list of commands") from error


def _script(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    table = as_object(document.get(key))
    platform = {"darwin": "darwin", "win32": "win32"}.get(sys.platform, "linux")
    script: Any = as_object(table.get(platform)).get("script", table.get("script", ""))
    return _commands(script, key)


def _hook(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [line for each in cast("dict[str, Any]", value).values() for line in _hook(each)]
    if isinstance(value, list):
        return [line for each in cast("list[Any]", value) for line in _hook(each)]
    return [value] if isinstance(value, str) and value.strip() else []


def _lifecycle(value: Any) -> list[str]:
    """A command, its words, or several of either, by name."""
    match value:
        case str():
            return [value] if value.strip() else []
        case list():
            words = cast("list[Any]", value)
            return [" ".join(_quoted(str(word)) for word in words)] if words else []
        case dict():
            return [
                line for each in cast("dict[str, Any]", value).values() for line in _lifecycle(each)
            ]
        case _:
            return []


def _quoted(word: str) -> str:
    return shlex.quote(word)


def read_set_up(worktree: Path, clone: Path) -> SetUpRecipe:
    """Setup of a worktree's files, and of files that are only in the clone's checkout.

    Links are not followed: their targets were not written for this.
    """
    recipes: list[Recipe] = []
    broken: list[str] = []
    found: dict[str, str] = {}
    for source in FORMATS:
        try:
            text = _read(worktree, source)
            text = _read(clone, source) if text is None else text
        except UnreadableError as error:
            broken.append(f"{source}: {error}")
            continue
        if text is not None:
            found[source] = text
    for source, text in found.items():
        if INSTEAD.get(source) in found:
            continue
        try:
            recipes.append(_startable(FORMATS[source](source, text)))
        except UnreadableError as error:
            broken.append(f"{source}: {error}")
    return SetUpRecipe(tuple(recipes), guesses(_names(worktree)), tuple(broken))


def _startable(recipe: Recipe) -> Recipe:
    """Check that its texts can be paths, arguments, and variables of programs (execve(2))."""
    lines = [each for lines in recipe.by_kind.values() for each in lines]
    if bad := [name for name in recipe.env if not name or "=" in name]:
        raise UnreadableError(f"{bad[0]!r} is not a name of a variable")
    for text in (*lines, *(f"{name}={value}" for name, value in recipe.env.items())):
        if "\0" in text:
            raise UnreadableError(f"{text!r} has a NUL character")
    return recipe


def _read(directory: Path, source: str) -> str | None:
    path = directory
    for part in Path(source).parts:
        path = path / part
        if path.is_symlink():
            raise UnreadableError("it is a link, or in a linked folder; links are not followed")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError("not valid UTF-8") from error


def _names(directory: Path) -> set[str]:
    try:
        return {entry.name for entry in directory.iterdir()}
    except OSError:
        return set()
