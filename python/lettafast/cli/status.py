"""Exit statuses that no error of lettafast carries."""

from __future__ import annotations

UNREACHABLE = 3
"""Standard output could not be written to."""
INTERRUPTED = 130
"""Ctrl-C: what a shell tells of a program that died of SIGINT."""
LOST_READER = 141
"""The reader of standard output has gone: what a shell tells of SIGPIPE."""
