"""Rules whose exact law is that of their `verify`, run on forking uniforms, in place of their `transition`.

A rule states its law in `transition` and samples it in `verify`. The rules here have the law of the sampler, so that
whatever enumerates a rule enumerates the code that draws.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from specsim.forking import rational
from specsim.types import Array


def kept_and_token(verify: Callable[[Array], tuple[Array, Array]], count: int) -> dict[tuple[int, int], Fraction]:
    """Return the exact law of (accepted drafts, next token) of a sampler that takes `count` uniforms."""

    def program(fork: rational.Fork) -> tuple[int, int]:
        """Verify with the uniforms of one run."""
        num_accepted, token = verify(fork.uniforms(count))
        return int(num_accepted), int(token)

    return rational.law(program)


def forked_chain(rule: ModuleType) -> Any:
    """Return a chain rule with the forked law of its `verify` as its `transition`, for `exact.chain.strong_law`."""

    def transition(plan: Any, drafts: Array) -> Array:
        """Return the joint law of (accepted drafts, next token)."""
        return _joint(kept_and_token(partial(rule.verify, plan, drafts), rule.uniforms(len(drafts))))

    return SimpleNamespace(**vars(rule) | {"transition": transition})


def forked_tree(rule: ModuleType) -> Any:
    """Return a tree rule with the forked law of its `verify` as its `transition`, for `exact.tree.kept_law`.

    Trees of one shape are a batch, and fork together.
    """

    def prepare(p: Array, q: Array, tree: Any, **params: Any) -> tuple[int, Any]:
        """Return the number of trees and a program that verifies some of them, which `transition` takes as a plan."""
        # Plans by the number of trees, which only falls.
        plans: dict[int, Any] = {}
        count = rule.uniforms(tree, **params)

        def program(rows: list[int], forks: list[rational.Fork]) -> list[tuple[int, int]]:
            """Verify these rows of the batch, each with the uniforms of its fork."""
            if len(rows) not in plans:
                trees = tree._replace(tokens=tree.tokens[rows])
                plans[len(rows)] = rule.prepare(p[rows], q[rows], trees, **params)
            uniforms = np.stack([fork.uniforms(count) for fork in forks])
            nodes, tokens = rule.verify(plans[len(rows)], uniforms)
            return list(zip(np.asarray(nodes).tolist(), np.asarray(tokens).tolist(), strict=True))

        return len(p), program

    def transition(plan: tuple[int, Any]) -> list[Array]:
        """Return the joint law of (node, next token) of every tree."""
        rows, program = plan
        return [_joint(law) for law in rational.laws(program, rows)]

    return SimpleNamespace(**vars(rule) | {"prepare": prepare, "transition": transition})


def _joint(law: dict[tuple[int, int], Fraction]) -> Array:
    """Return a law of pairs as an array, as large as its largest entries ask for."""
    joint = np.full(np.max(list(law), axis=0) + 1, Fraction(0))
    for outcome, mass in law.items():
        joint[outcome] = mass
    return joint
