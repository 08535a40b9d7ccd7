"""One block of drafts in a row, for a batch of texts: read whole rows of p and q, or look numbers up in tables."""

from __future__ import annotations

from types import ModuleType

from specsim.base.arrays import array_namespace, at, leading
from specsim.simulation.changed_targets import Levels, RowPlace, after_block, along_block
from specsim.simulation.residual_block import residual_block
from specsim.simulation.rows import count_up_to
from specsim.simulation.toys.pair import Pair, after, at_tokens
from specsim.types import Array

# State of the pair (B,), and how earlier blocks of a rule with a `continuation` have changed the target.
State = tuple[Array, Levels]


def chain_block(rule: ModuleType, gamma: int, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """Draw gamma drafts one after the other, and run a chain rule on all of them."""
    node, levels = state
    states, x = _draw_drafts(pair, node, u[:, :gamma])
    # A rule with `scales` is decided in the tables of residuals.
    if pair.residuals is not None:
        num_accepted, token, levels = residual_block(rule, pair, levels, states, x, u[:, gamma:])
    # A rule with `keeps` and `left_over` does what `verify` does, but reads two numbers a draft.
    elif pair.token_sums is not None:
        num_accepted = rule.keeps(*at_tokens(pair, states[:, :gamma], x), u[:, gamma:-1])
        token = _token(pair, states, num_accepted, u[:, -1])
    # Any other rule reads the rows.
    else:
        num_accepted, token, levels = _row_block(rule, pair, levels, states, x, u[:, gamma:])
    return _finish(pair, states, x, num_accepted, token, levels)


def _row_block(
    rule: ModuleType, pair: Pair, levels: Levels, states: Array, x: Array, u: Array
) -> tuple[Array, Array, Levels]:
    """Verify drafts x (B, gamma) by rows of p and q: accepted drafts, the token after them, and the levels then."""
    xp, gamma = array_namespace(u), x.shape[1]
    nodes, drafts = ([w[:, i] for i in range(w.shape[1])] for w in (states, x))
    places = [RowPlace(pair.p[n], pair.q[n]) for n in nodes[:gamma]]
    # The target's rows, as earlier blocks have changed them; after the block no change is left.
    path = along_block(levels, places, drafts) if levels else []
    changed_rows = [laws[-1] for _, laws in path]
    p = xp.stack([*changed_rows, pair.p[nodes[gamma]]], axis=1) if path else pair.p[states]
    q = xp.stack([place.q for place in places], axis=1) if gamma else p[:, :0]
    # Verify, and note how this block changes the target of those that follow.
    plan = rule.prepare(p, q)
    num_accepted, token = rule.verify(plan, x, u)
    if levels:
        continuation = rule.continuation(plan, x, num_accepted, token)
        levels = after_block(path, places, num_accepted, token, continuation)
    return num_accepted, token, levels


def step_block(rule: ModuleType, pair: Pair, state: State, u: Array) -> tuple[State, Array, Array]:
    """Run a step rule of one draft at gamma positions by table look-ups.

    u (B, 3 gamma + 1): for every position the uniforms of draft, test and token, then that of the bonus token. All
    drafts are drawn first: up to the first that fails they equal the tokens that are emitted.
    """
    node, levels = state
    states, x = _draw_drafts(pair, node, u[:, :-1:3])
    num_accepted = leading(rule.keeps(*at_tokens(pair, states[:, :-1], x), u[:, 1:-1:3]))
    token_u = array_namespace(u).concat([u[:, 2:-1:3], u[:, -1:]], axis=-1)
    token = _token(pair, states, num_accepted, at(token_u, num_accepted))
    return _finish(pair, states, x, num_accepted, token, levels)


def _draw_drafts(pair: Pair, node: Array, u: Array) -> tuple[Array, Array]:
    """States (B, gamma+1) before, between and after the drafts, and these (B, gamma)."""
    xp, nodes, drafts = array_namespace(u), [node], []
    for i in range(u.shape[1]):
        drafts.append(count_up_to(pair.q_sums, nodes[i], u[:, i]))
        nodes.append(after(pair, nodes[i], drafts[i]))
    x = xp.stack(drafts, axis=-1) if drafts else xp.zeros((len(node), 0), dtype=node.dtype)
    return xp.stack(nodes, axis=-1), x


def _token(pair: Pair, states: Array, num_accepted: Array, u: Array) -> Array:
    """The token after the accepted drafts: from the table's lower half, the laws p, if all drafts were accepted."""
    all_accepted = array_namespace(num_accepted).astype(num_accepted == states.shape[1] - 1, states.dtype)
    return count_up_to(pair.token_sums, at(states, num_accepted) + len(pair.p) * all_accepted, u)


def _finish(
    pair: Pair, states: Array, x: Array, num_accepted: Array, token: Array, levels: Levels
) -> tuple[State, Array, Array]:
    """A block's results: the state after it, the number of accepted drafts, and the emitted tokens."""
    xp = array_namespace(x)
    place = xp.arange(x.shape[1] + 1)
    texts = xp.concat([x, token[:, None]], axis=-1)
    token_or_none = xp.where(place == num_accepted[:, None], token[:, None], -1)
    texts = xp.where(place < num_accepted[:, None], texts, token_or_none)
    return (after(pair, at(states, num_accepted), token), levels), num_accepted, texts
