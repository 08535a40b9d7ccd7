"""The choice of the cycle that runs the blocks of a loop: of chains, in ordinary calls or fixed shapes, or of trees."""

from __future__ import annotations

from real.decode import graphs
from real.decode.beams import BeamCycle, BeamVerifier
from real.decode.chain_cycle import Cycle, Eager
from real.decode.options import DecodeOptions
from real.decode.tree_plan import TreeVerifier, check_trees
from real.decode.trees_cycle import TreeCycle
from real.models.model import LanguageModel
from specsim.verify.raced import Raced


def cycle_for(target: LanguageModel, draft: LanguageModel | None, ends: list[int], options: DecodeOptions) -> Cycle:
    """Return the cycle that runs these blocks; raise ValueError for options that do not go together.

    draft: None in plain decoding, or beside a drafter. ends: the lengths that the texts may reach.
    """
    rule, batch, longest = options.rule, len(ends), max(ends)
    is_tree, is_beam = isinstance(rule, TreeVerifier), isinstance(rule, BeamVerifier)

    # Drafters, controllers, logs and coupled rules are for chains, in ordinary calls.
    named = {"proposer": options.proposer, "controller": options.controller, "log": options.log}
    ordinary = [name for name, value in named.items() if value is not None]
    if isinstance(rule, Raced):
        ordinary.append("coupled rule")
    if ordinary and (is_tree or is_beam):
        raise ValueError(f"{ordinary[0]} is for chains: a tree is drafted by a model, in one shape")

    # Fixed shapes, where the models allow them: by default on a GPU.
    fixed = _runs_fixed(target, draft, options, ordinary, is_beam)
    if is_tree or is_beam:
        check_trees(target, draft, options.warping, rule, options.gamma)
    if is_beam:
        return BeamCycle(target, draft, batch, longest, options)
    if fixed:
        return graphs.Graphs(target, draft, batch, longest, options)
    if is_tree:
        return TreeCycle(target, draft, batch, longest, options)
    return Eager(target, draft, batch, options)


def _runs_fixed(
    target: LanguageModel, draft: LanguageModel | None, options: DecodeOptions, ordinary: list[str], is_beam: bool
) -> bool:
    """Return whether cycles run in fixed shapes; raise ValueError if that is asked for and cannot be."""
    possible = not ordinary and not is_beam and graphs.supports(target, draft, options.warping)
    if options.fixed is None:
        return possible and target.device.type == "cuda"
    if options.fixed and not possible:
        why = "these models or this warping"
        if ordinary:
            why = f"a {ordinary[0]}"
        elif is_beam:
            why = "a beam"
        raise ValueError(f"fixed: {why} cannot run in fixed shapes (see real.decode.graphs)")
    return options.fixed
