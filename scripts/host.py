"""The built site as a static host serves it: compressed, and 404.html for what is not there."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

COMPRESSED = {".css", ".html", ".js", ".json", ".md", ".svg", ".txt", ".xml"}


class Handler(SimpleHTTPRequestHandler):
    """Serves the files below `directory`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.partition("?")[0].endswith("/"):
            path /= "index.html"
        if path.suffix not in COMPRESSED or not path.is_file():
            super().do_GET()
            return
        self.answer(HTTPStatus.OK, path)

    def send_error(self, code, message=None, explain=None):
        self.answer(code, Path(self.directory) / "404.html")

    def answer(self, code: int, path: Path) -> None:
        body = gzip.compress(path.read_bytes(), mtime=0)
        self.send_response(code)
        self.send_header("Content-Type", f"{self.guess_type(path)}; charset=utf-8")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Nothing: what uses this prints what it has to say itself."""


@contextmanager
def hosted(site: Path) -> Iterator[str]:
    """The address at which `site` is served, without a slash at its end, for as long as the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
