"""Measure how readable the code is: `python docs/developer/measure_style.py [FOLDER...] [--json]`.

Prints one row for each room (the first two levels of the path) and one for all. Nothing here is a limit: style.md says
what the numbers are for. Without folders it measures `specsim` and `real` of this checkout.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import statistics
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# Names that say nothing about what they hold.
EMPTY_NAMES = {"found", "told", "said", "own", "given", "kept", "one", "those"}
# Openings of a docstring that do not say what a function returns or does.
RIDDLE = re.compile(r"\s*(Of|What|Whoever|Those|The same)\b")
# A function of more lines of code than this has comments for its stages, and more parameters than this are a record.
LONG_FUNCTION = 15
MANY_PARAMETERS = 8
# Characters of a line that a reader sees whole beside a second window.
LONG_LINE = 100
# Tokens that are no code: comments, ends of lines, and changes of indentation.
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

# Key of a number -> the heading of its column.
COLUMNS = {
    "nodes_per_line": "syntax nodes per line (median function)",
    "conditionals": "conditional expressions per 100 lines of code",
    "comments": "comments on their own line per 100 lines of code",
    "long_lines": "lines over 100 characters, %",
    "many_parameters": "functions with more than 8 parameters",
    "riddles": "docstrings that begin with Of, What, Whoever, Those, The same",
    "empty_names": "uses of empty names per 1,000 lines of code",
    "stacked": "statements with two or more conditional expressions",
    "uncommented": "functions over 15 lines of code without a comment on its own line",
    "code_lines": "lines of code",
}


def docstrings(nodes: list[ast.AST]) -> Iterator[ast.Constant]:
    """The docstrings of a module, its classes and its functions."""
    for node in nodes:
        has_docstring = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(
            node, clean=False
        )
        if has_docstring:
            yield node.body[0].value


def lines_of(text: str) -> tuple[set[int], set[int]]:
    """Numbers of the lines that hold code or strings, and of those that hold a comment alone."""
    filled: set[int] = set()
    commented: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            commented.add(token.start[0])
        elif token.type not in LAYOUT:
            filled.update(range(token.start[0], token.end[0] + 1))
    return filled, commented - filled


def names(node: ast.AST) -> Iterator[str]:
    """The names that one syntax node writes or reads."""
    for field in ("id", "arg", "attr", "name", "asname"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name


def conditionals(statement: ast.stmt) -> int:
    """Conditional expressions of a statement, without the statements in its body."""
    total, waiting = 0, [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while waiting:
        node = waiting.pop()
        total += isinstance(node, ast.IfExp)
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
    return total


def parameters(function: ast.FunctionDef) -> int:
    """The number of parameters; `*args` and `**kwargs` count as one each."""
    a = function.args
    return len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs) + (a.vararg is not None) + (a.kwarg is not None)


def counts(text: str) -> dict[str, list[float]]:
    """The counts of one file: lists that add up over files, with one entry for each function or one for the file."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    filled, comments = lines_of(text)
    # Lines of code are filled lines outside docstrings.
    described = list(docstrings(nodes))
    code = filled.difference(*(range(docstring.lineno, (docstring.end_lineno or 0) + 1) for docstring in described))

    # Numbers of each function, nested ones too: nodes per line of code, parameters, comments.
    density: list[float] = []
    uncommented = many = 0
    for function in (node for node in nodes if isinstance(node, FUNCTIONS)):
        span = range(function.lineno, (function.end_lineno or 0) + 1)
        length = sum(line in code for line in span)
        density.append(sum(1 for _ in ast.walk(function)) / length)
        uncommented += length > LONG_FUNCTION and not comments.intersection(span)
        many += parameters(function) > MANY_PARAMETERS

    # Numbers of the whole file.
    stacked = sum(conditionals(node) > 1 for node in nodes if isinstance(node, ast.stmt))
    lines = [line for line in text.splitlines() if line.strip()]
    return {
        "nodes_per_line": density,
        "conditionals": [sum(isinstance(node, ast.IfExp) for node in nodes)],
        "comments": [len(comments)],
        "long_lines": [sum(len(line) > LONG_LINE for line in lines)],
        "many_parameters": [many],
        "riddles": [sum(bool(RIDDLE.match(str(docstring.value))) for docstring in described)],
        "empty_names": [sum(name in EMPTY_NAMES for node in nodes for name in names(node))],
        "stacked": [stacked],
        "uncommented": [uncommented],
        "code_lines": [len(code)],
        "lines": [len(lines)],
    }


def numbers(files: list[dict[str, list[float]]]) -> dict[str, float]:
    """The numbers of a room, by the keys of `COLUMNS`."""
    density = [ratio for file in files for ratio in file["nodes_per_line"]]
    total = {key: sum(sum(file[key]) for file in files) for key in files[0] if key != "nodes_per_line"}
    code, lines = max(total["code_lines"], 1), max(total["lines"], 1)
    rates = {
        "nodes_per_line": statistics.median(density) if density else 0,
        "conditionals": 100 * total["conditionals"] / code,
        "comments": 100 * total["comments"] / code,
        "long_lines": 100 * total["long_lines"] / lines,
        "empty_names": 1000 * total["empty_names"] / code,
    }
    return {key: round(rates[key], 1) if key in rates else total[key] for key in COLUMNS}


def measured(folders: list[Path]) -> dict[str, dict[str, float]]:
    """The numbers of each room, and those of all under the key "all"."""
    rooms: dict[str, list[dict[str, list[float]]]] = defaultdict(list)
    for folder in folders:
        # A folder of this checkout has its path there; a folder of another project begins with its own name.
        base = ROOT if folder.is_relative_to(ROOT) else folder.parent
        for path in sorted(folder.rglob("*.py")):
            room = "/".join(path.relative_to(base).parent.parts[:2])
            rooms[room].append(counts(path.read_text(encoding="utf-8")))
    table = {room: numbers(files) for room, files in sorted(rooms.items())}
    return {**table, "all": numbers([file for files in rooms.values() for file in files])}


def text_table(rooms: dict[str, dict[str, float]]) -> str:
    """The table as text: its columns are numbered, and explained above it."""
    width = max(map(len, rooms))
    legend = [f"{number:2}  {heading}" for number, heading in enumerate(COLUMNS.values(), 1)]
    head = " " * width + "".join(f"{number:8}" for number in range(1, len(COLUMNS) + 1))
    rows = [f"{room:{width}}" + "".join(f"{row[key]:8g}" for key in COLUMNS) for room, row in rooms.items()]
    return "\n".join([*legend, "", head, *rows])


def main(arguments: list[str] | None = None) -> None:
    """Print the table of the folders that the command line names."""
    parser = argparse.ArgumentParser(description="Measure how readable the code is, room by room.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="Default: specsim and real.")
    parser.add_argument("--json", action="store_true", help="Print the numbers as JSON.")
    options = parser.parse_args(arguments)
    folders = [folder.resolve() for folder in options.folders] or [ROOT / "specsim", ROOT / "real"]
    for folder in folders:
        if not any(folder.rglob("*.py")):
            parser.error(f"FOLDER {folder} has no Python file")
    rooms = measured(folders)
    print(json.dumps(rooms, indent=1) if options.json else text_table(rooms))


if __name__ == "__main__":
    main()
