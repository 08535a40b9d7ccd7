"""How a command ends. Both `specsim` and `specsim-real` end here.

| status | meaning |
| --- | --- |
| 0 | done |
| 1 | a check failed, or standard output could not be written (a full disk) |
| 2 | bad input, a file that cannot be read or written, a missing package, too little memory: one line says which |
| 3 | bad input of `specsim conform`, where 2 is an answer: undecided |
| 130 | interrupted (Ctrl-C), at any moment from the start on |
| 141 | the reader closed the pipe (`| head -1`): nothing is said, as other programs do |

Any other exception is a bug and keeps its traceback. This file imports nothing that takes time, so that an interruption
while the command is still being imported ends in the same way.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from specsim.base.extras import missing

# Statuses of the table; the last two are 128 + SIGINT and 128 + SIGPIPE, as shells have them.
BAD, INTERRUPTED, CLOSED = 2, 130, 141
OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def run(module: str) -> None:
    """Import the module of a command and run its `app`; the process ends with one of the statuses above."""
    status: Any = 0
    try:
        try:
            importlib.import_module(module).app()
        except SystemExit as stop:
            status = stop.code
            # typer turns a broken pipe into status 1.
            if isinstance(stop.__context__, BrokenPipeError):
                raise stop.__context__ from None
        if sys.stdout is not None:
            sys.stdout.flush()
    # Interruptions and errors of output or input; others are bugs.
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        _close_output()
        status = CLOSED
    except (OSError, ImportError, MemoryError) as error:
        if _of_our_own(error):
            raise
        full = _of_the_output(error)
        if full:
            _close_output()
        print(error_line(f"{'standard output: ' if full else ''}{sentence(error)}"), file=sys.stderr)
        status = 1 if full else BAD
    sys.exit(status)


def one_line(command: Callable[..., None], status: int = BAD) -> Callable[..., None]:
    """Wrap a command so that bad input ends in one line and a status.

    What concerns standard output is left to `run`.
    """

    @wraps(command)
    def clean(*args: Any, **kwargs: Any) -> None:
        """Run the command; bad input ends it in one line."""
        try:
            command(*args, **kwargs)
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if _of_the_output(error) or _of_our_own(error):
                raise
            fail(sentence(error), status)

    return clean


def fail(message: str, status: int = BAD) -> None:
    """Say what is wrong and end with a status."""
    import typer

    typer.echo(error_line(message), err=True)
    raise typer.Exit(status) from None


def error_line(message: str) -> str:
    """Return an error as one line, wrapped between words if standard error is a terminal."""
    line = f"error: {message}"
    if sys.stderr is None or not sys.stderr.isatty():
        return line
    import textwrap

    width = os.get_terminal_size(sys.stderr.fileno()).columns
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def sentence(error: BaseException) -> str:
    """Return the message of an exception in one line, without numbers of errors and names of classes.

    Examples
    --------
    >>> sentence(FileNotFoundError(2, "No such file or directory", "runs/a [1].json"))
    'runs/a [1].json: No such file or directory'
    >>> sentence(ModuleNotFoundError("No module named 'jax'", name="jax"))
    'this needs jax: install the extra `jax` (specsim-llm[jax])'
    """
    message = " ".join(str(error).splitlines())
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"memory ran out: {message}" if message else "memory ran out"
    if isinstance(error, ImportError):
        return missing(error)
    return message or type(error).__name__


def _of_the_output(error: BaseException) -> bool:
    """Return whether standard output could not be written: such errors name no file, and have numbers in OUTPUT."""
    return isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT


def _of_our_own(error: BaseException) -> bool:
    """Return whether a module of the project, not a package, could not be imported: a bug."""
    return isinstance(error, ImportError) and (error.name or "").partition(".")[0] in ("specsim", "real")


def _close_output() -> None:
    """Send buffered output to the null device, since Python tries to write the buffer once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
