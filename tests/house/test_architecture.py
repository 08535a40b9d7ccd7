"""The house's import arrows, and what `import specsim` may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A module imports only from its own floor or from those below it.
FLOORS = [
    {"types", "_check", "_dist", "_sparse", "_random", "_files", "discover"},
    {"draft", "trees"},
    {"verify"},
    {
        "laws",
        "exact",
        "chains",
        "forking",
        "guarantee",
        "bounds",
        "lengths",
        "latency",
        "hazards",
        "measures",
        "request",
        "published",
        "warp",
        "expected",
        "expected_tree",
        "posterior",
    },
    {
        "planner",
        "testing",
        "simulate",
        "curves",
        "predict",
        "decide",
        "validate",
        "sweep",
        "algebra",
        "parallel",
        "stopping",
        "fastest",
    },
    {"report", "plots", "advise", "cli"},
]
HEAVY = {
    "jax": {"testing", "simulate"},
    "torch": {"testing"},
    "hypothesis": {"testing"},
    "cvxpy": {"bounds"},
    "matplotlib": {"plots"},
}
MODULES = sorted(p for p in (ROOT / "specsim").rglob("*.py") if p != ROOT / "specsim" / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(ROOT / "specsim").parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names a module imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "specsim":
                found |= {f"specsim.{alias.name}" for alias in node.names}
    return found


def floor(name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def violations(path: Path, found: set[str]) -> list[str]:
    """Imports of a specsim module that go up, or out of the core."""
    here, bad = room(path), []
    for name in found:
        parts = name.split(".")
        if parts[0] in {"real", "transformers", "tests"}:
            bad.append(f"{here} imports {name}: the core never does")
        if parts[0] in HEAVY and here not in HEAVY[parts[0]]:
            bad.append(f"{here} imports {name}")
        if parts[0] == "specsim" and len(parts) > 1 and floor(parts[1]) > floor(here):
            bad.append(f"{here} imports {name} from above")
    return bad


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_point_down(path: Path) -> None:
    assert violations(path, imports(path)) == []


def test_the_arrow_check_can_fail() -> None:
    assert violations(ROOT / "specsim" / "_dist.py", {"specsim.exact"})
    assert violations(ROOT / "specsim" / "lengths.py", {"torch"})
    assert violations(ROOT / "specsim" / "cli.py", {"real.decode"})


def test_every_room_has_a_floor() -> None:
    rooms = {room(path) for path in MODULES}
    assert rooms == set.union(*FLOORS)


def test_import_is_light() -> None:
    """`import specsim` loads no framework, no solver and no test library."""
    code = "import specsim, sys; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "specsim" in loaded
    assert not {"jax", "torch", "cvxpy", "matplotlib", "hypothesis", "transformers", "real"} & set(loaded)


def test_files_stay_small() -> None:
    """Median near 120 lines; nothing that cannot be held in the head."""
    sizes = sorted(
        len(p.read_text().splitlines()) for package in ("specsim", "real") for p in (ROOT / package).rglob("*.py")
    )
    assert sizes[len(sizes) // 2] <= 140
    assert sizes[-1] <= 300
