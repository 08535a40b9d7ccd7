"""Write the reference rows of `specsim conform --config`: `python -m _generate.reference_rows`, in docs/.

Rows of the bundled pair along texts of its target, at temperature 1. To keep the file small each row
has the tokens that are among the likeliest of target or draft, renormalised, in order of falling p.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from specsim.conform.configs.price import REFERENCE

TEXTS, TOKENS, LIKELIEST = 8, 16, 24


def rows() -> tuple[Any, Any]:
    """p and q, (texts, tokens, 2 LIKELIEST), with zeros where a row has fewer tokens."""
    from real import TINY
    from real.decode.warp import Warping
    from real.load_pair import load
    from real.options import read_prompts
    from real.studies.rows.command import along

    pair = load(TINY / "target", TINY / "draft")
    prompts = [list(pair.tokenizer(text)["input_ids"]) for text in read_prompts(TINY / "prompts.json")[:TEXTS]]
    held = along(pair, prompts, max_tokens=TOKENS, warping=Warping(1.0), seed=0)
    p, q = (np.asarray(held[name], dtype=np.float64).reshape(TEXTS, TOKENS, -1) for name in ("p", "q"))
    return cut(p, q)


def cut(p: Any, q: Any) -> tuple[Any, Any]:
    """The rows on the tokens that are among the LIKELIEST of either law."""
    ranks = [np.argsort(np.argsort(-w, axis=-1, kind="stable"), axis=-1) for w in (p, q)]
    kept = (ranks[0] < LIKELIEST) | (ranks[1] < LIKELIEST)
    # Tokens that are kept come first, by falling p.
    order = np.argsort(np.where(kept, -p, 1), axis=-1, kind="stable")[..., : 2 * LIKELIEST]
    ordered_rows = (np.take_along_axis(np.where(kept, w, 0), order, axis=-1) for w in (p, q))
    p, q = (w / w.sum(axis=-1, keepdims=True) for w in ordered_rows)
    return p, q


if __name__ == "__main__":
    p, q = rows()
    with Path(REFERENCE).open("wb") as file:
        np.savez_compressed(file, p=p.astype(np.float32), q=q.astype(np.float32))
