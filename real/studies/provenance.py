"""The provenance of a study: date, machine and versions, and hashes of its texts and weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from real.models.names import shipped_draft, shipped_file
from specsim.base import provenance as runs


def provenance(**settings: Any) -> dict[str, Any]:
    """Return date, machine and versions of a run with real models, followed by its settings."""
    return runs.provenance(("torch", "transformers", *runs.PACKAGES), **settings)


def digest(texts: Iterable[str]) -> str:
    """Return a hash of these texts in this order, by which studies are told apart."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def weights(path: str) -> str | None:
    """Return a hash of a model's files in a directory, which changes as they do; None for the hub's."""
    name = shipped_draft(path) if path else None
    if name is not None:
        return hashlib.sha256(shipped_file(name).read_bytes()).hexdigest()[:16]
    folder = Path(path)
    if not path or not folder.is_dir():
        return None
    suffixes = (".jinja", ".json", ".safetensors")
    files = sorted(file for file in folder.iterdir() if file.suffix in suffixes)
    return digest(f"{f.name} {f.stat().st_size} {f.stat().st_mtime_ns}" for f in files)
