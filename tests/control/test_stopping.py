"""What stopping does to texts, exactly: the law stays, a dropped draft moves it, nobody gains where nothing is told."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction as F
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load

from specsim import discover
from specsim.base.arrays import pick
from specsim.exact import controlled_text
from specsim.exact.chain import target_law
from specsim.forking import rational
from specsim.verify.chain import block, tokenwise

P, Q = np.array([F(1, 2), F(1, 2)]), np.array([F(3, 4), F(1, 4)])
DROPS = load(MUTANTS / "control" / "drops_after_the_draw.py")


def everywhere(row: Any) -> Any:
    """A table with one row for all texts."""
    return defaultdict(lambda: np.array(row))


def first(law: dict[tuple[int, ...], F]) -> list[F]:
    """Law of the first token."""
    return [sum((mass for text, mass in law.items() if text[0] == token), F(0)) for token in range(2)]


def of(controller: ModuleType | str, **params: Any) -> ModuleType:
    return discover.with_params(discover.find("control", controller), params)


@pytest.mark.parametrize("rule", [tokenwise, block])
def test_dropping_moves_the_law_by_an_eighth(rule: ModuleType) -> None:
    target, draft = everywhere(P), everywhere(Q)
    dropped = controlled_text.law(of(DROPS, eta=F(1, 2)), rule, target, draft, 2, 1)
    assert first(dropped) == [F(5, 8), F(3, 8)]
    for keeping in (of("threshold", eta=F(1, 2), signal="own"), of("threshold", eta=F(1, 2)), of("static", gamma=1)):
        assert first(controlled_text.law(keeping, rule, target, draft, 2, 1)) == [F(1, 2), F(1, 2)]


def test_dropping_by_the_row_is_to_have_stopped_before() -> None:
    """What was known before the draw may decide: here whether the row's largest probability is above 0.7."""
    loop = ModuleType("loop")
    static = discover.find("control", "static")

    def by_the_row(state: Any, draw: Any, most: int) -> tuple[Any, int]:
        for made in range(most):
            if draw().top[..., 0] < 0.7:
                return state, made
        return state, most

    vars(loop).update({n: v for n, v in vars(static).items() if not n.startswith("__")}, block=by_the_row)
    rows = {text: P if text and text[-1] else Q for n in range(4) for text in np.ndindex(*[2] * n)}
    target = everywhere([F(1, 3), F(2, 3)])
    found = controlled_text.law(loop, block, target, rows, 3, 2)
    assert found == target_law(target, 3)


def test_the_clairvoyant_is_a_bound() -> None:
    """The same drafts are kept when those to be refused are not made, and the law of the text is another one."""

    def program(fork: rational.Fork) -> int:
        x, u = pick(Q[None], fork.uniforms(1)), fork.uniforms(1, 2)
        kept, _ = tokenwise.verify(tokenwise.prepare(np.array([[P, P]]), Q[None, None]), x[None], u)
        return int(x[0]) if kept[0] else int(pick(P[None], fork.uniforms(1))[0])

    assert rational.law(program) == {0: F(5, 8), 1: F(3, 8)}
    rng = np.random.default_rng(0)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(4), 6), rng.dirichlet(np.ones(4), 5)
        x, u = rng.integers(0, 4, 5), rng.random(6)
        kept, _ = tokenwise.verify(tokenwise.prepare(p, q), x, u)
        n = int(kept)
        again, _ = tokenwise.verify(tokenwise.prepare(p[: n + 1], q[:n]), x[:n], np.append(u[:n], u[-1]))
        assert int(again) == n


def silent(text: tuple[int, ...]) -> tuple[Any, Any]:
    """Rows whose drafts are kept with probability 3/4 whatever they are, though the rows tell contexts apart."""
    half = F(1, 2) if not text or text[-1] else F(1, 3)
    q = np.array([half, 1 - half, F(0)])
    return np.array([half * F(3, 4), (1 - half) * F(3, 4), F(1, 4)]), q


@pytest.mark.parametrize(
    ("name", "params"),
    [(n, p) for n, m in discover.rules("control").items() for p in discover.process_cases(m)],
    ids=lambda v: str(v),
)
def test_nobody_is_faster_where_signals_say_nothing(name: str, params: dict[str, Any]) -> None:
    """T25, part 1, in rationals: the mean time of three tokens is at least that of the best fixed length."""
    module = of(name, **params)
    if discover.controller_facts(module).bound:
        pytest.skip("a bound is no controller")
    texts = [text for n in range(4) for text in np.ndindex(*[3] * n)]
    target, draft = ({text: silent(text)[i] for text in texts} for i in range(2))
    found = controlled_text.outcomes(module, tokenwise, target, draft, 3, 2)
    for cost in (F(1, 10), F(1, 2)):
        best = max(sum((F(3, 4) ** i for i in range(g + 1)), F(0)) / (1 + cost * g) for g in range(3))
        mean = sum((mass * sum((1 + cost * g for g in blocks), F(0)) for (_, blocks), mass in found.items()), F(0))
        assert mean >= 3 / best
