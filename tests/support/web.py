"""Web server of one test on the loopback address: maps paths to responses, records requests."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Web:
    """Address, responses, and the headers of each received request."""

    address: str
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    asked: list[tuple[str, dict[str, str]]] = field(
        default_factory=list[tuple[str, dict[str, str]]]
    )

    def url(self, path: str) -> str:
        return f"{self.address}{path}"


def reply(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Build a response with this body."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


@contextmanager
def serving() -> Generator[Web]:
    """Serve until the end of the block."""
    web: Web

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append((self.path, dict(self.headers)))
            web.answers.get(self.path, reply(b"no", status=404))(self)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.daemon_threads = True
    web = Web(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
