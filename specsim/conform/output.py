"""Output of subjects goes to standard error: standard output holds the report alone, which may be JSON."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

STDOUT, STDERR = 1, 2


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Send to standard error what Python, a library in C or a process of the subject's own prints meanwhile."""
    sys.stdout.flush()
    with contextlib.redirect_stdout(sys.stderr), contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a stream that is closed has nothing to be kept apart
            kept = os.dup(STDOUT)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, STDOUT)
            os.dup2(STDERR, STDOUT)
        yield
        sys.stdout.flush()
