"""Turns the Markdown of a walkthrough into HTML; what a block becomes is another's business."""

import html
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Final, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

_Environment: TypeAlias = MutableMapping[str, Any]
_OPTIONS: Final = MarkdownIt("commonmark", {"html": False}).options


def escaped(text: str) -> str:
    """Text that can stand in an element, and in a quoted attribute."""
    return html.escape(text, quote=True)


def markup(
    tokens: Sequence[Token],
    block: Callable[[int], str],
    link: Callable[[str], str] | None = None,
) -> str:
    """The HTML of a document.

    Args:
        tokens: of its Markdown.
        block: the HTML of a block, by its number.
        link: what stands in an `a` element for a URL; by default its `href`.
    """
    return str(_Renderer(block, link or _href).render(tokens, _OPTIONS, {}))


class _Renderer(RendererHTML):
    """Its methods are called by the type of a token."""

    def __init__(self, block: Callable[[int], str], link: Callable[[str], str]) -> None:
        super().__init__()
        self._block = block
        self._link = link

    def walkthrough_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        del options, env
        return self._block(tokens[idx].meta["block"])

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        del options, env
        token = tokens[idx]
        return f"<a {self._link(str(token.attrs['href']))}>" if token.tag == "a" else "<span>"

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: _Environment
    ) -> str:
        # To load one would tell a stranger that somebody looks at this.
        del options, env
        token = tokens[idx]
        source = escaped(str(token.attrs.get("src", "")))
        return f'<span class="image" title="{source}">🖼 {escaped(token.content) or source}</span>'


def _href(url: str) -> str:
    return f'href="{escaped(url)}"'
