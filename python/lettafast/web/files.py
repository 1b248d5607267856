"""The pages' own files under `/static/`."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from .answers import etag, is_known, not_modified
from .assets import FOLDER, static_url
from .problems import Problem

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOREVER = "public, max-age=31536000, immutable"


class Files:
    """Read once: what is served cannot change beneath a running server."""

    def __init__(self) -> None:
        self._files = {
            path.name: (path.read_bytes(), _TYPES[path.suffix], static_url(path.name))
            for path in FOLDER.iterdir()
            if path.suffix in _TYPES
        }

    def answer(self, request: Request) -> Response:
        """One file. It may be kept forever under the address that names its bytes."""
        name = request.path_params["name"]
        if name not in self._files:
            raise Problem(HTTPStatus.NOT_FOUND, "not_found", "there is no such file")
        data, media_type, url = self._files[name]
        tag = etag(data)
        if is_known(request, tag):
            return not_modified(tag)
        headers = {"etag": tag}
        if url == f"/static/{name}?{request.url.query}":
            headers["cache-control"] = _FOREVER
        return Response(data, media_type=media_type, headers=headers)
