"""Cases beyond the sizes that are judged exactly, made so that shares of tokens tell what is wrong.

Tokens have roles. Of *even* ones p and q are the same. *Refused* ones are drafted often, and the target hardly emits
them; *missing* ones are what it emits instead, and are hardly drafted. So a refused token that comes out was kept
though it should not have been, and an even one in its place was drawn from p and not from what is left of it. After
every token the roles move on, so that a row in another's place is seen; how likely a role is stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from specsim.conform.cases import Case, make, sizes
from specsim.conform.evidence.shares import Share
from specsim.conform.subject import Subject
from specsim.conform.toys import Text, Toy
from specsim.types import Array

ROLES = ("evenly drafted", "over-drafted", "under-drafted")  # in words: even, refused, missing
EVEN, REFUSED, MISSING = range(len(ROLES))
HALVES = 2  # of a role: its lighter tokens, and its heavier ones
QUARTERS = 4  # of the vocabulary, by number
# Tokens of most of the cases; one more than a power of two, so that the last tile of a kernel is not full.
VOCAB = 65
# Tokens of the largest one.
LARGEST = 1000
# Probability of all tokens that the target hardly emits, and of those that are hardly drafted.
RARE = 0.002
# Probability of drafting a refused token in one place, by how many places or candidates follow each other: so that the
# last of them is reached often enough.
ALONE, CANDIDATES, TREE, BLOCK = 0.5, 0.6, 0.3, 0.15
# Of a certain draft, the probability of refusing it in a block.
CERTAIN = 0.25
# Numbers of drafts that are tried of a chain or decoder that names none.
LONGER = (6, 8)
# A tree of eight nodes that is tried of a subject that names no shapes: three siblings, and paths of three.
WIDER = (-1, -1, -1, 0, 0, 1, 3, 6)
# Rows that tokens are followed by: as many turns of one.
TURNS = 8
STEP = 7  # tokens by which one turn differs from the next


class Large(NamedTuple):
    """A case, and what is known of its tokens."""

    case: Case
    kinds: Array  # of a token right after the prompt: role * HALVES + half
    masses: Array  # the target's probability of each kind
    quarters: Array  # its probability of each role and quarter, right after the prompt


def large(subject: Subject) -> Iterator[Large]:
    """More tokens, and more drafts; the most drafts last."""
    declared = list(sizes(subject))
    if subject.kind == "tree":
        shapes = subject.shapes
        most = WIDER if shapes == Subject._field_defaults["shapes"] else max(shapes, key=len)
        yield _case(subject, VOCAB, TREE, shape=shapes[0])
        yield _case(subject, LARGEST, TREE, shape=shapes[0])
        yield _case(subject, VOCAB, TREE, shape=most)
        return
    yield _case(subject, VOCAB, ALONE, size=declared[0])
    yield _case(subject, LARGEST, ALONE, size=declared[0])
    if subject.kind == "step":
        if declared[-1] > 1:
            yield _case(subject, VOCAB, CANDIDATES, size=declared[-1])
        return
    is_default = tuple(subject.sizes) == Subject._field_defaults["sizes"]
    for size in LONGER if is_default or subject.kind == "decoder" else declared[-1:]:
        if size > declared[0]:
            yield _case(subject, VOCAB, BLOCK if subject.takes_q else CERTAIN, size=size)


def _case(subject: Subject, vocab: int, refused: float, *, size: int = 0, shape: Text = ()) -> Large:
    """One case; of a tree the shape says which."""
    target, draft, kinds = models(vocab, refused, certain=not subject.takes_q)
    one = subject._replace(shapes=(shape,)) if shape else subject
    case = make(one, target, draft, size, "")
    row = target.law(())
    masses = np.bincount(kinds, row, len(ROLES) * HALVES)
    return Large(case, kinds, masses, np.bincount(_by_quarter(kinds), row, len(ROLES) * QUARTERS))


@cache
def models(vocab: int, refused: float, *, certain: bool) -> tuple[Toy, Toy, Array]:
    """Target, draft, and the kind of every token right after the prompt."""
    rng = np.random.default_rng(vocab)
    weights = rng.integers(1, 9, vocab).astype(np.float64)
    if certain:  # one even token is drafted, and the others are missing
        roles = np.where(np.arange(vocab) == vocab // 2, EVEN, MISSING)
        shares = {EVEN: (1 - refused, 1.0), MISSING: (refused, 0.0)}
    else:
        roles = rng.permutation(np.arange(vocab) % len(ROLES))
        often = refused - RARE
        shares = {EVEN: (1 - refused, 1 - refused), REFUSED: (RARE, often), MISSING: (often, RARE)}
    p, q, halves = np.zeros(vocab), np.zeros(vocab), np.zeros(vocab, dtype=int)
    for role, (of_target, of_draft) in shares.items():
        own = roles == role
        part = weights[own] / weights[own].sum()
        p[own], q[own] = of_target * part, of_draft * part
        halves[own] = weights[own] > np.median(weights[own])
    return _turning(p / p.sum()), _turning(q / q.sum()), roles * HALVES + halves


def _turning(row: Array) -> Toy:
    """A model whose rows are turns of one, by the last token."""
    turned = [np.roll(row, STEP * turn) for turn in range(TURNS + 1)]
    return Toy({(): row, **{(token,): turned[_turn(token)] for token in range(len(row))}}, 1)


def _turn(token: int) -> int:
    return token % TURNS + 1


def _by_quarter(kinds: Array) -> Array:
    vocab = len(kinds)
    return kinds // HALVES * QUARTERS + np.arange(vocab) * QUARTERS // vocab


def shares(one: Large, texts: list[Text]) -> list[Share]:
    """How often tokens of each kind were seen, and should have been; the target goes on after what was emitted.

    They are counted in every place, in the first place where a token is not even, and by number in the first place.
    """
    length, places = one.case.length, range(one.case.length)
    tokens = np.array([[*text[:length], *[-1] * (length - len(text))] for text in texts])
    emitted = tokens >= 0
    before = np.concatenate([np.full((len(tokens), 1), -1), tokens[:, :-1]], axis=1)
    turns = np.where(before >= 0, before % TURNS + 1, 0)
    kinds = one.kinds[(tokens - STEP * turns) % len(one.kinds)]
    out = list[Share]()

    # Every place.
    for kind, mass in enumerate(one.masses.tolist()):
        rates = np.where(emitted, kinds == kind, mass).mean(axis=0)
        out += [Share(_words(kind, place), float(rates[place]), mass) for place in places]

    # The first place where a token is not even; what was not emitted is drawn from the target.
    even = float(one.masses[: HALVES * (EVEN + 1)].sum())
    is_even = np.where(emitted, kinds // HALVES == EVEN, even)
    reached = np.concatenate([np.ones((len(tokens), 1)), is_even.cumprod(axis=1)[:, :-1]], axis=1)
    for kind, mass in list(enumerate(one.masses.tolist()))[HALVES * (EVEN + 1) :]:
        rates = (reached * np.where(emitted, kinds == kind, mass)).mean(axis=0)
        for place in places[1:]:
            words = f"{_words(kind, place)}, after {ROLES[EVEN]} tokens alone"
            out.append(Share(words, float(rates[place]), mass * even**place))

    # The first place, by number.
    seen = np.bincount(_by_quarter(one.kinds)[tokens[:, 0]], minlength=len(one.quarters)) / len(tokens)
    for i, (rate, mass) in enumerate(zip(seen.tolist(), one.quarters.tolist(), strict=True)):
        role, quarter = divmod(i, QUARTERS)
        out.append(Share(f"{ROLES[role]} tokens in quarter {quarter + 1} of the vocabulary, in place 1", rate, mass))
    return [share for share in out if share.expected > 0 or share.observed > 0]


def _words(kind: int, place: int) -> str:
    role, half = divmod(kind, HALVES)
    return f"{('less', 'more')[half]} likely {ROLES[role]} tokens in place {place + 1}"
