"""Lossless in unusual ways: shorter floats than declared, numbers and rows that are kept, drafters that stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.residuals import rest

from specsim.base import clock
from specsim.conform import Model, Subject, Verdict, judge, judgement
from specsim.conform.evidence import montecarlo
from specsim.conform.observing import observe
from specsim.conform.properties import _ends, _laws, contract, degenerate
from specsim.conform.standard_cases import standard
from specsim.conform.trial import begin
from specsim.forking.programs import scripted
from specsim.types import Array


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few runs are enough for frequencies; nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.2)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.2)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def made(kind: Any, run: Any, **facts: Any) -> Subject:
    return Subject("mine", kind, run, **({"sizes": (1,)} | facts))


def short(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    p, q = p.astype(np.float32), q.astype(np.float32)
    for i, x in enumerate(drafts):
        if not random.random() < float(p[i, x] / q[i, x]):
            return i, int(random.choice(p.shape[1], p=rest(p[i], q[i])))
    return len(drafts), int(random.choice(p.shape[1], p=p[-1] / p[-1].sum()))


def short_step(p: Array, q: Array, drafts: Array, random: Any) -> int:
    kept, token = short(np.stack([p, p]), q[None], drafts[:1], random)
    return int(drafts[0]) if kept else token


def in_torch(p: Any, q: Any, drafts: Any, random: Any) -> Any:
    import torch

    p, q = (torch.as_tensor(rows).float().softmax(-1) for rows in (p, q))
    for i, x in enumerate(drafts.tolist()):
        if not bool(torch.rand(()) * q[i, x] < p[i, x]):
            return i, int(torch.multinomial((p[i] - q[i]).clamp(min=0), 1))
    return len(drafts), int(torch.multinomial(p[-1], 1))


def short_decoder(target: Model, draft: Model, prompt: Any, n: int, sampling_params: Any, random: Any) -> list[int]:
    text = list(prompt)
    while len(text) < len(prompt) + n:
        p, q = target(text)[None].repeat(2, 0), draft(text)[None]
        x = int(random.choice(q.shape[1], p=q[0]))
        kept, token = short(p, q, np.array([x]), random)
        text.append(x if kept else token)
    return text[len(prompt) :]


FLOAT32 = {
    "step": made("step", short_step),
    "chain": made("chain", short),
    "torch, softmax of logits": made("chain", in_torch, arrays="torch", logits=True),
    "decoder": made("decoder", short_decoder),
}


@pytest.mark.parametrize("name", FLOAT32)
def test_float32_arithmetic_is_a_distance(name: str) -> None:
    """In a subject that is declared float64, as it is by default."""
    if "torch" in name:
        pytest.importorskip("torch")
    (found,) = judge(FLOAT32[name], properties=["marginal"]).verdicts
    assert (found.outcome, found.evidence) == ("lossless", "scripted"), found.words
    assert 1e-9 < found.distance < 1e-6
    assert "it computes in float32, and is declared float64" in found.words


def test_an_error_as_small_as_that_is_no_rounding() -> None:
    """Of 2e-8, in float64: neither acquitted nor convicted, for want of runs."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        return x if random.random() * q[x] < p[x] + 1e-7 else int(random.choice(len(p), p=rest(p, q)))

    (found,) = judge(made("step", run), budget=20, properties=["marginal"]).verdicts
    assert found.outcome == "inconclusive"
    assert "before it convicts" in found.words
    assert 1e-9 < found.distance < 1e-6


class Pool:
    """Random numbers that are drawn many at a time, and kept over calls."""

    def __init__(self, size: int) -> None:
        self.size, self.held = size, list[Any]()

    def next(self, random: Any) -> Any:
        if not self.held:
            self.held = list(random.random(self.size))
        return self.held.pop()


@pytest.mark.parametrize("size", [7, 1000])
def test_a_pool_of_numbers_that_is_kept_over_calls(size: int) -> None:
    """Stand-ins of one run are refused in the next, and used up before frequencies are counted."""
    for wrong in (False, True):
        pool = Pool(size)

        def run(p: Array, q: Array, drafts: Array, random: Any, wrong: bool = wrong, pool: Pool = pool) -> int:
            x = int(drafts[0])
            if pool.next(random) * q[x] < p[x]:
                return x
            law = p if wrong else rest(p, q)
            u = pool.next(random)
            return next(i for i, end in enumerate(law.cumsum() / law.sum()) if u < end)

        (found,) = judge(made("step", run), budget=60, properties=["marginal"]).verdicts
        assert (found.outcome, found.evidence) == ("convicted" if wrong else "lossless", "Monte Carlo"), found.words
        assert wrong or "not" in found.words


def test_a_stand_in_of_an_earlier_run_is_refused() -> None:
    kept: list[Any] = []

    def program(random: Any) -> bool:
        kept.append(random.random())
        return bool(kept[0] < 0.5)

    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        scripted.law(program)
    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        scripted.law(lambda random: bool(kept[0] < 0.5))
    assert scripted.law(lambda random: kept.append(random.random())).law == {None: 1.0}
    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        print(kept[-1] < 0.5)


def decoder(row: Callable[[Model, tuple[int, ...]], Array], wrong: bool = False) -> Any:
    def run(target: Model, draft: Model, prompt: Any, n: int, sampling_params: Any, random: Any) -> list[int]:
        text = tuple(prompt)
        while len(text) < len(prompt) + n:
            p, q = row(target, text), draft(text)
            x = int(random.choice(len(q), p=q))
            kept = random.random() * q[x] < p[x]
            text = (*text, x if kept else int(random.choice(len(p), p=p if wrong else rest(p, q))))
        return list(text[len(prompt) :])

    return run


def caches(key: Callable[[Model, tuple[int, ...]], Any]) -> Callable[[Model, tuple[int, ...]], Array]:
    rows: dict[Any, Array] = {}

    def row(target: Model, text: tuple[int, ...]) -> Array:
        at = key(target, text)
        if at not in rows:
            rows[at] = target(text)
        return rows[at]

    return row


def test_a_prefix_cache_by_model_is_a_cache() -> None:
    """The same model is the same object throughout a judgement, and no other has its id."""
    for wrong in (False, True):
        run = decoder(caches(lambda target, text: (id(target), text)), wrong)
        assert judge(made("decoder", run), properties=["marginal"]).outcome == ("convicted" if wrong else "lossless")


def test_a_subject_that_is_refused_is_not_tried_at_the_ends_of_its_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    found = Verdict("it", "degenerate", "inconclusive")
    monkeypatch.setattr(degenerate, "each", lambda *_: found)
    monkeypatch.setattr(_ends, "first", lambda *_: (tried.append(1), (None, "both ends"))[1])
    subject = Subject("it", "step", lambda *_: 0, sizes=(1,))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    assert degenerate.verdict(subject, trial) != found
    trial.findings.refuse("it keeps rows of its target over calls")
    assert degenerate.verdict(subject, trial) == found
    assert tried == [1]


def test_a_prefix_cache_by_tokens_is_refused_by_name() -> None:
    """Where two models go on from one text; of the standard cases every one begins with another prompt."""
    run = decoder(caches(lambda target, text: text))
    first, *later = judge(made("decoder", run), properties=["marginal", "degenerate"]).verdicts
    assert (first.property, first.outcome) == ("marginal", "lossless")
    assert [(verdict.property, verdict.outcome) for verdict in later] == [("degenerate", "inconclusive")]
    assert "it keeps rows of its target over calls" in later[0].words


def test_a_decoder_that_never_asks_is_convicted_all_the_same() -> None:
    """It keeps no rows: it ignores the target after a new text, too."""

    def run(target: Model, draft: Model, prompt: Any, n: int, sampling_params: Any, random: Any) -> list[int]:
        text = list(prompt)
        for _ in range(n):
            text.append(int(random.choice(draft.vocab, p=draft(text))))
        return text[len(prompt) :]

    assert judge(made("decoder", run), properties=["marginal"]).outcome == "convicted"


def test_a_look_at_the_law_of_a_model_is_a_pass() -> None:
    """Blocks that read `target.law` token by token keep no more drafts than can be: they take more passes."""

    def run(target: Model, draft: Model, prompt: Any, n: int, sampling_params: Any, random: Any) -> list[int]:
        text = list(prompt)
        for _ in range(n):
            text.append(int(random.choice(target.vocab, p=target.law(text))))
        return text[len(prompt) :]

    report = judge(made("decoder", run, block=True), properties=["joint", "bound"])
    assert [verdict.outcome for verdict in report.verdicts] == ["lossless", "not available"]


def drafter(stops: str) -> Any:
    def run(draft: Model, prompt: Any, gamma: int, sampling_params: Any, random: Any) -> Any:
        text, rows = list(prompt), list[Array]()
        while len(rows) < gamma and not (stops == "before" and rows and random.random() < 0.4):
            q = draft(text)
            x = int(random.choice(len(q), p=q))
            if stops == "after" and rows and q[x] < 0.4:
                break  # the draft is seen, and withdrawn
            text.append(x)
            rows.append(q if stops != "rows" else np.roll(q, 1))
        return text[len(prompt) :], np.stack(rows)

    return run


def stopping(draft: Model, prompt: Any, gamma: int, sampling_params: Any, random: Any) -> Any:
    """One draft or two, by a coin."""
    rows = [draft(prompt)]
    text = [int(random.choice(draft.vocab, p=rows[0]))]
    if random.random() < 0.5:
        rows.append(draft([*prompt, *text]))
        text.append(int(random.choice(draft.vocab, p=rows[1])))
    return text, np.stack(rows)


def test_a_drafter_of_random_length_keeps_its_contract() -> None:
    subject = made("drafter", stopping, sizes=(2,))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    found = contract.look(observe(trial, next(standard(trial.subject))))
    assert found.distance < found.allowed


def test_a_look_at_the_law_of_a_model_is_counted() -> None:
    model = Model(lambda text: np.array([0.5, 0.5]), 2)
    for ask in (model, model.law, model.rows):
        ask((0, 1))
    assert model.passes == 3
    assert model.texts == {(), (0,), (0, 1)}


@pytest.mark.parametrize(
    ("stops", "outcome"),
    [("never", "lossless"), ("before", "lossless"), ("after", "convicted"), ("rows", "convicted")],
)
def test_a_drafter_may_stop_before_it_draws(stops: str, outcome: str) -> None:
    subject = made("drafter", drafter(stops), sizes=(1, 2, 3))
    assert judge(subject, properties=["contract"]).outcome == outcome
