"""Parse a shell script into simple commands, redirects, and doubts.

The grammar is that of bash, read by tree-sitter. Invalid syntax, and constructs whose effect
depends on the running shell, are doubts. Scripts with doubts are never allowed without asking
(users A-8).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

MAX_SCRIPT_BYTES: Final = 64 * 1024
"""Maximum length of a script; a longer one is not parsed, and has a doubt."""

READS: Final = frozenset({"<", "<>", "<&"})
"""Redirects that open their target for reading."""

WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
"""Redirects that open their target for writing."""

_CLOSES: Final = {"<&-": b"<&0", ">&-": b">&1"}
"""Redirects that close a descriptor, with one of the same length that opens no file either.

The grammar takes the word behind one for its target, and an option there for an error.
"""

_CHANGES_VARIABLES: Final = "it changes variables of the shell"
_DOUBTFUL: Final = {
    "declaration_command": _CHANGES_VARIABLES,
    "unset_command": _CHANGES_VARIABLES,
    "for_statement": _CHANGES_VARIABLES,
    "c_style_for_statement": _CHANGES_VARIABLES,
    "function_definition": "it defines a function, which can replace a program",
    "arithmetic_expansion": "it evaluates arithmetic, which can run commands and set variables",
}
_PLAIN_EXPANSION: Final = re.compile(r"\$\{\w+\}")
_ODD_CHARACTER: Final = re.compile(r"[^\S \n\t]|[\x00-\x08\x0e-\x1f\x7f]")
_COMPARES: Final = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge)\s")
_LIVE: Final = re.compile(r"(?<!\\)[*?\[{}]|(?:^|[=:])~")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_JOINED_LINES: Final = re.compile(rb"\S\\\n(?=\S)")
_LITERAL: Final = frozenset({"raw_string", "ansi_c_string", "comment"})
_QUOTED_ESCAPE: Final = re.compile(r'\\([$`"\\\n])')


@dataclass(frozen=True, slots=True)
class ShellWord:
    """Word of a command, as written and as expanded.

    Attributes:
        source: text of the script.
        text: the word after expansion; None if that depends on the running shell.
    """

    source: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that the shell opens for a command."""

    operator: str
    target: ShellWord


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Program with its arguments, as parsed from a script.

    Attributes:
        words: the program first; empty if missing, as in `> file`.
        assignments: variables set for this command only, with their values.
    """

    words: tuple[ShellWord, ...]
    assignments: tuple[tuple[str, ShellWord], ...] = ()

    @property
    def texts(self) -> tuple[str, ...] | None:
        """All words after expansion; None if one is unknown."""
        known = tuple(word.text for word in self.words if word.text is not None)
        return known if len(known) == len(self.words) else None

    @property
    def source(self) -> str:
        """Its text without redirects."""
        return " ".join(word.source for word in self.words)


@dataclass(frozen=True, slots=True)
class Script:
    """Commands of a script in written order, including nested ones."""

    commands: tuple[SimpleCommand, ...]
    redirects: tuple[Redirect, ...]
    doubts: tuple[str, ...]


def read_script(text: str) -> Script:
    """Parse a script; errors are returned as doubts."""
    source = text.encode(errors="replace")
    if len(source) > MAX_SCRIPT_BYTES:
        return Script((), (), (f"it is longer than {MAX_SCRIPT_BYTES // 1024} KiB",))
    if b"\0" in source:
        return Script((), (), ("it contains a NUL byte",))
    root, source = _parsed(source)
    doubts = _text_doubts(root, source)
    commands: list[SimpleCommand] = []
    redirects: list[Redirect] = []
    displaced: dict[int, list[ShellWord]] = {}
    for node in _nodes(root):
        if node.is_error or node.is_missing:
            doubts.append("it is not a valid bash script")
        elif node.type == "redirected_statement":
            doubts += _displace(node, displaced)
        elif node.type == "command":
            commands.append(_command(node, displaced.get(node.id, [])))
        elif node.type == "file_redirect":
            redirects += _redirect(node, source)
        else:
            doubts += _hazards(node)
    return Script(tuple(commands), tuple(redirects), tuple(dict.fromkeys(doubts)))


def _parsed(source: bytes) -> tuple[Node, bytes]:
    """Parse a script, and replace the redirects that close a descriptor; see `_CLOSES`."""
    root = _parser().parse(source).root_node
    while closing := [node for node in _nodes(root) if node.type in _CLOSES]:
        for node in closing:
            replaced = _CLOSES[node.type]
            source = source[: node.start_byte] + replaced + source[node.end_byte :]
        root = _parser().parse(source).root_node
    return root, source


def _text_doubts(root: Node, source: bytes) -> list[str]:
    """Places where the shell and the grammar can disagree about where a word ends."""
    doubts: list[str] = []
    if _ODD_CHARACTER.search(source.decode()):
        doubts.append("it contains a control character or an unusual space")
    if _has_joined_lines(root, source):
        doubts.append("it continues a word on the next line")
    return doubts


def _has_joined_lines(root: Node, source: bytes) -> bool:
    """Whether bash reads one word, or `$(`, where the grammar starts a new word."""
    joints = {each.start() for each in _JOINED_LINES.finditer(source)}
    if joints:
        for node in _nodes(root):
            if node.type in _LITERAL:
                joints.difference_update(range(node.start_byte, node.end_byte))
    return bool(joints)


def _hazards(node: Node) -> list[str]:
    """Constructs that change what the rest of the script does, or run text as code."""
    if node.type in _DOUBTFUL:
        return [_DOUBTFUL[node.type]]
    source, doubt = _source(node), None
    match node.type:
        case "variable_assignment" if not _is_in_command(node):
            doubt = _CHANGES_VARIABLES
        case "expansion" if not _PLAIN_EXPANSION.fullmatch(source):
            doubt = "it expands a variable with an operator, which can run commands"
        case "compound_statement" if source.startswith("(("):
            doubt = _DOUBTFUL["arithmetic_expansion"]
        case "test_command" if _evaluates(source[2:-2]):
            doubt = "its condition can run commands or set variables"
        case _:
            pass
    return [] if doubt is None else [doubt]


def _evaluates(condition: str) -> bool:
    """Whether a condition evaluates text as arithmetic: `[[ 'a[$(x)]' -eq 0 ]]` runs x."""
    is_subscript = "[" in condition and re.search(r"[$`]", condition) is not None
    is_assignment = re.search(r"=|\+\+|--", condition) is not None
    return is_subscript or (_COMPARES.search(condition) is not None and is_assignment)


def _displace(statement: Node, displaced: dict[int, list[ShellWord]]) -> list[str]:
    """Collect the words after a redirect, which the grammar assigns to the redirect.

    In `git > log push` the word `push` is parsed as a second destination of the redirect.
    """
    words = [
        _word(child)
        for redirect in statement.children_by_field_name("redirect")
        for child in _words_behind(redirect)
    ]
    if not words:
        return []
    body = statement.child_by_field_name("body")
    end = body.end_byte if body is not None else None
    commands = [each for each in _nodes(body) if each.type == "command"] if body else []
    last = next((each for each in commands if each.end_byte == end), None)
    if last is None:
        return ["it is not a valid bash script"]
    displaced.setdefault(last.id, []).extend(words)
    return []


def _words_behind(redirect: Node) -> list[Node]:
    if redirect.type == "file_redirect":
        return redirect.children_by_field_name("destination")[1:]
    found = list(redirect.children_by_field_name("argument"))
    for nested in redirect.children_by_field_name("redirect"):
        found += _words_behind(nested)
    return found


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _nodes(root: Node) -> Iterator[Node]:
    """Iterate over all nodes in the order of the text, without recursion."""
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


def _command(node: Node, displaced: list[ShellWord]) -> SimpleCommand:
    words: list[ShellWord] = []
    assignments: list[tuple[str, ShellWord]] = []
    for child in node.children:
        if child.type == "variable_assignment":
            assignments.append(_assignment(child))
        elif child.type == "command_name":
            words += [_word(each) for each in child.children]
        elif "redirect" not in child.type and child.type != "comment":
            words.append(_word(child))
    return SimpleCommand((*words, *displaced), tuple(assignments))


def _assignment(node: Node) -> tuple[str, ShellWord]:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    known = _source(name) if name is not None else _source(node)
    if value is None:
        return known, ShellWord("", "")
    return known, _word(value)


def _redirect(node: Node, source: bytes) -> list[Redirect]:
    found = next((each for each in node.children if not each.is_named), node)
    operator = found.type
    if b"<>" in source[max(0, found.start_byte - 1) : found.end_byte + 1]:
        operator = "<>"  # The grammar does not have this operator and skips a part of it.
    if operator not in READS | WRITES:
        return []
    target = node.child_by_field_name("destination")
    if target is None:
        return [Redirect(operator, ShellWord(_source(node), None))]
    if operator in {">&", "<&"} and target.type == "number":
        return []
    return [Redirect(operator, _word(target))]


def _word(node: Node) -> ShellWord:
    return ShellWord(_source(node), _text(node))


def _text(node: Node) -> str | None:
    """The word after expansion; None if that depends on the running shell."""
    source = _source(node)
    match node.type:
        case "word" if not _LIVE.search(source):
            return _ESCAPE.sub(_unescaped, source)
        case "number" | "raw_string" if not (node.type == "number" and node.named_child_count):
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
    """The escaped character; an escaped line end is removed."""
    return "" if match[1] == "\n" else match[1]
