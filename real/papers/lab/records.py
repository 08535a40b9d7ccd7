"""Records of systems: one JSON file each, written when its system has ended; and which of them are good still."""

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
from real.papers.lab.choices import VALUES, keys, whole
from real.papers.lab.contract import Lab, System, Verdict, as_json, checked, checked_verdict, from_json
from real.papers.models import store
from real.studies.provenance import digest
from real.studies.runner import earlier_record
from specsim import discover
from specsim.base import imports
from specsim.base.files import write_json

SCHEMA = "specsim-system/1"
STORES: dict[str, Any] = {"": store, "draft": drafters}  # NAME is a model of images, draft/NAME a drafter
Held = dict[str, Any]  # what a file holds


def path_of(folder: Path, name: str) -> Path:
    """Where the record of a system is."""
    return folder / f"{name}.json"


def weights(system: System) -> dict[str, str]:
    """Name -> digest of the shipped weights that a system runs on."""
    found = {}
    for name in system.MODELS:
        kind, _, bare = name.rpartition("/")
        if kind not in STORES:
            raise ValueError(f"MODELS has {name!r}, but weights are in {', '.join(STORES)} only")
        where = STORES[kind]
        try:
            found[name] = hashlib.sha256(where.path_of(bare).read_bytes()).hexdigest()[:16]
        except FileNotFoundError:
            raise ValueError(f"weights of {name} are not there: {where.remedy(bare)}") from None
    return found


def verdict_of(held: Held, system: System) -> Verdict:
    """The verdict on a record, from its numbers."""
    return checked_verdict(system.verdict(from_json(held["found"])))


def code(system: System) -> dict[str, str]:
    """Module -> digest of what it computes: the system's file, and all that it imports or names, at any remove.

    It names modules in AXES, and rules and controllers that `discover` finds for it by a text in its file. Modules of
    other packages are left out: the provenance has the versions of those that matter.
    """
    tree = _tree(system)
    axes = {VALUES[axis][key].module for axis, said in whole(system.AXES).items() for key in keys(said)}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    named = {f"{package}.{text}" for package in discover.FAMILIES.values() for text in texts if text.isidentifier()}
    modules = imports.closure([*imports.imports_of(tree), *filter(imports.file_of, axes | named)])
    return {_name(system): _own(system)} | {name: imports.code(name)[:16] for name in sorted(modules)}


def _own(system: System) -> str:
    """The digest of a system's file."""
    return imports.code_of(_tree(system))[:16]


def _tree(system: System) -> ast.Module:
    return ast.parse(inspect.getsource(cast(Any, system)))


def _name(system: System) -> str:
    return str(cast(Any, system).__name__)


def changed(held: Held, system: System) -> list[str]:
    """Imported modules whose code is not what it was when the record was made; none where the record has no digests."""
    then = held.get("code", {})
    if then.keys() <= {_name(system)}:  # only the system's file is known, or nothing
        return []
    now = code(system)
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def stale(held: Held, system: System) -> str | None:
    """Why a record says nothing of this system's file any more; None if it does."""
    if held["test_hash"] != digest([system.TEST]):
        return "its TEST has changed since the record was made"
    now = weights(system)
    other = sorted(name for name in held["weights"].keys() | now.keys() if held["weights"].get(name) != now.get(name))
    if other:
        return f"the weights of {other[0]} have changed since the record was made"
    if system.HEADLINE not in held["found"]["measured"]:
        return "its HEADLINE is none of the record's numbers"
    if held.get("code", {}).get(_name(system)) not in (None, _own(system)):
        return "its code has changed since the record was made"
    if held["verdict"] != verdict_of(held, system):
        return "its verdict is judged otherwise since the record was made"
    return None


def opened(folder: Path, name: str, system: System, what: dict[str, Any], *, force: bool) -> tuple[Held | None, str]:
    """The record of a system that is good still, or None and why it is run: "" where there was no record.

    Good is one whose TEST, weights and code are those of now, the code that the system's file imports included.

    Raises
    ------
    ValueError
        The file is no record, or the record of another share, seed or machine, and `force` is False.
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
    more = f" and {len(modules) - 3} more" if len(modules) > 3 else ""
    return f"code that it imports has changed ({', '.join(modules[:3])}{more})" if modules else None


def run(name: str, system: System, lab: Lab, what: dict[str, Any]) -> Held:
    """Run a system and judge what it found; its errors name it."""
    began = time.monotonic()
    try:
        found = checked(system.run(lab), system.HEADLINE)
        verdict = checked_verdict(system.verdict(found))
    except ValueError as error:
        raise ValueError(f"system {name!r}: {error}") from error
    return {
        "schema": SCHEMA,
        "complete": True,
        "provenance": what,
        "test": system.TEST,
        "test_hash": digest([system.TEST]),
        "weights": weights(system),
        "code": code(system),
        "seconds": round(time.monotonic() - began, 1),
        "verdict": verdict,
        "found": as_json(found),
    }


def _said(lab: Lab, name: str, words: str) -> None:
    lab.said(f"{name}: {words}")


def run_all(
    wanted: dict[str, tuple[System, dict[str, Any]]],
    folder: Path,
    lab: Lab,
    kept: dict[str, Held],
    ended: Callable[[str], None] = lambda name: None,
) -> bool:
    """Run those systems that have no record yet, each written before the next begins.

    Parameters
    ----------
    wanted : dict
        Name -> the system and the provenance of its run.
    folder : Path
        Of the records; made if it is not there.
    lab : Lab
        What they are run with.
    kept : dict
        Name -> record; those that end are added.
    ended : callable
        Is told each name that has its record.

    Returns
    -------
    bool
        False if it was interrupted; what had ended is kept.
    """
    try:
        for name, (system, what) in wanted.items():
            if name not in kept:
                held = run(name, system, lab._replace(said=partial(_said, lab, name)), what)
                write_json(path_of(folder, name), held)
                kept[name] = json.loads(json.dumps(held))  # as the file gives it back
            ended(name)
    except KeyboardInterrupt:
        return False
    return True
