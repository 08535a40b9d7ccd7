"""The house's rooms and import arrows, read from its folders, and what `import specsim` may load."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import specsim

ROOT = Path(__file__).parents[2]
# A room imports from those on the floors below it, and on its own floor only from those named behind it.
FLOORS: dict[str, list[dict[str, set[str]]]] = {
    "specsim": [
        {"types": set(), "base": {"types"}, "discover": {"types", "base"}},
        {"draft": set(), "laws": set(), "trees": {"draft"}, "control": set(), "objective": set(), "forking": set()},
        {"verify": set(), "process": set(), "continuous": set()},
        {"exact": set(), "latency": set()},
        {"bounds": set(), "lengths": set(), "logs": {"lengths"}, "simulation": set()},
        {"claims": set(), "speed": {"claims"}, "conform": set(), "testing": {"conform"}, "checks": {"testing"}},
        {"report": set()},
        {"commands": set()},
        {"cli": set(), "__main__": {"cli"}},
    ],
    "real": [
        {"prompts": set()},
        {"models": set(), "options": set(), "signals": set()},
        {"decode": set(), "process": set()},
        {
            "draft": set(),
            "writing": set(),
            "origin": set(),
            "named": {"draft"},
            "pair": {"named", "origin", "writing"},
            "load_pair": {"named", "origin", "pair"},
        },
        {"studies": set(), "train": set(), "conform": set(), "conform_smollm2": {"conform"}},
        {"gpu": set(), "papers": set()},
        {"cli": set(), "__main__": {"cli"}},
    ],
}
HEAVY = {
    "jax": {"checks", "simulation", "conform", "forking"},
    "torch": {"base", "conform", "checks", "forking"},
    "hypothesis": {"testing"},
    "cvxpy": {"bounds"},
    "matplotlib": {"base", "report"},
    "pyarrow": {"base", "commands"},
    "duckdb": {"commands"},
    "distributed": {"commands"},
    "vl_convert": {"report"},
}
MODULES = sorted(
    p
    for package in FLOORS
    for p in (ROOT / package).rglob("*.py")
    if p.parent != ROOT / package or p.stem != "__init__"
)


def room(path: Path) -> tuple[str, str]:
    """The package of a file, and its room: the first folder, or the file itself at the package's root."""
    package, first, *_ = path.relative_to(ROOT).parts
    return package, first.removesuffix(".py")


@cache
def imports(path: Path) -> set[str]:
    """Dotted names a module imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add(f"{'.' * node.level}{node.module or ''}")
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module in FLOORS:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def floor(package: str, name: str) -> int:
    return next(i for i, rooms in enumerate(FLOORS[package]) if name in rooms)


def origin(name: str) -> tuple[str, str]:
    """Package and room that an imported name comes from; a public name counts for the room that it is defined in."""
    top, _, rest = (specsim._HOME.get(name.removeprefix("specsim."), name)).partition(".")
    return top, rest.partition(".")[0]


def violations(path: Path, names: set[str]) -> Iterator[str]:
    """Imports that go up, sideways without being named, or out of the core."""
    package, here = room(path)
    for name in sorted(names):
        if name.startswith("."):
            yield f"{here} imports {name}: say the whole name"
        top, there = origin(name)
        if package == "specsim" and top in {"real", "transformers", "tests"}:
            yield f"{here} imports {name}: the core never does"
        if package == "specsim" and top in HEAVY and here not in HEAVY[top]:
            yield f"{here} imports {name}"
        rooms = {r for level in FLOORS.get(top, []) for r in level}
        if top != package or there not in rooms or there == here:
            continue
        up = floor(package, there) - floor(package, here)
        if up > 0 or (up == 0 and there not in FLOORS[package][floor(package, here)][here]):
            yield f"{here} imports {name}: from {'above' if up else 'its own floor'}"


def test_arrows_point_down() -> None:
    wrong = {str(path.relative_to(ROOT)): list(violations(path, imports(path))) for path in MODULES}
    assert {path: said for path, said in wrong.items() if said} == {}
    assert len(MODULES) > 600


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("specsim/base/arrays.py", "specsim.exact"),
        ("specsim/lengths/blocks.py", "torch"),
        ("specsim/cli.py", "real.decode"),
        ("specsim/exact/step.py", "specsim.latency"),
        ("real/models/model.py", "real.decode.loop"),
        ("real/train/pair.py", "real.studies.runner"),
        ("specsim/base/arrays.py", "specsim.optimal_acceptance"),
        ("specsim/lengths/blocks.py", "specsim.plan"),
        ("specsim/lengths/blocks.py", "..speed.prediction"),
    ],
)
def test_the_arrow_check_can_fail(path: str, name: str) -> None:
    assert list(violations(ROOT / path, {name}))


@pytest.mark.parametrize("package", FLOORS)
def test_every_room_has_a_floor(package: str) -> None:
    rooms = {room(path)[1] for path in MODULES if room(path)[0] == package}
    assert rooms == {name for level in FLOORS[package] for name in level}
    assert len(rooms) <= 27


LAYOUT = re.findall(
    r"^\| `((?:specsim|real)/\w+)` \|", (ROOT / "docs" / "developer" / "layout.md").read_text(encoding="utf-8"), re.M
)


def upward(order: list[str]) -> list[str]:
    """Imports of a folder from one that stands below it in this order, of one package."""
    return [
        f"{path.relative_to(ROOT)}: {there}"
        for path in MODULES
        for here in {"/".join(room(path))} & set(order)
        for there in sorted({"/".join(origin(name)) for name in imports(path)} & set(order))
        if there.partition("/")[0] == room(path)[0] and order.index(there) > order.index(here)
    ]


def test_the_page_of_the_layout_is_the_house() -> None:
    """Its table has every folder, and "each imports only from those above it"."""
    folders = [f"{p}/{name}" for p, levels in FLOORS.items() for level in levels for name in level]
    assert sorted(LAYOUT) == sorted(name for name in folders if (ROOT / name).is_dir())
    assert upward(LAYOUT) == []
    assert upward(LAYOUT[::-1])


def names_that_are_both(package: ModuleType) -> list[str]:
    """Names of a package's files that lead to something else than the file."""
    files = [module.name for module in pkgutil.iter_modules(package.__path__)]
    found = {name: getattr(package, name, None) for name in files if name != "__main__"}
    return [name for name, value in found.items() if value is not None and not isinstance(value, ModuleType)]


@pytest.mark.parametrize(
    "name",
    [
        "specsim",
        *(
            f"specsim.{p.name}"
            for p in sorted((ROOT / "specsim").iterdir())
            if p.is_dir() and not p.name.startswith("_")
        ),
    ],
)
def test_no_public_function_is_a_module(name: str) -> None:
    """`specsim.X` is either a name of the library or a room, never both; so it is inside every room."""
    assert names_that_are_both(import_module(name)) == []


def test_the_check_of_names_can_fail() -> None:
    package = ModuleType("package")
    package.__path__ = [str(ROOT / "specsim" / "laws")]  # type: ignore[attr-defined]
    package.warp = print  # type: ignore[attr-defined]
    assert names_that_are_both(package) == ["warp"]


def named_like_rooms(names: Iterable[str]) -> list[str]:
    """Public names that are a room's, in whatever package they stand: one word for two things."""
    return sorted({name for package in FLOORS.values() for level in package for name in level} & set(names))


WITH_NAMES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for package in FLOORS
    for path in (ROOT / package).rglob("__init__.py")
    if "\n__all__ =" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_NAMES)
def test_no_public_function_is_a_room_elsewhere(name: str) -> None:
    """`specsim.conform` is the harness, so nothing that a package hands out is called `conform`."""
    assert named_like_rooms(import_module(name).__all__) == []


def test_the_check_of_rooms_names_can_fail() -> None:
    assert {"specsim", "specsim.testing", "specsim.trees", "real"} <= set(WITH_NAMES)
    assert named_like_rooms(["checks", "conform", "grid"]) == ["checks", "conform"]


PASSED_ON = re.compile(r"^from \S+ import (\w+) as \1$", re.M)
DOORS = {"specsim/base/check.py", "real/decode/warp.py"}  # each a door that its room's readers know


def test_names_are_imported_from_their_home() -> None:
    """A module passes nothing on for another's sake, but for two doors."""
    assert {str(p.relative_to(ROOT)) for p in MODULES if PASSED_ON.search(p.read_text(encoding="utf-8"))} == DOORS
    assert not PASSED_ON.search("from real import TINY\nfrom numpy import array as rows\n")


def test_import_is_light() -> None:
    """`import specsim` loads no framework, no solver and no test library."""
    code = "import specsim, sys; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "specsim" in loaded
    assert not (set(HEAVY) | {"transformers", "real"}) & set(loaded)


def test_files_stay_small() -> None:
    """Median near 120 lines; nothing that cannot be held in the head."""
    sizes = sorted(
        len(p.read_text(encoding="utf-8").splitlines()) for package in FLOORS for p in (ROOT / package).rglob("*.py")
    )
    assert sizes[len(sizes) // 2] <= 130
    assert sizes[-1] <= 300


def test_files_of_tests_stay_small() -> None:
    files = list((ROOT / "tests").rglob("*.py"))
    long = {str(p.relative_to(ROOT)): n for p in files if (n := len(p.read_text(encoding="utf-8").splitlines())) > 300}
    assert long == {}
    assert len(files) > 200


def test_no_test_imports_another() -> None:
    tests = [p for p in (ROOT / "tests").rglob("*.py") if "mutants" not in p.parts]
    assert tests
    for path in tests:
        for name in imports(path):
            assert not name.rpartition(".")[2].startswith("test_"), f"{path} imports {name}: use tests/helpers"
        assert "sys.path" not in path.read_text(encoding="utf-8") or path == Path(__file__)


TABLE_ENDS = re.compile(r"(?<!\)\[0)[\]}][\]}),]*$")  # a list or a dict, not an entry of what a call gives


def test_the_formatter_is_off_for_tables_only() -> None:
    skipped = [
        (path.name, number, line)
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# fmt: skip") and not TABLE_ENDS.search(line.removesuffix("# fmt: skip").rstrip())
    ]
    assert skipped == []
    assert TABLE_ENDS.search('    "a": [1, 2]}')
    assert not TABLE_ENDS.search("    )")
    assert not TABLE_ENDS.search("    )[0]")
