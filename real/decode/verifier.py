"""The verifier of a text's blocks: a rule of chains, steps or races of one draft, or a tree rule with its trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from real.decode.tree_plan import TreeVerifier
from specsim.base import check
from specsim.discover import Rule, facts, find, with_params
from specsim.exact.guarantee import guarantee
from specsim.types import Array, Draws
from specsim.verify.lookup import decoding_rule, filling_rule, lossy_rules, step_argument


class RuleOptions(NamedTuple):
    """The options of verification: the arguments of these names of `real.Pair.generate`."""

    rule: Rule = "tokenwise"
    scheme: str | None = None
    step: Rule | None = None
    gamma: int | None = None
    parents: Sequence[int] | None = None
    draws: Callable[[Array], Draws] | None = None
    params: Mapping[str, Any] | None = None
    step_params: Mapping[str, Any] | None = None
    allow_lossy: bool = False


def verifier_of(options: RuleOptions, temperature: float) -> tuple[Any, int]:
    """Return the verifier of blocks of chains or of trees, and the number of their tokens or levels.

    Raise ValueError for options that do not go together, and for a rule that changes the target's law at this
    temperature, unless that is allowed.
    """
    rule, params, gamma = options.rule, options.params, options.gamma
    if not isinstance(options.allow_lossy, bool):
        raise TypeError(f"allow_lossy must be True or False, got {check.shown(options.allow_lossy)}")

    # Chains.
    if options.parents is None:
        trees = {name: getattr(options, name) for name in ("scheme", "step", "draws", "step_params")}
        for name, value in trees.items():
            if value is not None:
                raise ValueError(f"{name} is for trees: give parents, the shape of a tree, too")
        is_shipped_lossy = isinstance(rule, str) and rule in lossy_rules()
        if is_shipped_lossy and not options.allow_lossy:
            raise _lossy(f"rule {rule!r} changes the target's law (see specsim.verify.lossy)")
        if not options.allow_lossy:
            _require_lossless(rule, temperature, params=params)
        verifier = filling_rule(rule, params) if is_shipped_lossy else decoding_rule(rule, params)
        return verifier, 4 if gamma is None else gamma

    # Trees.
    if gamma is not None:
        raise ValueError(f"gamma={gamma} and parents are both given: a block is a chain of gamma drafts or a tree")
    module = with_params(find("tree", rule), params)
    scheme = facts(module).own[0] if options.scheme is None else options.scheme
    step = step_argument(module, options.step, options.step_params).get("step")
    tree_verifier = TreeVerifier(module, options.parents, scheme, step, options.draws)
    if not options.allow_lossy:
        _require_lossless(tree_verifier.rule, temperature, family="tree", scheme=scheme, step=step)
    return tree_verifier, tree_verifier.depth


def _require_lossless(rule: Rule, temperature: float, **how: Any) -> None:
    """Raise ValueError with the witness, and what allows the rule all the same, if `guarantee` finds it lossy."""
    verdict = guarantee(rule, num_drafts=1, temperature=temperature, **how)
    if not verdict.lossless:
        raise _lossy(f"rule {rule!r} is not lossless at temperature {temperature:g}: {verdict.reason}")


def _lossy(reason: str) -> ValueError:
    """The error for a rule that changes the target's law."""
    return ValueError(f"{reason}; allow_lossy=True decodes with it all the same, and texts then have another law")
