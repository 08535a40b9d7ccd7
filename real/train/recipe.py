"""The recipe of a bundled pair: sizes, steps and rates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from real.options import within
from specsim.base import limits

# Tokens of the corpus with which a window begins that the target writes.
PROMPT = 32


@dataclass(frozen=True)
class Shape:
    """Size of one Llama.

    Parameters
    ----------
    layers, hidden, ffn, heads : int
        Layers, width, width inside the feed-forward part, attention heads.
    """

    layers: int
    hidden: int
    ffn: int
    heads: int


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, together with the text.

    Parameters
    ----------
    seed : int
        Seeds the first weights, the order of the data and what the target writes.
    vocab, window, batch : int
        Entries of the tokenizer, tokens per window, windows per step.
    target, draft : Shape
        Sizes of the two models.
    target_steps, draft_steps, distil_steps : int
        Steps of cross-entropy for each model, then of KL(target || draft) for the draft.
    target_rate, draft_rate, distil_rate : float
        Highest learning rates, reached after `warmup` steps, falling linearly to 0.
    warmup : int
        Steps of linear warm-up.
    weight_decay : float
        Decoupled decay of the matrices inside the layers.
    written : int
        Windows the target writes for the last stage.
    written_share : float
        Share of them in a batch of the last stage; the others are the corpus.
    held_out : float
        Share of the text held out.
    """

    seed: int = 0
    vocab: int = 2048
    window: int = 512
    batch: int = 4
    target: Shape = Shape(layers=6, hidden=256, ffn=704, heads=4)
    draft: Shape = Shape(layers=2, hidden=96, ffn=256, heads=3)
    target_steps: int = 4500
    draft_steps: int = 4000
    distil_steps: int = 2000
    target_rate: float = 4e-3
    draft_rate: float = 8e-3
    distil_rate: float = 6e-3
    warmup: int = 50
    weight_decay: float = 0.1
    written: int = 512
    written_share: float = 0.5
    held_out: float = 0.06

    def __post_init__(self) -> None:
        """Refuse values that cannot train, before any work."""
        # Least whole numbers, positive rates, shares, and sizes that fit together.
        low = dict.fromkeys(("target_steps", "draft_steps", "distil_steps", "batch", "written"), 1)
        low |= {"seed": 0, "vocab": 300, "window": 2 * PROMPT, "warmup": 0}
        for name, minimum in low.items():
            within(getattr(self, name), name, minimum, limits.MAX_INTEGER)
        for name in ("target_rate", "draft_rate", "distil_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name)}")
        for name in ("written_share", "held_out"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        for name in ("target", "draft"):
            shape: Shape = getattr(self, name)
            if min(asdict(shape).values()) < 1 or shape.hidden % (2 * shape.heads):
                raise ValueError(f"{name} needs positive sizes and an even hidden/heads, got {shape}")


def learning_rate(step: int, steps: int, highest: float, warmup: int) -> float:
    """Warm up linearly over `warmup` steps while falling linearly to 0 at step `steps`.

    Parameters
    ----------
    step, steps : int
        Step number from 0, and how many there are.
    highest : float
        Rate at the top of the line.
    warmup : int
        Steps of warm-up.

    Returns
    -------
    float
        The rate of the step.
    """
    return highest * min(1.0, (step + 1) / (warmup + 1)) * (1 - step / steps)
