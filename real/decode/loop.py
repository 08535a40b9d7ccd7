"""The decode loop: draft, verify, roll back. Plain decoding is the same loop with gamma = 0."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from real.decode import graphs
from real.decode.beams import BeamVerifier
from real.decode.chain_cycle import Verifier
from real.decode.choose_cycle import cycle_for
from real.decode.clock import silent
from real.decode.options import DecodeOptions, Log
from real.decode.proposer import Drafter, Draw
from real.decode.text_length import check_batch
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping, check_vocabulary
from real.models.memory import explain_oom
from real.models.model import LanguageModel
from specsim.base import check
from specsim.base.arrays import pick
from specsim.base.uniforms import keyed_stream
from specsim.types import Controller
from specsim.verify.chain import tokenwise
from specsim.verify.raced import Raced

# Position in the text, number of uniforms -> uniforms in [0, 1).
Uniforms = Callable[[int, int], Tensor]
# New tokens, number of them that were checked before -> length at which the text ends, None if it goes on.
Stop = Callable[[list[int], int], int | None]


class Block(NamedTuple):
    """One target call: where it started (tokens of text before it), drafts proposed, drafts that became text."""

    start: int
    drafted: int
    accepted: int


class Decoded(NamedTuple):
    """Result of `decode`: the new tokens, the blocks that made them, seconds of each block, and of the whole text."""

    tokens: list[int]
    blocks: list[Block]
    cycles: list[float]
    seconds: float


def keyed(seed: int, sequence: int) -> Uniforms:
    """Uniforms that depend only on (seed, sequence, position)."""
    stream = keyed_stream(seed, sequence)
    return lambda position, count: torch.from_numpy(stream(position, count))


def at_tokens(ids: Iterable[int]) -> Stop:
    """End a text after the first of these tokens."""
    ends = frozenset(ids)
    return lambda text, safe: next((i + 1 for i in range(safe, len(text)) if text[i] in ends), None)


def decode(
    target: LanguageModel,
    draft: LanguageModel | None,
    prompt: list[int],
    *,
    max_tokens: int,
    gamma: int,
    uniforms: Uniforms,
    warping: Warping = Warping(),  # noqa: B008 - frozen
    stop: frozenset[int] | Stop = frozenset(),
    rule: Verifier | TreeVerifier | BeamVerifier | Raced = tokenwise,
    draw: Draw = pick,
    mark: Callable[[str], None] = silent,
    kept: graphs.Kept | None = None,
) -> Decoded:
    """Write up to `max_tokens` tokens after one prompt: `decode_batch` with a batch of one."""
    batch: dict[str, Any] = {"max_tokens": max_tokens, "uniforms": [uniforms], "stop": stop}
    options: dict[str, Any] = {"gamma": gamma, "warping": warping, "rule": rule, "draw": draw}
    return decode_batch(target, draft, [prompt], **batch, **options, mark=mark, kept=kept)[0]


def decode_batch(
    target: LanguageModel,
    draft: LanguageModel | None,
    prompts: Sequence[list[int]],
    *,
    max_tokens: int,
    gamma: int,
    uniforms: Sequence[Uniforms],
    warping: Warping = Warping(),  # noqa: B008 - frozen
    stop: frozenset[int] | Stop = frozenset(),
    rule: Verifier | TreeVerifier | BeamVerifier | Raced = tokenwise,
    draw: Draw = pick,
    mark: Callable[[str], None] = silent,
    told: Callable[[int, list[int]], None] = lambda i, new: None,
    fixed: bool | None = None,
    kept: graphs.Kept | None = None,
    proposer: Drafter | None = None,
    controller: Controller | None = None,
    log: Log | None = None,
) -> list[Decoded]:
    """Write up to `max_tokens` tokens after each prompt.

    Each turn drafts, runs the target once over the last tokens and the drafts, lets the rule decide, and rolls both
    caches back to what was kept: sequences keep different numbers of drafts, and none waits for another. The
    randomness, the rule and the draw are arguments, so that a test can follow every branch of this very loop. A text
    depends on its own prompt and uniforms only, not on its batch (up to the rounding of batched kernels).

    Parameters
    ----------
    target : LanguageModel
        The model whose law the texts have.
    draft : LanguageModel or None
        The draft model; None only with gamma = 0, or with a proposer.
    prompts : sequence of lists of int
        At least one token each.
    max_tokens : int
        Tokens to write, at least 1.
    gamma : int
        Drafts per block, levels of a tree; 0 is plain decoding. Fewer are drafted where fewer can still be used.
    uniforms : sequence of callables
        For each prompt, (position, count) -> float64 uniforms; called once per block, with the length of the text
        before it; for a coupled rule once for each position of a block.
    warping : Warping
        For target and draft alike.
    stop : set of int, or callable
        Tokens after which a text ends; or a function of the new tokens (see `real.decode.stops`), also asked inside
        a block.
    rule : Verifier, TreeVerifier, BeamVerifier or Raced
        Decides what is kept; a coupled rule (Raced) draws the drafts, too. With one of the middle two every block is a
        tree, cut to gamma levels (all of them: gamma = rule.depth); both models must be on the fast path, and a
        repetition penalty is refused.
    draw : callable
        Draws draft tokens (b,) from laws (b, V) and uniforms (b,); siblings of a tree are drawn by its scheme.
    mark : callable
        Told the phase of `real.decode.clock` that ends.
    told : callable
        Told the index of a text and its new tokens after each block.
    fixed : bool, optional
        Run cycles of fixed shapes, which a GPU captures and replays (`real.decode.graphs`); by default on a GPU, where
        the models allow it.
    kept : Kept, optional
        Where captured cycles come from and go to, so that the next texts of the same shape find them.
    proposer : Drafter, optional
        What drafts, in place of a draft model (see `real.draft`); as with the next two, in chains and ordinary calls.
    controller : Controller, optional
        Decides after each draft whether its text drafts another, of `gamma` at most (see `specsim.control`).
    log : callable, optional
        Told the index of a text and, for each block with drafts, its `real.signals.BlockSignals`.

    Returns
    -------
    list of Decoded
        tokens (those that end the text included), blocks, cycles, seconds.

    Raises
    ------
    ValueError
        Empty prompt, ids out of range, prompt and max_tokens beyond a context, gamma < 0 or without a draft, a tree
        that these models cannot run; during the run, logits that are not finite, with the position.
    """
    options = DecodeOptions(
        gamma=gamma,
        warping=warping,
        rule=rule,
        draw=draw,
        mark=mark,
        fixed=fixed,
        kept=kept,
        proposer=proposer,
        controller=controller,
        log=log,
    )
    loop = Loop(target, draft, prompts, max_tokens, uniforms, options)
    ends = stop if callable(stop) else at_tokens(stop)
    # Run blocks until every text is finished.
    began = time.perf_counter()
    mark("")
    seconds = [0.0] * len(prompts)
    cycles: list[list[float]] = [[] for _ in prompts]
    while loop.open:
        for length, group in loop.groups():
            start = time.perf_counter()
            for i, new in zip(group, loop.block(group, length), strict=True):
                if loop.keep(i, new, loop.drafted[i], ends):
                    seconds[i] = time.perf_counter() - began
                told(i, loop.texts[i][loop.blocks[i][-1].start :])
            mark("host")
            for i in group:
                cycles[i].append(time.perf_counter() - start)
    texts = [text[len(prompt) :] for text, prompt in zip(loop.texts, prompts, strict=True)]
    return [Decoded(*each) for each in zip(texts, loop.blocks, cycles, seconds, strict=True)]


class Loop:
    """The texts of a batch while they are written.

    Parameters are those of `decode_batch`, with its options in one record. `texts`, `blocks`, `open` (texts not
    finished) and `drafted` (drafts of each text's last block) can be read. To drive the loop, call `block` for texts
    that may draft equally many tokens, then `keep` for each.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        prompts: Sequence[list[int]],
        max_tokens: int,
        uniforms: Sequence[Uniforms],
        options: DecodeOptions,
    ) -> None:
        gamma = check.integer(options.gamma, "gamma", 0)
        check_batch(target, draft, prompts, max_tokens, gamma, len(uniforms), options.proposer)
        check_vocabulary(options.warping, target.vocab_size)

        # The state of every text.
        self.texts = [list(prompt) for prompt in prompts]
        self.blocks: list[list[Block]] = [[] for _ in prompts]
        self.drafted = [0] * len(prompts)
        self.open = set(range(len(prompts)))
        self._starts = [len(prompt) for prompt in prompts]
        self._ends = [len(prompt) + max_tokens for prompt in prompts]
        self.gamma, self._target, self._uniforms = gamma, target, uniforms
        self._rule = options.rule

        # Plain decoding needs nothing that drafts; a coupled rule draws the drafts itself.
        if not gamma:
            draft, options = None, options._replace(proposer=None, controller=None)
        if isinstance(options.rule, Raced):
            options = options._replace(draw=options.rule.draw)
        with explain_oom(f"a pass over {gamma + 1} tokens of {len(prompts)} texts", "a smaller gamma or fewer texts"):
            self._cycle = cycle_for(target, draft, self._ends, options)

        # The prompts, all but their last tokens.
        for i, prompt in enumerate(prompts):
            with explain_oom(f"a pass over the {len(prompt)} tokens of prompt {i}", "a shorter prompt"):
                self._cycle.read(i, prompt[:-1])

    def groups(self) -> list[tuple[int, list[int]]]:
        """Texts by the number of drafts in their next block: the same for all, but for texts near their end."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for i in sorted(self.open):
            # The block adds one token of its own.
            by_length[min(self.gamma, self._ends[i] - len(self.texts[i]) - 1)].append(i)
        return sorted(by_length.items())

    def block(self, group: list[int], length: int) -> list[list[int]]:
        """Draft and verify one block of each text of a group; return the new tokens of each, before any stop."""
        rows = [self._numbers(i, length) for i in group]
        u = rows[0][None] if len(rows) == 1 else torch.stack(rows)
        with explain_oom(f"a pass over {length + 1} tokens of {len(group)} texts", "a smaller gamma or fewer texts"):
            out = self._cycle.run(self.texts, group, length, u)
        for i, row in zip(group, out, strict=True):
            # Less than `length` if a controller stopped earlier.
            self.drafted[i] = drafted = (len(row) - 3) // 3
            fine = row[2 + drafted :]
            if 0 in fine:
                # drafted + 1 rows of the target, then those of the draft.
                whose, offset = divmod(fine.index(0), drafted + 1)
                where = f"of text {i} " if len(self.texts) > 1 else ""
                raise ValueError(
                    f"block {len(self.blocks[i])}: the {('target', 'draft')[whose]}'s logits at position "
                    f"{len(self.texts[i]) + offset} {where}are not finite (dtype {self._target.dtype})"
                )
        return [[*row[2 : 2 + row[0]], row[1]] for row in out]

    def _numbers(self, i: int, length: int) -> Tensor:
        """Uniforms of the next block of text i: (n,), or by position (length + 1, n), as a coupled rule reads them."""
        start, draw = len(self.texts[i]), self._uniforms[i]
        if isinstance(self._rule, Raced):
            count = self._rule.numbers(self._target.vocab_size)
            return torch.stack([draw(start + k, count) for k in range(length + 1)])
        return draw(start, length + self._rule.uniforms(length))

    def keep(self, i: int, new: list[int], length: int, ends: Stop) -> bool:
        """Add a block's tokens to a text, cut where it ends, and roll back; return whether the text is finished."""
        start, accepted = len(self.texts[i]), len(new) - 1
        self._cycle.rollback(i, start + accepted)
        text = self.texts[i][self._starts[i] :] + new
        end = ends(text, start - self._starts[i])
        if end is not None:
            new = text[start - self._starts[i] : end]
        self.texts[i] += new
        self.blocks[i].append(Block(start, length, min(accepted, len(new))))
        done = end is not None or len(self.texts[i]) == self._ends[i]
        if done:
            self.open.discard(i)
        return done

    def rewind(self, lengths: Sequence[int]) -> None:
        """Go back to these lengths of the texts; cut `texts` first."""
        for i, length in enumerate(lengths):
            self._cycle.rollback(i, length - 1)
            self.open.add(i)
