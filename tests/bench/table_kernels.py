"""Kernels a GPU launches for each verification rule: `python tests/bench/table_kernels.py`, without a GPU.

`prepare` and `verify` of two rows over a real vocabulary, float32 laws and float64 uniforms as on a device, counted by
`real.decode.capture.count_kernels`: calls of torch that are no views. Writes kernels.json and kernels.txt
beside this file.
What the record has as `before` stays: the same counts of the rules at the commit that it names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from real.decode.capture import count_kernels
from specsim import discover
from specsim.base.files import write_bytes
from specsim.report.text import markdown
from specsim.trees import depths, k_ary, paths
from specsim.types import TokenTree
from specsim.verify.lookup import takes

HERE = Path(__file__).parent
VOCAB, BATCH = 128_256, 2
DRAFTS = (1, 2, 4, 8)  # K of a step rule or a coupled one, gamma of a chain rule
SCHEMES = ("iid", "paths", "without_replacement", "beam", "greedy", "hub", "deterministic")
SHAPES = {"paths": paths(3, 3), "hub": k_ary((2, 1))}
SHAPE = k_ary((2, 2, 1))  # of the other schemes
Call = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]  # a function, and what makes its arguments
Counts = dict[str, int]


def calls() -> Iterator[tuple[str, str, Call]]:
    """Rule, column and call, for every rule of every family."""
    for family, made in (("step", _step), ("chain", _chain), ("coupled", _coupled)):
        for name, rule in discover.rules(family).items():
            for count in (n for n in DRAFTS if family != "step" or takes(rule, n)):
                yield f"{family}/{name}", str(count), made(rule, count)
    for name, rule in discover.rules("tree").items():
        for scheme in rule.CHILDREN:
            yield f"tree/{name}", scheme, _tree(rule, scheme)


def counted(wanted: Callable[[str, str], bool] = lambda rule, column: True) -> Counts:
    """Kernels by "rule/column"."""
    return {f"{rule}/{column}": count_kernels(*call) for rule, column, call in calls() if wanted(rule, column)}


def _laws(*shape: int) -> Any:
    return torch.empty(*shape, VOCAB, device="cuda")


def _tokens(*shape: int) -> Any:
    return torch.empty(*shape, dtype=torch.int64, device="cuda")


def _uniforms(*shape: int) -> Any:
    return torch.empty(*shape, dtype=torch.float64, device="cuda")


def _step(rule: ModuleType, k: int) -> Call:
    def arguments() -> tuple[Any, ...]:
        return _laws(BATCH), _laws(BATCH), _tokens(BATCH, k), _uniforms(BATCH, rule.uniforms(k))

    return lambda p, q, x, u: rule.verify(rule.prepare(p, q, k), x, u), arguments


def _chain(rule: ModuleType, gamma: int) -> Call:
    def arguments() -> tuple[Any, ...]:
        u = _uniforms(BATCH, rule.uniforms(gamma))
        return _laws(BATCH, gamma + 1), _laws(BATCH, gamma), _tokens(BATCH, gamma), u

    return lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), arguments


def _coupled(rule: ModuleType, k: int) -> Call:
    """Both sides: the draft's tokens, and the target's."""
    return (
        lambda p, q, e: rule.verify(p, rule.propose(q, e, k), e),
        lambda: (_laws(BATCH), _laws(BATCH), _uniforms(BATCH, rule.races(k), VOCAB)),
    )


def _tree(rule: ModuleType, scheme: str) -> Call:
    def arguments() -> tuple[Any, ...]:
        parents = SHAPES.get(scheme, SHAPE)
        n = len(parents)
        tree = TokenTree(parents, _tokens(BATCH, n), depths(parents), scheme)
        return _laws(BATCH, n + 1), _laws(BATCH, n + 1), tree, _uniforms(BATCH, rule.uniforms(tree))

    return partial(_decided, rule), arguments


def _decided(rule: ModuleType, p: Any, q: Any, tree: TokenTree, u: Any) -> Any:
    return rule.verify(rule.prepare(p, q, tree), u)


def shown(now: Counts, before: Counts) -> str:
    """Two tables in Markdown: rules by number of drafts, tree rules by scheme; what was before in brackets."""
    by_drafts = [rule for rule in _rules(now) if not rule.startswith("tree/")]
    by_scheme = [rule for rule in _rules(now) if rule.startswith("tree/")]
    tables = ((by_drafts, "rule, drafts", [str(n) for n in DRAFTS]), (by_scheme, "rule, scheme", list(SCHEMES)))
    parts = []
    for rules, head, columns in tables:
        cells = [[_cell(f"{rule}/{c}", now, before) for c in columns] for rule in rules]
        parts.append(markdown([[head, *columns], *([f"`{r}`", *row] for r, row in zip(rules, cells, strict=True))]))
    return "\n\n".join(parts) + "\n"


def _rules(counts: Counts) -> list[str]:
    return list(dict.fromkeys(key.rpartition("/")[0] for key in counts))


def _cell(key: str, now: Counts, before: Counts) -> str:
    if key not in now:
        return ""
    return str(now[key]) + (f" ({before[key]})" if before.get(key, now[key]) != now[key] else "")


if __name__ == "__main__":
    path = HERE / "kernels.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record |= {"torch": torch.__version__.partition("+")[0], "now": counted()}
    write_bytes(path, (json.dumps(record, indent=1) + "\n").encode())
    table = shown(record["now"], record["before"])
    write_bytes(HERE / "kernels.txt", table.encode())
    print(table, end="")
