"""Errors of long blocks and wide trees that have an exact law, as few tokens can be drafted in each place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim.conform import Subject, Verdict, judge, judgement
from specsim.conform.properties import _laws
from specsim.types import Array, TokenTree


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def found(run: Any, kind: Any = "chain", **facts: Any) -> Verdict:
    (verdict,) = judge(Subject("it", kind, run, **facts), properties=["larger"]).verdicts
    return verdict


LONG: dict[str, Callable[[Array, Array, int, Any], Any]] = {
    "twice as often": lambda p, q, x, random: random.random() * q[x] < 2 * p[x],
    "by the root of the ratio": lambda p, q, x, random: random.random() * q[x] ** 0.5 < p[x] ** 0.5,
}


@pytest.mark.parametrize("takes_q", [True, False])
@pytest.mark.parametrize("error", [*LONG, "likeliest correction", "sharper bonus", "coins of four places"])
def test_long_blocks_have_an_exact_law(error: str, takes_q: bool) -> None:
    """Errors from the fifth place on that change shares of tokens by less than frequencies show."""

    def run(p: Array, q: Array | None, drafts: Array, random: Any) -> Any:
        coins = [random.random() for _ in range(4)] if error == "coins of four places" else []
        for i, x in enumerate(drafts):
            law = np.eye(p.shape[1])[x] if q is None else q[i]
            test = LONG.get(error) if i > 3 else None
            coin = coins[i % 4] if coins else None
            if test is not None:
                is_kept = test(p[i], law, int(x), random)
            else:
                is_kept = (random.random() if coin is None else coin) * law[x] < p[i, x]
            if not is_kept:
                left = rest(p[i], law)
                return i, int(left.argmax()) if error == "likeliest correction" and i > 3 else drawn(random, left)
        sharper = error == "sharper bonus" and len(drafts) > 4
        return len(drafts), drawn(random, p[-1] ** 2 if sharper else p[-1])

    verdict = found(run, takes_q=takes_q)
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")
    assert verdict.reach == "V=8, 6 drafts"


@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
@pytest.mark.parametrize("node", range(4, 8))
def test_every_node_of_a_wide_tree_is_tested_exactly(node: int, scheme: str) -> None:
    """A node of the tree of eight that is kept twice as often."""

    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> Any:
        path, at = list[int](), -1
        while True:
            left, law = p[at + 1], q[at + 1].copy()
            children = [i for i, parent in enumerate(drafted.parents) if parent == at]
            for i in children:
                x = int(drafted.tokens[i])
                law = law / law.sum() if law.any() else law
                if random.random() * law[x] < left[x] * (2 if i == node else 1):
                    break
                left = rest(left, law)
                if scheme != "iid":
                    law[x] = 0
            else:
                return path, drawn(random, left)
            at = i
            path.append(i)

    verdict = found(run, "tree", scheme=scheme)
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")
    assert "tree [-1, -1, -1, 0, 0, 2, 3, 6]" in verdict.reach


def test_what_refuses_the_longest_blocks_is_judged() -> None:
    """It ended the judgement: of eight drafts there was nothing to compare."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        if len(drafts) > 6:
            raise ValueError("at most six")
        for i, x in enumerate(drafts):
            if random.random() * q[i, x] >= p[i, x]:
                return i, drawn(random, rest(p[i], q[i]))
        return len(drafts), drawn(random, p[-1])

    verdict = found(run)
    assert verdict.outcome == "lossless"
    assert "V=8, 6 drafts (exactly" in verdict.reach
    assert "it does not take V=10, 8 drafts: raised ValueError: at most six" in verdict.reach
    assert "V=10:" not in verdict.reach, "it takes the vocabulary"
