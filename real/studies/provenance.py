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
    """Return a hash of a model's files in a directory, or of its GGUF file, which changes as they do.

    None for the hub's, and for SmolLM2, whose package has one version.
    """
    name = shipped_draft(path) if path else None
    if name is not None:
        return hashlib.sha256(shipped_file(name).read_bytes()).hexdigest()[:16]
    place = Path(path)
    if not path or not place.exists():
        return None
    suffixes = (".jinja", ".json", ".safetensors")
    files = [place] if place.is_file() else sorted(file for file in place.iterdir() if file.suffix in suffixes)
    return digest(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
