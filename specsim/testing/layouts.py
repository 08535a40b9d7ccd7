"""Arguments of a batched verifier in the layouts "vllm", "flat" and "padded", made of its blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from specsim.conform import SamplingParams, Subject
from specsim.conform.cases import logits, warped
from specsim.conform.libraries import array, booleans, integers, plain
from specsim.conform.subject import UNCHANGED
from specsim.types import Array

Layout = Literal["vllm", "flat", "padded"]
# Numbers of drafts of a neighbour, beside those that the subject takes.
LENGTHS = (1, 2)


class Block(NamedTuple):
    """One block of G drafts as NumPy arrays: p (G+1, V), q (G, V), drafts (G,) and mask (G+1, V).

    Laws and mask are as the verifier is to see them.
    """

    p: Array
    q: Array | None
    drafts: Array
    mask: Array | None


def bonus_tokens(subject: Subject, blocks: list[Block], random: Any, named: dict[str, Any]) -> Array:
    """Return a bonus token (N,) for each block, as engines draw it: under sampling parameters and mask."""
    params: SamplingParams = named.get("sampling_params", UNCHANGED)
    tokens = []
    for block in blocks:
        # The target's law after the last draft.
        law = np.exp(block.p[-1]) if subject.logits else block.p[-1]
        if block.mask is not None:
            law = law * block.mask[-1]
        law = warped(law / law.sum(), params, subject.order)
        # A neighbour's target is certain: it takes no random number, which would be another path.
        if law.max() == law.sum():
            tokens.append(int(law.argmax()))
        else:
            tokens.append(int(random.choice(len(law), p=law / law.sum())))
    return np.array(tokens, dtype=np.int64)


def _in_library(subject: Subject, rows: Array) -> Any:
    """Return rows of a block in the subject's library and dtype; they are logits already if it takes logits."""
    # `array` would take the logarithms of laws for a subject of logits.
    return array(subject._replace(logits=False), rows)


def _laws(subject: Subject, blocks: list[Block]) -> tuple[Any, Any]:
    """Return the rows (T, V) of p and q at the drafts of all blocks, one block below the other; q may be None."""
    p = _in_library(subject, np.concatenate([block.p[:-1] for block in blocks]))
    if not subject.takes_q:
        return p, None
    q_rows = [block.q for block in blocks if block.q is not None]
    return p, _in_library(subject, np.concatenate(q_rows))


def _ends(subject: Subject, blocks: list[Block]) -> Any:
    """Return the cumulative numbers of drafts (N,)."""
    return integers(subject, np.cumsum([len(block.drafts) for block in blocks]))


def _flat(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    """Return the arguments of the layout "flat": p (T, V), q (T, V), drafts (T,), ends (N,), bonus tokens (N,)."""
    p, q = _laws(subject, blocks)
    drafts = integers(subject, np.concatenate([block.drafts for block in blocks]))
    return p, q, drafts, _ends(subject, blocks), integers(subject, bonus())


def _vllm(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    """Return the arguments of the layout "vllm": drafts, counts, their maximum, ends, q, p, bonus tokens (N, 1)."""
    p, q, drafts, ends, bonus_tokens = _flat(subject, blocks, bonus)
    counts = [len(block.drafts) for block in blocks]
    return drafts, counts, max(counts), ends, q, p, bonus_tokens[:, None]


def _padded(subject: Subject, blocks: list[Block], bonus: Callable[[], Array]) -> tuple[Any, ...]:
    """Return the arguments of the layout "padded": p (N, G+1, V), q (N, G, V), drafts (N, G), counts (N,).

    G is the length of the longest block. In a shorter one, drafts are filled up with -1, q with even
    laws, and p with laws that are certain of the last token.
    """
    # All rows as padding.
    counts, vocab = [len(block.drafts) for block in blocks], blocks[0].p.shape[-1]
    longest = _longest(subject, counts)
    p_padding, q_padding = np.eye(vocab)[-1], np.full(vocab, 1 / vocab)
    if subject.logits:
        p_padding, q_padding = logits(p_padding), logits(q_padding)
    p = np.broadcast_to(p_padding, (len(blocks), longest + 1, vocab)).copy()
    q = np.broadcast_to(q_padding, (len(blocks), longest, vocab)).copy()
    drafts = np.full((len(blocks), longest), -1, dtype=np.int64)

    # Write the blocks over it.
    for n, block in enumerate(blocks):
        p[n, : len(block.p)], drafts[n, : counts[n]] = block.p, block.drafts
        if block.q is not None:
            q[n, : counts[n]] = block.q

    q_argument = _in_library(subject, q) if subject.takes_q else None
    tokens, lengths = integers(subject, drafts), integers(subject, np.array(counts))
    return _in_library(subject, p), q_argument, tokens, lengths


def mask_argument(subject: Subject, blocks: list[Block], layout: Layout) -> Any:
    """Return the mask of allowed tokens with the shape of p; padding allows every token."""
    masks = [block.mask for block in blocks if block.mask is not None]
    # Layouts without padding have no row for the bonus.
    if layout != "padded":
        return booleans(subject, np.concatenate([mask[:-1] for mask in masks]))
    rows = _longest(subject, [len(mask) - 1 for mask in masks]) + 1
    padded = []
    for mask in masks:
        padding = np.ones((rows - len(mask), mask.shape[-1]), dtype=bool)
        padded.append(np.concatenate([mask, padding]))
    return booleans(subject, np.stack(padded))


def _longest(subject: Subject, counts: list[int]) -> int:
    """Return the number of drafts of the longest block of a call; for JAX, of the longest of all calls."""
    # JAX compiles every shape anew.
    return max((*counts, *LENGTHS, *subject.sizes) if subject.arrays == "jax" else counts)


def padded_rows(returned: Any) -> Array:
    """Return token ids (N, T), padded with -1, from an array or from lists of any lengths."""
    rows = plain(returned)
    if isinstance(rows, list | tuple):
        longest = max((len(row) for row in rows), default=0)
        rows = [[*(int(x) for x in row), *[-1] * (longest - len(row))] for row in rows]
    return np.asarray(rows)


# arguments(subject, blocks, bonus) returns the arguments of a layout; bonus() draws the bonus tokens.
ARGUMENTS: dict[str, Callable[..., tuple[Any, ...]]] = {"vllm": _vllm, "flat": _flat, "padded": _padded}
