"""Trees beside chains: tau and speedup are predicted along texts of the target, then measured.

It works as `real.studies.compare.measure`, with a line for every tree and rule. Tokenwise walks,
traversal of siblings without replacement and lifted step rules are predicted by the law of their
blocks given the text; of other tree rules none is known, and nothing is predicted. Shapes for a
number of nodes are chosen by acceptance by rank on other texts than those that are reported. Every
pass that is used is timed: t(m) of a chain of m - 1 drafts or of a tree of m - 1 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from real.decode.blocks import Score
from real.decode.clock import PHASES, Clock, silent
from real.decode.graphs import Kept
from real.decode.loop import decode, keyed
from real.decode.score import laws
from real.decode.tree_plan import check_trees
from real.pair import Pair
from real.studies.calibrate import Calibration
from real.studies.compare.measure import check_prompts, ends_of
from real.studies.compare.record import Job, Turn, run_of
from real.studies.compare.tree_settings import CHAIN, PLAIN, TreeSettings
from real.studies.compare.tree_shapes import (
    RANKS,
    Entry,
    Text,
    call_samples,
    has_calls,
    is_walk,
    mean_ranks,
)
from specsim.base.arrays import at, overlap
from specsim.lengths import tree_texts
from specsim.verify.lookup import chain_rule

# Streams of randomness; those of decoding are odd, and shapes have texts of their own.
WRITE, MEASURE, SHAPE = 0, 1, 2


def check_models(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: TreeSettings,
    ranks: Sequence[float] | None = None,
) -> None:
    """Refuse a prompt, tree or chain that cannot run on these models, before anything is computed."""
    check_prompts(pair, prompts, settings.max_tokens)
    context = min(pair.target.context, pair.draft.context)
    sizes = [(f"tree {option.name}", option.nodes) for option in settings.tree_options]
    for name, nodes in [*sizes, ("a chain", max(settings.gammas))]:
        if nodes + 2 > context:
            raise ValueError(f"{name} needs passes over {nodes + 1} tokens; the models have a context of {context}")
    for entry in settings.entries(ranks):
        if entry.is_tree:
            check_trees(pair.target, pair.draft, settings.warping, entry.verifier, entry.length)


def shape_ranks(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: TreeSettings,
    first: int,
    step: Callable[[str], None],
) -> list[float]:
    """Return acceptance by rank along texts that are not reported, after prompts numbered from `first`."""
    vocab = pair.target.vocab_size
    num_ranks = min(RANKS, vocab, settings.warping.top_k or vocab)
    texts = []
    for i, prompt in enumerate(prompts, first):
        step("acceptance by rank, on other texts")
        texts.append(scored(pair, prompt, settings, i, SHAPE, num_ranks))
    return mean_ranks(texts)


def scored(
    pair: Pair,
    prompt: list[int],
    settings: TreeSettings,
    i: int,
    stream: int,
    num_ranks: int,
    shapes: Iterable[tuple[int, ...]] = (),
) -> Text:
    """Let the target write a text after a prompt, and score it.

    Text i is scored for chains, by ranks (`num_ranks` of them), and by calls in trees of these shapes.
    `stream` is WRITE or SHAPE.
    """
    # The text, and its score for chains.
    tokens = decode(
        pair.target,
        None,
        prompt,
        max_tokens=settings.max_tokens,
        gamma=0,
        uniforms=keyed(settings.seed, (i << 20) + stream),
        warping=settings.warping,
        stop=ends_of(pair),
        kept=pair.kept,
    ).tokens
    target_rows, draft_rows = laws(pair.target, pair.draft, prompt, tokens, settings.warping)
    p, q = (np.asarray(rows.double().cpu()) for rows in (target_rows, draft_rows))
    y = np.array(tokens)
    score, ended = Score(at(p, y), at(q, y), overlap(p, q)), len(tokens) < settings.max_tokens

    # Trees need laws that add up to 1 in float64: float32 rows do so but for rounding.
    p, q = (law / law.sum(axis=-1, keepdims=True) for law in (p, q))
    ranks = np.zeros((1, len(y), 0))
    if settings.scheme in tree_texts.STEPS:
        ranks = tree_texts.acceptance_by_rank(p, q, y, num_ranks, scheme=settings.scheme, seed=i)
    calls = {shape: call_samples(settings.scheme, p, q, y, shape, i, settings.step) for shape in shapes}
    return Text(score, ended, ranks, calls)


def write_and_score(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: TreeSettings,
    entries: list[Entry],
    step: Callable[[str], None],
) -> list[Text]:
    """Return the texts that predictions come from: one after each prompt, the same as for chains alone."""
    walks = [entry.verifier.most for entry in entries if entry.is_tree and is_walk(entry.verifier)]
    shapes = {entry.parents for entry in entries if entry.is_tree and has_calls(entry.verifier)}
    texts = []
    for i, prompt in enumerate(prompts):
        step("writing and scoring")
        texts.append(scored(pair, prompt, settings, i, WRITE, max(walks, default=0), shapes))
    return texts


def take_turns(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: TreeSettings,
    entries: list[Entry],
    first: int,
    step: Callable[[str], None],
) -> Iterator[Turn]:
    """Decode each prompt, from the `first` on, plainly and with every entry.

    Each length is timed beside its decoding.
    """
    # Every other prompt takes the entries in the reverse order.
    calibrations = _calibrations(pair, prompts, settings, entries)
    order: list[Entry | None] = [None, *entries]
    # Cycles that are captured for one prompt serve the next ones.
    captured_cycles = Kept(len(order))
    for i in range(first, len(prompts)):
        turn = Turn({}, {}, {})
        for entry in order if i % 2 else reversed(order):
            # Plain decoding is no entry.
            if entry is None:
                job, length, verifier = PLAIN, 0, chain_rule(CHAIN)
                stage = "plain decoding"
            else:
                job, length, verifier = entry.job, entry.length, entry.verifier
                stage = f"{entry.name}, {entry.rule}"
            turn.visits[job] = calibrations[job].visit(length)

            # Phases are timed on a CPU alone, and plain decoding has none.
            step(stage)
            clock = Clock(pair.target.device)
            on_clock = length and pair.target.device.type == "cpu"
            decoded = decode(
                pair.target,
                pair.draft if length else None,
                prompts[i],
                max_tokens=settings.max_tokens,
                gamma=length,
                uniforms=keyed(settings.seed, (i << 20) + 2 * job.gamma + MEASURE),
                warping=settings.warping,
                stop=ends_of(pair),
                rule=verifier,
                mark=clock.mark if on_clock else silent,
                kept=captured_cycles,
            )
            turn.runs[job] = run_of(decoded)
            if on_clock:
                turn.phases[job] = {name: clock.seconds[name] for name in PHASES}
        yield turn


def _calibrations(
    pair: Pair,
    prompts: Sequence[list[int]],
    settings: TreeSettings,
    entries: list[Entry],
) -> dict[Job, Calibration]:
    """Return the calibration of each entry, after a text of the length that decoding has halfway."""
    # The text: the prompt of median length, repeated until it is longer by half of the tokens that
    # are decoded, or fills the context but for the largest tree.
    median_prompt = sorted(prompts, key=len)[len(prompts) // 2]
    half, most_nodes = settings.max_tokens // 2, max(entry.nodes for entry in entries)
    room = min(pair.target.context, pair.draft.context) - most_nodes - 1
    repeated = median_prompt * (1 + half // len(median_prompt))
    text = repeated[: min(len(median_prompt) + half, room)]

    def timed(verifier: Any, lengths: Sequence[int]) -> Calibration:
        """Return a calibration of a verifier at these lengths."""
        return Calibration(
            pair.target,
            pair.draft,
            [text],
            warping=settings.warping,
            rule=verifier,
            gammas=lengths,
            max_tokens=max(settings.max_tokens - half, max(lengths) + 1),
        )

    # Chains and plain decoding share one calibration, and each tree has its own.
    chains = timed(chain_rule(CHAIN), [entry.length for entry in entries if not entry.is_tree])
    calibrations = {PLAIN: chains}
    for entry in entries:
        calibrations[entry.job] = timed(entry.verifier, [entry.length]) if entry.is_tree else chains
    return calibrations
