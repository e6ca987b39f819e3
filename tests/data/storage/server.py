"""A small web server on this machine that misbehaves as it is told."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Behaviour:
    """What the server does, and the headers of all requests that it got.

    Args:
        content: The file, at any address.
        etag: What identifies it; empty for none.
        stops: For each request in turn the number of bytes after which it closes the connection; then none.
        ranges: Whether it can begin in the middle.
        kind: The type of content that it claims.
        statuses: For each request in turn a status that it answers with instead; then none.
        length: Whether it says how long the answer is.
        moved: Where it says that the file is now.
    """

    content: bytes
    etag: str = '"one"'
    stops: list[int] = field(default_factory=list)
    ranges: bool = True
    kind: str = "application/zip"
    statuses: list[int] = field(default_factory=list)
    length: bool = True
    moved: str = ""
    wrong_range: bool = False
    url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serve(behaviour: Behaviour) -> Iterator[Behaviour]:
    """Run the server on a free port; ``url`` is then the file's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            behaviour.requests.append(dict(self.headers))
            if behaviour.statuses:
                self.send_error(behaviour.statuses.pop(0))
                return
            if behaviour.moved:
                self.send_response(302)
                self.send_header("Location", behaviour.moved)
                self.end_headers()
                return
            body, start = behaviour.content, 0
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            same = self.headers.get("If-Range", behaviour.etag) == behaviour.etag
            if asked and behaviour.ranges and same:
                start = int(asked[1])
                if start >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206)
                first = 0 if behaviour.wrong_range else start
                self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
            else:
                self.send_response(200)
            self.send_header("Content-Type", behaviour.kind)
            if behaviour.etag:
                self.send_header("ETag", behaviour.etag)
            if behaviour.length:
                self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            stop = behaviour.stops.pop(0) if behaviour.stops else len(body)
            with suppress(BrokenPipeError, ConnectionResetError):  # the client was killed
                self.wfile.write(body[start : start + stop])

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    behaviour.url = f"http://127.0.0.1:{server.server_port}/data/file.zip"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield behaviour
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
