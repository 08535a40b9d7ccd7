"""`check_capture`: planted faults are named with their line, and every rule and cycle of the project passes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.fake_cycles import cycle, tree_cycle
from torch import Tensor

from real.decode.capture import check_capture, count_kernels
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.studies.forced.measure import Forced
from specsim import discover
from specsim.trees import depths, k_ary, paths
from specsim.types import TokenTree
from specsim.verify.lookup import chain_rule, takes

VOCAB, BATCH = 64, 3
SHAPES = {
    "paths": paths(3, 3),
    "hub": k_ary((2, 1)),
    **dict.fromkeys(("iid", "without_replacement", "beam", "greedy", "deterministic"), k_ary((2, 2, 1))),
}


def zeros(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.zeros(*shape, dtype=dtype, device="cuda")


def law(*shape: int) -> Tensor:
    return zeros(*shape, VOCAB) + 1 / VOCAB


def faults() -> list[tuple[str, Callable[[Tensor], Any], str]]:
    """Name, a function of x (3, 4) that a graph cannot hold, and words of the reason."""
    mask = np.array([2, 0])
    return [
        ("item", lambda x: x[0, 0].item(), "waits for the device"),
        ("if any", lambda x: x + 1 if (x > 0).any() else x, "waits for the device"),
        ("bool mask", lambda x: x[x > 0], "index of bools"),
        ("nonzero", lambda x: x.nonzero(), "shape is data"),
        ("host tensor", lambda x: x[torch.tensor([0, 1])], "index from the host"),
        ("host operand", lambda x: x + torch.ones(4), "host and device"),
        ("list index", lambda x: x[[0, 2]], "index from the host"),
        ("NumPy index", lambda x: x[:, mask], "index from the host"),
        ("index of no dimensions", lambda x: x[x[0, 0].long()], "read as a number"),
        ("unique", lambda x: torch.unique(x), "shape is data"),
        ("copy_ from the host", lambda x: x.copy_(torch.ones(3, 4)), "copies between"),
        ("to the host", lambda x: x.cpu(), "copies between"),
        ("tolist", lambda x: x.tolist(), ""),
        ("numpy", lambda x: np.asarray(x), ""),
        ("made of host data", lambda x: x + torch.tensor([1.0, 2, 3, 4], device="cuda"), "copies between"),
        ("repeat_interleave", lambda x: x.repeat_interleave((x[:, 0] + 1).long(), 0), "shape is data"),
        ("int", lambda x: x * int(x.max()), "waits for the device"),
        ("float", lambda x: x * float(x.max()), "waits for the device"),
        ("complex", lambda x: x * complex(x.max()), "waits for the device"),
        ("index of a list", lambda x: [x, x + 1][x.max().long()], "waits for the device"),
        ("bool", lambda x: x if bool(x.max()) else x + 1, "waits for the device"),
        ("str", lambda x: (str(x), x)[1], "waits for the device"),
        ("repr", lambda x: (repr(x), x)[1], "waits for the device"),
        ("format", lambda x: (f"{x.max():.3f}", x)[1], "waits for the device"),
        (".cuda()", lambda x: x + torch.ones(4).cuda(), "copies between"),
        ('.to("cuda")', lambda x: x + torch.ones(4).to("cuda"), "copies between"),
        (".to(device=)", lambda x: x + torch.ones(4).to(device="cuda", dtype=x.dtype), "copies between"),
        ("synchronize", lambda x: (torch.cuda.synchronize(), x + 1)[1], "waits for the device"),
    ]


@pytest.mark.parametrize(("name", "function", "reason"), faults(), ids=[name for name, *_ in faults()])
def test_planted_faults_are_named(name: str, function: Callable[[Tensor], Any], reason: str) -> None:
    found = check_capture(function, lambda: (zeros(3, 4),))
    line = next(
        i
        for i, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if f'("{name}", ' in text or f"('{name}', " in text
    )
    assert any(reason in violation.reason for violation in found), found
    assert {violation.where for violation in found} == {f"{__file__}:{line}"}


def test_what_a_graph_holds_passes() -> None:
    """Numbers from the host, views, slices and assignments are no faults; an error of the function is its own."""

    def fine(x: Tensor) -> Tensor:
        y = (x[1:, ..., None] * 2.5 + torch.tensor(3.0)).clone()
        y[0], y[:, 1:, 0] = 7, x[:1, 1:]
        return torch.where(y > 0, y, ~(y > 0))[:, x[0].long()]

    assert check_capture(fine, lambda: (zeros(3, 4),)) == []
    for moved in (lambda x: x.cuda() + 1, lambda x: x.to("cuda") + 1, lambda x: x.to("cuda", torch.float32) * 2):
        assert check_capture(moved, lambda: (zeros(3, 4),)) == []  # it lies there already
    with pytest.raises(ZeroDivisionError):
        check_capture(lambda x: x + 1 / 0, lambda: (zeros(3, 4),))
    with pytest.raises(ValueError, match=r"cannot be captured: .*waits for the device"):
        count_kernels(lambda x: x[0].item(), lambda: (zeros(3),))


def test_warm_run_may_copy_once() -> None:
    kept: dict[str, Tensor] = {}

    def once(x: Tensor) -> Tensor:
        if "table" not in kept:
            kept["table"] = torch.ones(4).to(x.device)
        return x + kept["table"]

    assert check_capture(once, lambda: (zeros(3, 4),)) == []
    kept.clear()
    assert check_capture(once, lambda: (zeros(3, 4),), warm=False)


WARPINGS = {
    "T = 1": Warping(),
    "temperature 0": Warping(0),
    "temperature .7": Warping(0.7),
    "top-k": Warping(top_k=5),
    "top-p": Warping(top_p=0.9),
    "min-p": Warping(min_p=0.1),
    "all": Warping(0.7, 5, 0.9, 0.1),
}
CHAINS = [name for name, rule in discover.rules("chain").items() if not discover.facts(rule).continuation]
TOKENWISE = partial(cycle, chain_rule("tokenwise"))
CYCLES: dict[str, Callable[[], tuple[Any, ...]]] = {
    **{
        f"{name} at gamma {g}, {what}": partial(cycle, chain_rule(name), warping, g)
        for name in CHAINS
        for g in (0, 1, 4)
        for what, warping in WARPINGS.items()
    },
    "float64, q/k norms": partial(TOKENWISE, Warping(), 3, dtype=torch.float64, qk_norm=True),
    "forced acceptance": partial(cycle, Forced((0.8,) * 8), Warping(), 3),
}


DRAWN = [(name, s) for name, rule in discover.rules("tree").items() for s in rule.CHILDREN if s != "beam"]
# Of seconds each, these are quick: every rule once and every scheme once, and one under the strictest warpings. The
# other pairs differ in the rule alone, which `test_tree_rules_can_be_captured` asks with every scheme.
STRICT = [("traversal", "without_replacement", what) for what in ("temperature 0", "all")]
ONCE = {name: (name, scheme) for name, scheme in DRAWN}.values(), {s: (name, s) for name, s in DRAWN[::-1]}.values()
AS_IS = [(*each, "T = 1") for each in dict.fromkeys(itertools.chain(*ONCE))]
WARPED = [
    pytest.param(*each, what, marks=() if (*each, what) in AS_IS + STRICT else pytest.mark.slow)
    for each in DRAWN
    for what in WARPINGS
]


@pytest.mark.parametrize(("name", "scheme", "what"), WARPED)
def test_tree_cycles_can_be_captured(name: str, scheme: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("real.models.store.check_memory", lambda *a, **k: None)
    made = partial(tree_cycle, TreeVerifier(name, SHAPES[scheme], scheme), WARPINGS[what])
    assert check_capture(lambda f, *arguments: f(*arguments), made) == []


def quick(name: str) -> bool:
    """Every rule and length at T = 1, every warping with one rule, which sees laws alone; the others are slow."""
    return "at gamma" not in name or name.endswith("T = 1") or name.startswith(f"{CHAINS[0]} at gamma 1,")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if quick(n) else pytest.mark.slow) for n in CYCLES])
def test_cycles_can_be_captured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("real.models.store.check_memory", lambda *a, **k: None)  # asks the driver
    assert check_capture(lambda f, *arguments: f(*arguments), CYCLES[name]) == []


STEPS = [(name, k) for name, rule in discover.rules("step").items() for k in (1, 4) if takes(rule, k)]


@pytest.mark.parametrize(("name", "k"), STEPS)
def test_step_rules_can_be_captured(name: str, k: int) -> None:
    rule = discover.find("step", name)

    def arguments() -> tuple[Any, ...]:
        return law(BATCH), law(BATCH), zeros(BATCH, k, dtype=torch.int64), zeros(BATCH, rule.uniforms(k))

    assert check_capture(lambda p, q, x, u: rule.verify(rule.prepare(p, q, k), x, u), arguments) == []


TREES = [(name, scheme) for name, rule in discover.rules("tree").items() for scheme in rule.CHILDREN]


def tree_arguments(rule: Any, scheme: str) -> tuple[Any, ...]:
    parents = SHAPES[scheme]
    n = len(parents)
    tree = TokenTree(parents, zeros(BATCH, n, dtype=torch.int64), depths(parents), scheme)
    return law(BATCH, n + 1), law(BATCH, n + 1), tree, zeros(BATCH, rule.uniforms(tree))


def decide(rule: Any, p: Tensor, q: Tensor, tree: TokenTree, u: Tensor) -> Any:
    return rule.verify(rule.prepare(p, q, tree), u)


@pytest.mark.parametrize(("name", "scheme"), TREES)
def test_tree_rules_can_be_captured(name: str, scheme: str) -> None:
    rule = discover.find("tree", name)
    assert check_capture(partial(decide, rule), partial(tree_arguments, rule, scheme)) == []


@pytest.mark.parametrize(("name", "scheme"), [each for each in TREES if each[0] != "multipath_block"])  # holds none
def test_shapes_that_are_not_held_are_named(name: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is what makes them pass: without it each fails, at a line of its own files."""
    monkeypatch.setattr("specsim.verify.tree._walk.held", lambda w, like: torch.as_tensor(w))
    rule = discover.find("tree", name)
    found = check_capture(partial(decide, rule), partial(tree_arguments, rule, scheme))
    assert found
    assert all("/specsim/verify/" in violation.where for violation in found)


def test_kernels_of_rules() -> None:
    """What a replayed graph launches: chains tokenwise need as many at any length."""

    def arguments(rule: Any, gamma: int) -> tuple[Any, ...]:
        x, u = zeros(1, gamma, dtype=torch.int64), zeros(1, rule.uniforms(gamma))
        return law(1, gamma + 1), law(1, gamma), x, u

    def counted(name: str, gamma: int) -> int:
        rule = chain_rule(name)
        return count_kernels(lambda p, q, x, u: rule.verify(rule.prepare(p, q), x, u), lambda: arguments(rule, gamma))

    assert counted("tokenwise", 1) == counted("tokenwise", 8) < 60
    assert counted("block", 1) < counted("block", 8)
