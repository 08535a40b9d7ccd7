"""What a chain rule that decides by residuals (above p - below q)+ does with a block, reading no row: see `residuals`.

Such a rule has `scales`: position i of a block has the row (above_i p_i - below_i q_i)+, whose sum decides whether
draft i passes, and from which the token is drawn if it is the last that does (`specsim.types.ChainRule`). (p - q)+ has
its tokens in a table, as p has, and its draft always passes. A target that earlier blocks have changed is a residual
itself, and what a rule leaves of it another one.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import NamedTuple

from specsim.base.arrays import array_namespace, at, noise, positive_part
from specsim.simulation.changed_targets import Levels, after_block, along_block
from specsim.simulation.lazy_entries import where, where_few
from specsim.simulation.residuals import Mass, draw, mass
from specsim.simulation.rows import count_up_to
from specsim.simulation.toys.pair import Pair, at_tokens
from specsim.types import Array
from specsim.verify.chain.block import last_passed

Scales = tuple[Array, Array]  # above, below


class ScaledPlace(NamedTuple):
    """A place (`changed_targets.Place`) whose laws are scales, columns (B, 1), of p and q in contexts (B,)."""

    pair: Pair
    node: Array

    @property
    def target(self) -> Scales:
        none = 0 * self.pair.p[self.node, :1]
        return none + 1, none

    def at(self, law: Scales, token: Array) -> Array:
        p, q = at_tokens(self.pair, self.node, token)
        return positive_part(law[0] * p[:, None] - law[1] * q[:, None])

    def drafted(self, token: Array) -> Array:
        return at_tokens(self.pair, self.node, token)[1][:, None]

    def left(self, law: Scales, above: Array, below: Array) -> Scales:
        xp, new = array_namespace(above), (above * law[0], above * law[1] + below)
        total = where(below[:, 0] > 0, partial(mass, self.pair.residuals), self.node, *new)[-1][:, None]
        some = total > noise(total)  # else nothing is taken away, or nothing left
        total = xp.where(some, total, 1)
        return xp.where(some, new[0] / total, law[0]), xp.where(some, new[1] / total, law[1])


def residual_block(
    rule: ModuleType, pair: Pair, levels: Levels, states: Array, x: Array, u: Array
) -> tuple[Array, Array, Levels]:
    """What `verify` returns of drafts x (B, gamma) between the states (B, gamma+1), and what is changed after them."""
    xp, gamma = array_namespace(u), x.shape[1]
    if not gamma:
        return 0 * states[:, 0], count_up_to(pair.token_sums, states[:, 0] + pair.p.shape[0], u[:, 0]), levels
    p_drawn, q_drawn = at_tokens(pair, states[:, :gamma], x)
    if not levels:
        scales = rule.scales(p_drawn, q_drawn)
        return *_outcome(pair, states, scales, scales, scales[0] != scales[1], 1, u), levels
    places, drafts = [ScaledPlace(pair, states[:, i]) for i in range(gamma)], [x[:, i] for i in range(gamma)]
    seen = along_block(levels, places, drafts)
    drawn = [place.at(laws[-1], y) for place, (_, laws), y in zip(places, seen, drafts, strict=True)]
    above, below = rule.scales(xp.concat(drawn, axis=-1), q_drawn)
    laws = [xp.concat(side, axis=-1) for side in zip(*(laws[-1] for _, laws in seen), strict=True)]
    rows = above[:, :gamma] * laws[0], above[:, :gamma] * laws[1] + below[:, :gamma]
    other = (above != below)[:, :gamma] | (laws[1] > 0)
    kept, token = _outcome(pair, states, (above, below), rows, other, 0, u)
    end, last = xp.where(kept < gamma, kept, 0), ScaledPlace(pair, at(states, kept))  # after a whole block: none
    law = tuple(at(w, end)[:, None] for w in laws)
    own = at(above, kept)[:, None] * last.at(law, token), at(below, kept)[:, None] * last.drafted(token)
    return kept, token, after_block(seen, places, kept, token, own)


def _outcome(
    pair: Pair, states: Array, scales: Scales, rows: Scales, other: Array, first: int, u: Array
) -> tuple[Array, Array]:
    """Drafts kept and the token after them, from the scales (B, gamma+1) of the tests and those of the rows.

    other (B, gamma): rows that are not (p - q)+; those before `first` are.
    """
    xp, gamma = array_namespace(u), u.shape[1] - 1
    inner, tested, end = slice(first, gamma), slice(1, gamma), slice(gamma, gamma + 1)
    parts = (rows[0][:, inner], rows[1][:, inner])
    own = where(other[:, inner], partial(mass, pair.residuals), states[:, inner], *parts)
    total = own[-1][:, 1 - first :]
    more = xp.concat([total, scales[0][:, end]], axis=-1)
    less = xp.concat([total + (scales[1] - scales[0])[:, tested], scales[1][:, end]], axis=-1)
    kept = last_passed(more, less, u[:, :gamma])
    node, last = at(states, kept), u[:, gamma]
    token = count_up_to(pair.token_sums, node + pair.p.shape[0] * xp.astype(kept == gamma, node.dtype), last)
    if first == gamma:
        return kept, token
    scaled = (kept >= first) & (kept < gamma)
    place = xp.where(scaled, kept - first, 0)
    law = [at(w, place) for w in own]
    here = scaled & at(other[:, inner], place) & (law[-1] > noise(law[-1]))
    drawn = where_few(here, lambda row, u, *law: draw(pair.residuals, row, Mass(*law), u), node, last, *law)
    return kept, xp.where(here, drawn, token)
