"""Where Letta Code keeps its transcripts, by its own rules.

Source: Letta Code 0.34.12, `getTranscriptRoot`: `LETTA_TRANSCRIPT_ROOT` after
JavaScript's `trim` when that leaves anything, else `.letta/transcripts` beneath
the home folder, which Node takes verbatim from `HOME` when it is set.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

from .errors import SourceError, SourceReason

# What JavaScript's String.prototype.trim removes: WhiteSpace and LineTerminator of ECMA-262.
JS_WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def transcript_root(environ: Mapping[str, str] = os.environ) -> str:
    """The transcript root of a Letta Code that runs with `environ`.

    A relative root or home depends on that program's own folder, which nobody
    else knows: `SourceError` with `bad_name`.
    """
    root = environ.get("LETTA_TRANSCRIPT_ROOT", "").strip(JS_WHITE_SPACE)
    if not root:
        home = environ.get("HOME")
        if home is None:
            home = _home()
        root = os.path.join(home, ".letta", "transcripts")
    if not os.path.isabs(root):
        raise SourceError(SourceReason.BAD_NAME, root)
    return root


def local_store_root(environ: Mapping[str, str] = os.environ) -> str | None:
    """The folder of Letta Code's local backend; None where it has no absolute path.

    Source: Letta Code 0.34.12, `getLocalBackendStorageDir`.
    """
    root = environ.get("LETTA_LOCAL_BACKEND_DIR")
    if root is None:
        root = os.path.join(environ.get("HOME") or _home(), ".letta", "lc-local-backend")
    return root if os.path.isabs(root) else None


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise SourceError(SourceReason.MISSING, "the home folder") from None
