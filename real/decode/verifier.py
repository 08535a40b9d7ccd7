"""What verifies the blocks of a text: a rule of chains, steps or races of one draft, or a tree rule with its trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from real.decode.tree_plan import TreeVerifier
from specsim.discover import Rule, facts, find, with_params
from specsim.exact.guarantee import require_lossless
from specsim.types import Array, Draws
from specsim.verify.lookup import decoding_rule, step_told


def verifier_of(
    rule: Rule,
    gamma: int | None,
    parents: Sequence[int] | None,
    scheme: str | None,
    draws: Callable[[Array], Draws] | None,
    temperature: float,
    *,
    params: Mapping[str, Any] | None = None,
    step: Rule | None = None,
    step_params: Mapping[str, Any] | None = None,
) -> tuple[Any, int]:
    """What verifies the blocks of chains or of trees, and how many tokens or levels they have."""
    if parents is None:
        trees = {"scheme": scheme, "step": step, "draws": draws, "step_params": step_params}
        for name, value in trees.items():
            if value is not None:
                raise ValueError(f"{name} is for trees: give parents, the shape of a tree, too")
        require_lossless(rule, temperature=temperature, params=params)
        return decoding_rule(rule, params), 4 if gamma is None else gamma
    if gamma is not None:
        raise ValueError(f"gamma={gamma} and parents are both given: a block is a chain of gamma drafts or a tree")
    module = with_params(find("tree", rule), params)
    scheme = facts(module).own[0] if scheme is None else scheme
    step = step_told(module, step, step_params).get("step")
    verifier = TreeVerifier(module, parents, scheme, step, draws)
    require_lossless(verifier.rule, temperature=temperature, family="tree", scheme=scheme, step=step)
    return verifier, verifier.depth
