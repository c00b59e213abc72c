"""Sequential requests that the client answers at once: small ones, and a file of 5 MB."""

import json
import re
from collections.abc import Callable
from typing import Final

from bench.editor import Editor
from bench.figures import percentile

WARM_UP: Final = 50
"""Small requests before the measured ones."""

LONG: Final = 5_000_000
"""Bytes in the one long line."""

_ID: Final = re.compile(rb'"id"\s*:\s*("[^"]*"|-?\d+)')

_ALLOWED: Final = b'{"outcome":{"outcome":"selected","optionId":"allow"}}'

_TEXT: Final = 'lorem ipsum dolor "sit" amet \u00e9\n'


def round_trips(editor: Editor, count: int) -> dict[str, float]:
    """Permission requests: median microseconds until the answer."""
    answer = answering(editor, _ALLOWED)
    editor.prompt({"load": "ask", "count": WARM_UP}, answer)
    editor.prompt({"load": "ask", "count": count}, answer)
    return {"round_trip": _median_ns(editor) / 1e3}


def long_lines(editor: Editor, count: int) -> dict[str, float]:
    """A file of 5 MB in one line: median milliseconds until the answer."""
    content = {"content": _TEXT * (LONG // len(_TEXT.encode()) + 1)}
    answer = answering(editor, json.dumps(content, ensure_ascii=False).encode())
    editor.prompt({"load": "read", "count": 1}, answer)
    editor.prompt({"load": "read", "count": count}, answer)
    return {"line": _median_ns(editor) / 1e6}


def answering(editor: Editor, result: bytes) -> Callable[[bytes], None]:
    """Answer every request with this result."""

    def answer(line: bytes) -> None:
        found = _ID.search(line)
        assert found is not None
        editor.write(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (found[1], result))

    return answer


def _median_ns(editor: Editor) -> float:
    return percentile(editor.agent_notes()["round_trips"], 0.5)
