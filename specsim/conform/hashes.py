"""Hashes of the sources of a file's subjects, for its certificate."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import specsim
from specsim.base.modules import origins
from specsim.conform import registry
from specsim.conform.sources import CODE, label, sources
from specsim.conform.subject import Subject


class Hashed(NamedTuple):
    """The sources of a file's subjects.

    `hashes`: label of a file -> its hash. `versions`: distribution -> version. `places`: label -> path, from the folder
    of the subject's file. `unhashed`: what the code depends on and no file holds, in words.
    """

    hashes: dict[str, str]
    versions: dict[str, str]
    places: dict[str, str]
    unhashed: tuple[str, ...]


def hashed(module: ModuleType, subjects: Iterable[Subject], loaded: Iterable[Path]) -> Hashed:
    """Return the hashed sources of a file's subjects; `loaded` are files that their code is known to have used."""
    used = sources(module, subjects, loaded)
    hashes: dict[str, str] = {}
    places: dict[str, str] = {}
    # The module's file comes first. Two files of one name in two folders are told apart by their
    # folders.
    first = Path(str(module.__file__)).resolve()
    for path in sorted(used.own, key=lambda path: (path != first, str(path))):
        name = label(path)
        while name in hashes:
            name = f"{path.parents[name.count('/')].name}/{name}"
        hashes[name] = hash_of_file(path)
        places[name] = Path(os.path.relpath(path, first.parent)).as_posix()

    # A rule of ours depends on all of specsim.
    if used.specsim or registry.is_ours(module):
        root = Path(specsim.__file__).parent
        hashes["all of specsim"] = digest(
            {str(file.relative_to(root)): hash_of_file(file) for file in root.rglob("*.py")}
        )

    # An adapter is of all files of its distribution.
    distribution = str(vars(module).get("DISTRIBUTION", ""))
    versions = used.versions
    if distribution:
        files = {str(file): Path(str(file.locate())) for file in metadata.files(distribution) or []}
        code = {name: hash_of_file(file) for name, file in files.items() if file.suffix in CODE and file.is_file()}
        hashes[f"all of {distribution}"] = digest(code)
        versions = versions | {distribution: metadata.version(distribution)}
    return Hashed(hashes, versions, places, used.unhashed)


def hashes_of_late(names: Iterable[str], places: Mapping[str, str], beside: Path) -> dict[str, str]:
    """Return hashes of files that were used only while the subject ran.

    They are located by their places, or else by the names of their modules.
    """
    hashes = {}
    for name in names:
        place = beside.parent / places.get(name, "")
        parts = name.partition(".")[0].removesuffix("/__init__").split("/")
        for path in [*origins(".".join(parts), beside), place]:
            if path.is_file() and (label(path) == name or path == place):
                hashes[name] = hash_of_file(path)
    return hashes


def digest(value: Mapping[str, Any]) -> str:
    """Return the digest of a JSON value: equal before it is written and after it is read, in any order of keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
