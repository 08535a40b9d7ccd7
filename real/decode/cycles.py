"""Which cycle runs the blocks of a loop: of chains in ordinary calls or in fixed shapes, or of trees."""

from __future__ import annotations

from collections.abc import Callable

from real.decode import graphs
from real.decode.beams import BeamCycle, BeamVerifier
from real.decode.cycle import Cycle, Eager, Log, Verifier
from real.decode.proposer import Drafter, Draw
from real.decode.tree_plan import TreeVerifier, check_trees
from real.decode.trees_cycle import TreeCycle
from real.decode.warp import Warping
from real.models.model import LanguageModel
from specsim.types import Controller
from specsim.verify.raced import Raced


def cycle_for(
    target: LanguageModel,
    draft: LanguageModel | None,
    warping: Warping,
    rule: Verifier | TreeVerifier | BeamVerifier | Raced,
    draw: Draw,
    mark: Callable[[str], None],
    ends: list[int],
    gamma: int,
    fixed: bool | None,
    kept: graphs.Kept | None = None,
    proposer: Drafter | None = None,
    controller: Controller | None = None,
    log: Log | None = None,
) -> Cycle:
    """The cycle that runs these blocks, once what it needs of the models is there.

    Parameters are those of `real.decode.loop.decode_batch`, and `ends`, the lengths that the texts may reach; the draft
    is None in plain decoding.
    """
    told = {"proposer": proposer, "controller": controller, "log": log}
    ordinary = [name for name, value in told.items() if value is not None]
    ordinary += ["coupled rule"] if isinstance(rule, Raced) else []
    if ordinary and isinstance(rule, TreeVerifier | BeamVerifier):
        raise ValueError(f"{ordinary[0]} is for chains: a tree is drafted by a model, in one shape")
    beams = isinstance(rule, BeamVerifier)
    possible = not ordinary and not beams and graphs.supports(target, draft, warping)
    if fixed and not possible:
        why = f"a {ordinary[0]}" if ordinary else "a beam" if beams else "these models or this warping"
        raise ValueError(f"fixed: {why} cannot run in fixed shapes (see real.decode.graphs)")
    fixed = possible and (target.device.type == "cuda" if fixed is None else fixed)
    if isinstance(rule, TreeVerifier | BeamVerifier):
        check_trees(target, draft, warping, rule, gamma)
    if isinstance(rule, Raced):
        return Eager(target, draft, len(ends), warping, rule, draw, mark, proposer, controller, log)
    if isinstance(rule, BeamVerifier):
        return BeamCycle(target, draft, len(ends), warping, rule, mark, max(ends), gamma)
    if fixed:
        return graphs.Graphs(target, draft, len(ends), warping, rule, draw, mark, max(ends), gamma, kept)
    if isinstance(rule, TreeVerifier):
        return TreeCycle(target, draft, len(ends), warping, rule, mark, max(ends), gamma)
    return Eager(target, draft, len(ends), warping, rule, draw, mark, proposer, controller, log)
