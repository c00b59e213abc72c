"""The file with the user's rules: `policy.toml` beside the config, read whole or refused whole."""

import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from symposium.errors import SymposiumError
from symposium.policy.actions import Access
from symposium.policy.judge import Policy
from symposium.policy.programs.vocabulary import ANY_OPTION, Style, option_kinds
from symposium.policy.rules import Effect, Rule

FILE_NAME: Final = "policy.toml"

_SUBJECTS: Final = ("command", "write", "read", "tool")
_KNOWN: Final = {
    "name",
    "effect",
    "options",
    "anywhere",
    "accepts",
    "match",
    "not_match",
    *_SUBJECTS,
}
_HINT: Final = "docs/how-to/policy.md has a whole file as an example"


class PolicyError(SymposiumError):
    """A policy file that cannot be read: nothing of it counts, and nothing is allowed by it."""


def load_policy(file: Path) -> Policy | None:
    """The rules in that file; None where there is none.

    Raises:
        PolicyError: it cannot be read, or a rule in it makes no sense.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{file}: {error}", "see that it is a text file you may read") from error
    return read_policy(text, str(file))


def read_policy(text: str, place: str) -> Policy:
    """The rules of such a file.

    Args:
        text: the TOML.
        place: what errors call it.

    Raises:
        PolicyError: it is no TOML, or a rule in it makes no sense.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{place}: {error}", _HINT) from error
    unknown = sorted(set(content) - {"rule"})
    if unknown:
        raise PolicyError(f"{place}: `{unknown[0]}` means nothing here", "rules stand in [[rule]]")
    entries: Any = content.get("rule", [])
    if not isinstance(entries, list):
        raise PolicyError(f"{place}: `rule` is not a list", "write [[rule]] above each rule")
    rules: list[Rule] = []
    for at, entry in enumerate(cast("list[Any]", entries), start=1):
        rules.append(_rule(entry, f"{place}: rule {at}"))
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PolicyError(f"{place}: two rules are called `{twice}`", "rename one of them")
    return Policy(tuple(rules))


def _rule(entry: Any, place: str) -> Rule:
    if not isinstance(entry, Mapping):
        raise PolicyError(f"{place} is not a table", "write [[rule]] above each rule")
    members = cast("Mapping[str, Any]", entry)
    name = members.get("name")
    if not isinstance(name, str) or not name:
        raise PolicyError(f"{place} has no name", 'give it one: name = "no-force-push"')
    place = f"{place} (`{name}`)"
    unknown = sorted(set(members) - _KNOWN)
    if unknown:
        raise PolicyError(f"{place}: `{unknown[0]}` means nothing here", _HINT)
    subjects = [each for each in _SUBJECTS if each in members]
    if len(subjects) != 1:
        raise PolicyError(f"{place} speaks of {len(subjects)} things", f"name one of {_SUBJECTS}")
    return Rule(
        name=name,
        effect=_effect(members, place),
        command=_command(members, place),
        options=_texts(members, "options", place),
        files=_files(members, place),
        tool=_tool(members, place),
        anywhere=members.get("anywhere") is True,
        accepts=_accepts(members, place),
        match=_texts(members, "match", place),
        not_match=_texts(members, "not_match", place),
    )


def _effect(members: Mapping[str, Any], place: str) -> Effect:
    try:
        return Effect(members.get("effect"))
    except ValueError as error:
        hint = "say effect = " + " or ".join(f'"{each.value}"' for each in Effect)
        raise PolicyError(f"{place}: no such effect: {members.get('effect')!r}", hint) from error


def _command(members: Mapping[str, Any], place: str) -> tuple[str, ...]:
    text = members.get("command")
    if text is None:
        return ()
    try:
        words = tuple(shlex.split(text)) if isinstance(text, str) else ()
    except ValueError as error:
        raise PolicyError(f"{place}: command: {error}", "close the quotes") from error
    if not words:
        raise PolicyError(f"{place}: `command` holds no words", 'for example command = "git push"')
    return words


def _accepts(members: Mapping[str, Any], place: str) -> tuple[str, ...]:
    options = _texts(members, "accepts", place)
    for option in options:
        try:
            option_kinds("" if option == ANY_OPTION else option, Style.WORDS)
        except ValueError as error:
            raise PolicyError(f"{place}: accepts: {error}", _HINT) from error
    return options


def _files(members: Mapping[str, Any], place: str) -> tuple[Access, tuple[str, ...]] | None:
    for access in Access:
        if access.value in members:
            patterns = _texts(members, access.value, place)
            if not patterns:
                hint = f'for example {access.value} = ["outside-workspace"]'
                raise PolicyError(f"{place}: `{access.value}` names no files", hint)
            return access, tuple(_home(pattern) for pattern in patterns)
    return None


def _tool(members: Mapping[str, Any], place: str) -> str | None:
    tool = members.get("tool")
    if tool is not None and not isinstance(tool, str):
        raise PolicyError(f"{place}: `tool` is no text", 'for example tool = "ide::*"')
    return tool


def _texts(members: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = members.get(key, [])
    texts: list[Any] = [value] if isinstance(value, str) else value
    if not isinstance(value, list | str) or not all(isinstance(each, str) for each in texts):
        raise PolicyError(f"{place}: `{key}` is no list of texts", f'for example {key} = ["…"]')
    return tuple(texts)


def _home(pattern: str) -> str:
    return str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern
