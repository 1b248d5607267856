"""The HTTP front-end: panes and conversations, live and read-only.

    from lettafast.web import Access, create_app

    app = create_app(access=Access(port=8000))

Needs the extra `lettafast[web]`, and `lettafast[binding]` for panes.
"""

from __future__ import annotations

from .access import Access
from .app import create_app
from .limits import WebLimits

__all__ = ["Access", "WebLimits", "create_app"]
