"""A shell script, taken apart: the simple commands in it, and what cannot be known of them.

The grammar is that of bash, read by tree-sitter. What it does not understand, and what only a
running shell could know, is a doubt: a script with a doubt is never allowed unasked (users A-8).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LONGEST: Final = 64 * 1024
"""Bytes of a script that is read; a longer one is one doubt."""

_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_DOUBTFUL: Final = {
    "declaration_command": "it changes variables of the shell",
    "unset_command": "it changes variables of the shell",
    "function_definition": "it defines a function, which may stand in for a program",
}
_LIVE: Final = re.compile(r"(?<!\\)[*?\[{}]|^~")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        source: as it was written.
        text: what the program gets; None where only a running shell could tell.
    """

    source: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where the output of a command goes."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program and its arguments.

    Attributes:
        words: the program first; empty where there is none, as in `> file`.
        assignments: names of the variables that are set for it alone.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...] | None:
        """All words as the program gets them; None if one of them cannot be known."""
        known = tuple(word.text for word in self.words if word.text is not None)
        return known if len(known) == len(self.words) else None

    @property
    def source(self) -> str:
        """As it was written, less its redirects."""
        return " ".join(word.source for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """What a script would run, in the order in which it is written, nested ones included."""

    commands: tuple[SimpleCommand, ...]
    redirects: tuple[Redirect, ...]
    doubts: tuple[str, ...]


def read_script(text: str) -> Script:
    """Take a script apart; never fails: what cannot be read is a doubt."""
    source = text.encode(errors="replace")
    if len(source) > LONGEST:
        return Script((), (), (f"it is longer than {LONGEST // 1024} KiB",))
    if b"\0" in source:
        return Script((), (), ("it holds a NUL byte",))
    commands: list[SimpleCommand] = []
    redirects: list[Redirect] = []
    doubts: list[str] = []
    for node in _nodes(_parser().parse(source).root_node):
        if node.is_error or node.is_missing:
            doubts.append("it is not understood as a script of bash")
        elif node.type == "command":
            commands.append(_command(node))
        elif node.type == "file_redirect":
            redirects += _redirect(node)
        elif node.type == "variable_assignment" and not _is_in_command(node):
            doubts.append("it changes variables of the shell")
        elif node.type in _DOUBTFUL:
            doubts.append(_DOUBTFUL[node.type])
    return Script(tuple(commands), tuple(redirects), tuple(dict.fromkeys(doubts)))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _nodes(root: Node) -> Iterator[Node]:
    """Every node, in the order of the text; deep nesting costs no stack."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _source(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _is_in_command(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type in {"command", "declaration_command"}


def _command(node: Node) -> SimpleCommand:
    words: list[Word] = []
    assignments: list[str] = []
    for child in node.children:
        if child.type == "variable_assignment":
            name = child.child_by_field_name("name")
            assignments.append(_source(name) if name is not None else _source(child))
        elif child.type == "command_name":
            words += [_word(each) for each in child.children]
        elif "redirect" not in child.type and child.type != "comment":
            words.append(_word(child))
    return SimpleCommand(tuple(words), tuple(assignments))


def _redirect(node: Node) -> list[Redirect]:
    operator = next((each.type for each in node.children if not each.is_named), "")
    if operator not in _WRITES:
        return []
    target = node.child_by_field_name("destination")
    if target is None:
        return [Redirect(operator, Word(_source(node), None))]
    if operator == ">&" and target.type == "number":
        return []
    return [Redirect(operator, _word(target))]


def _word(node: Node) -> Word:
    return Word(_source(node), _text(node))


def _text(node: Node) -> str | None:
    """What a program would get for it; None where a running shell decides."""
    source = _source(node)
    match node.type:
        case "word" if not _LIVE.search(source):
            return _ESCAPE.sub(_unescaped, source)
        case "number" | "raw_string":
            return source.strip("'")
        case "string" if _is_static(node):
            return _QUOTED_ESCAPE.sub(_unescaped, source[1:-1])
        case "concatenation":
            parts = [_text(child) for child in node.children]
            known = [part for part in parts if part is not None]
            return "".join(known) if len(known) == len(parts) else None
        case _:
            return None


def _is_static(string: Node) -> bool:
    return all(not child.is_named or child.type == "string_content" for child in string.children)


def _unescaped(match: re.Match[str]) -> str:
    """A backslash protects what follows it, and makes a line's end vanish."""
    return "" if match[1] == "\n" else match[1]
