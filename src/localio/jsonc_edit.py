"""Edits of commented JSON that keep comments and order."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from localio.jsonc import (
    ContainerNode,
    JsoncItem,
    Node,
    after_last_blank_line,
    after_trivia,
    ends_in_line_comment,
    indent_at,
    json_text,
    parse,
    rest_of_line,
)


def pair(old: Sequence[Any], new: Sequence[Any]) -> list[int | None]:
    """Match new elements to old ones: the index of each, or None; no index occurs twice.

    Equal elements match first, then those with the same `name`, then the most similar ones.
    """
    found: list[int | None] = [None] * len(new)
    _pair_by(_text, old, new, found)
    _pair_by(_name, old, new, found)
    taken = set(found)
    left = [index for index in range(len(old)) if index not in taken]
    for at, element in enumerate(new):
        if found[at] is None and left:
            alike = [(_members_in_common(old[index], element), -index) for index in left]
            most, index = max(alike)
            if most:
                found[at] = -index
                left.remove(-index)
    return found


def is_same(one: Any, other: Any) -> bool:
    """Whether JSON values are equal; the order of members is ignored, `1` is not `true`."""
    return _text(one) == _text(other)


def _pair_by(
    key: Callable[[Any], str | None],
    old: Sequence[Any],
    new: Sequence[Any],
    found: list[int | None],
) -> None:
    taken = set(found)
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, element in enumerate(old):
        known_by = None if index in taken else key(element)
        if known_by is not None:
            waiting[known_by].append(index)
    for at, element in enumerate(new):
        known_by = key(element) if found[at] is None else None
        if known_by is not None and waiting[known_by]:
            found[at] = waiting[known_by].popleft()


def _text(element: Any) -> str:
    return json_text(element, sort_keys=True)


def _name(element: Any) -> str | None:
    name = cast("Mapping[str, Any]", element).get("name") if isinstance(element, Mapping) else None
    return name if isinstance(name, str) else None


def _members_in_common(one: Any, other: Any) -> int:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return 0
    first = cast("Mapping[str, Any]", one)
    second = cast("Mapping[str, Any]", other)
    return sum(is_same(first[key], second[key]) for key in first if key in second)


_INDENT: Final = r"\n(\t|[ ]{1,8})[^\s]"  # compiled when a file is changed


def rewrite(text: str, value: Any) -> str:
    """Change the value of a text to `value` with minimal edits.

    Members keep their order. Elements of lists are matched by their value, their `name`, or their
    similarity with an old one, and move with their comments. New text gets the indentation of its
    neighbors.

    Raises:
        JsoncError: the text is invalid.
        ValueError: the value is not a JSON value.
    """
    node = parse(text)
    changed = _Editor(text).render(node, value, indent_at(text, node.start))
    return text[: node.start] + changed + text[node.end :]


@dataclass(frozen=True, slots=True)
class _Old:
    """An item in the text.

    Attributes:
        loose: preceding text up to a blank line, which does not belong to the item.
        lead: preceding text that moves with it.
    """

    item: JsoncItem
    loose: str
    lead: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """An item to write: its lead, its text, and the text after its comma."""

    lead: str
    body: str
    after: str


class _Editor:
    """Render the nodes of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        found = re.search(_INDENT, text)
        self._step = "  " if found is None else found[1]

    def render(self, node: Node, value: Any, indent: str) -> str:
        """Render this node with the value `value`."""
        if is_same(node.value, value):
            return self._text[node.start : node.end]
        if isinstance(node, ContainerNode) and isinstance(value, dict if node.is_object else list):
            return self._render_items(node, value, indent)
        return self._write(value, indent)

    def _render_items(self, node: ContainerNode, value: Any, indent: str) -> str:
        head, olds = self._olds(node)
        pairs = _pairs(node, value)
        olds, left_over = _inherited(olds, {at for _, _, at in pairs if at is not None})
        is_inline = bool(olds) and "\n" not in self._text[node.start : node.end]
        inner = "" if is_inline else self._inner_indent(node, indent)
        are_short = is_inline or self._has_short_elements(node)
        pieces: list[_Piece] = []
        for key, element, at in pairs:
            if at is not None:
                piece = self._kept(olds[at], element, inner)
            else:
                piece = self._new(key, element, inner, are_short=are_short)
            if is_inline and not piece.lead.strip():
                first = olds[0].lead if not olds[0].lead.strip() else ""
                piece = _Piece(" " if pieces else first, piece.body, piece.after)
            pieces.append(piece)
        return self._join(node, head, pieces, self._ending(node, left_over, indent, pieces))

    def _olds(self, node: ContainerNode) -> tuple[str, list[_Old]]:
        # A comment on the line of the bracket belongs to all following items.
        begin = rest_of_line(self._text, node.start + 1)
        head = self._text[node.start + 1 : begin]
        olds: list[_Old] = []
        for item in node.items:
            before = self._text[begin : item.start]
            cut = after_last_blank_line(before)
            olds.append(_Old(item, before[:cut], before[cut:]))
            begin = item.tail
        return head, olds

    def _kept(self, old: _Old, element: Any, inner: str) -> _Piece:
        item = old.item
        before = self._text[item.start : item.node.start]
        after = self._text[item.node.end : item.tail]
        if item.has_comma:
            cut = after_trivia(after, 0)
            after = after[:cut] + after[cut + 1 :]
        body = before + self.render(item.node, element, inner)
        return _Piece(old.loose + old.lead, body, after)

    def _new(self, key: str | None, element: Any, inner: str, *, are_short: bool) -> _Piece:
        name = "" if key is None else json_text(key) + ": "
        body = json_text(element) if are_short else self._write(element, inner)
        return _Piece(self._newline + inner if inner else "", name + body, "")

    def _ending(
        self, node: ContainerNode, left_over: str, indent: str, pieces: Sequence[_Piece]
    ) -> str:
        begin = rest_of_line(self._text, node.start + 1)
        begin = node.items[-1].tail if node.items else begin
        rest = left_over + self._text[begin : node.end - 1]
        if not pieces:
            return rest if rest.strip() else ""
        if "\n" not in rest and any("\n" in piece.lead for piece in pieces):
            return rest.rstrip() + self._newline + indent
        return rest

    def _join(self, node: ContainerNode, head: str, pieces: Sequence[_Piece], rest: str) -> str:
        opening, closing = ("{", "}") if node.is_object else ("[", "]")
        ends_with_comma = bool(node.items) and node.items[-1].has_comma
        body, before = opening + head, head
        for index, piece in enumerate(pieces):
            comma = "," if ends_with_comma or index + 1 < len(pieces) else ""
            body += self._break(before, piece.lead) + piece.lead + piece.body + comma + piece.after
            before = piece.after
        return body + self._break(before, rest) + rest + closing

    def _break(self, before: str, then: str) -> str:
        """A line break if the following text would become part of a line comment."""
        begins_line = then.lstrip(" \t").startswith(("\n", "\r"))
        return self._newline if ends_in_line_comment(before) and not begins_line else ""

    def _inner_indent(self, node: ContainerNode, indent: str) -> str:
        for item in node.items:
            if "\n" in self._text[node.start : item.start]:
                return indent_at(self._text, item.start)
        return indent + self._step

    def _has_short_elements(self, node: ContainerNode) -> bool:
        """Whether each item is on a line of its own."""
        inner = [item.node for item in node.items if isinstance(item.node, ContainerNode)]
        if node.is_object or not inner:
            return False
        return all("\n" not in self._text[each.start : each.end] for each in inner)

    def _write(self, value: Any, indent: str) -> str:
        return json_text(value, self._step).replace("\n", self._newline + indent)


def _inherited(olds: Sequence[_Old], kept: set[int]) -> tuple[list[_Old], str]:
    """Attach the loose comments of removed items to the next item; return the rest."""
    items: list[_Old] = []
    carried = ""
    for at, old in enumerate(olds):
        if at in kept:
            items.append(_Old(old.item, carried + old.loose, old.lead))
            carried = ""
        else:
            items.append(old)
            carried += old.loose
    return items, carried


def _pairs(node: ContainerNode, value: Any) -> list[tuple[str | None, Any, int | None]]:
    """Key, value, and index of the old item for each element of the new value."""
    if not node.is_object:
        elements = cast("list[Any]", value)
        return [
            (None, element, at)
            for element, at in zip(elements, pair(node.value, elements), strict=True)
        ]
    members = cast("dict[str, Any]", value)
    kept = {str(item.key): at for at, item in enumerate(node.items) if item.key in members}
    old = [(key, members[key], at) for key, at in kept.items()]
    new: list[tuple[str | None, Any, int | None]] = [
        (key, element, None) for key, element in members.items() if key not in kept
    ]
    return [*old, *new]
