"""Simulated decoding against exact numbers: tokens per block, hazards, the law of the texts; NumPy against JAX."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import (
    acceptance_rate,
    block_chain,
    block_efficiency,
    discover,
    expected_tokens,
    markov,
    merge_traces,
    mixture,
    simulate,
    stationary_tau,
)
from specsim.base.arrays import pick
from specsim.commands.simulate import Simulate
from specsim.commands.simulate_run import run
from specsim.simulation import decode_loop, shards
from specsim.simulation.pair_tables import summed
from specsim.simulation.rows import count_up_to
from specsim.testing import assert_law
from specsim.types import Array
from specsim.verify.chain import block, tokenwise
from specsim.verify.lookup import takes
from specsim.verify.step import rejection

SURE = 1 - 1e-6  # level of the intervals in these tests: one false alarm in a million
RNG = np.random.default_rng(5)  # V = 3, and the last two tokens count
TARGET, DRAFT = (markov(table) for table in RNG.dirichlet(np.ones(3), (2, 3, 3)))
P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]

FORK, PATHS = (-1, -1, 0), (-1, 0, -1, 2)
PLAIN = [name for name, rule in discover.rules("chain").items() if not discover.facts(rule).continuation]
LOOPS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"gamma": 3}) for name in PLAIN),
    *(
        (name, {"gamma": 2, "num_drafts": k})
        for name, rule in discover.rules("step").items()
        for k in (1, 2)
        if takes(rule, k)
    ),
    *(  # with other children: tests/simulation/test_simulate_exact.py
        (name, {"parents": PATHS if rule.CHILDREN[0] == "paths" else FORK, "scheme": rule.CHILDREN[0]})
        for name, rule in discover.rules("tree").items()
    ),
]


@pytest.mark.parametrize(("rule", "options"), LOOPS, ids=[f"{r}-{'-'.join(map(str, o.values()))}" for r, o in LOOPS])
def test_tau_of_every_rule_is_the_exact_one(rule: str, options: dict[str, Any]) -> None:
    """In contexts that change: the mean of as many blocks from the same start, from the chain of block starts."""
    trace = simulate(TARGET, DRAFT, rule=rule, blocks=8_000, sequences=400, **options)
    chain = block_chain(TARGET, DRAFT, rule=rule, **options)
    low, high = trace.tau_interval(SURE)
    assert low <= chain.mean(20) <= high
    assert trace.blocks == trace.histogram.sum() == 8_000
    law = np.mean([np.linalg.matrix_power(chain.jump, b)[chain.start] for b in range(20)], axis=0)
    assert abs(trace.starts / trace.blocks - law).max() < 0.03  # where blocks start


@pytest.mark.parametrize("rule", discover.names("chain"))
def test_first_blocks_keep_what_is_expected(rule: str) -> None:
    """One block a text, in one context: also for rules that change the target of the blocks after it."""
    trace = simulate(P, Q, rule=rule, gamma=4, blocks=20_000, sequences=20_000)
    low, high = trace.tau_interval(SURE)
    assert low < expected_tokens(P, Q, gamma=4, rule=rule) < high


def test_hazards_of_constant_acceptance() -> None:
    """Tokenwise in one context: every draft is kept with probability sum min(p, q), whichever it is."""
    trace = simulate(P, Q, rule="tokenwise", gamma=3, blocks=20_000, sequences=200)
    for low, high in trace.hazard_intervals(SURE):
        assert low < 0.6 < high < low + 0.2
    assert np.allclose(trace.hazards, [h.mean() for h in trace.hazard_intervals(0.5)], atol=0.01)


def test_distinct_candidates_hit_as_often_as_they_should() -> None:
    trace = simulate(P, Q, rule="optimal", scheme="distinct", num_drafts=2, gamma=2, blocks=10_000, sequences=200)
    alpha = acceptance_rate(P, Q, rule="optimal", num_drafts=2, scheme="distinct")
    low, high = trace.tau_interval(SURE)
    assert low < block_efficiency(alpha, gamma=2) < high
    assert alpha > acceptance_rate(P, Q, rule="optimal", num_drafts=2) + 0.02
    with pytest.raises(ValueError, match="drafts to sum over, more than"):
        block_chain(P, Q, rule="optimal", scheme="distinct", num_drafts=2, gamma=2)


def test_blocks_start_in_hard_contexts() -> None:
    """Averaging over the target's positions is 5 % off here; the simulator agrees with the exact value, not with it."""
    stay = [[0.9, 0.1], [0.1, 0.9]]
    target, draft = (mixture(stay, [[0.5, 0.5], hard]) for hard in ([0.5, 0.5], [0.9, 0.1]))
    trace = simulate(target, draft, rule="block", gamma=4, blocks=60_000, sequences=200)
    low, high = trace.tau_interval(SURE)
    tau = block_chain(target, draft, rule="block", gamma=4).tau
    assert low < stationary_tau(target, draft, rule="block", gamma=4) < high < 0.95 * tau.mean()


def texts(rule: str | ModuleType, **options: Any) -> tuple[Array, Array]:
    """The first three tokens of 20,000 texts as outcomes 0..26, and their law under the target."""
    trace = simulate(TARGET, DRAFT, rule=rule, tokens=3 * 20_000, sequences=20_000, keep_tokens=True, seed=2, **options)
    assert (trace.lengths >= 3).all()
    assert ((trace.tokens >= 0).sum(axis=1) == trace.lengths).all()
    law = [math.prod(float(TARGET(w[:i])[y]) for i, y in enumerate(w)) for w in np.ndindex(3, 3, 3)]
    return trace.tokens[:, :3] @ [9, 3, 1], np.array(law)


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("tokenwise", {"gamma": 1}),
        ("block", {"gamma": 2}),
        ("greedy_block", {"gamma": 2}),
        ("recursive", {"gamma": 1, "num_drafts": 2}),
    ],
)
def test_texts_follow_the_target(rule: str, options: dict[str, Any]) -> None:
    """Over two blocks or three. False-alarm rate 1e-9; a law 0.08 away is found as surely."""
    assert assert_law(*texts(rule, **options), false_alarm=1e-9).detectable < 0.08


def wrong(name: str) -> ModuleType:
    rule = ModuleType(name)
    rule.__dict__.update({k: v for k, v in vars(tokenwise).items() if not k.startswith("__")})
    if name == "accepts_everything":
        rule.__dict__["verify"] = lambda plan, x, u: tokenwise.verify(plan._replace(q=0 * plan.q), x, u)
    elif name == "rows_reversed":
        rule.__dict__["verify"] = lambda plan, x, u: tokenwise.verify(plan._replace(p=plan.p[..., ::-1, :]), x, u)
    else:
        greedy = discover.find("chain", "greedy_block")
        rule.__dict__.update(prepare=greedy.prepare, verify=greedy.verify)
    return rule


@pytest.mark.parametrize("name", ["accepts_everything", "rows_reversed", "greedy_block_without_continuation"])
def test_wrong_rules_are_caught(name: str) -> None:
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_law(*texts(wrong(name), gamma=2), false_alarm=1e-9)


def test_uniforms_used_twice_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of a text with the uniforms of its first."""
    own = shards.uniforms

    def uniforms_of_first(seed: int, sequences: range, blocks: range, count: int) -> Any:
        return np.repeat(own(seed, sequences, range(1), count), len(blocks), axis=0)

    monkeypatch.setattr(shards, "uniforms", uniforms_of_first)
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_law(*texts(block, gamma=1), false_alarm=1e-9)


@pytest.mark.parametrize("rule", [tokenwise, rejection, block], ids=["tokenwise", "rejection", "block"])
@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_looking_up_writes_the_same_texts(gamma: int, rule: ModuleType) -> None:
    """Tokens searched in cumulative rows are those that `verify` and `pick` give on whole rows, to the last one."""
    other, what = ModuleType("whole_rows"), {"gamma": gamma, "blocks": 20_000, "keep_tokens": True}
    other.__dict__.update(
        {k: v for k, v in vars(rule).items() if k not in ("keeps", "left_over", "scales", "__file__")}
    )
    for target, draft in ((TARGET, DRAFT), (P, Q), (P, P), ([1.0, 0.0, 0.0], Q)):
        looked, whole = (simulate(target, draft, rule=r, **what) for r in (rule, other))
        assert (looked.tokens == whole.tokens).all()
        assert (looked.kept == whole.kept).all()


def test_search_is_pick() -> None:
    """At the edges and on zeros, for every size of vocabulary; one that counts entries below its bound would not be."""
    rng, told = np.random.default_rng(0), 0
    for vocab in range(1, 20):
        rows = rng.dirichlet(np.ones(vocab), 50) * (rng.random((50, vocab)) < 0.7)
        rows[rows.sum(axis=-1) == 0, 0] = 1
        sums, index = summed(rows), rng.integers(0, 50, 200)
        for u in (rng.random(200), np.zeros(200), np.full(200, 1 - 2.0**-53)):
            token = count_up_to(sums, index, u)
            assert (token == pick(rows[index], u)).all()
            assert (rows[index, token] > 0).all()
            cdf = rows.cumsum(axis=-1)[index]
            left = (cdf < u[:, None] * cdf[:, -1:]).sum(axis=-1)
            told += not u.any() and (left != token).any()
    assert told >= 15  # of 19 vocabularies


JAX: list[tuple[str, dict[str, Any]]] = [
    ("tokenwise", {"gamma": 3}),
    ("block", {"gamma": 3}),
    ("greedy_block", {"gamma": 3}),
    ("recursive", {"gamma": 2, "num_drafts": 2}),
    *((r, o) for r, o in LOOPS if r == "traversal" and o["scheme"] == "without_replacement"),
]


@pytest.mark.parametrize(("rule", "options"), JAX, ids=[rule for rule, _ in JAX])
def test_jax_writes_the_same_texts(rule: str, options: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    one, other = (
        simulate(TARGET, DRAFT, rule=rule, blocks=6400, sequences=128, keep_tokens=True, backend=backend, **options)
        for backend in ("numpy", "jax")
    )
    assert (one.tokens == other.tokens).all()
    assert (one.kept == other.kept).all()
    assert (one.starts == other.starts).all()


def test_shards_are_one_run() -> None:
    whole = simulate(P, Q, rule="block", gamma=2, blocks=3000, sequences=600, seed=7, keep_tokens=True)
    parts = [
        simulate(P, Q, rule="block", gamma=2, blocks=5 * len(part), sequences=part, seed=7, keep_tokens=True)
        for part in (range(300, 600), range(10), range(10, 300))
    ]
    pooled = merge_traces(merge_traces(parts[0], parts[1]), parts[2])
    for name in ("settings", "sequences", "kept", "states", "starts", "tokens"):
        assert np.array_equal(getattr(pooled, name), getattr(whole, name)), name


def test_longer_runs_begin_like_shorter_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long, stopped = (
        simulate(P, Q, rule="greedy_block", gamma=3, sequences=20, keep_tokens=True, **much).tokens
        for much in ({"blocks": 200}, {"blocks": 800}, {"tokens": 200})
    )
    assert short is not None
    assert long is not None
    assert stopped is not None
    for a, b, c in zip(short, long, stopped, strict=True):
        n, m = (a >= 0).sum(), (c >= 0).sum()
        assert (a[:n] == b[:n]).all()
        assert (c[:m] == b[:m]).all()
        assert 10 <= m < 10 + 4
    monkeypatch.setattr(shards, "CHUNK", 500)  # a few rounds at a time
    assert np.array_equal(
        long, simulate(P, Q, rule="greedy_block", gamma=3, sequences=20, keep_tokens=True, blocks=800).tokens
    )


@pytest.mark.parametrize("chunk", [300, 2**18])
def test_burn_in_is_run_and_not_counted(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is what the same texts do after their first seven blocks."""
    monkeypatch.setattr(shards, "CHUNK", chunk)
    what: dict[str, Any] = {"rule": "greedy_block", "gamma": 3, "sequences": 20, "keep_tokens": True}
    first, whole, late = (
        simulate(TARGET, DRAFT, blocks=20 * n, burn_in=m, **what) for n, m in ((7, 0), (30, 0), (23, 7))
    )
    assert np.array_equal(late.kept, whole.kept - first.kept)
    assert np.array_equal(late.starts, whole.starts - first.starts)
    short = simulate(TARGET, DRAFT, tokens=20 * 9, burn_in=7, **what)
    for a, b, c, d in zip(first.tokens, whole.tokens, late.tokens, short.tokens, strict=True):
        n = (a >= 0).sum()
        assert b[b >= 0][n:].tolist() == c[c >= 0].tolist()
        m = (d >= 0).sum()
        assert 9 <= m < 9 + 4
        assert d[:m].tolist() == c[:m].tolist()


def test_gamma_0_is_plain_decoding(tmp_path: Path) -> None:
    trace = simulate(TARGET, DRAFT, rule="tokenwise", gamma=0, blocks=1000, sequences=10)
    assert (trace.tau, trace.histogram.tolist(), trace.hazards.tolist()) == (1.0, [1000], [])


def test_the_command_checks_what_it_simulates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation and the exact value beside it read one setup."""
    calls = list[str]()

    def counted(honest: Any, *args: Any) -> Any:
        calls.append(honest.__name__)
        return honest(*args)

    for name in ("paired", "loop", "check_support"):
        monkeypatch.setattr(decode_loop, name, partial(counted, getattr(decode_loop, name)))
    words = Simulate(target="law:1/3,2/3", draft="law:2/3,1/3", rule="block", gamma=2, blocks=2000.0, as_json=True)
    text, finished = run(words)
    assert finished
    assert json.loads(text)["tau_exact"] == pytest.approx(20 / 9)
    assert sorted(calls) == ["check_support", "loop", "paired"]
