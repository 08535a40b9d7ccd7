"""A plan in the words of an engine: how many drafts at which batch, and the acceptance to force in a benchmark.

vLLM (`SpeculativeConfig`, as of 0.33; its default shares the draft among the devices of the target, and it takes no
other number for a draft model): `synthetic_acceptance_rates` are unconditional, entry i the probability that the
first i + 1 drafts are all kept, one for each of `num_speculative_tokens`, not increasing. The schedule is a list of
[first batch, last batch, drafts] that starts at 1; larger batches take its last entry.

llama.cpp (`llama-server`, since its pull request 27711): `--spec-synth-rates` are the same unconditional numbers, as
many as `--spec-draft-n-max`. One length for all batches.

aiconfigurator (`cli default --nextn`, 2025 and 2026): `--nextn-accept-rates` are *conditional*, five of them; its
expectation is r1 + r1 r2 + ..., whatever its documentation calls them. At most five drafts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from specsim.lengths.hazards import HazardEstimate
from specsim.speed.grid import Acceptance

ENGINES = ("vllm", "llamacpp", "aiconfigurator")
_NEXTN = 5  # aiconfigurator's vector


def emit(engine: str, schedule: Sequence[tuple[int, int, int]], acceptance: Acceptance, *, draft: str) -> str:
    r"""What to hand to the engine so that it drafts by this schedule and accepts as planned.

    .. math:: \tau = 1 + \sum_i P(n \ge i) = 1 + \sum_i \prod_{j \le i} \alpha_j

    Parameters
    ----------
    engine : str
        One of `ENGINES`.
    schedule : sequence of (first, last, gamma)
        As `batch_schedule` gives it. Only vLLM has one; the others take the length of its first entry.
    acceptance : float, array_like, HazardEstimate or callable
        As in `plan`.
    draft : str
        The draft model's name, for vLLM.

    Returns
    -------
    str
        vLLM: the JSON of --speculative-config. The others: options of the command line.

    Raises
    ------
    ValueError
        An unknown engine, a schedule that never drafts, or one that the engine cannot hold.

    Examples
    --------
    >>> emit("llamacpp", [(1, 1, 3)], [0.8, 0.5, 0.5], draft="small")
    '--spec-draft-n-max 3 --spec-synth-rates 0.8,0.4,0.2'
    """
    if engine not in ENGINES:
        raise ValueError(f"emit must be one of {', '.join(ENGINES)}, got {engine!r}")
    gamma = max(g for _, _, g in schedule) if engine == "vllm" else schedule[0][2]
    if gamma == 0:
        raise ValueError("the plan is not to speculate: there is nothing to emit")
    hazards = hazards_at(acceptance, gamma)
    survival = [_round(s) for s in np.cumprod(hazards)]
    if engine == "vllm":
        config = {
            "method": "draft_model",
            "model": draft,
            "num_speculative_tokens": gamma,
            "num_speculative_tokens_per_batch_size": [list(entry) for entry in schedule],
            "rejection_sample_method": "synthetic",
            "synthetic_acceptance_rates": survival,
        }
        return json.dumps(config)
    if engine == "llamacpp":
        return f"--spec-draft-n-max {gamma} --spec-synth-rates {_list(survival)}"
    if gamma > _NEXTN:
        raise ValueError(f"the plan is to draft {gamma}; aiconfigurator holds {_NEXTN} rates: plan with --max-gamma 5")
    rates = [_round(h) for h in hazards] + [0.0] * (_NEXTN - gamma)
    return f"--nextn {gamma} --nextn-accept-rates {_list(rates)}"


def hazards_at(acceptance: Acceptance, gamma: int) -> list[float]:
    """The hazards of drafts 1..gamma."""
    given = acceptance(gamma) if callable(acceptance) else acceptance
    a = np.asarray(given.hazards if isinstance(given, HazardEstimate) else given, dtype=float)
    return [float(v) for v in (np.full(gamma, a) if a.ndim == 0 else a[:gamma])]


def _round(rate: float) -> float:
    """Six digits: the sum of a few stays within 1e-5, and what did not increase still does not."""
    return round(float(rate), 6)


def _list(rates: Sequence[float]) -> str:
    return ",".join(f"{rate:.6g}" for rate in rates)
