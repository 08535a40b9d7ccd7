"""How near `scored_wor` is to the optimum of three or four drafts: `python tests/bench/table_wor_scores.py`.

One pair of laws a row, the first of `table_wor_levels`: recursive rejection without replacement, `scored_wor`, and the
optimum (a bound by one set of tokens, T15); then the `gap`, which is that bound less a value that the rule reaches,
and the mass that the law of the chosen draft misses 1 by. Recursive rejection of more than 2^22 paths is sampled: hit
probabilities of 400 tuples of drafts, with twice the standard error. Writes wor_scores.txt beside this file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from table_wor_levels import LAWS, drawn

from specsim import optimum
from specsim.base.files import write_bytes
from specsim.verify import scored_wor
from specsim.verify.step import recursive_wor

HERE = Path(__file__).parent
VOCABULARIES = (64, 1024, 8192, 32_000)
DRAFTS = (3, 4)
MOST_PATHS, TUPLES = 2**22, 400
HEAD = "laws      tokens  drafts    recursive_wor  scored_wor  optimum      gap  law misses 1 by"
Array = Any


def recursive(p: Array, q: Array, num_drafts: int) -> str:
    """Acceptance of recursive rejection, exactly or from sampled drafts."""
    plan = recursive_wor.prepare(p, q, num_drafts)
    if len(p) ** (num_drafts - 1) <= MOST_PATHS:
        return f"{recursive_wor.acceptance(plan):.4f}"
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(TUPLES):
        drafts = np.argsort(-(np.log(q) + rng.gumbel(size=len(q))))[:num_drafts]
        hits.append(recursive_wor.transition(plan, drafts)[drafts].sum())
    return f"{np.mean(hits):.3f} ±{2 * np.std(hits) / TUPLES**0.5:.3f}"


def line(name: str, vocab: int, num_drafts: int) -> str:
    p, q = (w[0] for w in drawn(name, vocab))
    plan = scored_wor.prepare(p, q, num_drafts)
    best = optimum(p, q, num_drafts=num_drafts, scheme="without_replacement").value
    # Rounding alone is shown as such: it differs between processors.
    gap, missed = (
        f"{w:.0e}" if w > 1e-13 else "< 1e-13" for w in (float(plan.gap), abs(float(plan.winners.sum()) - 1))
    )
    shown = recursive(p, q, num_drafts)
    return f"{name:<8}{vocab:>8}{num_drafts:>8}{shown:>17}{plan.rate:>12.4f}{best:>9.4f}{gap:>9}{missed:>17}"


def rows() -> list[str]:
    """Lines, as they come: those of many tokens take minutes."""
    lines = [HEAD]
    for vocab in VOCABULARIES:
        for name in LAWS:
            for num_drafts in DRAFTS:
                lines.append(line(name, vocab, num_drafts))
                print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    write_bytes(HERE / "wor_scores.txt", ("\n".join(rows()) + "\n").encode())
