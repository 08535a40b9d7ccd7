"""A certificate: what was judged, with the hash of its source; it holds for that source and no other.

It carries a digest of all else in it, so that an edit by hand is noticed; it is not signed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import specsim
from specsim.base.files import check_writable, write_bytes
from specsim.conform import registry
from specsim.conform.report import as_json
from specsim.conform.verdict import Report

CODE = (".py", ".so", ".pyd")  # of a package


def write(path: Path, module: ModuleType, reports: list[Report], false_alarm: float) -> None:
    """Write the certificate of a file's subjects."""
    check_writable(path)
    held = identity(module) | {
        "specsim": specsim.__version__,
        "python": platform.python_version(),
        "false_alarm": false_alarm,
        "reports": [as_json(one) for one in reports],
    }
    write_bytes(path, (json.dumps(held | {"digest": _digest(held)}, indent=1) + "\n").encode())


def check(path: Path, module: ModuleType, properties: Sequence[str] = ()) -> list[str]:
    """The properties that every subject of the certificate was judged by.

    ValueError unless they are these, if any are named, every subject passed, and its source is still the same.
    """
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        digest = held.pop("digest")
        outcomes = [(one["subject"], one["outcome"]) for one in held["reports"]]
        judged = [[verdict["property"] for verdict in one["verdicts"]] for one in held["reports"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is no certificate of specsim conform") from None
    if digest != _digest(held):
        raise ValueError(f"{path} was edited: its digest is of other content")
    found = identity(module)
    for key, value in found.items():
        if held.get(key) != value:
            raise ValueError(f"{path} certifies another {key}: {held.get(key)}, not {value}")
    if not outcomes or [name for name, _ in outcomes] != found["subjects"]:
        raise ValueError(f"{path} does not judge every subject of {found['subjects']}")
    for name, outcome in outcomes:
        if outcome not in ("lossless", "lossy by design"):
            raise ValueError(f"{path} says of {name}: {outcome}")
    common = [name for name in judged[0] if all(name in others for others in judged)]
    for name in properties:
        if name not in common:
            raise ValueError(f"{path} says nothing of the property {name}: it is of {', '.join(common)}")
    return common


def identity(module: ModuleType) -> dict[str, Any]:
    """Names, versions, and hashes of the source of what a file hands over."""
    held = vars(module)
    subjects = registry.subjects_of(module)
    distribution = str(held.get("DISTRIBUTION", ""))
    version = metadata.version(distribution) if distribution else ""
    sources = {str(Path(inspect.getfile(module)).name): _hash(Path(inspect.getfile(module)))}
    if registry.is_ours(module):  # it is what all of the package makes of it
        root = Path(specsim.__file__).parent
        sources |= {str(file.relative_to(root)): _hash(file) for file in sorted(root.rglob("*.py"))}
    if distribution:
        for file in sorted(metadata.files(distribution) or [], key=str):
            if file.suffix in CODE and Path(str(file.locate())).is_file():
                sources[str(file)] = _hash(Path(str(file.locate())))
    return {
        "subjects": [subject.name for subject in subjects],
        "distribution": distribution,
        "version": version,
        "sha256": _digest(sources),
    }


def _digest(held: dict[str, Any]) -> str:
    """Of what JSON holds, the same before it is written and after it is read, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
