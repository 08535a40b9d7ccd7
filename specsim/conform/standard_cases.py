"""The cases that most properties look at, in their order: few tokens first, then late candidates and more tokens."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator

import numpy as np

from specsim.conform.cases import LONG, PROMPTED, ROWS, Case, make, prompted, sizes, truncates, undrafted
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.conform.toys import DEPTH, EIGHT, LARGE, certain, close, eight, halved, lasting, peaked, sparse, toy, wide
from specsim.trees import topology

# Seed of one-hot drafts: the first two of a block are equal in one case, and differ in the other.
CERTAIN = 39
# From so many drafts on, laws are on two tokens only: the paths are too many otherwise.
FOUR = 4
# From so many candidates for one place on, a residual is met that only candidates before it have
# made; the models have them for three and for four.
THIRD = (3, 4)
# Most trees that can be drawn in a case whose residual lasts.
DRAWN = 1300
# Most nodes of a tree that is drafted on eight tokens.
FEW_NODES = 2
# Vocabularies between those of the other cases, one of which is drawn from each range.
BETWEEN = (range(9, 17), range(17, 33), range(33, 65))


def standard(subject: Subject, sampling_params: SamplingParams = UNCHANGED, words: str = "") -> Iterator[Case]:
    """Yield laws on three tokens that depend on the text: positive ones, some with zeros; without warping, peaked ones.

    Laws with zeros follow a prompt, if the subject takes one, and peaked laws a long one. Four
    drafts or nodes and more are on two tokens only. Where laws are handed over, one is on five
    tokens, two on eight, one on many, and three on numbers of tokens that the subject's name
    decides; a chain that takes 0 drafts has a case without drafts. Models of the subject's own are
    the only ones.
    """
    if subject.models is not None:
        for size in sizes(subject):
            yield make(subject, *subject.models, size, words, sampling_params)
        return

    # Positive laws, and laws with zeros, at every size.
    untied = truncates(sampling_params)
    for size in sizes(subject):
        for vocab, seed, positive in (
            ((3, 0, True), (3, 1, False)) if not _are_many(subject, size) else (_few(subject),)
        ):
            one_hot, target = not subject.takes_q, toy(vocab, seed, positive=positive, untied=untied)
            other = seed + (CERTAIN if one_hot else 10)
            draft = toy(vocab, other, one_hot=one_hot, positive=positive and not one_hot, untied=untied)
            made = make(subject, target, draft, size, words, sampling_params)
            yield made if positive else prompted(subject, made)
        if size == sizes(subject)[0]:
            yield from undrafted(subject, words, sampling_params)

    # Without warping: peaked laws, and larger vocabularies where laws are handed over.
    if sampling_params == UNCHANGED:
        one_hot = not subject.takes_q
        first = LONG[0] if subject.kind in PROMPTED else None
        models = peaked(3, 0, first=first), peaked(3, 1, one_hot=one_hot, first=first)
        yield prompted(subject, make(subject, *models, sizes(subject)[0], "peaked"), LONG)
        if subject.kind != "drafter":
            yield from late(subject)
        if subject.kind in ROWS:
            yield make(subject, *wide(one_hot), sizes(subject)[0], "")
            yield from on_more_tokens(subject)
            yield from between(subject)


def _are_many(subject: Subject, size: int) -> bool:
    """Return whether there are so many drafts that laws on three tokens take too long."""
    return _nodes(subject, size) >= FOUR


def _few(subject: Subject) -> tuple[int, int, bool]:
    """Return two tokens, and a seed of positive laws; three tokens where three siblings of a tree must differ."""
    differ = subject.kind == "tree" and subject.scheme not in ("iid", "paths", "independent")
    return (3 if differ else 2), 0, True


def late(subject: Subject) -> Iterator[Case]:
    """Yield cases in which a third or fourth candidate, sibling or draft meets a residual of several tokens.

    In the others nothing is left by then, or one token. A certain draft leaves no such residual.
    """
    if not subject.takes_q:
        return
    # Candidates for one place.
    if subject.kind == "step":
        for size in sorted(set(sizes(subject)) & set(THIRD)):
            yield make(subject, *lasting(size, subject.scheme), size, "late")
        return
    # Siblings, and drafts in four places and more.
    if subject.kind == "tree":
        yield from _late_siblings(subject)
    target, draft = close()
    many = [size for size in sizes(subject) if _nodes(subject, size) >= FOUR]
    if many:
        fewest = min(many, key=lambda size: _nodes(subject, size))
        if target.vocab ** _nodes(subject, fewest) <= DRAWN:
            yield prompted(subject, make(subject, target, draft, fewest, "late"))


def _nodes(subject: Subject, size: int) -> int:
    """Return the number of drafts of a size."""
    return len(subject.shapes[size]) if subject.kind == "tree" else size


def _late_siblings(subject: Subject) -> Iterator[Case]:
    """Yield, for three and for four siblings, a case of the smallest tree that has so many of them."""
    by_nodes = sorted(sizes(subject), key=lambda size: _nodes(subject, size))
    for candidates in THIRD:
        for size in by_nodes:
            parents = subject.shapes[size]
            groups = Counter(parents)
            widest = max(groups, key=lambda node: groups[node])
            if groups[widest] != candidates:
                continue

            # The place of these siblings, and the most siblings in the others.
            depths = [0, *topology.depths(parents)]
            place, nodes = depths[widest + 1], len(parents)
            here = sum(groups[node] for node in groups if depths[node + 1] == place)
            others = max((groups[node] for node in groups if depths[node + 1] != place), default=1)
            if (candidates + 1) ** here * others ** (nodes - here) <= DRAWN and max(depths) <= DEPTH:
                models = lasting(candidates, subject.scheme, place, max(depths), others)
                yield make(subject, *models, size, "late")
                break


def on_more_tokens(subject: Subject) -> Iterator[Case]:
    """Yield single drafts on more tokens, each of which is drafted too often in one of the cases.

    They are for subjects that are handed laws. A certain draft is each token in turn. Trees: the
    smallest shape, on eight tokens.
    """
    # A small tree on eight tokens.
    size, evens = sizes(subject)[0], tuple(range(0, EIGHT, 2))
    if subject.kind == "tree" and len(subject.shapes[0]) <= FEW_NODES and subject.takes_q:
        for often in (evens, tuple(token + 1 for token in evens)):
            yield make(subject, *eight(*often), size, "")

    # A single draft on eight tokens: one half of the tokens is drafted too often, then the other.
    if subject.kind not in ("step", "chain") or size != 1:
        return
    if subject.takes_q:
        for often in (evens, tuple(token + 1 for token in evens)):
            yield make(subject, *eight(*often), size, "")
    else:
        target, _ = eight(*evens)
        for token in range(EIGHT):
            yield make(subject, target, certain(EIGHT, token), size, "")
    for weights in ((10, 35, 15, 40), (45, 10, 40, 5)) if subject.takes_q else ((0, 0, 0, 1), (0, 0, 1, 0)):
        yield make(subject, *sparse(*weights), size, "")


def between(subject: Subject) -> Iterator[Case]:
    """Yield cases of some 13, 25 and 50 tokens, all but one of which are drafted too often.

    There is one of 300 tokens, too, where there is one draft. They are for subjects that are handed
    laws. A certain draft, or one of several, is the likeliest token. JAX compiles anew for each
    vocabulary, so that it has only the last.
    """
    vocabs = drawn_vocabs(subject)
    single = subject.kind in ("step", "chain") and sizes(subject)[0] == 1 and subject.takes_q
    for vocab in vocabs[-1:] if subject.arrays == "jax" else (*vocabs, *[LARGE] * single):
        target, draft = halved(vocab)
        draft = draft if single else certain(vocab, int(target.law(()).argmax()))
        yield make(subject, target, draft, sizes(subject)[0], "")._replace(exact_only=True)


def drawn_vocabs(subject: Subject) -> tuple[int, ...]:
    """Return a vocabulary of each range of BETWEEN, which the name of the subject decides.

    >>> drawn_vocabs(Subject("mine", "step", print)), drawn_vocabs(Subject("yours", "step", print))
    ((14, 23, 38), (11, 29, 59))
    """
    rng = np.random.default_rng(zlib.crc32(subject.name.encode()))
    return tuple(int(rng.choice(vocabs)) for vocabs in BETWEEN)
