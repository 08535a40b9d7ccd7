"""The fastest of eight drafts of two sizes and four depths, by acceptance, perplexity and steps.

Target rows are recorded once along its own texts and replayed for every draft (TAR by the renewal
law). Drafts are trained once a machine and kept beside its texts; their steps are timed by the run
itself, by turns with the target's.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from real.decode.blocks import predict_along
from real.decode.given_text import Along, windows
from real.models.model import from_hf
from real.models.shipped import fingerprint
from real.papers.lab import tuning as on
from real.papers.lab import writing
from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.text_lab import by_prompt
from real.papers.lab.texts import recipe, training_texts
from real.papers.lab.times import Sample, Times, interval, own_times
from real.papers.lab.tuned import correlation, judging, shorter
from real.papers.lab.tuning import Plan, Rows
from real.studies.costs import Costs
from real.studies.intervals import Estimate, bootstrap, ratio
from real.train.recipe import Shape
from real.train.step import build
from specsim.base.files import write_bytes
from specsim.types import Array

NAME = "DSD"
PAPER = "arXiv:2402.01528"
CLAIM = (
    "Throughput follows a draft's latency, not its quality as a language model: at equal parameters wide and shallow "
    "drafts beat deep ones, by up to 111 %"
)
AXES = {
    "drafting": "smaller model: eight of them",
    "termination": "fixed: the best number of drafts of each",
    "management": "chain",
    "verification": "given rows: of the target along its own texts, replayed for every draft",
    "acceptance": "tokenwise",
    "order": "left to right",
    "carry": "nothing",
    "objective": "cross_entropy: on texts of the target, equally many tokens for each draft",
}
TEST = (
    "Of eight drafts, 0.2 and 0.8 M parameters inside 1, 2, 4 or 8 layers, over test prompts, both at 97.5 %: the rank "
    "correlation of throughput with -step time less, in size, that with -perplexity has an interval above 0; and the "
    "best of at most 2 layers over the best of at least 4, at equal parameters, mean of both sizes, has one above 1."
)
HEADLINE = "rank correlation of throughput with step time less that with perplexity (97.5 %)"
SHALLOW = "throughput of the best shallow draft over the best deep one (97.5 %)"
MODELS = ()

# Parameters inside the layers, and numbers of layers.
SIZES, DEPTHS = (0.2e6, 0.8e6), (1, 2, 4, 8)
GAMMAS = tuple(range(1, 9))
PLAN = Plan(steps=500, batch=4, window=320, rate=3e-3, optimizer="AdamW")
TEXTS, TURNS = 64, 200
CONTEXT = 512


class Judged(NamedTuple):
    """A draft on texts: blocks of each length of draft by prompt, and losses by prompt."""

    blocks: dict[int, Array]
    losses: Array


def shape_of(parameters: float, layers: int) -> Shape:
    """The Llama with about this many parameters inside its layers: 12 hidden^2 a layer, heads of 16."""
    hidden = max(1, round((parameters / (12 * layers)) ** 0.5 / 16)) * 16
    return Shape(layers, hidden, round(8 * hidden / 3 / 8) * 8, hidden // 16)


def inside(model: Any) -> int:
    """Parameters inside the layers, without embeddings and head."""
    return sum(weight.numel() for name, weight in model.named_parameters() if "layers" in name)


def trained(lab: Lab, shape: Shape) -> Any:
    """The draft of a shape: trained now, or read where this machine has trained it."""
    plan, model = shorter(PLAN, lab), build(shape, on.model("draft").config.vocab_size, CONTEXT, lab.seed)
    made_by = {"texts": recipe(1.0), "shape": list(vars(shape).values()), "plan": list(plan), "seed": lab.seed}
    path = writing.cache() / f"draft-{fingerprint(made_by)}.safetensors"
    if path.is_file():
        # The head is the embedding, which is not stored twice.
        model.load_state_dict(load_tensors(path.read_bytes()), strict=False)
        return model.eval()
    batches = on.batches_of("target", training_texts(lab), torch.empty(0), plan, lab.seed)
    made = on.tune(model, ("cross_entropy",), batches, plan, lab.seed, lab.said)["cross_entropy"]
    path.parent.mkdir(parents=True, exist_ok=True)
    held = {name: w.contiguous() for name, w in made.state_dict().items() if "lm_head" not in name}
    write_bytes(path, save_tensors(held))
    return made


def judged(draft: Any, target: Array, rows: Rows) -> Judged:
    """A draft along texts of which the target's own probabilities (n, length) are known."""
    q = on.text_probabilities(draft, rows)
    longest = max(GAMMAS)
    whole = [Along(windows(probabilities, longest), p) for probabilities, p in zip(q, target, strict=True)]
    blocks = {}
    for gamma in GAMMAS:
        shortened = [Along(text.q[:, :gamma], text.p) for text in whole]
        calls = np.array([predict_along(text).blocks for text in shortened])
        blocks[gamma] = by_prompt(rows.texts, calls)
    return Judged(blocks, by_prompt(rows.texts, -np.log(q).sum(axis=1)))


def step_times(drafts: list[Any], turns: int) -> Array:
    """Seconds of a decode step of each draft, (drafts, turns): one after the other in every turn."""
    caches = [from_hf(draft).cache() for draft in drafts]
    seconds = np.zeros((len(drafts), turns))
    prompt, token = torch.arange(5, 69)[None], torch.tensor([[7]])
    for cache in caches:
        cache.forward(prompt, 1)
    for turn in range(turns):
        for i, cache in enumerate(caches):
            began = time.perf_counter()
            cache.forward(token, 1)
            seconds[i, turn] = time.perf_counter() - began
            cache.rollback(0, prompt.shape[1])
    return seconds


def advantage(throughput: Array, losses: Array, steps: Array) -> Array:
    """|Rank correlation| of throughput with step time, less that with loss.

    Drafts on the last axis.
    """
    return np.abs(correlation(throughput, -steps)) - np.abs(correlation(throughput, -losses))


def shallow_over_deep(throughput: Array) -> Array:
    """The best of at most 2 layers over the best of at least 4, mean over sizes.

    Drafts (..., 8) size by size.
    """
    by_size = throughput.reshape(*throughput.shape[:-1], -1, len(DEPTHS))
    wide, deep = (by_size[..., [layers in chosen for layers in DEPTHS]].max(-1) for chosen in ((1, 2), (4, 8)))
    return (wide / deep).mean(-1)


def run(lab: Lab) -> Record:
    """Train or read the drafts, judge them, time them, and put both together."""
    # The drafts.
    shapes = [shape_of(size, depth) for size in SIZES for depth in DEPTHS]
    drafts = []
    for i, shape in enumerate(shapes):
        lab.said(f"draft {i + 1} of {len(shapes)}: {shape.layers} layers of {shape.hidden}")
        drafts.append(trained(lab, shape))

    # Blocks along validation and test texts.
    parts = {}
    for part in ("validation", "test"):
        lab.said(f"acceptance along {part} texts")
        rows = on.rows(judging(lab, part, TEXTS))
        target = on.text_probabilities(on.model("target"), rows)
        parts[part] = rows, [judged(draft, target, rows) for draft in drafts]

    # Times, and the number of drafts that is fastest on validation texts.
    lab.said("time of steps")
    seconds, times = step_times(drafts, lab.texts(TURNS, 5)), own_times(lab)
    steps = np.median(seconds, axis=1)
    cycles = {k: steps * k + others(times.costs, k) for k in GAMMAS}
    tuning = np.array([[draft_judged.blocks[k].sum() for k in GAMMAS] for draft_judged in parts["validation"][1]])
    chosen = [GAMMAS[i] for i in (tuning * np.stack([cycles[k] for k in GAMMAS], axis=1)).argmin(axis=1)]
    rows, of_test = parts["test"]
    tokens = by_prompt(rows.texts, np.full(len(rows.ids), rows.laws.shape[1]))
    blocks = [draft_judged.blocks[k] for draft_judged, k in zip(of_test, chosen, strict=True)]
    losses = [draft_judged.losses for draft_judged in of_test]
    n = len(blocks)

    # Statistics of sums over prompts: tokens, blocks and losses of each draft, steps, other
    # seconds.
    def throughput(tokens: Array, blocks: tuple[Array, ...], steps: Array, rest: Array) -> Array:
        """Tokens a second of each draft."""
        return np.stack([tokens / of_draft for of_draft in blocks], axis=-1) / (steps * np.array(chosen) + rest)

    def difference(tokens: Array, *sums: Array) -> Array:
        """The statistic of HEADLINE."""
        loss = np.stack([losses / tokens for losses in sums[n : 2 * n]], axis=-1)
        return advantage(throughput(tokens, sums[:n], *sums[2 * n :]), loss, sums[2 * n])

    def shallow(tokens: Array, *sums: Array) -> Array:
        """The statistic of SHALLOW."""
        return shallow_over_deep(throughput(tokens, sums[:n], *sums[n:]))

    def rests(costs: Costs) -> list[float]:
        """Other seconds of a cycle of each draft."""
        return [others(costs, k) for k in chosen]

    measured = {
        HEADLINE: interval(Sample((tokens, *blocks, *losses), seconds, rests, times), difference, 0.975),
        SHALLOW: interval(Sample((tokens, *blocks), seconds, rests, times), shallow, 0.975),
    }
    exact: dict[str, float] = {}
    for i, (shape, draft) in enumerate(zip(shapes, drafts, strict=True)):
        size, name = SIZES[i // len(DEPTHS)] / 1e6, f"{shape.layers} layers of {shape.hidden}"
        exact[f"parameters inside, {size:g} M, {name}"] = float(inside(draft))
        exact[f"step in milliseconds, {size:g} M, {name}"] = float(1e3 * steps[i])
        exact[f"best number of drafts, {size:g} M, {name}"] = float(chosen[i])
        perplexity = bootstrap((losses[i], tokens), lambda a, b: np.exp(a.sum(-1) / b.sum(-1)))
        measured[f"perplexity, {size:g} M, {name}"] = perplexity
        measured[f"TAR at that number, {size:g} M, {name}"] = ratio(tokens, blocks[i])
        measured[f"tokens a second, {size:g} M, {name}"] = rate(tokens, blocks[i], seconds[i], chosen[i], times)
    return Record(exact | fitted(steps, shapes, drafts), measured, {})


def others(costs: Costs, drafts: int) -> float:
    """Seconds of a cycle with this many drafts, without the draft's steps."""
    return sum(costs.phase(name, drafts) for name in ("sample", "verify", "rule", "host"))


def rate(tokens: Array, blocks: Array, seconds: Array, drafts: int, times: Times) -> Estimate:
    """Tokens a second of a draft whose steps take these seconds (turns,)."""
    sample = Sample((tokens, blocks), seconds[None], lambda costs: (others(costs, drafts),), times)
    return interval(sample, lambda a, b, steps, rest: a / b / (drafts * steps + rest)[..., 0])


def fitted(steps: Array, shapes: list[Shape], drafts: list[Any]) -> dict[str, float]:
    """Least squares of a step's milliseconds: a layer, a million parameters with the head, the rest."""
    both = zip(shapes, drafts, strict=True)
    table = [[s.layers, (inside(draft) + draft.config.vocab_size * s.hidden) / 1e6, 1.0] for s, draft in both]
    layer, million, rest = np.linalg.lstsq(np.array(table), 1e3 * steps, rcond=None)[0]
    return {"fitted milliseconds a layer": layer, "a million parameters": million, "a step besides": rest}


def verdict(record: Record) -> Verdict:
    """TEST, as computed."""
    follows, wide = record.measured[HEADLINE], record.measured[SHALLOW]
    if follows.high < 0 or wide.high < 1:
        return "contradicts"
    return "shows" if follows.low > 0 and wide.low > 1 else "does not show"
