"""A log file, read by the one file of this folder that knows its lines."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from specsim.base.reading import read_text
from specsim.logs.record import EngineLog

# Bytes of a log of some days; a larger file is no log.
MOST_BYTES = 1 << 28


# Sequences by which a terminal is told to colour what follows.
_COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
WAY_ON = "any engine's counts can be read as our CSV, for example: speculation,blocks,drafted,accepted / on,100,300,150"


@cache
def engines() -> tuple[ModuleType, ...]:
    """The files of this folder that read an engine: those that have a name."""
    folder = str(Path(__file__).parent)
    modules = (import_module(f"specsim.logs.{file.name}") for file in pkgutil.iter_modules([folder]))
    return tuple(module for module in modules if "NAME" in vars(module))


def read_log(path: str | Path, *, by_batch: bool = False) -> tuple[EngineLog, ...]:
    r"""Read the runs in a log of vLLM, SGLang, llama.cpp or TensorRT-LLM, or in a CSV or JSON file of our own format.

    Parameters
    ----------
    path : str or Path
        The file. The engine is known by its lines.
    by_batch : bool
        Whether an engine's own log is split by the number of running requests, where it prints one.

    Returns
    -------
    tuple of EngineLog
        One for each run. An engine's log is one run, or one for each batch; our own format may hold several.

    Raises
    ------
    ValueError
        An empty file, lines of no engine that is known or of two, a version whose numbers mean something else, counters
        that decrease, counts that no run can have.
    OSError
        The file cannot be read.

    References
    ----------
    vLLM 0.9 to 0.33, SGLang 0.4 to 0.5, llama.cpp of 2023 to 2026, TensorRT-LLM 1.x: each file of the folder names the
    versions and threads where its lines were seen.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "on.log"
    ...     lines = ["eval time = 1000.0 ms / 50 tokens", "draft acceptance = 0.6 (30 accepted / 50 generated)"]
    ...     _ = path.write_text("\n".join(lines))
    ...     (run,) = read_log(path)
    >>> run.engine, run.blocks, run.token.value
    ('llama.cpp', 19, 0.02)
    """
    # Read the text, without colours.
    place = Path(path)
    text = _COLOUR.sub("", read_text(place, MOST_BYTES))
    if not text.strip():
        raise ValueError(f"{place.name} is empty; expected a log of {names()}")
    # The one engine that knows it.
    known = [module for module in engines() if module.knows(text)]
    if len(known) > 1:
        both = " and of ".join(module.NAME for module in known)
        raise ValueError(f"{place.name} holds lines of {both}; expected those of one engine")
    if not known:
        first = text.strip().splitlines()[0].strip()[:60]
        wanted = "; ".join(
            f"{name}: {module.EXPECTS}" for name, module in zip(names().split(", "), engines(), strict=True)
        )
        raise ValueError(f"{place.name} begins with {first!r}; expected a log with one of these ({wanted}); {WAY_ON}")
    runs: tuple[EngineLog, ...] = known[0].parse(text, place.name, by_batch)
    return runs


def names() -> str:
    """The engines that are known, in one line."""
    return ", ".join(map(_called, engines()))


def _called(module: ModuleType) -> str:
    """The name of an engine in messages."""
    return "our own format" if module.NAME == "own" else str(module.NAME)
