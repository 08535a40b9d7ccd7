"""State of a judgement: no file of conform imports itself through others, and each object changes only itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules_of(*rooms: str) -> dict[str, str]:
    """Return the text of each module of rooms of specsim, by its dotted name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text("utf-8")
        for room in rooms
        for path in (ROOT / "specsim" / room).rglob("*.py")
    }


CONFORM = modules_of("conform", "forking")
# Methods that change a list, a dict or a set in place.
CHANGING = {"append", "extend", "insert", "add", "pop", "remove", "clear", "update", "setdefault"}
EMPTY = ("{}", "[]", "set()", "dict()", "list()")
# No caches of what was seen: the script that runs, and models, which stay the same objects for as long as Python runs,
# so that a subject may know them by their identity.
ALLOWED = {"specsim.forking.programs.script": "_running", "specsim.conform.subject_call": "_MODELS"}
# Objects that hold the state of a judgement, as they are called in code.
STATE = ("trial", "budget", "caller", "findings", "exhibits")


def imports(text: str) -> Iterator[str]:
    """Yield the dotted names that a file imports, at the top, inside functions, and for types."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circles(files: Mapping[str, str]) -> set[str]:
    """Return the files that are left when those that import none of the others are taken away, again and again."""
    ahead = {name: set(imports(text)) & files.keys() - {name} for name, text in files.items()}
    # The package itself only hands out names.
    ahead = {name: others - {"specsim.conform"} for name, others in ahead.items() if name != "specsim.conform"}
    while free := {name for name, others in ahead.items() if not others & ahead.keys()}:
        ahead = {name: others for name, others in ahead.items() if name not in free}
    return set(ahead)


def test_no_file_imports_itself_through_others() -> None:
    assert len(CONFORM) > 100
    assert circles(CONFORM) == set()
    assert circles(modules_of("commands", "report", "speed", "lengths", "latency", "logs", "exact", "verify")) == set()
    files = {"a": "import b", "b": "def run():\n    from c import x", "c": "", "d": "import a"}
    assert circles(files) == set()
    assert circles(files | {"c": "import a"}) == {"a", "b", "c", "d"}


def written(text: str) -> list[str]:
    """Return the attributes of a judgement's state that a file assigns, or changes in place, from outside."""
    targets: list[ast.expr] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            targets += [one for target in node.targets for one in getattr(target, "elts", [target])]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets.append(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            targets.append(node.func.value)
    held = [target.value if isinstance(target, ast.Subscript) else target for target in targets]
    attributes = [one for one in held if isinstance(one, ast.Attribute)]
    return [ast.unparse(one) for one in attributes if ast.unparse(one.value).rpartition(".")[2].strip("_") in STATE]


def test_the_state_of_a_judgement_is_written_by_itself() -> None:
    assert {name: found for name, text in CONFORM.items() if (found := written(text))} == {}
    text = "trial.budget.open = 1\nx, findings.why = 1, 2\nfindings.seen[1] = 2\ncaller.runs += 1\n"
    text += "findings.why.append(1)"
    assert len(written(text)) == 5
    assert written("self.budget = 1\nfound.runs = 2\nbudget = 3") == []


def caches(text: str) -> list[str]:
    """Return the names of empty lists, dicts and sets at the top of a file, which can only be filled later."""
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    empty = [node for node in nodes if ast.unparse(node.value or node) in EMPTY]
    return [ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]) for node in empty]


def test_no_file_keeps_what_was_seen() -> None:
    found = {name: names[0] for name, text in CONFORM.items() if (names := caches(text))}
    assert found == ALLOWED
    assert caches("seen: dict[str, int] = {}\nothers = {1: 2}\nmore = []") == ["seen", "more"]
