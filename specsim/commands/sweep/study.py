"""A study: the kind and the grid that a TOML file names, its points in order, and the key of each."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import limits, source
from specsim.base.lists import distinct_numbers
from specsim.base.reading import read_text
from specsim.base.unknown import unknown
from specsim.commands.sweep import kinds
from specsim.commands.sweep.inputs import REQUIRED, RULE_FILE, Input, Kind

TOP = ("kind", "grid", "case")
RANGE = ("from", "to", "step", "count", "scale")
# Bytes of the largest file of a study.
MOST_BYTES = 1 << 24


class Study(NamedTuple):
    """The points of a study are every case with every point of the grid, the last axis changing fastest.

    kind: what is computed. axes: input -> its values, in the order of the file. cases: values that go together; one
    empty case where the file has none. fixed: the defaults of all other inputs.
    """

    kind: Kind
    axes: Mapping[str, tuple[Any, ...]]
    cases: tuple[Mapping[str, Any], ...]
    fixed: Mapping[str, Any]

    @property
    def size(self) -> int:
        """Return the number of points."""
        return len(self.cases) * math.prod(map(len, self.axes.values()))


def read(path: Path, *, trust: bool = False, tell: Callable[[str], None] = lambda line: None) -> Study:
    """Read the study of a file; ValueError, in one line with the place, for anything that is wrong with it.

    A study looks like data, but a rule file that it names is run: each is reported by `tell`, and one that is not in
    the folder of the study and in the working directory needs `trust`.
    """
    # Read the file, report the rules that it names, and check all inputs.
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes: give ranges, as {{ from = 1, to = 16 }}")
        content = tomllib.loads(read_text(path, MOST_BYTES))
        for name in rule_files(content):
            if not trust:
                _check_place(path, name)
            tell(f"{path} names the rule file {name}, which is run")
        return parsed(content, path.name)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no TOML: {' '.join(str(error).split())}") from None


def _check_place(study: Path, name: str) -> None:
    """Refuse a rule file that is not in the folder of the study, or not in the working directory: others wrote it."""
    folders = Path(name).resolve().parents
    for folder, words in ((study.resolve().parent, "its folder"), (Path.cwd(), "the working directory")):
        if folder not in folders:
            raise ValueError(
                f"{study} names the rule file {name}, which would be run, and is not in {words}: "
                "read the file, and give --trust to run it"
            )


def rule_files(content: Any) -> list[str]:
    """Return the paths of rule files anywhere in the content of a study."""
    if isinstance(content, str):
        return [content] if content.endswith(RULE_FILE) else []
    inner: Iterable[Any] = content if isinstance(content, list) else ()
    if isinstance(content, dict):
        inner = content.values()
    return list(dict.fromkeys(name for entry in inner for name in rule_files(entry)))


def parsed(content: Mapping[str, Any], name: str) -> Study:
    """Return the study that the content of a file of this name describes."""
    # Its kind.
    _known(content, TOP, f"{name}")
    word = content.get("kind")
    if not isinstance(word, str):
        raise ValueError(f'{name} has no kind; give kind = "plan", or another of {", ".join(kinds.names())}')
    kind = kinds.find(word)
    # Its grid and cases.
    grid, cases = content.get("grid", {}), content.get("case", [])
    if not isinstance(grid, dict):
        raise ValueError(f"{name}: grid is {grid!r:.60}; write [grid], and below it a line for each input")
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ValueError(f"{name}: case is {cases!r:.60}; write [[case]], and below it a line for each input")
    _known(grid, kind.inputs, f"{name}, [grid]")
    axes = {key: _axis(kind.inputs[key], values, f"{name}: {key}", kind.most) for key, values in grid.items()}
    read_cases = _cases(kind, cases, axes, name)
    values_by_input = {**axes, **{key: tuple(case[key] for case in read_cases) for key in read_cases[0]}}
    for key, entry in kind.inputs.items():
        if key not in values_by_input and entry.default is REQUIRED:
            raise ValueError(f"{name} does not give {key}, which a study of kind {kind.name} needs")
    # All inputs go together, and there are not too many points.
    kind.check(values_by_input)
    fixed = {key: entry.default for key, entry in kind.inputs.items() if key not in values_by_input}
    study = Study(kind, axes, read_cases, fixed)
    if study.size > kind.most:
        raise ValueError(f"{name} has {study.size} points; a study of kind {kind.name} has {kind.most} at most")
    return study


def points(study: Study) -> Iterator[dict[str, Any]]:
    """Return all inputs of every point, in order."""
    return (point(study, i) for i in range(study.size))


def point(study: Study, index: int) -> dict[str, Any]:
    """Return all inputs of one point, in the order of the kind's own table."""
    # The index as digits: the last axis is the least significant, the case the most.
    inputs = dict(study.fixed)
    for key, values in reversed(list(study.axes.items())):
        index, place = divmod(index, len(values))
        inputs[key] = values[place]
    inputs |= study.cases[index]
    return {key: inputs[key] for key in study.kind.inputs}


def key(kind: Kind, inputs: Mapping[str, Any]) -> str:
    """Return the key of a row: its kind, all inputs with the seed, and a hash of the source that computes it.

    That is this package's, and that of each file an input names: a rule of one's own, a model's config.json.
    """
    return digest([kind.name, inputs, source.package(), sources(kind, inputs)])


def digest(value: Any) -> str:
    """Return a short name for a value that JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def sources(kind: Kind, inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return hashes of the files that inputs name, by their paths."""
    texts = {value: kind.inputs[name].source for name, value in inputs.items() if isinstance(value, str)}
    return {value: digest_of_file for value, source_of in texts.items() if (digest_of_file := source_of(value))}


def made_with(study: Study) -> dict[str, str]:
    """Return the sources of a whole study: of the package, and of each file that any of its points names."""
    hashes = {"specsim": source.package()}
    for values in ({}, *study.cases):
        hashes |= sources(study.kind, {**study.fixed, **values})
    for name, axis in study.axes.items():
        for value in axis:
            hashes |= sources(study.kind, {name: value})
    return hashes


def _known(given_names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise ValueError for a name that is not known, with the near ones that are."""
    names = list(known)
    for name in given_names:
        if name not in names:
            raise unknown(f"{where}: field", name, names)


def _cases(
    kind: Kind, cases: list[dict[str, Any]], axes: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], ...]:
    """Return the cases as they are read; all have the same inputs, none is on the grid, and no two are alike."""
    read_cases: list[Mapping[str, Any]] = []
    for i, case in enumerate(cases, 1):
        # Inputs that the first case has, too, and the grid has not.
        _known(case, kind.inputs, f"{name}, [[case]] {i}")
        if case.keys() != cases[0].keys():
            differing = ", ".join(sorted(case.keys() ^ cases[0].keys()))
            raise ValueError(
                f"{name}, [[case]] {i}: all cases give the same inputs; this and the first differ in {differing}"
            )
        if in_grid := sorted(case.keys() & axes.keys()):
            raise ValueError(f"{name}, [[case]] {i}: {in_grid[0]} is in [grid], too; it has one value at a time")
        # Values, each read by its input.
        values = {key: kind.inputs[key].read(value, f"{name}, [[case]] {i}: {key}") for key, value in case.items()}
        if values in read_cases:
            raise ValueError(
                f"{name}, [[case]] {i} is the same as {read_cases.index(values) + 1}: no row is written twice"
            )
        read_cases.append(values)
    return tuple(read_cases) or ({},)


def _axis(entry: Input, content: Any, name: str, most: int) -> tuple[Any, ...]:
    """Return the values of one axis: a value, a list of them, or a range; whole numbers also as the text "1-8,16"."""
    if isinstance(content, str) and entry.column == "int64":
        content = list(distinct_numbers(content, name, 0, limits.MAX_COUNT))
    if isinstance(content, dict):
        content = _range(entry, content, name, most)
    if not isinstance(content, list):
        return (entry.read(content, name),)
    if not content:
        raise ValueError(f"{name} is an empty list; give one value or more")
    values = tuple(entry.read(value, f"{name}[{i}]") for i, value in enumerate(content))
    # No value twice.
    first: dict[Any, int] = {}
    for i, value in enumerate(values):
        if first.setdefault(value, i) != i:
            raise ValueError(f"{name}[{i}] is {value!r:.60}, as {name}[{first[value]}] is: no row is written twice")
    return values


def _range(entry: Input, bounds: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """Return the values of a range: { from, to, step } of whole numbers, { from, to, count, scale } of others."""
    # Both ends.
    _known(bounds, RANGE, name)
    if entry.column == "string":
        raise ValueError(f"{name} takes text, which has no range; give a list")
    for end in ("from", "to"):
        if end not in bounds:
            raise ValueError(f"{name} has no {end!r}; a range is {{ from = 1, to = 16 }}")
    low, high = (entry.read(bounds[end], f"{name}.{end}") for end in ("from", "to"))
    # Whole numbers go by steps, others by their count.
    if entry.column == "int64":
        if wrong := sorted(bounds.keys() & {"count", "scale"}):
            raise ValueError(f"{name} is of whole numbers: give step, not {wrong[0]}")
        values = range(low, high + 1, _count(bounds.get("step", 1), f"{name}.step", most))
        if not 0 < len(values) <= most:
            raise ValueError(f"{name} has {len(values)} values from {low} to {high}; 1 to {most} are sensible")
        return list(values)
    count, scale = _count(bounds.get("count"), f"{name}.count", most), bounds.get("scale", "linear")
    if "step" in bounds:
        raise ValueError(f"{name} is of real numbers: give count, not step")
    if scale not in ("linear", "log") or (scale == "log" and min(low, high) <= 0):
        raise ValueError(f'{name}.scale is {scale!r:.60}; it is "linear", or "log" between numbers above 0')
    numbers = np.geomspace(low, high, count) if scale == "log" else np.linspace(low, high, count)
    return [float(value) for value in numbers]


def _count(value: Any, name: str, most: int) -> int:
    """Return a whole number from 1 to `most`; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"{name} is {value!r:.60}; it must be a whole number from 1 to {most}")
    return value
