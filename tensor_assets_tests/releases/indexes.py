"""Package indexes for tests: folders of tiny wheels, an index folder, and servers that answer well, late or rubbish."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

NAME = "tiny_compiler"


def wheel(folder: Path, version: str, name: str = NAME, module: str = "", requires: tuple[str, ...] = ()) -> Path:
    """A real wheel with one module that says its version, and whatever else ``module`` holds."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    files = {
        f"{name}.py": f"VERSION = {version!r}\n{module}",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return path


def folder_index(root: Path, wheels: Mapping[str, list[Path]], yanked: tuple[str, ...] = ()) -> str:
    """The folder form of a package index, as pip's own tools read it; returns its address. ``yanked``: file names."""
    for name, files in wheels.items():
        page = root / name.replace("_", "-")
        page.mkdir(parents=True, exist_ok=True)
        links = [
            f'<a href="{file.as_uri()}#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}"'
            + (' data-yanked="broken"' if file.name in yanked else "")
            + f">{file.name}</a>"
            for file in files
        ]
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>")
    return root.as_uri()


@contextmanager
def answering(status: int, body: bytes, content_type: str = "text/html") -> Iterator[str]:
    """A server on 127.0.0.1 that gives this one answer to everything; its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()


def use(monkeypatch: pytest.MonkeyPatch, index: str, tmp_path: Path) -> None:
    """Configure uv for this index alone, with a cache of its own and without retries."""
    for name in ("UV_FIND_LINKS", "UV_NO_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", index)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "5")


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
