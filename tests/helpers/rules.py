"""Rule files by path: the mutants, and the families they belong to."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

MUTANTS = Path(__file__).parents[1] / "mutants"
FAMILIES = ("step", "chain", "tree", "coupled", "draft", "process", "control", "objective")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"mutant_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
