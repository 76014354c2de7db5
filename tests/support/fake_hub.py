"""Places that have models, without the network: a folder, and a web server on this computer that speaks as the hub."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from diffusionforce.errors import WeightsError

COMMIT = "0" * 40


class FolderHub:
    """Repositories in memory.

    Args:
        repositories: Contents of files by path, by repository.
        breaks_after: How many bytes of each file arrive; None brings it whole.
    """

    def __init__(self, repositories: Mapping[str, Mapping[str, bytes]], *, breaks_after: int | None = None) -> None:
        self.repositories = repositories
        self.breaks_after = breaks_after
        self.fetched: list[str] = []

    def listing(self, repository: str) -> Mapping[str, int]:
        """Return names and sizes."""
        if repository not in self.repositories:
            raise WeightsError(f"{repository} is not there, or not for you.")
        return {path: len(content) for path, content in self.repositories[repository].items()}

    def fetch(self, repository: str, path: str, *, folder: Path, report: Callable[[int], None]) -> None:
        """Write the file."""
        content = self.repositories[repository][path][: self.breaks_after]
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        self.fetched.append(path)
        report(len(content))


@contextmanager
def hub_server(
    repositories: Mapping[str, Mapping[str, bytes]],
    *,
    gated: tuple[str, ...] = (),
    token: str = "",
    status: int = 200,
    cuts: list[int] | None = None,
    starts: list[int] | None = None,
) -> Iterator[str]:
    """Serve repositories; yields the address.

    Args:
        repositories: Contents of files by path, by repository.
        gated: Those of which nothing is given away, unless the token is shown.
        token: Whose owner accepted the terms of the gated ones; empty: nobody's.
        status: What everything is answered with, unless it is 200.
        cuts: Each file that is asked for breaks off after the next of these many bytes.
        starts: Takes at which byte each answer began that was given to its end.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._file(with_body=False)

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            if status != 200:
                self._refuse(status, "")
                return
            if not path.startswith("/api/models/"):
                self._file(with_body=True)
                return
            repository = path.removeprefix("/api/models/").removesuffix("/auth-check")
            if repository not in repositories:
                self._refuse(404, "RepoNotFound")
            elif path.endswith("/auth-check"):
                self._json({}) if self._may_read(repository) else self._refuse(403, "GatedRepo")
            else:
                files = repositories[repository].items()
                siblings = [{"rfilename": name, "size": len(content)} for name, content in files]
                self._json({"id": repository, "gated": repository in gated, "siblings": siblings, "sha": COMMIT})

        def _may_read(self, repository: str) -> bool:
            shown = self.headers.get("Authorization", "") == f"Bearer {token}"
            return repository not in gated or (bool(token) and shown)

        def _file(self, *, with_body: bool) -> None:
            owner, name, _, _, *rest = unquote(urlsplit(self.path).path).strip("/").split("/")
            if not self._may_read(f"{owner}/{name}"):
                self._refuse(403, "GatedRepo")
                return
            content = repositories[f"{owner}/{name}"].get("/".join(rest))
            if content is None:
                self._refuse(404, "EntryNotFound")
                return
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
            self.send_response(206 if start else 200)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            if with_body:
                self._send(content[start:], start=start)

        def _send(self, content: bytes, *, start: int) -> None:
            cut = cuts.pop(0) if cuts else 0
            if cut > 0:
                self.wfile.write(content[:cut])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(content)
            if starts is not None:
                starts.append(start)

        def _json(self, table: object) -> None:
            content = json.dumps(table).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
