"""Part `rules`: what a call of each verification rule costs over a real vocabulary, beside one softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from real.decode import graphs
from real.decode.chain_cycle import plain
from real.gpu.alone import seconds_of
from real.gpu.book import Part, Row, row_task
from real.models.memory import explain_oom
from specsim import discover
from specsim.base.arrays import pick
from specsim.verify.lookup import takes


@dataclass(frozen=True)
class Settings:
    """Settings of the part."""

    # Tokens of the vocabulary (Llama 3's), and texts that a call verifies at a time.
    vocab: int = 128_256
    batches: tuple[int, ...] = (1, 8, 64)
    # Drafts of a text: K of a step rule, gamma of a chain rule.
    drafts: tuple[int, ...] = (1, 4)
    # Calls in a row, which are timed together.
    calls: int = 50


TINY = Settings(vocab=500, batches=(1, 2), calls=3)


def part(device: torch.device, *, tiny: bool) -> Part:
    """Return the part, with a row for each rule, batch and number of drafts that the rule can verify."""
    settings = TINY if tiny else Settings()
    # A softmax over rows of one shape is timed once, for all rules.
    softmax_s = cache(partial(_softmax_s, settings, device))
    tasks = []
    for family, letter in (("step", "K"), ("chain", "gamma")):
        for name, rule in discover.rules(family).items():
            for batch in settings.batches:
                for count in settings.drafts:
                    if family == "step" and not takes(rule, count):
                        continue
                    key = f"{family}/{name}/batch {batch}/{letter} {count}"
                    # Rows of p: one for a step rule; gamma and that of the bonus token for a chain
                    # rule.
                    rows = (batch,) if family == "step" else (batch, count + 1)
                    tasks.append(row_task(key, partial(_timed, settings, device, rule, family, rows, count, softmax_s)))
    return Part("rules", asdict(settings), tasks)


def _softmax_s(settings: Settings, device: torch.device, rows: tuple[int, ...]) -> float:
    """Return the seconds of a softmax over logits (*rows, vocab)."""
    logits = _random_logits(settings, device, rows, 0)
    return seconds_of(lambda: torch.softmax(logits, -1), device, calls=settings.calls)


def _random_logits(settings: Settings, device: torch.device, rows: tuple[int, ...], seed: int) -> Tensor:
    """Return random logits (*rows, vocab) with standard deviation 3."""
    generator = torch.Generator(device).manual_seed(seed)
    return 3 * torch.randn(*rows, settings.vocab, generator=generator, device=device)


def _timed(
    settings: Settings,
    device: torch.device,
    rule: Any,
    family: str,
    rows: tuple[int, ...],
    count: int,
    softmax_s: Callable[[tuple[int, ...]], float],
) -> Row:
    """Return the microseconds of preparing and verifying `count` drafts once, as a cycle does.

    The row has those of eager calls (`us`), on a GPU also those of a replayed graph (`graph_us`),
    and those of one softmax over rows of p (`softmax_us`).
    """
    with explain_oom(f"laws of {rows} rows over {settings.vocab} tokens", f"batch {max(rows[0] // 2, 1)}"):
        p, q, drafts, u = _inputs(settings, device, rule, family, rows, count)

        def call(uniforms: Tensor) -> Tensor:
            """Prepare and verify once, and return the tokens after the accepted drafts."""
            # The prepare of a step rule also takes K.
            num_drafts = (count,) if family == "step" else ()
            plan = rule.prepare(plain(p), plain(q), *num_drafts)
            result = rule.verify(plan, plain(drafts), plain(uniforms))
            # A chain rule returns the number of accepted drafts, then the token.
            return result[1] if family == "chain" else result  # type: ignore[no-any-return]

        # Eager calls, and on a GPU also a replayed graph.
        row = {"us": 1e6 * seconds_of(lambda: call(u), device, calls=settings.calls)}
        if device.type == "cuda":
            replay: Any = graphs.captured(call, (u,))
            row["graph_us"] = 1e6 * seconds_of(lambda: replay(u), device, calls=settings.calls)
        return row | {"softmax_us": 1e6 * softmax_s(rows)}


def _inputs(
    settings: Settings, device: torch.device, rule: Any, family: str, rows: tuple[int, ...], count: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return p and q that differ as laws of two models do, drafts drawn from q, and the rule's uniforms.

    A step rule has p and q (b, V), with rows = (b,); a chain rule has p (b, gamma + 1, V) and
    q (b, gamma, V), with rows = (b, gamma + 1). Drafts are (b, count).
    """
    # Laws for all rows.
    batch = rows[0]
    target_logits = _random_logits(settings, device, rows, 0)
    draft_logits = target_logits + 0.2 * _random_logits(settings, device, rows, 1)
    p, q = target_logits.softmax(-1), draft_logits.softmax(-1)

    # Uniforms of the drafts and of the rule.
    generator = torch.Generator(device).manual_seed(2)
    draft_uniforms = torch.rand(batch, count, dtype=torch.float64, generator=generator, device=device)
    u = torch.rand(batch, rule.uniforms(count), dtype=torch.float64, generator=generator, device=device)

    # Drafts: one from each row of q for a chain rule, whose last row of p has no draft; all from
    # the only row for a step rule.
    if family == "chain":
        q = q[:, :count]
        return p, q, pick(q, draft_uniforms), u
    return p, q, pick(q[:, None], draft_uniforms), u
