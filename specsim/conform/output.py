"""Streams: output of subjects goes to standard error; standard output holds the report alone, which may be JSON."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

# Descriptors of the streams, which C libraries and child processes write to, too.
STDOUT, STDERR = 1, 2


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Send to standard error what Python, a library in C or a process of the subject's own prints meanwhile."""
    sys.stdout.flush()
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as stack:
        # A closed stream has nothing that could mix.
        with contextlib.suppress(OSError):
            saved = os.dup(STDOUT)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, STDOUT)
            os.dup2(STDERR, STDOUT)
        yield
        sys.stdout.flush()
