"""Proxy written without peerwire: the standard library, the names of one era, and two id tables.

As a program it uses its standard streams: `python bare_proxy.py [ERA] [MARK]`. A test passes it
lines and reads lines.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Words:
    """Names of methods in one era, as a proxy sees them."""

    initialize: str = "_proxy/initialize"
    out: tuple[str, str] = ("_proxy/successor", "_proxy/successor")
    into: tuple[str, str] = ("_proxy/successor", "_proxy/successor")
    meta: str | None = None
    is_nested: bool = False


_RFD = ("proxy/successor", "proxy/successor")
_SPLIT = ("_proxy/successor/request", "_proxy/successor/notification")
_SEND = ("_proxy/successor/send/request", "_proxy/successor/send/notification")
_RECEIVE = ("_proxy/successor/receive/request", "_proxy/successor/receive/notification")

ERAS = {
    "b1": Words(),
    "sacp": Words(meta="meta"),
    "rfd": Words("proxy/initialize", _RFD, _RFD, "meta"),
    "p1": Words("initialize", _SPLIT, _SPLIT),
    "p0": Words("initialize", _SEND, _RECEIVE, is_nested=True),
}

Message = dict[str, Any]


@dataclass
class BareProxy:
    """Forwards everything; `seen` lists the methods of received messages."""

    words: Words = field(default_factory=Words)
    mark: str = ""
    seen: list[str] = field(default_factory=list)
    # Maps an own id to the function that writes the response back.
    waiting: dict[int, Callable[[Message], Message]] = field(default_factory=dict)
    # Maps a received request id to the forwarded id, and whether it is in an envelope.
    passed: dict[str, tuple[int, bool]] = field(default_factory=dict)
    last: int = 100

    def receive(self, line: bytes) -> list[bytes]:
        """Return the lines to write for a received line."""
        message = json.loads(line)
        return [json.dumps(one).encode() for one in self._receive(message)]

    def _receive(self, message: Message) -> list[Message]:
        method = message.get("method")
        if method is None:
            back = self.waiting.pop(message["id"], None)
            return [] if back is None else [back(message)]
        self.seen.append(method)
        return self._take(method, message)

    def _take(self, method: str, message: Message) -> list[Message]:
        if method == "$/cancel_request":
            return self._cancel(message["params"]["requestId"])
        if method == self.words.initialize and "id" in message:
            return self._initialize(message)
        if method not in self.words.into:
            is_foreign = method.endswith("proxy/initialize") or "proxy/successor" in method
            refusal = [_refusal(message.get("id"), method)]
            return refusal if is_foreign else [self._pass_on(message, message, wrapped=True)]
        inner = message["params"]["message"] if self.words.is_nested else message["params"]
        if inner["method"] == "$/cancel_request":
            return self._cancel(inner["params"]["requestId"])
        return [self._pass_on(message, self._marked(inner), wrapped=False)]

    def _initialize(self, message: Message) -> list[Message]:
        params = dict(message["params"])
        is_flagged = self.words.initialize == "initialize"
        if is_flagged:
            meta: Message = params.pop("_meta", None) or {}
            if not meta.pop("proxy", False):
                return [_refusal(message["id"], "initialize")]
            if meta:
                params["_meta"] = meta
        inner = {"method": "initialize", "params": params}

        def back(answer: Message) -> Message:
            if is_flagged and "result" in answer:
                answer["result"]["_meta"] = {"proxy": True}
            return {**answer, "id": message["id"]}

        return [self._ask(message["id"], inner, back, wrapped=True)]

    def _pass_on(self, message: Message, inner: Message, *, wrapped: bool) -> Message:
        if "id" in message:
            return self._ask(
                message["id"],
                inner,
                lambda answer: {**answer, "id": message["id"]},
                wrapped=wrapped,
            )
        return self._written(inner, wrapped=wrapped)

    def _ask(
        self, name: Any, inner: Message, back: Callable[[Message], Message], *, wrapped: bool
    ) -> Message:
        self.last += 1
        self.waiting[self.last] = back
        self.passed[json.dumps(name)] = (self.last, wrapped)
        return self._written(inner, wrapped=wrapped, name=self.last)

    def _written(self, inner: Message, *, wrapped: bool, name: int | None = None) -> Message:
        plain = {key: inner[key] for key in ("method", "params") if key in inner}
        names: Message = {} if name is None else {"id": name}
        if not wrapped:
            return {"jsonrpc": "2.0", **names, **plain}
        words = self.words
        params: Message = {"message": plain} if words.is_nested else dict(plain)
        if words.meta is not None:
            params[words.meta] = {"by": "bare"}
        return {"jsonrpc": "2.0", **names, "method": words.out[name is None], "params": params}

    def _cancel(self, name: Any) -> list[Message]:
        passed = self.passed.get(json.dumps(name))
        if passed is None or passed[0] not in self.waiting:
            return []
        cancel = {"method": "$/cancel_request", "params": {"requestId": passed[0]}}
        return [self._written(cancel, wrapped=passed[1])]

    def _marked(self, inner: Message) -> Message:
        match inner:
            case {"params": {"update": {"content": {"text": str(text)} as content}}}:
                content["text"] = self.mark + text
            case _:
                pass
        return inner


def _refusal(name: Any, method: str) -> Message:
    error = {"code": -32601, "message": "Method not found", "data": method}
    return {"jsonrpc": "2.0", "id": name, "error": error}


def main() -> None:
    """Run as a program."""
    era, mark = [*sys.argv[1:], *("b1", "")[len(sys.argv) - 1 :]]
    proxy = BareProxy(ERAS[era], mark)
    for line in sys.stdin.buffer:
        for answer in proxy.receive(line):
            sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
