"""Verify a block by a chain rule that decides by residuals (above p - below q)+, without reading rows.

Such a rule has `scales` (`specsim.types.ChainRule`). After i drafts, i = 0 to gamma - 1, a block has the row
r_i = (a_i p_i - b_i q_i)+, with a = above, b = below and the sum S_i. Draft i, i = 1 to gamma - 1, passes if
u_i (S_i + b_i - a_i) < S_i. No row of q follows the last draft, so S_gamma = a_gamma: it passes if
u_gamma b_gamma < a_gamma. The block ends at the last draft that passes, and its token is drawn from the row there,
after all gamma drafts from p. Three facts make this a matter of look-ups:

- `residuals` has sums of, and draws from, (a p - b q)+ for all a, b at once.
- (p - q)+ and p have cumulative rows in `pair.token_sums`. Where a_i = b_i the row is (p - q)+, and draft i passes
  always, so S_i is not needed.
- A target that earlier blocks have changed is a residual itself: with p' = c p - d q,
  a p' - b q = (a c) p - (a d + b) q.
"""

from __future__ import annotations

from collections.abc import Sequence
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

# The weights (above, below) of p and q.
Scales = tuple[Array, Array]


class ScaledPlace(NamedTuple):
    """A place (`changed_targets.Place`) whose laws are scales, columns (B, 1), of p and q in contexts `node` (B,)."""

    pair: Pair
    node: Array

    @property
    def target(self) -> Scales:
        """The scales (1, 0): p itself."""
        zero = 0 * self.pair.p[self.node, :1]
        return zero + 1, zero

    def at(self, laws: Sequence[Scales], token: Array) -> tuple[list[Array], Array]:
        """Return (c p - d q)+ at a token for each of the laws (c, d), and q there."""
        p, q = (w[:, None] for w in at_tokens(self.pair, self.node, token))
        return [positive_part(c * p - d * q) for c, d in laws], q

    def left(self, law: Scales, above: Array, below: Array) -> Scales:
        """Return the scales of (above p' - below q)+ of sum 1, for p' = c p - d q and law = (c, d)."""
        # above p' - below q = (above c) p - (above d + below) q. Its sum is needed only where below > 0.
        xp, new = array_namespace(above), (above * law[0], above * law[1] + below)
        total = where(below[:, 0] > 0, partial(mass, self.pair.residuals), self.node, *new)[-1][:, None]
        # Without a sum nothing is taken away, or nothing is left: the law stays.
        is_positive = total > noise(total)
        total = xp.where(is_positive, total, 1)
        return xp.where(is_positive, new[0] / total, law[0]), xp.where(is_positive, new[1] / total, law[1])


def residual_block(
    rule: ModuleType, pair: Pair, levels: Levels, states: Array, x: Array, u: Array
) -> tuple[Array, Array, Levels]:
    """Return the number of accepted drafts (B,), the token after them (B,), and the levels then.

    x (B, gamma) are the drafts between the states (B, gamma+1); u (B, gamma+1) are uniforms.
    """
    xp, gamma = array_namespace(u), x.shape[1]
    # Without drafts the token comes from p.
    if not gamma:
        return 0 * states[:, 0], count_up_to(pair.token_sums, states[:, 0] + pair.p.shape[0], u[:, 0]), levels
    # An unchanged target: the scales of the tests are those of the rows. Row 0 is (p - q)+, since a_0 = b_0.
    p_drawn, q_drawn = at_tokens(pair, states[:, :gamma], x)
    if not levels:
        scales = rule.scales(p_drawn, q_drawn)
        is_other = scales[0] != scales[1]
        return *_outcome(pair, states, scales, scales, is_other, 1, u), levels
    # A changed target p' = c p - d q: the rule sees p'(x) of the drafts.
    places, drafts = [ScaledPlace(pair, states[:, i]) for i in range(gamma)], [x[:, i] for i in range(gamma)]
    path = along_block(levels, places, drafts)
    laws = [xp.concat(side, axis=-1) for side in zip(*(laws[-1] for _, laws in path), strict=True)]
    above, below = rule.scales(positive_part(laws[0] * p_drawn - laws[1] * q_drawn), q_drawn)
    # Its rows a p' - b q are scales of p and q: laws = (c, d).
    rows = above[:, :gamma] * laws[0], above[:, :gamma] * laws[1] + below[:, :gamma]
    is_other = (above != below)[:, :gamma] | (laws[1] > 0)
    num_accepted, token = _outcome(pair, states, (above, below), rows, is_other, 0, u)
    # The rule's continuation, a p'(token) and b q(token); after a whole block it is not used, and place 0 stands in.
    end, last = xp.where(num_accepted < gamma, num_accepted, 0), ScaledPlace(pair, at(states, num_accepted))
    law = tuple(at(w, end)[:, None] for w in laws)
    (probability,), drafted = last.at([law], token)
    continuation = at(above, num_accepted)[:, None] * probability, at(below, num_accepted)[:, None] * drafted
    return num_accepted, token, after_block(path, places, num_accepted, token, continuation)


def _outcome(
    pair: Pair, states: Array, scales: Scales, rows: Scales, is_other: Array, first: int, u: Array
) -> tuple[Array, Array]:
    """Return the number of accepted drafts (B,) and the token after them (B,).

    ``scales`` (B, gamma+1): a and b of the tests. ``rows`` (B, gamma): the weights of p and q in the rows, which are
    other ones if the target is changed. ``is_other`` (B, gamma): True for rows that are not (p - q)+. ``first``: 0, or
    1 if row 0 is (p - q)+ for every text; then nothing is computed of it.
    """
    xp, gamma = array_namespace(u), u.shape[1] - 1
    a, b = scales
    # Sums S_i of the rows from `first` on that are not (p - q)+; 0 for those that are.
    other_rows = is_other[:, first:gamma]
    weights = [w[:, first:gamma] for w in rows]
    masses = where(other_rows, partial(mass, pair.residuals), states[:, first:gamma], *weights)
    sums = masses[-1][:, 1:] if first == 0 else masses[-1]
    # Tests u_i (S_i + b_i - a_i) < S_i of drafts 1 to gamma - 1, and u b < a of the last one. A draft before
    # (p - q)+ passes always, also with the sum 0: a_i = b_i makes it 0 >= 0.
    lower = xp.concat([sums, a[:, gamma : gamma + 1]], axis=-1)
    upper = xp.concat([sums + (b - a)[:, 1:gamma], b[:, gamma : gamma + 1]], axis=-1)
    num_accepted = last_passed(lower, upper, u[:, :gamma])
    # The token from the tables: (p - q)+ after a failed draft, p after a whole block.
    node, last_u = at(states, num_accepted), u[:, gamma]
    all_accepted = xp.astype(num_accepted == gamma, node.dtype)
    token = count_up_to(pair.token_sums, node + pair.p.shape[0] * all_accepted, last_u)
    # With one draft and row 0 left out, no other row is left.
    if first == gamma:
        return num_accepted, token
    # Where the row at the end is another one with a positive sum, draw from it instead.
    ends_at_row = (num_accepted >= first) & (num_accepted < gamma)
    place = xp.where(ends_at_row, num_accepted - first, 0)
    end_mass = [at(w, place) for w in masses]
    is_drawn = ends_at_row & at(other_rows, place) & (end_mass[-1] > noise(end_mass[-1]))

    def from_row(node: Array, u: Array, *fields: Array) -> Array:
        return draw(pair.residuals, node, Mass(*fields), u)

    drawn = where_few(is_drawn, from_row, node, last_u, *end_mass)
    return num_accepted, xp.where(is_drawn, drawn, token)
