"""Runs of pytest that share one start: a process that has imported other packages forks for each.

`python tests/helpers/forked.py` reads a line of JSON with ids of tests, again and again. It answers
each line with another: the exit status of pytest on these tests of the default suite, and the end
of what it printed. Each run is a process of its own that imports this project anew, so that a line
that has changed since the run before counts.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from importlib import import_module

import pytest

# Other packages, which take most of a start; transformers loads its parts when they are asked for.
HEAVY = (
    "numpy",
    "scipy.optimize",
    "scipy.stats",
    "hypothesis",
    "typer",
    "jax.numpy",
    "torch",
    "transformers.models.llama.modeling_llama",
)
# No output is captured: what a run prints goes to a file of its own.
OPTIONS = ["-q", "-x", "-s", "-n0", "-m", "not slow", "-p", "no:cacheprovider"]
# Characters of the output that an answer repeats.
SHOWN = 2000
# Seconds after which a run is ended, by a signal: a wrong line may loop, or let through what takes
# hours.
LIMIT = 300


class Forks:
    """A plugin of pytest that runs the tests of each line in a process of its own."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        """Return 0 after the last line; None in a new process, where pytest runs the tests of a line."""
        # Import what every run needs.
        for name in HEAVY:
            with suppress(ImportError):
                import_module(name)

        # The child prints into a file; the parent waits, and answers with the file's end.
        for line in sys.stdin:
            with tempfile.TemporaryFile() as output:
                child = os.fork()
                if not child:
                    signal.alarm(LIMIT)
                    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                    os.dup2(output.fileno(), 1)
                    os.dup2(output.fileno(), 2)
                    config.args = json.loads(line)
                    return None
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                output.seek(0)
                shown = output.read().decode(errors="replace")[-SHOWN:]
            print(json.dumps([status, shown]), flush=True)
        return 0


if __name__ == "__main__":
    raise SystemExit(pytest.main(OPTIONS, plugins=[Forks()]))
