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

from specsim.base import source
from specsim.base.reading import read_text
from specsim.base.unknown import unknown
from specsim.commands.sweep import kinds
from specsim.commands.sweep.inputs import REQUIRED, RULE_FILE, Input, Kind

TOP = ("kind", "grid", "case")
RANGE = ("from", "to", "step", "count", "scale")
MOST_BYTES = 1 << 24  # of a file


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
        """How many points it has."""
        return len(self.cases) * math.prod(map(len, self.axes.values()))


def read(path: Path, *, trust: bool = False, tell: Callable[[str], None] = lambda line: None) -> Study:
    """The study of a file; ValueError, in one line with the place, for whatever is wrong with it.

    A study looks like data, but a rule file that it names is run, which `tell` hears of; one of another folder needs
    `trust`.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"{path} is larger than {MOST_BYTES} bytes: give ranges, as {{ from = 1, to = 16 }}")
        held = tomllib.loads(read_text(path, MOST_BYTES))
        for name in rule_files(held):
            if not trust and path.resolve().parent not in Path(name).resolve().parents:
                raise ValueError(
                    f"{path} names the rule file {name}, which would be run, and is not in its folder: "
                    "read the file, and give --trust to run it"
                )
            tell(f"{path} names the rule file {name}, which is run")
        return parsed(held, path.name)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no TOML: {' '.join(str(error).split())}") from None


def rule_files(held: Any) -> list[str]:
    """Paths of rule files anywhere in what a study holds."""
    if isinstance(held, str):
        return [held] if held.endswith(RULE_FILE) else []
    inner = held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
    return list(dict.fromkeys(name for one in inner for name in rule_files(one)))


def parsed(held: Mapping[str, Any], name: str) -> Study:
    """The study that a file of this name describes."""
    _known(held, TOP, f"{name}")
    word = held.get("kind")
    if not isinstance(word, str):
        raise ValueError(f'{name} has no kind; give kind = "plan", or another of {", ".join(kinds.names())}')
    kind = kinds.find(word)
    grid, cases = held.get("grid", {}), held.get("case", [])
    if not isinstance(grid, dict):
        raise ValueError(f"{name}: grid is {grid!r:.60}; write [grid], and below it a line for each input")
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ValueError(f"{name}: case is {cases!r:.60}; write [[case]], and below it a line for each input")
    _known(grid, kind.inputs, f"{name}, [grid]")
    axes = {key: _axis(kind.inputs[key], values, f"{name}: {key}", kind.most) for key, values in grid.items()}
    found = _cases(kind, cases, axes, name)
    given = {**axes, **{key: tuple(case[key] for case in found) for key in found[0]}}
    for key, one in kind.inputs.items():
        if key not in given and one.default is REQUIRED:
            raise ValueError(f"{name} does not give {key}, which a study of kind {kind.name} needs")
    kind.check(given)
    fixed = {key: one.default for key, one in kind.inputs.items() if key not in given}
    study = Study(kind, axes, found, fixed)
    if study.size > kind.most:
        raise ValueError(f"{name} has {study.size} points; a study of kind {kind.name} has {kind.most} at most")
    return study


def points(study: Study) -> Iterator[dict[str, Any]]:
    """All inputs of every point, in order."""
    return (point(study, i) for i in range(study.size))


def point(study: Study, index: int) -> dict[str, Any]:
    """All inputs of one point, in the order of the kind's own table."""
    found = dict(study.fixed)
    for key, values in reversed(list(study.axes.items())):
        index, at = divmod(index, len(values))
        found[key] = values[at]
    found |= study.cases[index]
    return {key: found[key] for key in study.kind.inputs}


def key(kind: Kind, inputs: Mapping[str, Any]) -> str:
    """Return the key of a row: its kind, all inputs with the seed, and a hash of the source that computes it.

    That is this package's, and that of each file an input names: a rule of one's own, a model's config.json.
    """
    return digest([kind.name, inputs, source.package(), sources(kind, inputs)])


def digest(held: Any) -> str:
    """A short name for what JSON can write."""
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:32]


def sources(kind: Kind, inputs: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the files that inputs name, by their paths."""
    texts = {value: kind.inputs[name].source for name, value in inputs.items() if isinstance(value, str)}
    return {value: found for value, source_of in texts.items() if (found := source_of(value))}


def made_with(study: Study) -> dict[str, str]:
    """The sources of a whole study: of the package, and of each file that any of its points names."""
    found = {"specsim": source.package()}
    for values in ({}, *study.cases):
        found |= sources(study.kind, {**study.fixed, **values})
    for name, axis in study.axes.items():
        for value in axis:
            found |= sources(study.kind, {name: value})
    return found


def _known(held: Iterable[str], known: Iterable[str], where: str) -> None:
    names = list(known)
    for name in held:
        if name not in names:
            raise unknown(f"{where}: field", name, names)


def _cases(
    kind: Kind, cases: list[dict[str, Any]], axes: Mapping[str, Any], name: str
) -> tuple[Mapping[str, Any], ...]:
    """The cases as they are kept; all have the same inputs, none of them on the grid, and no two are alike."""
    found: list[Mapping[str, Any]] = []
    for i, case in enumerate(cases, 1):
        _known(case, kind.inputs, f"{name}, [[case]] {i}")
        if case.keys() != cases[0].keys():
            differing = ", ".join(sorted(case.keys() ^ cases[0].keys()))
            raise ValueError(
                f"{name}, [[case]] {i}: all cases give the same inputs; this and the first differ in {differing}"
            )
        if both := sorted(case.keys() & axes.keys()):
            raise ValueError(f"{name}, [[case]] {i}: {both[0]} is in [grid], too; it has one value at a time")
        one = {key: kind.inputs[key].read(value, f"{name}, [[case]] {i}: {key}") for key, value in case.items()}
        if one in found:
            raise ValueError(f"{name}, [[case]] {i} is the same as {found.index(one) + 1}: no row is written twice")
        found.append(one)
    return tuple(found) or ({},)


def _axis(one: Input, given: Any, name: str, most: int) -> tuple[Any, ...]:
    """The values of one axis: a value, a list of them, or a range."""
    if isinstance(given, dict):
        given = _range(one, given, name, most)
    if not isinstance(given, list):
        return (one.read(given, name),)
    if not given:
        raise ValueError(f"{name} is an empty list; give one value or more")
    values = tuple(one.read(value, f"{name}[{i}]") for i, value in enumerate(given))
    first: dict[Any, int] = {}
    for i, value in enumerate(values):
        if first.setdefault(value, i) != i:
            raise ValueError(f"{name}[{i}] is {value!r:.60}, as {name}[{first[value]}] is: no row is written twice")
    return values


def _range(one: Input, given: Mapping[str, Any], name: str, most: int) -> list[Any]:
    """{ from, to, step } of whole numbers, { from, to, count, scale } of others."""
    _known(given, RANGE, name)
    if one.column == "string":
        raise ValueError(f"{name} takes text, which has no range; give a list")
    for end in ("from", "to"):
        if end not in given:
            raise ValueError(f"{name} has no {end!r}; a range is {{ from = 1, to = 16 }}")
    low, high = (one.read(given[end], f"{name}.{end}") for end in ("from", "to"))
    if one.column == "int64":
        if wrong := sorted(given.keys() & {"count", "scale"}):
            raise ValueError(f"{name} is of whole numbers: give step, not {wrong[0]}")
        values = range(low, high + 1, _count(given.get("step", 1), f"{name}.step", most))
        if not 0 < len(values) <= most:
            raise ValueError(f"{name} has {len(values)} values from {low} to {high}; 1 to {most} are sensible")
        return list(values)
    count, scale = _count(given.get("count"), f"{name}.count", most), given.get("scale", "linear")
    if "step" in given:
        raise ValueError(f"{name} is of real numbers: give count, not step")
    if scale not in ("linear", "log") or (scale == "log" and min(low, high) <= 0):
        raise ValueError(f'{name}.scale is {scale!r:.60}; it is "linear", or "log" between numbers above 0')
    made = np.geomspace(low, high, count) if scale == "log" else np.linspace(low, high, count)
    return [float(value) for value in made]


def _count(given: Any, name: str, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise ValueError(f"{name} is {given!r:.60}; it must be a whole number from 1 to {most}")
    return given
