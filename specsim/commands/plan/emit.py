"""A plan in the words of an engine: what drafts, how much, at which batch; or an acceptance forced in a benchmark.

vLLM (`--speculative-config`, as of 0.33): method, model, `num_speculative_tokens`; and, where the length depends on the
batch, `num_speculative_tokens_per_batch_size`, a list of [first batch, last batch, drafts] that starts at 1; larger
batches take its last entry. It takes no context (vllm#48627 and pull requests 48944, 54801 are open), is ignored by the
V2 model runner (vllm#51510, of 0.26) and turned off under data parallelism. Its default shares the draft among the
devices of the target.
Forced (`rejection_sample_method` "synthetic"): `synthetic_acceptance_rates` are unconditional, entry i the probability
that the first i + 1 drafts are all kept, one for each of `num_speculative_tokens`, not increasing.

SGLang (as of 0.5.23): steps, the most children of a node (top-k) and the tokens verified, which are the drafts and the
one before them. At top-k 1 they are steps + 1. One length for all batches. It is the only one of the engines that takes
a tree, and only by these bounds: which nodes are drafted is up to the draft's confidence. Adaptive (EAGLE and EAGLE3 at
top-k 1, since its pull request 24055): a file of `candidate_steps` by the least batch they are for; one candidate is a
length, 0 turns drafting off. Batches are padded to a captured size before they are looked up. It takes no context.

llama.cpp (`llama-server`, since its options are called `--spec-...`): one length for all batches. It drafts less where
the draft is not confident; a least confidence of 0 makes it draft what is planned. Forced (since its pull request
27711): `--spec-synth-rates` are unconditional, as many as `--spec-draft-n-max`.

aiconfigurator (`cli default`, as of 0.12): `--nextn N --nextn-accepted X`, X the mean number of drafts kept; N is at
most 5.

An option that is not known to exist is not printed: n-gram lookup in SGLang and llama.cpp has budgets of its own.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.lengths.acceptance_record import as_acceptance
from specsim.speed.grid import Given
from specsim.trees.topology import depths

ENGINES = (
    *("vllm", "sglang", "llamacpp", "aiconfigurator", "vllm-synthetic", "llamacpp-synthetic"),
    *("sglang-adaptive", "json", "csv"),
)
# Engines that take a length by batch.
BY_BATCH = ("vllm", "vllm-synthetic", "sglang-adaptive")
# Tables that no engine reads: see `cells`.
TABLES = ("json", "csv")
# Drafters whose length SGLang can change.
ADAPTIVE = ("eagle", "eagle3", "mtp")
# The names of a drafter for vLLM, SGLang and llama.cpp; None where its options are not known.
METHODS = {
    "model": ("draft_model", "STANDALONE", "draft-simple"),
    "eagle": ("eagle", "EAGLE", None),
    "eagle3": ("eagle3", "EAGLE3", "draft-eagle3"),
    "mtp": ("mtp", "EAGLE", "draft-mtp"),
    "ngram": ("ngram", None, None),
    "suffix": ("suffix", None, None),
    "dflash": ("dflash", "DFLASH", None),
    "peagle": ("eagle3", None, None),
    "parallel": ("draft_model", None, None),
}
# The most drafts of a block that aiconfigurator models.
_MAX_NEXTN = 5


class Bounds(NamedTuple):
    """A tree as an engine takes it: drafting steps, most children of a node, and tokens verified (the root is one)."""

    steps: int
    top_k: int
    tokens: int


def bounds(parents: Sequence[int]) -> Bounds:
    """Return the bounds that a tree of this shape fits into.

    Top-k is raised where an engine that keeps k nodes of each level, with k children each, would have too few.

    Examples
    --------
    >>> bounds([-1, -1, 0])
    Bounds(steps=2, top_k=2, tokens=4)
    """
    steps = int(max(depths(parents), default=0))
    top = max(Counter(parents).values(), default=1)
    while top + (steps - 1) * top**2 < len(parents):
        top += 1
    return Bounds(steps, top, len(parents) + 1)


def emit(
    engine: str,
    schedule: Sequence[tuple[int, int, int]],
    acceptance: Given,
    *,
    draft: str,
    method: str = "model",
    tree: Sequence[int] = (),
) -> str:
    r"""Return the options by which an engine drafts by this schedule, or accepts as planned in a benchmark.

    .. math:: \tau = 1 + \sum_i P(n \ge i) = 1 + \sum_i \prod_{j \le i} \alpha_j

    Parameters
    ----------
    engine : str
        One of `ENGINES`.
    schedule : sequence of (first, last, gamma)
        As `batch_schedule` gives it. Only `BY_BATCH` have one; the others take the length of its first entry.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `plan`.
    draft : str
        The draft model's folder or hub id.
    method : str
        What drafts: a key of `METHODS`.
    tree : sequence of int
        Parents of the nodes of a tree, for SGLang, instead of a chain.

    Returns
    -------
    str
        vLLM: the JSON of --speculative-config; adaptive SGLang: that of the file of --speculative-adaptive-config. The
        others: options of the command line.

    Raises
    ------
    ValueError
        An unknown engine or method, a schedule that never drafts, or one that the engine cannot hold.

    Examples
    --------
    >>> emit("llamacpp-synthetic", [(1, 1, 3)], [0.8, 0.5, 0.5], draft="small")
    '--spec-draft-n-max 3 --spec-synth-rates 0.8,0.4,0.2'
    """
    known = [name for name in ENGINES if name not in TABLES]
    if engine not in known:
        raise ValueError(f"emit must be one of {', '.join(known)}, got {engine!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    # Engines without a length by batch take that of the first range.
    gamma = max(g for _, _, g in schedule) if engine in BY_BATCH else schedule[0][2]
    if gamma == 0 and not (tree and engine == "sglang"):
        raise ValueError("the plan is not to speculate: there is nothing to emit")
    if engine == "sglang-adaptive":
        return _adaptive(method, schedule)
    if engine == "sglang":
        return _sglang(method, draft, bounds(tree) if tree else Bounds(gamma, 1, gamma + 1))
    if engine == "llamacpp":
        return _llamacpp(method, draft, gamma)
    # Engines that take the acceptance, too.
    rates = as_acceptance(acceptance)
    if engine == "aiconfigurator":
        if gamma > _MAX_NEXTN:
            raise ValueError(
                f"the plan is to draft {gamma}; aiconfigurator models {_MAX_NEXTN} drafts: "
                f"plan with --max-gamma {_MAX_NEXTN}"
            )
        return f"--nextn {gamma} --nextn-accepted {rates.tau(gamma).value - 1:.6g}"
    survival = [_round(probability) for probability in np.cumprod(rates.hazards(gamma))]
    if engine == "llamacpp-synthetic":
        return f"--spec-draft-n-max {gamma} --spec-synth-rates {','.join(f'{rate:.6g}' for rate in survival)}"
    config = _vllm(method, draft, gamma, schedule)
    if engine == "vllm-synthetic":
        config |= {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": survival}
    return json.dumps(config)


def _vllm(method: str, draft: str, gamma: int, schedule: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    """Return vLLM's --speculative-config: method, draft model and draft length, by batch where this differs.

    gamma: the longest draft of the schedule. schedule: (first batch, last batch, gamma) each.
    """
    config: dict[str, Any] = {"method": METHODS[method][0]}
    # These draft a whole block in one pass.
    if method in ("peagle", "parallel"):
        config["parallel_drafting"] = True
    # These draft without a model beside the target.
    if method not in ("mtp", "ngram", "suffix"):
        config["model"] = draft
    config["num_speculative_tokens"] = gamma
    if len(schedule) > 1:
        config["num_speculative_tokens_per_batch_size"] = [list(entry) for entry in schedule]
    return config


def _sglang(method: str, draft: str, bounds: Bounds) -> str:
    """Return the command-line options of SGLang."""
    # The drafter's name, and its model unless its heads are part of the target.
    name = METHODS[method][1]
    if name is None:
        why = "has options not known here"
        if method in ("ngram", "suffix"):
            why = "takes a budget of its own, not a length"
        raise ValueError(f"SGLang's {method} drafter {why}: nothing is emitted")
    words = ["--speculative-algorithm", name]
    if method != "mtp":
        words += ["--speculative-draft-model-path", shlex.quote(draft)]
    # DFlash drafts a block in one step: it takes the block's tokens alone, of which the first is known.
    if method == "dflash":
        return " ".join([*words, "--speculative-num-draft-tokens", str(bounds.tokens)])
    words += ["--speculative-num-steps", str(bounds.steps), "--speculative-eagle-topk", str(bounds.top_k)]
    return " ".join([*words, "--speculative-num-draft-tokens", str(bounds.tokens)])


def _adaptive(method: str, schedule: Sequence[tuple[int, int, int]]) -> str:
    """Return the content of SGLang's file for --speculative-adaptive-config: the draft length by least batch."""
    if method not in ADAPTIVE:
        raise ValueError(f"SGLang changes the length of {', '.join(ADAPTIVE)} drafters alone, not of {method}")
    return json.dumps({str(first): {"candidate_steps": [gamma]} for first, _, gamma in schedule})


def _llamacpp(method: str, draft: str, gamma: int) -> str:
    """Return the command-line options of llama.cpp."""
    name = METHODS[method][2]
    if name is None:
        raise ValueError(f"which options llama.cpp has for a drafter {method} is not known here: nothing is emitted")
    words = ["--spec-type", name]
    if method != "mtp":
        words += ["--model-draft", shlex.quote(draft)]
    return " ".join([*words, "--spec-draft-n-max", str(gamma), "--spec-draft-p-min", "0"])


def _round(rate: float) -> float:
    """Return a rate rounded to six digits: the sum of a few stays within 1e-5, and falling rates still fall."""
    return round(float(rate), 6)
