"""Processes of `specsim.process` on networks: rows of many places from one pass, in batches.

A process's own file runs as it does on rationals, where `specsim.fill` follows every branch of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.models.model import LanguageModel
from specsim import discover
from specsim.base import check, limits
from specsim.base.texts import Asked, before
from specsim.base.uniforms import keyed_stream
from specsim.discover import Rule
from specsim.exact.verdicts import process_verdict
from specsim.types import Array
from specsim.verify.lookup import filling_rule
from specsim.verify.stepwise import Stepwise

Oracle = Callable[[Asked, Tensor], Tensor]
"""(request, texts (b,)) -> rows (b, n, V) that a pass asks for, as tensors; texts are numbers in the batch."""

Draw = Callable[[Array, Array, int], Array]
"""(texts (b,), positions (b,), count) -> uniforms (b, count); each pair of text and position comes once."""

# The models that a call asks for rows.
_KINDS = ("no model", "draft", "target")
# Most calls of a kind between two passes of the target.
_STAGES = 1 << 20
# Largest deviation of a row's sum from 1: float32 over a large vocabulary.
_OFF = 1e-3


class Texts(NamedTuple):
    """Filled texts, and their cost.

    `tokens` (b, N) are int64; `passes` (b,) are those of the target for each text; `seconds` is the
    wall-clock time, `in_models` the part of it in the models' passes.
    """

    tokens: Tensor
    passes: Array
    seconds: float
    in_models: float


def keyed(seed: int, batch: int, first: int = 0) -> Draw:
    """Return uniforms by (seed, text, position).

    Text i of a batch draws what it draws alone, as text first + i.

    Parameters
    ----------
    seed, first : int
        The key, and the number of the first text.
    batch : int
        Texts.

    Returns
    -------
    Draw
        The argument `draw` of `fill`.
    """
    streams = [keyed_stream(seed, first + i) for i in range(batch)]
    return lambda texts, positions, count: np.stack(
        [streams[i](at, count) for i, at in zip(texts.tolist(), positions.tolist(), strict=True)]
    )


def fill(
    process: Rule,
    oracles: Oracle | Mapping[str, Oracle],
    *,
    length: int,
    vocab: int,
    batch: int = 1,
    rule: Rule = "tokenwise",
    params: Mapping[str, Any] | None = None,
    lossy: str | None = None,
    draw: Draw | None = None,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> Texts:
    """Fill a batch of texts by a process and a chain rule; texts that are done take no part in a pass.

    Parameters
    ----------
    process : str, path or module
        A process of `specsim.process`, the path of its file, or itself.
    oracles : Oracle or dict of str to Oracle
        The target's rows; or "target" and "draft".
    length, vocab, batch : int
        Tokens of each text, entries of a row, and texts; each at least 1.
    rule : str, path or module
        The chain rule that verifies, a step rule of one draft at every position, or a rule of
        `specsim.verify.lossy`.
    params : mapping, optional
        The process' own parameters.
    lossy : str, optional
        The rule's name once more, if it changes the target and is meant to, as for `specsim.fill`.
    draw : Draw, optional
        Where uniforms come from; `keyed(0, batch)` by default.
    dtype : torch.dtype
        Of the rows.
    device : str or torch.device
        Where they are.

    Returns
    -------
    Texts
        Tokens, passes and seconds.

    Raises
    ------
    ValueError
        A parameter is wrong, the rule changes the target, a model is missing, or its rows are none.
    """
    # Find the process and the rule, and check the sizes.
    module, verifier = discover.with_params(discover.find("process", process), params), _verifier(rule, lossy)
    length, vocab, batch = (
        check.integer(size, name, 1, most)
        for name, size, most in (
            ("length", length, limits.MAX_TOKENS),
            ("vocab", vocab, limits.MAX_COUNT),
            ("batch", batch, limits.MAX_COUNT),
        )
    )
    models = oracles if isinstance(oracles, Mapping) else {"target": oracles}
    state, draw = module.start(length, batch), draw or keyed(0, batch)

    # Calls of each kind since a text's last pass of the target.
    num_calls = np.zeros((len(_KINDS), batch), dtype=np.int64)
    in_models, start_time = 0.0, time.perf_counter()
    while (live := state.filled < length).any():
        # The rows that the live texts need, and the model that gives them.
        texts, asked = np.flatnonzero(live), module.ask(state)
        places = asked.places.shape[1]
        kind = _KINDS.index(asked.model) if places else 0

        # Uniforms have a key of the text's own past: other texts of the batch have no part in it.
        count = module.uniforms(state, verifier)
        u = np.zeros((batch, count))
        u[texts] = draw(texts, (state.passes * len(_KINDS) + kind)[texts] * _STAGES + num_calls[kind, texts], count)

        # One pass of the model.
        rows = torch.zeros(batch, places, vocab, dtype=dtype, device=device)
        if places:
            if asked.model not in models:
                raise ValueError(f"process {discover.name_of(module)!r} needs a {asked.model} model")
            pass_start = time.perf_counter()
            model_rows = models[asked.model](_of(asked, texts, device), torch.from_numpy(texts).to(device))
            in_models += time.perf_counter() - pass_start
            rows[texts] = _laws(model_rows, (len(texts), places, vocab), asked.model).to(rows)

        # The process goes on; a pass of the target begins the counts anew.
        after = module.advance(state, rows, verifier, torch.from_numpy(u).to(device))
        num_calls[kind, texts] += 1
        num_calls[:, after.passes != state.passes] = 0
        state = after
    return Texts(state.text, state.passes, time.perf_counter() - start_time, in_models)


def _verifier(rule: Rule, lossy: str | None) -> ModuleType | Stepwise:
    """Return the rule; raise ValueError if it changes the target and `lossy` does not name it."""
    verifier = filling_rule(rule)
    name = discover.name_of(verifier.step if isinstance(verifier, Stepwise) else verifier)
    if lossy not in (None, name):
        raise ValueError(f"lossy must be the name of the rule, {name!r}, got {check.shown(lossy)}")
    verdict = process_verdict(discover.find("process", "left_to_right"), verifier, False) if lossy is None else None
    if verdict is not None and not verdict.lossless:
        raise ValueError(f"rule {name!r} is lossy ({verdict.reason}); ask for it by name: lossy={name!r}")
    return verifier


def _of(asked: Asked, texts: Array, device: str | torch.device) -> Asked:
    """Return the request for these texts only, as tensors."""
    tokens, places, seen = (torch.as_tensor(part, device=device)[texts] for part in asked[:3])
    return Asked(tokens, places, seen, asked.model)


def _laws(rows: Tensor, shape: tuple[int, ...], name: str) -> Tensor:
    """Return the rows of a model; raise ValueError if one is no law, as with NaN."""
    if tuple(rows.shape) != shape:
        raise ValueError(f"the {name} model gave rows of shape {tuple(rows.shape)}; asked were {shape}")
    good = (rows.amin(-1) >= 0) & ((rows.sum(-1) - 1).abs() <= _OFF)
    if not bool(good.all()):
        i, j = torch.nonzero(~good)[0].tolist()
        raise ValueError(f"the {name} model's row [{i}, {j}] is no law: it sums to {rows[i, j].sum():.6g}")
    return rows


def causal(
    model: LanguageModel, openings: Tensor, length: int, vocab: int, dtype: torch.dtype = torch.float64
) -> Oracle:
    """Return a language model as an oracle, with a cache.

    Each pass feeds only the tokens that changed since the previous pass.

    Parameters
    ----------
    model : LanguageModel
        The model that gives rows.
    openings : Tensor, shape (b, m), int64
        Tokens in front of each text, at least one.
    length : int
        Tokens of a text.
    vocab : int
        Tokens that a text has: the model's first ones; its other logits are left out.
    dtype : torch.dtype
        Of the rows.

    Returns
    -------
    Oracle
        For a batch of b texts.

    Raises
    ------
    ValueError
        There is no opening, or texts are longer than the model's context, or the model has fewer
        tokens; when it is called, a process asks for rows that see more or less than what stands
        before them.
    """
    # Texts must fit the model.
    batch, front = openings.shape
    if front < 1:
        raise ValueError("openings have 0 tokens: the first row needs one to be read before it")
    if front + length - 1 > model.context:
        raise ValueError(f"length {length} after {front} tokens exceeds the context of {model.context} positions")
    if vocab > model.vocab_size:
        raise ValueError(f"vocab {vocab} exceeds the {model.vocab_size} tokens of the model")

    # The cache, and the tokens in it: -1 where it has none.
    cache = model.cache(batch)
    cached = torch.full((batch, front + length), -1, dtype=torch.int64, device=model.device)

    def rows(asked: Asked, texts: Tensor) -> Tensor:
        """Return the rows (b, n, V) of a request for some texts."""
        if not np.array_equal(asked.seen.cpu().numpy(), before(asked.places.cpu().numpy(), length)):
            raise ValueError("a model that reads from left to right cannot give rows that see other places than those")

        # A row is read off at the token in front of its place.
        tokens = torch.cat([openings[texts], asked.tokens], 1)
        reading_places = asked.places + front - 1

        # Feed each text as many tokens as the longest change needs.
        num_known = (tokens == cached[texts]).to(torch.int64).cumprod(1).sum(1)
        last = reading_places.amax(1)
        num_fed = int((last - torch.minimum(num_known, reading_places.amin(1))).max()) + 1
        starts = (last + 1 - num_fed).clamp(min=0)
        fed_places = starts[:, None] + torch.arange(num_fed, device=starts.device)

        # Roll back what changed, and read.
        sequences = texts.tolist()
        for i, start in zip(sequences, starts.tolist(), strict=True):
            cache.rollback(i, start)
        logits = cache.forward(tokens.gather(1, fed_places), num_fed, sequences)[..., :vocab]
        is_cached = torch.arange(front + length, device=fed_places.device) <= fed_places[:, -1:]
        cached[texts] = torch.where(is_cached, tokens, -1)
        law = logits.to(dtype).softmax(-1)
        return law.gather(1, (reading_places - starts[:, None])[..., None].expand(-1, -1, vocab))

    return rows
