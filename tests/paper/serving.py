"""A real HTTP server on this machine that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Mirror:
    """What the server offers, how it behaves, and what it was asked for."""

    files: dict[str, bytes]
    supports_range: bool = True
    etag: str = '"one"'
    cut_after: list[int] = field(default_factory=list)  # bytes sent of each of the first answers, then a cut
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(mirror: Mirror) -> Iterator[Mirror]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, range_header = self.path.lstrip("/"), self.headers.get("Range")
            mirror.asked.append((name, range_header))
            if name not in mirror.files:
                self.send_error(404)
                return
            content, start = mirror.files[name], 0
            is_same = self.headers.get("If-Range") in (None, mirror.etag)
            if range_header and mirror.supports_range and is_same:
                start = int(range_header.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(content) - start))
            if mirror.etag:
                self.send_header("ETag", mirror.etag)
            self.end_headers()
            end = start + mirror.cut_after.pop(0) if mirror.cut_after else len(content)
            self.wfile.write(content[start:end])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    mirror.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield mirror
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
