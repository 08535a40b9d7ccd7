"""Calls with one bad argument each, in a process of their own, and what is wrong with how each ended.

A call may return or refuse: TypeError, ValueError or what its docstring's Raises names, with one line as its message.
It may not take more than SECONDS of processor time or MEMORY, warn, or return NaN where none was given.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import math
import os
import random
import resource
import shlex
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import wraps
from typing import Any
from unittest import mock

import numpy as np

from helpers import good_calls, good_real_calls
from helpers.forwards import Forward, forbid
from helpers.misbehaving import PLANTED

SECONDS, MEMORY = 5, 1 << 30
Case = tuple[str, Callable[[], Any], tuple[str, ...], bool]  # its name, the call, what it may raise, NaN allowed


def bad_arguments() -> dict[str, Any]:
    """Return values that no argument, or not every argument, may have, by how they are written."""
    loop: list[Any] = []
    loop.append(loop)
    return {
        "None": None, "'x'": "x", "''": "", "b'x'": b"x", "-1": -1, "0": 0, "1.5": 1.5, "True": True,
        "nan": math.nan, "inf": math.inf, "-inf": -math.inf, "4096": 4096, "10000": 10_000, "2**16": 2**16,
        "10**9": 10**9, "10**400": 10**400, "2**63": 2**63,
        "1e300": 1e300, "1e-300": 1e-300, "[]": [], "[[]]": [[]], "{}": {}, "object()": object(), "1j": 1j,
        "[10**400]": [10**400], "[nan, 1]": [math.nan, 1.0], "[0.5, 0.6]": [0.5, 0.6], "[[1], [1, 2]]": [[1], [1, 2]],
        "['x']": ["x"], "[None]": [None], "[-1, 5]": [-1, 5], "[10**9]": [10**9], "[[[0.5, 0.5]]]": [[[0.5, 0.5]]],
        "masked": np.ma.masked_array([0.5, 0.5], [False, True]), "complex": np.array([0.5 + 1j, 0.5]),
        "zeros(0, 3)": np.zeros((0, 3)), "zeros(2, 0)": np.zeros((2, 0)), "zeros(3)": np.zeros(3),
        "tiny row": np.array([1e-300, 1 - 1e-300]), "lambda": lambda *a: None, "a list in itself": loop,
        "5e-324": 5e-324, "Fraction(1, 2)": Fraction(1, 2), "{0: 1}": {0: 1}, "a date": np.datetime64("2026-01-01"),
    }  # fmt: skip


def raises(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the exceptions that a function's docstring documents."""
    from numpydoc.docscrape import FunctionDoc

    return tuple(name for entry in FunctionDoc(function)["Raises"] for name in entry.type.replace(",", " ").split())


def cases(function: Callable[..., Any], good: Mapping[str, Any]) -> Iterator[Case]:
    """The good call, then for each parameter each bad argument in its place."""
    allowed = ("TypeError", "ValueError", *raises(function))
    yield "as it is", lambda: function(**good), (), False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        for written, bad in bad_arguments().items():
            call = {**good, parameter.name: bad}
            yield f"{parameter.name}={written}", lambda call=call: function(**call), allowed, "nan" in written


def complaint(call: Callable[[], Any], allowed: tuple[str, ...], nan_allowed: bool) -> str:
    """Return the complaint about a call, "" if it has none."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="array_api_compat")
        try:
            result = call()
        except Exception as error:  # judged by its name below
            if not any(kind.__name__ in allowed for kind in type(error).__mro__):
                return f"raises {type(error).__name__}: {str(error)[:120]} at {_place(error)}"
            if "\n" in str(error).strip() or not str(error).strip():
                return f"raises {type(error).__name__} with {len(str(error).splitlines())} lines: {str(error)[:200]!r}"
            result = None
    if caught:
        first = caught[0]
        return f"warns {first.category.__name__}: {str(first.message)[:120]} at {first.filename}:{first.lineno}"
    return "returns NaN" if has_nan(result) and not nan_allowed else ""


def has_nan(value: Any, depth: int = 4) -> bool:
    """True if a number inside is NaN."""
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    if depth == 0 or isinstance(value, (str, bytes)):
        return False
    if isinstance(value, dict):
        return any(has_nan(v, depth - 1) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(has_nan(v, depth - 1) for v in value)
    if is_dataclass(value):
        return any(has_nan(getattr(value, f.name), depth - 1) for f in fields(value))
    return False


def _place(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        if f"{os.sep}specsim{os.sep}" in trace.tb_frame.f_code.co_filename:
            place = f"{os.path.relpath(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def judged(cases: list[Case], seconds: float = SECONDS, memory: int = MEMORY) -> dict[str, str]:
    """Run every case in a forked process, which is replaced when it dies; return complaints by case."""
    complaints: dict[str, str] = {}
    at = 0
    while at < len(cases):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(cases, at, writer, seconds, memory)
        os.close(writer)
        with os.fdopen(reader) as lines:
            for line in lines:
                at, text = json.loads(line)
                if text:
                    complaints[cases[at][0]] = text
                at += 1
        _, status = os.waitpid(child, 0)
        if at < len(cases):  # it died in this case, which said nothing
            code = os.waitstatus_to_exitcode(status)
            reason = (
                f"takes more than {seconds:g} s" if code in (-signal.SIGPROF, -signal.SIGALRM) else "ends its process"
            )
            complaints[cases[at][0]] = f"{reason} ({code})"
            at += 1
    return complaints


def _work(cases: list[Case], start: int, writer: int, seconds: float, memory: int) -> None:
    """The forked process: it never returns."""
    os.chdir(tempfile.mkdtemp())  # a bad argument may be taken for the name of a file to write
    for stream in (sys.stdout, sys.stderr):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno() if hasattr(stream, "fileno") else 1)
    try:
        if start:
            cases[0][1]()  # loads what the call needs, before anything is measured
        limited = False
        for i, (_, call, allowed, nan_allowed) in enumerate(cases[start:], start):
            if i and not limited:
                with open("/proc/self/statm") as file:
                    size = int(file.read().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (size + memory, resource.RLIM_INFINITY))
                limited = True
            # processor time, because others use the machine; and a wall for a call that only waits
            signal.setitimer(signal.ITIMER_PROF, seconds if i else 60)
            signal.setitimer(signal.ITIMER_REAL, 10 * seconds if i else 120)
            text = complaint(call, allowed, nan_allowed)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.write(writer, (json.dumps([i, text]) + "\n").encode())
    finally:
        os._exit(0)


BAD_WORDS = ("", "x", "-1", "0", "1.5", "nan", "inf", "1e9", "1000000000", "1" + "0" * 400, "[]", "1,,2", "/nowhere/x")


PROGRAMS = {"specsim": "specsim.cli", "specsim-real": "real.cli"}


def commands(program: str = "specsim") -> Mapping[str, Any]:
    """The commands of a program by name."""
    import typer

    return typer.main.get_command(importlib.import_module(PROGRAMS[program]).app).commands  # type: ignore[attr-defined, no-any-return]


def command_cases(program: str, name: str, good: list[str]) -> Iterator[Case]:
    """A command with each of its options once in every bad way."""
    yield "as it is", lambda: ended([program, name, *good], good=True), (), False
    for parameter in commands(program)[name].params:
        option = parameter.opts[0]
        if not option.startswith("--") or getattr(parameter, "is_flag", False) or option == "--help":
            continue
        for bad in BAD_WORDS:
            if program == "specsim" and option in good_calls.LONG_OPTIONS and bad in ("1e9", "1000000000"):
                continue
            words = [program, name, *good, f"{option}={bad}"]
            yield f"{option}={bad[:12]}", lambda words=words: ended(words), (), True


def ended(words: list[str], good: bool = False) -> None:
    """Run a command; it must end with a status that `specsim.commands.errors` documents, or at a forward.

    With the status of bad input it says one line, unless the words themselves cannot be read: then the usage stands
    before it. Good words do not end so, unless a package is missing.
    """
    from specsim.commands import conform, errors

    sys.argv = words
    os.chdir(tempfile.mkdtemp())  # a bad word may be taken for the name of a file to write
    output = io.StringIO()
    try:
        with redirect_stderr(output):
            errors.run(PROGRAMS[words[0]])
    except Forward:
        pass
    except SystemExit as stop:
        lines = [line for line in output.getvalue().splitlines() if not line.startswith("loading ")]
        must_work = good and "error: this needs" not in output.getvalue()
        bad = conform.BAD_INPUT if words[1] == "conform" else errors.BAD
        if stop.code not in ((0, 1) if must_work else (0, 1, 2, bad)):
            raise AssertionError(f"status {stop.code}: {output.getvalue()[:100]!r}") from None
        if stop.code == bad and len(lines) != 1 and not lines[0].startswith("Usage: "):
            raise AssertionError(f"{len(lines)} lines: {output.getvalue()[:200]!r}") from None


def until_forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, made to return None where it would compute."""

    @wraps(function)
    def stopped(*args: Any, **kwargs: Any) -> Any:
        with suppress(Forward):
            return function(*args, **kwargs)

    return stopped


def swept(what: str) -> dict[str, tuple[str, str, list[str]]]:
    """Return the commands of a sweep: program, name and good words of each."""
    of_specsim = {name: ("specsim", name, words) for name, words in good_calls.COMMANDS.items()}
    split = {f"real {name}": shlex.split(line) for name, line in good_calls.REAL.items()}
    of_real = {name: ("specsim-real", words[0], words[1:]) for name, words in split.items()}
    if what == "options":
        return {name: of_specsim[name] for name in ("plan", "simulate")}
    if what == "real options":
        return of_real
    name = what.removeprefix("command ")
    return {name: (of_specsim | of_real)[name]} if what.startswith("command ") else {}


class NotInstalled:
    """Finds no torch; None in sys.modules would trip NumPy's helpers, which look for it there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main(what: str, number: str = "0") -> None:
    """Print the complaints of a function, a command, or a sample: `specsim.speedup`, `command plan`, `sample 200`.

    Of `specsim-real` a command is run as far as its first forward; a sample of its options as far as torch is loaded.
    """
    if what == "planted":
        tried = [("as it is", lambda: None, (), False), *((f.__name__, f, ("ValueError",), False) for f in PLANTED)]
        for name, text in judged(tried, seconds=0.5).items():
            print(f"{name}: {text.partition(':')[0]}")
        return
    good: dict[str, Any] = {}
    public: dict[str, Callable[..., Any]] = {}
    if what == "real options":
        sys.meta_path.insert(0, NotInstalled())  # type: ignore[arg-type]
    elif what.startswith(("command real", "real.")):
        forbid(lambda place, other: mock.patch(place, other).start())
    if what in good_real_calls.OF_REAL:
        calls = good_real_calls.calls_of_real()
        good, public = {what: calls[what][1]}, {what: until_forward(calls[what][0])}
    elif what != "real options":
        good, public = good_calls.calls(), good_calls.functions()
    if what in public:
        names = [what]
    elif what == "sample":
        names = random.Random(0).sample(sorted(set(public) - set(good_calls.SLOW)), 40)
    else:
        names = []
    found = {
        name: [c for c in cases(public[name], good[name]) if not good_calls.asked_to_last(name, c[0])] for name in names
    }
    found |= {name: list(command_cases(*words)) for name, words in swept(what).items()}
    each = int(number) // max(len(found), 1)
    for name, every in found.items():
        tried = [every[0], *random.Random(name).sample(every[1:], min(each, len(every) - 1))] if each else every
        for case, text in judged(tried).items():
            print(f"{name}({case}) {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
