"""Kinds of inputs of a study: each reads one value of the file, or refuses it with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check, source
from specsim.base.modules import own_rule

# The default of an input that must be given.
REQUIRED = object()
# The end of the path of a rule file.
RULE_FILE = ".py"


class Input(NamedTuple):
    """One input of a kind of study.

    column: its type in the Parquet file, "double", "int64" or "string". read(value, name): the value as it is kept;
    ValueError, which begins with the name, if it is none. default: REQUIRED where there is none; None leaves it out.
    source(value): a hash of the file that a value names, which the row's key holds; "" where it names none.
    """

    column: str
    read: Callable[[Any, str], Any]
    default: Any = REQUIRED
    source: Callable[[str], str] = lambda value: ""


class Kind(NamedTuple):
    """A kind of study, as its file in `kinds` describes it.

    name: of its file. inputs: by name. outputs: name -> type of the column, as `Input.column`, or "list<double>".
    row(point): the outputs of one point; ValueError or TypeError refuses the point. check(axes): ValueError where
    inputs do not go together. chunk: most points that a worker takes at once. most: points of one study. timed: whether
    rows are measured times, which workers on one machine would spoil for each other.
    """

    name: str
    inputs: Mapping[str, Input]
    outputs: Mapping[str, str]
    row: Callable[[Mapping[str, Any]], dict[str, Any]]
    check: Callable[[Mapping[str, tuple[Any, ...]]], None]
    chunk: int
    most: int
    timed: bool = False


def real(interval: str, default: Any = REQUIRED) -> Input:
    """Return an input that is a number in an interval, as "[0, 1]".

    Examples
    --------
    >>> real("[0, 1]").read(1, "alpha")
    1.0
    """

    def read(value: Any, name: str) -> float:
        """Return the number; ValueError for anything else."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} is {value!r:.60}; give a number")
        return float(check.scalar(value, name, interval))

    return Input("double", read, default)


def whole(low: int, high: int, default: Any = REQUIRED) -> Input:
    """Return an input that is a whole number from low to high.

    Examples
    --------
    >>> whole(0, 16).read(17, "gamma")
    Traceback (most recent call last):
        ...
    ValueError: gamma is 17; it must be a whole number from 0 to 16
    """

    def read(value: Any, name: str) -> int:
        """Return the whole number; ValueError for anything else."""
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{name} is {value!r:.60}; it must be a whole number from {low} to {high}")
        return value

    return Input("int64", read, default)


def text(look_up: Callable[[str], Any] = str, default: Any = REQUIRED, names_files: bool = False) -> Input:
    """Return an input of words, which `look_up` refuses if they name nothing; some may be paths of rules or models."""

    def read(value: Any, name: str) -> str:
        """Return the words; ValueError if they are refused."""
        if not isinstance(value, str):
            raise ValueError(f"{name} is {value!r:.60}; give text")
        try:
            look_up(value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name} is {value!r:.60}: {error}") from None
        return value

    return Input("string", read, default, _file if names_files else lambda value: "")


def _file(value: str) -> str:
    """Return a hash of the file or folder at a path, with the files that a rule imports; "" for any other name."""
    if value.endswith(RULE_FILE):
        module = own_rule(value)
        return "" if module is None else source.of_module(module)
    return source.of_path(Path(value)) if value and Path(value).exists() else ""


def one_of(*words: str, default: Any = REQUIRED) -> Input:
    """Return an input that is one of a few words.

    Examples
    --------
    >>> one_of("bf16", "fp8").read("fp16", "dtype")
    Traceback (most recent call last):
        ...
    ValueError: dtype is 'fp16': known are bf16, fp8
    """

    def look_up(value: str) -> None:
        """Refuse a word that is not among these."""
        if value not in words:
            raise ValueError(f"known are {', '.join(words)}")

    return text(look_up, default)


def anything(axes: Mapping[str, tuple[Any, ...]]) -> None:
    """Allow all axes: the check of a kind whose inputs all go together."""
