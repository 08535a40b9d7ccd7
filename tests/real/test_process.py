"""Processes on networks: what torch fills is what NumPy fills, a batch is its texts, and the law is the exact one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.rules import MUTANTS
from helpers.tiny_models import tiny_llama
from scipy import stats
from torch import Tensor

import real.process
import specsim
from real.models.model import from_hf, full_logits
from real.process import Draw, Oracle, Texts, causal, fill, keyed
from specsim import discover
from specsim.base.texts import Asked, before
from specsim.exact.process_branches import Joint
from specsim.exact.small_laws import rational_table
from specsim.types import Array
from specsim.verify.lookup import chain_rule

VOCAB, LENGTH, BATCH = 3, 4, 7
CASES: list[tuple[str, dict[str, Any]]] = [
    ("left_to_right", {"gamma": 0}),
    ("left_to_right", {"gamma": 2}),
    ("jacobi", {"window": 1}),
    ("jacobi", {"window": 2, "first": "up", "width": 2}),
    ("jacobi", {"window": 3, "first": "uniform"}),
    ("jacobi", {"window": 3, "carry": "old"}),
    ("any_subset", {"slots": 2, "order": (2, 0, 3, 1), "given": {3: 1}}),
    ("any_subset", {"slots": 3, "bonus": False}),
    ("frames", {"frames": 3}),
]
BOTH = [(*case, "tokenwise") for case in CASES] + [(*case, "block") for case in CASES if "carry" not in case[1]]


@cache
def joint(seed: int, vocab: int = VOCAB, length: int = LENGTH) -> Joint:
    """A random table as a model, of which a row can be asked whatever is seen."""
    table = rational_table(np.random.default_rng([vocab, seed]), vocab, length - 1)
    return Joint(table.__getitem__, vocab, length)


def floats(model: Joint, asked: Asked) -> Array:
    return model.rows(asked).astype(np.float64)


def oracles(vocab: int = VOCAB, length: int = LENGTH, seen: list[int] | None = None) -> dict[str, Oracle]:
    """The tables as networks; `seen` gets how many texts each pass of the target had."""

    def of(model: Joint) -> Oracle:
        def rows(asked: Asked, texts: Tensor) -> Tensor:
            if seen is not None and asked.model == "target":
                seen.append(len(texts))
            tokens, places, sees = (part.numpy() for part in asked[:3])
            return torch.from_numpy(floats(model, Asked(tokens, places, sees, asked.model)))

        return rows

    return {"target": of(joint(0, vocab, length)), "draft": of(joint(1, vocab, length))}


def filled(process: Any, params: dict[str, Any], rule: str = "tokenwise", **rest: Any) -> Texts:
    told = {"length": LENGTH, "vocab": VOCAB, "batch": BATCH} | rest
    models = told.pop("models", None) or oracles(told["vocab"], told["length"])
    return fill(process, models, params=params, rule=rule, **told)


def in_numpy(process: str, params: dict[str, Any], rule: str, numbers: Callable[[], Array]) -> tuple[Array, Array]:
    """The same file on NumPy's arrays: tokens and passes."""
    module, verifier = discover.find("process", process), chain_rule(rule)
    state = module.start(LENGTH, BATCH, **params)
    while (state.filled < LENGTH).any():
        asked = module.ask(state)
        rows = floats(joint(int(asked.model == "draft")), asked)
        state = module.advance(state, rows, verifier, numbers())
    assert (state.filled == LENGTH).all()
    return state.text, state.passes


def recorded(seed: int, batch: int, drawn: list[tuple[Array, Array, Array]], first: int = 0) -> Draw:
    """`keyed`, remembering (texts, positions, uniforms) of each call."""
    draw = keyed(seed, batch, first)

    def remembering(texts: Array, positions: Array, count: int) -> Array:
        drawn.append((texts, positions, draw(texts, positions, count)))
        return drawn[-1][2]

    return remembering


@pytest.mark.parametrize(("process", "params", "rule"), BOTH)
def test_torch_fills_what_numpy_fills(process: str, params: dict[str, Any], rule: str) -> None:
    drawn: list[tuple[Array, Array, Array]] = []
    made = filled(process, params, rule, draw=recorded(3, BATCH, drawn))
    calls = iter(drawn)

    def numbers() -> Array:
        texts, _, u = next(calls)
        out = np.zeros((BATCH, u.shape[1]))
        out[texts] = u
        return out

    tokens, passes = in_numpy(process, params, rule, numbers)
    assert made.tokens.tolist() == tokens.tolist()
    assert made.passes.tolist() == passes.tolist()
    assert next(calls, None) is None
    assert 0 < made.in_models < made.seconds


@pytest.mark.parametrize(("process", "params", "rule"), BOTH)
def test_a_batch_is_its_texts_one_by_one(process: str, params: dict[str, Any], rule: str) -> None:
    made = filled(process, params, rule, draw=keyed(5, BATCH, 2))
    alone = [filled(process, params, rule, batch=1, draw=keyed(5, 1, 2 + i)) for i in range(BATCH)]
    assert made.tokens.tolist() == [one.tokens[0].tolist() for one in alone]
    assert made.passes.tolist() == [int(one.passes[0]) for one in alone]
    assert len({tuple(text) for text in made.tokens.tolist()}) > 1


def test_a_text_that_waits_draws_what_it_draws_alone() -> None:
    """Where few places are left a text has fewer drafts than others, and waits for theirs."""
    told: dict[str, Any] = {"length": 7, "vocab": 3}
    made = filled("left_to_right", {"gamma": 3}, batch=60, draw=keyed(5, 60), **told)
    alone = [filled("left_to_right", {"gamma": 3}, batch=1, draw=keyed(5, 1, i), **told) for i in range(60)]
    assert made.tokens.tolist() == [one.tokens[0].tolist() for one in alone]


@pytest.mark.parametrize(("process", "params"), CASES)
def test_no_uniform_is_used_twice(process: str, params: dict[str, Any]) -> None:
    drawn: list[tuple[Array, Array, Array]] = []
    filled(process, params, draw=recorded(0, BATCH, drawn))
    keys = [key for texts, positions, _ in drawn for key in zip(texts.tolist(), positions.tolist(), strict=True)]
    assert len(set(keys)) == len(keys) >= BATCH
    numbers = [u for _, _, rows in drawn for u in rows.ravel().tolist()]
    assert len(set(numbers)) == len(numbers)


def test_texts_that_are_done_take_no_part() -> None:
    """Each pass of the target has as many texts as still count passes."""
    seen: list[int] = []
    made = filled("jacobi", {"window": 2}, models=oracles(seen=seen))
    assert sum(seen) == made.passes.sum()
    assert seen[-1] < BATCH == seen[0]


def test_rows_in_float32() -> None:
    wide, narrow = (filled("jacobi", {"window": 2}, dtype=dtype) for dtype in (torch.float64, torch.float32))
    assert narrow.tokens.tolist() == wide.tokens.tolist()


def excess(process: Any, params: dict[str, Any], rule: str, number: int = 2500) -> float:
    """Chi-square of the texts of a binary table over what 99.9 % of samples of the exact law of 3 positions have."""
    made = filled(process, params, rule, length=3, vocab=2, batch=number, draw=keyed(1, number))
    law = specsim.fill(joint(0, 2, 3).model, "left_to_right", length=3, params={"gamma": 0}).law
    texts = [tuple(text) for text in made.tokens.tolist()]
    due = {text: number * float(weight) for text, weight in law.items()}
    assert set(texts) <= set(due)
    statistic = sum((texts.count(text) - n) ** 2 / n for text, n in due.items())
    return float(statistic / stats.chi2.ppf(0.999, len(due) - 1))


@pytest.mark.parametrize("rule", ["tokenwise", "block"])
def test_samples_have_the_exact_law(rule: str) -> None:
    assert excess("jacobi", {"window": 2, "first": "uniform"}, rule) < 1


def test_samples_of_a_wrong_process_do_not() -> None:
    assert excess(MUTANTS / "process" / "jacobi_relabel.py", {"window": 2, "first": "uniform"}, "tokenwise") > 1


def test_passes_are_those_of_the_exact_law() -> None:
    number = 1500
    made = filled("jacobi", {"window": 2}, length=3, vocab=2, batch=number, draw=keyed(2, number))
    due = specsim.fill(joint(0, 2, 3).model, "jacobi", length=3, params={"window": 2}).passes
    assert abs(made.passes.mean() - float(due)) < 4 * made.passes.std() / number**0.5


@cache
def llama() -> Any:
    return from_hf(tiny_llama(8, seed=0, layers=2, dtype=torch.float64))


def test_a_cached_row_is_the_row_of_the_whole_text() -> None:
    """Whatever changed in a text since the pass before, and whichever texts take part."""
    rng, batch, length, vocab = np.random.default_rng(0), 3, 6, 5
    opening = torch.from_numpy(rng.integers(8, size=(batch, 2)))
    oracle, text = causal(llama(), opening, length, vocab), rng.integers(vocab, size=(batch, length))
    for _ in range(30):
        changed = rng.random((batch, length)) < 0.2
        text = np.where(changed, rng.integers(vocab, size=text.shape), text)
        texts = np.flatnonzero(rng.random(batch) < 0.7)
        if not len(texts):
            continue
        first, number = rng.integers(length, size=(len(texts), 1)), rng.integers(1, 4)
        places = np.minimum(first + np.arange(number), length - 1)
        tokens, at, seen = map(torch.from_numpy, (text[texts], places, before(places, length)))
        rows = oracle(Asked(tokens, at, seen), torch.from_numpy(texts))
        for i, t in enumerate(texts):
            whole = full_logits(llama(), torch.cat([opening[t], torch.from_numpy(text[t])]))[:, :vocab].softmax(-1)
            for j in range(number):
                assert torch.allclose(rows[i, j], whole[1 + places[i, j]], atol=1e-12)


def test_jacobi_on_a_network_is_that_of_its_whole_rows() -> None:
    """With keys that are kept and with texts that are read from their beginning: the same tokens."""
    batch, length, vocab = 5, 12, 8
    opening = torch.arange(batch)[:, None] % vocab

    def whole(asked: Asked, texts: Tensor) -> Tensor:
        read = torch.cat([opening[texts], asked.tokens], 1)
        rows = torch.stack([full_logits(llama(), row).softmax(-1) for row in read])
        return rows.gather(1, asked.places[..., None].expand(-1, -1, vocab))

    for process, params in (("jacobi", {"window": 4}), ("left_to_right", {"gamma": 0})):
        told: dict[str, Any] = {"length": length, "vocab": vocab, "batch": batch, "params": params}
        kept = fill(process, causal(llama(), opening, length, vocab), **told)
        assert kept.tokens.tolist() == fill(process, whole, **told).tokens.tolist()


def test_an_opening_takes_places_of_the_context() -> None:
    """The last token is not read."""
    one, two = (torch.zeros(1, front, dtype=torch.int64) for front in (1, 2))
    causal(llama(), one, llama().context, 8)
    with pytest.raises(ValueError, match="exceeds the context"):
        causal(llama(), two, llama().context, 8)


def test_seconds_in_models_are_those_of_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by one whenever it is read."""
    seen: list[int] = []
    monkeypatch.setattr(real.process, "time", SimpleNamespace(perf_counter=itertools.count().__next__))
    made = filled("jacobi", {"window": 2}, models=oracles(seen=seen))
    assert made.in_models == len(seen) > 1
    assert made.seconds == 2 * len(seen) + 1


def test_a_causal_model_is_not_asked_for_other_orders() -> None:
    oracle = causal(llama(), torch.zeros(1, 1, dtype=torch.int64), 4, 8)
    with pytest.raises(ValueError, match="cannot give rows that see other places"):
        fill("any_subset", oracle, length=4, vocab=8, params={"order": (3, 2, 1, 0)})


def laws(batch: int, places: int, vocab: int = VOCAB) -> Tensor:
    return torch.full((batch, places, vocab), 1 / vocab, dtype=torch.float64)


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"length": 0}, "length"),
        ({"batch": 0}, "batch"),
        ({"length": 10**9}, "length is 1000000000; the largest that is sensible is 131072"),
        ({"vocab": 0}, "vocab"),
        ({"params": {"window": 0}}, "window"),
        ({"process": "left_to_right"}, "needs a draft model"),
        ({"process": "sideways"}, "process 'sideways' is unknown"),
        ({"params": {"windw": 2}}, "process 'jacobi' has no parameter 'windw'"),
        ({"params": {"carry": "old"}, "rule": "block"}, "carry 'old' keeps tokens that rule 'block' has looked at"),
        ({"rule": "lumina"}, "rule 'lumina' is lossy .*; ask for it by name: lossy='lumina'"),
        ({"rule": "lumina", "lossy": "block"}, "lossy must be the name of the rule, 'lumina', got 'block'"),
        ({"oracle": lambda asked, texts: laws(1, 9)}, r"gave rows of shape \(1, 9, 3\); asked were"),
        ({"oracle": lambda asked, texts: 2 * laws(*asked.places.shape)}, r"row \[0, 0\] is no law: it sums to 2"),
        (
            {"oracle": lambda asked, texts: laws(*asked.places.shape) + torch.tensor([-1.0, 1.0, 0.0])},
            r"row \[0, 0\] is no law: it sums to 1",
        ),
        ({"oracle": lambda asked, texts: torch.nan * laws(*asked.places.shape)}, "is no law: it sums to nan"),
    ],
)
def test_bad_input_is_one_line(told: dict[str, Any], match: str) -> None:
    told = {"process": "jacobi", "oracle": oracles()["target"], "length": LENGTH, "vocab": VOCAB} | told
    process, oracle = told.pop("process"), told.pop("oracle")
    with pytest.raises(ValueError, match=match) as error:
        fill(process, oracle, **told)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("front", "length", "vocab", "match"),
    [(0, 4, 8, "openings have 0 tokens"), (1, 10**6, 8, "exceeds the context"), (1, 4, 9, "vocab 9 exceeds the 8")],
)
def test_a_model_that_cannot_read_the_texts_is_refused(front: int, length: int, vocab: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        causal(llama(), torch.zeros(1, front, dtype=torch.int64), length, vocab)
