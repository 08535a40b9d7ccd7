"""Records of systems: a JSON file each, written when its system has ended, and whether it is still valid."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from real.draft import _weights as drafters
from real.papers.lab import pairs
from real.papers.lab.choices import VALUES, keys, whole
from real.papers.lab.contract import Lab, System, Verdict, as_json, checked, checked_verdict, from_json
from real.papers.lab.units import Units
from real.papers.models import store
from real.studies.provenance import digest
from real.studies.runner import earlier_record
from specsim import discover
from specsim.base import imports
from specsim.base.files import write_json

SCHEMA = "specsim-system/1"
# Folder of a model's name -> its store: NAME is a model of images or sums, draft/NAME a drafter.
STORES: dict[str, Any] = {"": store, "draft": drafters}
# The content of a record's file.
Held = dict[str, Any]


def path_of(folder: Path, name: str) -> Path:
    """The path of a system's record."""
    return folder / f"{name}.json"


def weights(system: System) -> dict[str, str]:
    """Name -> digest of the shipped weights that a system runs on."""
    digests = {}
    for name in system.MODELS:
        weights_store, bare_name = stored(name)
        try:
            content = weights_store.path_of(bare_name).read_bytes()
        except FileNotFoundError:
            remedy = weights_store.remedy(bare_name)
            raise ValueError(f"weights of {name} are not there: {remedy}") from None
        digests[name] = hashlib.sha256(content).hexdigest()[:16]
    return digests


def stored(name: str) -> tuple[Any, str]:
    """Return the store of shipped weights that a system names, and their name there; ValueError for no store."""
    folder, _, bare_name = name.partition("/") if "/" in name else ("", "", name)
    if folder not in STORES:
        raise ValueError(f"MODELS has {name!r}, but weights are in {', '.join(STORES)} only")
    return STORES[folder], bare_name


def verdict_of(held: Held, system: System) -> Verdict:
    """The verdict on a record, from its numbers."""
    return checked_verdict(system.verdict(from_json(held["found"])))


def code(system: System) -> dict[str, str]:
    """Module -> digest of its code: the system's file, and all modules that it imports or names.

    It names modules in AXES, and rules and controllers that `discover` finds for it by a text in
    its file. Modules of other packages are left out: the provenance has the versions of those that
    matter.
    """
    # Modules that the axes name, and those of every text that could be the name of a rule.
    tree = _tree(system)
    axes = whole(system.AXES).items()
    of_axes = {VALUES[axis][key].module for axis, text in axes for key in keys(text)}
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str) and value.isidentifier()}
    of_texts = {f"{package}.{text}" for package in discover.FAMILIES.values() for text in texts}

    # These, and all that is imported by them and by the system.
    named = filter(imports.file_of, of_axes | of_texts)
    modules = imports.closure([*imports.imports_of(tree), *named])
    digests = {name: imports.code(name)[:16] for name in sorted(modules)}
    return {_name(system): _file_digest(system)} | digests


def _file_digest(system: System) -> str:
    """The digest of a system's file."""
    return imports.code_of(_tree(system))[:16]


def _tree(system: System) -> ast.Module:
    """The syntax tree of a system's file."""
    return ast.parse(inspect.getsource(cast(Any, system)))


def _name(system: System) -> str:
    """The name of a system's module."""
    return str(cast(Any, system).__name__)


def changed(held: Held, system: System) -> list[str]:
    """Return the imported modules whose code has changed since the record."""
    then, now = held["code"], code(system)
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def stale(held: Held, system: System) -> str | None:
    """The reason why a record is no longer one of this system's file; None if it is."""
    if held["test_hash"] != digest([system.TEST]):
        return "its TEST has changed since the record was made"

    # Weights that are other than they were, new or gone.
    now = weights(system)
    names = held["weights"].keys() | now.keys()
    other = sorted(name for name in names if held["weights"].get(name) != now.get(name))
    if other:
        return f"the weights of {other[0]} have changed since the record was made"

    # The headline, the file and the verdict.
    if system.HEADLINE not in held["found"]["measured"]:
        return "its HEADLINE is none of the record's numbers"
    if held.get("code", {}).get(_name(system)) != _file_digest(system):
        return "its code has changed since the record was made"
    try:
        if held["verdict"] != verdict_of(held, system):
            return "its verdict is judged otherwise since the record was made"
    # The verdict reads a number that the record does not have.
    except KeyError as missing:
        return f"it lacks the number {missing}, by which it is judged now"
    return None


def opened(
    folder: Path,
    name: str,
    system: System,
    what: dict[str, Any],
    *,
    force: bool,
) -> tuple[Held | None, str]:
    """The valid record of a system, or None and the reason for a run, "" if there was no record.

    A record is valid if TEST, weights and code are those of now, imported code included.

    Raises
    ------
    ValueError
        The file is no record, or the record of another share, seed or machine, and `force` is
        False.
    """
    held = earlier_record(path_of(folder, name), SCHEMA, what, force=force)
    if held is None:
        return None, ""
    try:
        reason = stale(held, system) or _reason(changed(held, system))
    except (KeyError, TypeError, AttributeError):
        reason = "its record is not whole"
    return (None, reason) if reason else (held, "")


def _reason(modules: list[str]) -> str | None:
    """The modules whose code has changed, in a few words; None if there are none."""
    if not modules:
        return None
    more = f" and {len(modules) - 3} more" if len(modules) > 3 else ""
    return f"code that it imports has changed ({', '.join(modules[:3])}{more})"


def units(folder: Path, name: str, system: System, what: dict[str, Any]) -> Units:
    """Return the units of a system's run; what was kept under other settings or by other code is not used."""
    settings = {key: value for key, value in what.items() if key not in ("date", "command")}
    parts = (system.TEST, settings, code(system), weights(system))
    return Units(folder / f"{name}.part", digest(json.dumps(part, sort_keys=True) for part in parts))


def run(name: str, system: System, lab: Lab, what: dict[str, Any], earlier: float = 0.0) -> Held:
    """Run a system, judge its numbers, and return its record; errors have the system's name.

    Its seconds are those of this sitting and of `earlier` ones, from which units were kept.
    """
    # The numbers and the verdict.
    began = time.monotonic()
    try:
        numbers = checked(system.run(lab), system.HEADLINE)
        verdict = checked_verdict(system.verdict(numbers))
    except ValueError as error:
        raise ValueError(f"system {name!r}: {error}") from error

    # The record, with all by which it becomes stale, and the size of the pair that it is made on.
    size = pairs.scale(lab.pair) if vars(system).get("PAIR") else None
    return {
        "schema": SCHEMA,
        "complete": True,
        "provenance": what,
        "test": system.TEST,
        "test_hash": digest([system.TEST]),
        "weights": weights(system),
        "code": code(system),
        "seconds": round(earlier + time.monotonic() - began, 1),
        "scale": size,
        "verdict": verdict,
        "found": as_json(numbers),
    }


def _show_stage(lab: Lab, name: str, stage: str) -> None:
    """Show a stage of a system with the system's name."""
    lab.said(f"{name}: {stage}")


def run_all(
    wanted: dict[str, tuple[System, dict[str, Any]]],
    folder: Path,
    lab: Lab,
    records: dict[str, Held],
    ended: Callable[[str], None] = lambda name: None,
) -> bool:
    """Run the systems that have no record yet, and write each record before the next run begins.

    Parameters
    ----------
    wanted : dict
        Name -> the system and the provenance of its run.
    folder : Path
        Folder of the records; made if it is not there.
    lab : Lab
        The settings of all of them.
    records : dict
        Name -> record; new ones are added.
    ended : callable
        Called with each name that has its record.

    Returns
    -------
    bool
        False if it was interrupted; records that were written stay.
    """
    try:
        for name, (system, what) in wanted.items():
            if name not in records:
                parts = units(folder, name, system, what)
                named_lab = lab._replace(
                    said=partial(_show_stage, lab, name), pair=what.get("pair", lab.pair), keep=parts.keep
                )
                held = run(name, system, named_lab, what, parts.earlier)
                write_json(path_of(folder, name), held)
                parts.forget()
                # In the form that the file gives back.
                records[name] = json.loads(json.dumps(held))
            ended(name)
    except KeyboardInterrupt:
        return False
    return True
