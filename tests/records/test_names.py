"""Records of systems hold the numbers that the code writes: names are compared with the templates of the source.

Nothing is run. A name of a record must be made by a text of the system's file or of those beside it that it imports;
and each text by which the file names a number must be a name of the record.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from real.papers import systems
from specsim.base import imports

RESULTS = Path(__file__).parents[2] / "real" / "results" / "systems"
RECORDED = [name for name in systems.names() if (RESULTS / f"{name}.json").is_file()]
Names = set[str]


def names_of(held: dict[str, dict[str, dict[str, object]]]) -> Names:
    return {name for part in held["found"].values() for name in part}


@cache
def tree_of(module: str) -> ast.Module:
    path = imports.file_of(module)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


def pattern(node: ast.expr, constants: dict[str, ast.expr], letters: int = 5) -> str | None:
    """The regular expression of a text with so many letters that are fixed; None for another, and for what is none."""
    if isinstance(node, ast.Name) and node.id in constants:
        return pattern(constants[node.id], {}, letters)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value) if len(node.value) >= letters else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [_part(part, constants) for part in node.values]
    fixed = sum(count for _, count in parts)
    return "".join(part for part, _ in parts) if fixed >= letters else None


def _part(part: ast.expr, constants: dict[str, ast.expr]) -> tuple[str, int]:
    """The expression of a part of a text, and how many letters of it are fixed."""
    if isinstance(part, ast.Constant):
        return re.escape(str(part.value)), len(str(part.value))
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    named = pattern(inner, constants) if isinstance(inner, ast.Name) else None
    return (".+", 0) if named is None else (named, len(named))


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """Texts of a module that have a name."""
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for targets in node.targets
        for target in (targets.elts if isinstance(targets, ast.Tuple) else [targets])
        if isinstance(target, ast.Name)
    }


def texts(tree: ast.Module, letters: int) -> Names:
    """Whatever could make a name."""
    constants = constants_of(tree)
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr))
    found = (pattern(node, constants, letters) for node in nodes)
    return {one for one in found if one}


def keys(tree: ast.Module) -> Names:
    """What names a number: `measured[f"..."] = ...` and `{f"...": ...}`."""
    constants = constants_of(tree)
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.append(node.slice)
        elif isinstance(node, ast.Dict):
            found += [key for key in node.keys if key is not None]
        elif isinstance(node, ast.DictComp):
            found.append(node.key)
    return {one for key in found if (one := pattern(key, constants)) and r"\ " in one}


def unmade(name: str, recorded: Names) -> Names:
    """Names of a record that no text in the code makes, nor two of them one after the other.

    The texts are those of the system's file, and longer ones of the systems and of the files of their lab that it
    imports at any remove.
    """
    own = f"real.papers.systems.{name}"
    folders = ("real.papers.lab.", "real.papers.systems.")
    others = {one for one in imports.closure([own]) if one.startswith(folders)} - {own}
    made = texts(tree_of(own), 4).union(*(texts(tree_of(one), 10) for one in others))
    one = f"(?:{'|'.join(sorted(made))})"
    return {told for told in recorded if not re.fullmatch(f"{one}{one}?", told)}


def missing(name: str, recorded: Names) -> Names:
    """Texts by which a system names numbers, or parts of their names, that the record has nowhere."""
    return {one for one in keys(tree_of(f"real.papers.systems.{name}")) if not any(re.search(one, n) for n in recorded)}


@pytest.mark.parametrize("name", RECORDED)
def test_a_record_has_the_numbers_that_its_code_writes(name: str) -> None:
    recorded = names_of(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))
    assert unmade(name, recorded) == set()
    assert missing(name, recorded) == set()


def test_a_number_too_many_and_one_too_few_are_seen() -> None:
    """As in the records that were older than their code: a kind of number was new, another one gone."""
    recorded = names_of(json.loads((RESULTS / "disco.json").read_text(encoding="utf-8")))
    assert unmade("disco", recorded | {"acceptance of nobody's draft"}) == {"acceptance of nobody's draft"}
    fewer = {name for name in recorded if not name.endswith("acceptances shuffled")}
    assert [one.replace("\\", "") for one in missing("disco", fewer)] == [".+, acceptances shuffled"]
