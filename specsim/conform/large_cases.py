"""Cases beyond the sizes that are judged exactly, made so that shares of tokens tell what is wrong.

Tokens have roles. Of *even* ones p and q are the same. *Refused* ones are drafted often, and the
target hardly emits them; *missing* ones are what it emits instead, and are hardly drafted. So a
refused token that comes out was kept though it should not have been, and an even one in its place
was drawn from p and not from what is left of it. After every token the roles move on, so that a row
in another's place is seen; how likely a role is stays the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from specsim.conform.cases import Case, make, prompted, sizes
from specsim.conform.evidence.shares import Share
from specsim.conform.subject import Subject
from specsim.conform.toys import Text, Toy, counting
from specsim.trees import topology
from specsim.types import Array

# The roles in words: even, refused, missing.
ROLES = ("evenly drafted", "over-drafted", "under-drafted")
EVEN, REFUSED, MISSING = range(len(ROLES))
# A role has two halves: its lighter tokens, and its heavier ones.
HALVES = 2
# The vocabulary has four quarters, by the numbers of tokens.
QUARTERS = 4
# Tokens of most of the cases; one more than a power of two, so that the last tile of a kernel is
# not full.
VOCAB = 65
# Tokens of the largest one.
LARGEST = 1000
# Probability of all tokens that the target hardly emits, and of those that are hardly drafted.
RARE = 0.002
# Probability of drafting a refused token in one place, by how many places or candidates follow each
# other: so that the last of them is reached often enough.
ALONE, CANDIDATES, TREE, BLOCK = 0.5, 0.6, 0.3, 0.15
# Of a certain draft, the probability of refusing it in a block.
CERTAIN = 0.25
# Numbers of drafts that are tried of a chain or decoder that names none.
LONGER = (6, 8)
# A tree of eight nodes that is tried of a subject that names no shapes: three siblings, the first
# and the last of which have children, and a path of four.
WIDER = (-1, -1, -1, 0, 0, 2, 3, 6)
# Rows that tokens are followed by: as many turns of one.
TURNS = 8
# Tokens by which one turn of the row is shifted against the turn before.
STEP = 7


# Blocks of more drafts have no exact law but where few tokens can be drafted; most inputs of those.
MANY_DRAFTS, INPUTS = 4, 500


class Large(NamedTuple):
    """A case, and the kinds of its tokens."""

    case: Case
    # The kind of every token right after the prompt: role * HALVES + half.
    kinds: Array
    # The target's probability of each kind.
    masses: Array
    # The target's probability of each role and quarter, right after the prompt.
    quarters: Array


def large(subject: Subject) -> Iterator[Large]:
    """Yield cases of more tokens, and of more drafts; the most drafts last."""
    # Trees: more tokens, and the largest shape.
    if subject.kind == "tree":
        first = subject.shapes[0]
        yield _case(subject, VOCAB, TREE, shape=first)
        yield _case(subject, LARGEST, TREE, shape=first)
        yield _case(subject, VOCAB, TREE, shape=_widest(subject))
        return

    # Steps, chains and decoders: more tokens at the smallest size, and the largest sizes.
    declared = list(sizes(subject))
    yield _case(subject, VOCAB, ALONE, size=declared[0])
    yield _case(subject, LARGEST, ALONE, size=declared[0])
    if subject.kind == "step":
        if declared[-1] > 1:
            yield _case(subject, VOCAB, CANDIDATES, size=declared[-1])
        return
    for size in _longer(subject):
        yield _case(subject, VOCAB, BLOCK if subject.takes_q else CERTAIN, size=size)


def long(subject: Subject) -> Iterator[Case]:
    """Yield blocks of more than four drafts that have an exact law: few tokens can be drafted in each place."""
    if subject.kind in ("chain", "decoder"):
        for size in _longer(subject):
            if size > MANY_DRAFTS:
                yield prompted(subject, make(subject, *counting((1,) * size), size, ""))
    elif subject.kind == "tree" and subject.takes_q and len(_widest(subject)) > MANY_DRAFTS:
        shape = _widest(subject)
        # The most siblings on each level, which have a token each.
        children, levels = Counter(shape), topology.depths(shape).tolist()
        widths = [0] * max(levels)
        for node, level in enumerate(levels):
            widths[level - 1] = max(widths[level - 1], children[shape[node]])
        if math.prod(widths[level - 1] for level in levels) <= INPUTS:
            yield make(subject._replace(shapes=(shape,)), *counting(tuple(widths)), 0, "")


def _widest(subject: Subject) -> Text:
    """Return the largest tree of a subject, and one of eight nodes of a subject that names none."""
    is_default = subject.shapes == Subject._field_defaults["shapes"]
    return WIDER if is_default else max(subject.shapes, key=lambda shape: len(shape))


def _longer(subject: Subject) -> tuple[int, ...]:
    """Return the larger numbers of drafts of a chain or a decoder."""
    is_default = tuple(subject.sizes) == Subject._field_defaults["sizes"]
    declared = list(sizes(subject))
    longest = LONGER if is_default or subject.kind == "decoder" else declared[-1:]
    return tuple(size for size in longest if size > declared[0])


def _case(subject: Subject, vocab: int, refused: float, *, size: int = 0, shape: Text = ()) -> Large:
    """Return a case of `vocab` tokens, with the target's masses of their kinds.

    refused: probability of drafting a refused token in one place. size: number of drafts. shape:
    parents of the tree of a tree subject, whose `size` stays 0, the number of its only shape.
    """
    target, draft, kinds = models(vocab, refused, certain=not subject.takes_q)
    shaped = subject._replace(shapes=(shape,)) if shape else subject
    case = make(shaped, target, draft, size, "")

    # The target's masses right after the prompt, by kind, and by role and quarter.
    law = target.law(())
    masses = np.bincount(kinds, law, len(ROLES) * HALVES)
    quarters = np.bincount(_by_quarter(kinds), law, len(ROLES) * QUARTERS)
    return Large(case, kinds, masses, quarters)


@cache
def models(vocab: int, refused: float, *, certain: bool) -> tuple[Toy, Toy, Array]:
    """Return target, draft, and the kind of every token right after the prompt."""
    # The role of every token, and the probability of each role under target and draft.
    rng = np.random.default_rng(vocab)
    weights = rng.integers(1, 9, vocab).astype(np.float64)
    if certain:
        # One even token is drafted, and all others are missing.
        roles = np.where(np.arange(vocab) == vocab // 2, EVEN, MISSING)
        shares = {EVEN: (1 - refused, 1.0), MISSING: (refused, 0.0)}
    else:
        roles = rng.permutation(np.arange(vocab) % len(ROLES))
        often = refused - RARE
        shares = {EVEN: (1 - refused, 1 - refused), REFUSED: (RARE, often), MISSING: (often, RARE)}

    # Within a role tokens have random weights; the half says which are above the median.
    p, q, halves = np.zeros(vocab), np.zeros(vocab), np.zeros(vocab, dtype=int)
    for role, (of_target, of_draft) in shares.items():
        in_role = roles == role
        within_role = weights[in_role] / weights[in_role].sum()
        p[in_role], q[in_role] = of_target * within_role, of_draft * within_role
        halves[in_role] = weights[in_role] > np.median(weights[in_role])
    return _turning(p / p.sum()), _turning(q / q.sum()), roles * HALVES + halves


def _turning(row: Array) -> Toy:
    """Return a model whose rows are turns of one row; the last token decides which."""
    turned = [np.roll(row, STEP * turn) for turn in range(TURNS + 1)]
    return Toy({(): row, **{(token,): turned[_turn(token)] for token in range(len(row))}}, 1)


def _turn(token: int) -> int:
    """Return which turn of the row follows a token."""
    return token % TURNS + 1


def _by_quarter(kinds: Array) -> Array:
    """Return role * QUARTERS + quarter of every token."""
    vocab = len(kinds)
    return kinds // HALVES * QUARTERS + np.arange(vocab) * QUARTERS // vocab


def shares(large_case: Large, texts: list[Text]) -> list[Share]:
    """Return how often tokens of each kind were seen, and should have been; the target continues the emitted texts.

    They are counted in every place, in the first place where a token is not even, and by number in
    the first place.
    """
    # The kind of every emitted token: its row is turned by the token before it.
    length, places = large_case.case.length, range(large_case.case.length)
    tokens = np.array([[*text[:length], *[-1] * (length - len(text))] for text in texts])
    emitted = tokens >= 0
    before = np.concatenate([np.full((len(tokens), 1), -1), tokens[:, :-1]], axis=1)
    turns = np.where(before >= 0, before % TURNS + 1, 0)
    kinds = large_case.kinds[(tokens - STEP * turns) % len(large_case.kinds)]
    results = list[Share]()

    # Every place.
    for kind, mass in enumerate(large_case.masses.tolist()):
        rates = np.where(emitted, kinds == kind, mass).mean(axis=0)
        results += [Share(_words(kind, place), float(rates[place]), mass) for place in places]

    # The first place where a token is not even; what was not emitted is drawn from the target.
    even = float(large_case.masses[: HALVES * (EVEN + 1)].sum())
    is_even = np.where(emitted, kinds // HALVES == EVEN, even)
    reached = np.concatenate([np.ones((len(tokens), 1)), is_even.cumprod(axis=1)[:, :-1]], axis=1)
    for kind, mass in list(enumerate(large_case.masses.tolist()))[HALVES * (EVEN + 1) :]:
        rates = (reached * np.where(emitted, kinds == kind, mass)).mean(axis=0)
        for place in places[1:]:
            words = f"{_words(kind, place)}, after {ROLES[EVEN]} tokens alone"
            results.append(Share(words, float(rates[place]), mass * even**place))

    # The first place, by number.
    quarters = _by_quarter(large_case.kinds)[tokens[:, 0]]
    frequencies = np.bincount(quarters, minlength=len(large_case.quarters)) / len(tokens)
    for i, (rate, mass) in enumerate(zip(frequencies.tolist(), large_case.quarters.tolist(), strict=True)):
        role, quarter = divmod(i, QUARTERS)
        results.append(
            Share(f"{ROLES[role]} tokens in quarter {quarter + 1} of the vocabulary, in place 1", rate, mass)
        )
    return [share for share in results if share.expected > 0 or share.observed > 0]


def _words(kind: int, place: int) -> str:
    """Return the tokens of a kind in a place, in words."""
    role, half = divmod(kind, HALVES)
    likely = "more" if half else "less"
    return f"{likely} likely {ROLES[role]} tokens in place {place + 1}"
