"""Randomness that no script sees: nobody is convicted, or acquitted exactly, by one draw of it."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, Subject, clock, doubts, judge, judgement
from specsim.conform.cases import standard
from specsim.conform.evidence import hidden, montecarlo, scripted
from specsim.conform.properties import _laws, contract
from specsim.conform.properties.joint import look
from specsim.conform.watch import REPLAYS, Watch
from specsim.types import Array

RNG = np.random.default_rng(5)  # made at import, as a module's own


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few runs are enough for frequencies; nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def rest(p: Array, q: Array) -> Array:
    law = (p - q).clip(0)
    return law / law.sum() if law.any() else p


def own(law: Array) -> int:
    return int(RNG.choice(len(law), p=law))


def of_the_clock(law: Array) -> int:
    digest = hashlib.blake2b(str(time.perf_counter_ns()).encode()).digest()
    u = int.from_bytes(digest[:7], "big") / 2**56
    return min(int(np.searchsorted(law.cumsum(), u, side="right")), int(np.flatnonzero(law)[-1]))


def step(coin: Callable[[Any], float], spare: Callable[[Array], int], near: bool = False) -> Any:
    """Rejection of one draft; `near`: with a generator of its own only where the target is nearly certain."""

    def run(p: Array, q: Array, drafts: Array, *random: Any) -> int:
        x = int(drafts[0])
        mine = not near or p.max() > 0.99
        if (RNG.random() if near and mine else coin(random)) * q[x] < p[x]:
            return x
        return spare(rest(p, q)) if mine else int(random[0].choice(len(p), p=rest(p, q)))

    return run


def chain(spare: Callable[[Array], int]) -> Any:
    def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] < p[i, x]:
                return i, spare(rest(p[i], q[i]))
        return len(drafts), spare(p[-1])

    return run


def made(kind: Any, run: Any, **facts: Any) -> Subject:
    return Subject("mine", kind, run, **({"sizes": (1,)} | facts))


HIDDEN = {
    "residual by a generator made at import": made("step", step(lambda r: r[0].random(), own)),
    "the same in a chain": made("chain", chain(own)),
    "the same, declared global": made("step", step(lambda r: np.random.rand(), own), randomness="global"),  # noqa: NPY002
    "residual from a hash of the clock": made("step", step(lambda r: r[0].random(), of_the_clock)),
    "coins for the test, own generator for the residual": made(
        "step", step(lambda r: r[0][0], own), randomness="coins"
    ),
    "own generator only where max p > 0.99": made("step", step(lambda r: r[0].random(), own, near=True)),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_lossless_verifier_with_randomness_of_its_own_is_not_convicted(name: str) -> None:
    """Each was, by evidence that was called exact, in a third to all of the judgements."""
    asked = ["marginal", "degenerate"] if "0.99" in name else ["marginal"]
    report = judge(HIDDEN[name], budget=60, properties=asked)
    for verdict in report.verdicts:
        assert (verdict.outcome, verdict.evidence) == ("lossless", "Monte Carlo"), verdict
    assert "not reproducible" in report.verdicts[-1].words


@pytest.mark.parametrize("spare", [own, of_the_clock])
def test_a_lossy_one_is_convicted_by_frequencies(
    spare: Callable[[Array], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(montecarlo, "WANTED", 0.1)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        return x if random.random() * q[x] < p[x] else spare(p)

    (found,) = judge(made("step", run), budget=60, properties=["marginal"]).verdicts
    assert (found.outcome, found.evidence) == ("convicted", "Monte Carlo")


@pytest.mark.fast
def test_generators_that_a_function_reaches() -> None:
    old, inner, held = np.random.RandomState(0), np.random.default_rng(0), np.random.default_rng(1)

    class Holder:
        def __init__(self) -> None:
            self.deep = {"random": [held]}

        def run(self) -> float:
            return float(inner.random()) + RNG.random()

    def run(p: Any, noise: Any = old) -> Any:
        return Holder().run()

    assert {id(one) for one in hidden.generators(run)} >= {id(old), id(inner), id(RNG)}
    assert id(held) in {id(one) for one in hidden.generators(Holder().run)}
    for one in (old, inner):
        before = hidden.marks([one])
        assert hidden.marks([one]) == before
        one.random()
        assert hidden.marks([one]) != before


@pytest.mark.fast
def test_a_generator_of_its_own_is_seen_though_two_runs_agree() -> None:
    with pytest.raises(scripted.NotReproducible, match="a generator of its own"):
        scripted.law(lambda random: RNG.random() < 2, own=[RNG])


@pytest.mark.fast
def test_convicting_paths_are_run_again_as_often_as_their_distance_asks_for() -> None:
    """A hidden coin that is lossless in the mean, and was recorded at one of its sides, agrees once in a million."""
    asked = math.ceil(-math.log(1e-6) / 0.1)
    rng, path = np.random.default_rng(0), scripted.Path((), True, 1.0)
    passed = 0
    for _ in range(300):
        try:
            passed += scripted.replay(lambda random: rng.random() >= 0.1, [path] * asked) == asked
        except scripted.NotReproducible:
            continue
    assert passed == 0


def watched(subject: Subject, seed: int = 0) -> Watch:
    return Watch(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=seed)


@pytest.mark.fast
def test_a_doubt_asks_for_runs_of_the_outcome_that_comes_too_often() -> None:
    """Of a token that is emitted for certain, and has probability a half: one run in two would end otherwise."""
    calls: list[int] = []

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        calls.append(1)
        return int(drafts[0])

    watch = watched(made("step", run, takes_q=False))
    seen = watch(next(standard(watch.subject)))
    found = look(seen)
    share = 1 - seen.goal(1)[max(seen.law).text] if len(seen.law) == 1 else found.distance
    calls.clear()
    assert doubts.doubt(watch, seen, found.distance, watch) == ""
    assert len(calls) == math.ceil(-math.log(doubts.PART * 1e-6) / share) + 2 * len(seen.law)
    assert not watch.hidden


@pytest.mark.fast
def test_a_doubt_follows_the_paths_that_convict(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no others: all of them lead to a text that comes too often."""
    ended: list[Any] = []
    replay = scripted.replay

    def noted(program: Any, paths: Any, *, deadline: float) -> int:
        ended.extend(path.result.text[0] for path in paths)
        return replay(program, paths, deadline=deadline)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=p))

    monkeypatch.setattr(scripted, "replay", noted)
    watch = watched(made("step", run))
    seen = watch(next(standard(watch.subject)))
    assert doubts.doubt(watch, seen, look(seen).distance, watch) == ""
    (token,) = set(ended)
    assert seen.joint(1)[(token,)] > seen.goal(1)[(token,)]


@pytest.mark.fast
def test_a_law_that_is_another_one_when_found_anew_convicts_nobody() -> None:
    """The paths that lead to the outcome of the first law are not those of the second."""
    flips = [False]

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        return int(drafts[0]) if not flips[0] else (int(drafts[0]) + 1) % len(p)

    watch = watched(made("step", run, takes_q=False))
    seen = watch(next(standard(watch.subject)))
    flips[0] = True
    assert doubts.doubt(watch, seen, look(seen).distance, watch) == doubts.AGAIN
    assert watch.hidden


@pytest.mark.fast
def test_a_watch_runs_its_first_path_again() -> None:
    """What changes at the tenth call is seen, though there is one path alone."""
    calls: list[int] = []

    def run(p: Array, q: None, drafts: Array, random: Any) -> int:
        calls.append(1)
        return int(drafts[0]) if len(calls) != REPLAYS else (int(drafts[0]) + 1) % len(p)

    watch = watched(made("step", run, takes_q=False))
    watch(next(standard(watch.subject)))
    assert watch.hidden
    assert watch.kinds == ["Monte Carlo"]


@pytest.mark.fast
def test_no_time_for_enough_runs_is_no_conviction() -> None:
    watch = watched(made("step", step(lambda r: r[0].random(), lambda law: int(law.argmax()))))
    seen = watch(next(standard(watch.subject)))
    watch.deadline = clock.now() + 0.2
    seen = seen._replace(rounding=1.0)  # no text comes too often
    assert "convicts nobody before" in doubts.doubt(watch, seen, 1e-7, watch)


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
    assert "convicts nobody before" in found.words
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


@pytest.mark.fast
def test_a_stand_in_of_an_earlier_run_is_refused() -> None:
    kept: list[Any] = []

    def program(random: Any) -> bool:
        kept.append(random.random())
        return bool(kept[0] < 0.5)

    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        scripted.law(program)
    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        scripted.law(lambda random: bool(kept[0] < 0.5))
    with pytest.raises(scripted.NotScriptable, match="kept from an earlier call"):
        print(kept[0] < 0.5)


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


def test_a_prefix_cache_by_tokens_is_refused_by_name() -> None:
    run = decoder(caches(lambda target, text: text))
    report = judge(made("decoder", run), properties=["marginal", "joint"])
    assert report.outcome == "inconclusive"
    assert all("it keeps rows of its target over calls" in verdict.words for verdict in report.verdicts)


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


@pytest.mark.fast
def test_a_drafter_of_random_length_keeps_its_contract() -> None:
    watch = watched(made("drafter", stopping, sizes=(2,)))
    found = contract.look(watch(next(standard(watch.subject))))
    assert found.distance < found.allowed


@pytest.mark.fast
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
