"""The optimal rule's plan: all that it computes from p and q before it sees drafts."""

from __future__ import annotations

from typing import NamedTuple

from specsim.types import Array


class Plan(NamedTuple):
    """Columns (..., 1) and rows (..., V); a place is a position in the order of p/q: a token's, or a bin's."""

    p: Array
    q: Array
    pooled: Array  # p, or in bins: q times the p/q of the token's bin
    fill: Array  # c
    cut: Array  # d
    loss: Array  # 1 - acceptance
    place: Array  # of each token
    wanted: Array  # by place: w
    q_there: Array  # by place: the length of the stretch
    slope: Array  # by place: q slope is the probability that its token would win if no draft moved
    gains: Array  # by place: cumulative sums of (w - q slope)+
    losses: Array  # by place: cumulative sums of (q slope - w)+; both end at the same total
    left_over: Array  # cumulative sums of (p - w)+
