"""Intervals, checkpoints, interruptions, and the command `specsim simulate`."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction as F
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import specsim.cli
from specsim import Trace, block_chain, merge_traces, mixture, simulate, stationary_tau
from specsim.commands import simulate_run as command
from specsim.simulation import run, trace

P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
RUN: dict[str, Any] = {"rule": "block", "gamma": 2, "blocks": 4000, "sequences": 1000}  # four shards


def same(a: Trace, b: Trace) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a[:-1], b[:-1], strict=True))


def test_intervals_are_the_textbook_ones() -> None:
    for freedom in (1, 2, 3, 10, 255):
        for level in (0.5, 0.9, 0.99, 0.9999):
            wanted = stats.t.isf((1 - level) / 2, freedom)
            assert trace.student_quantile(level, freedom) == pytest.approx(wanted, rel=1e-9)
    counts = np.array([[3, 1]] * 7 + [[1, 3]] * 3)  # steadier between sequences than coins: plain Wilson
    kept = Trace("{}", np.arange(10), counts, np.zeros((1, 2)), np.array([40]), None, 0.0)
    z = trace.student_quantile(0.95, 9)
    wilson = stats.binomtest(16, 40).proportion_ci(2 * stats.norm.cdf(z) - 1, method="wilson")
    assert kept.hazard_intervals(0.95)[0] == pytest.approx([wilson.low, wilson.high])
    assert kept.tau == 1.4
    lengths = kept.lengths / 4
    half = z * lengths.std(ddof=1) / math.sqrt(10)
    assert kept.tau_interval(0.95) == pytest.approx((1.4 - half, 1.4 + half))


def test_blocks_that_share_contexts_widen_the_interval() -> None:
    together = Trace("{}", np.arange(10), np.array([[4, 0]] * 5 + [[0, 4]] * 5), None, None, None, 0.0)
    apart = together._replace(kept=np.array([[2, 2]] * 10))
    for low, high in zip(together.hazard_intervals()[0] - 0.5, apart.hazard_intervals()[0] - 0.5, strict=True):
        assert abs(low) > 1.3 * abs(high)
    single = together._replace(kept=together.kept[:1])
    assert single.tau_interval() == (-math.inf, math.inf)
    assert single.hazard_intervals().tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize(("backend", "threads"), [("numpy", 1), ("jax", 3)])
def test_only_jax_shares_a_shard_among_threads(monkeypatch: pytest.MonkeyPatch, backend: str, threads: int) -> None:
    pytest.importorskip(backend)
    seen, shard = [], run.shard
    monkeypatch.setattr(run, "CORES", 3)
    monkeypatch.setattr(run, "shard", lambda job, *rest: seen.append(job.threads) or shard(job, *rest))
    simulate(P, Q, **RUN, backend=backend)
    assert set(seen) == {threads}


def test_coverage() -> None:
    """Of 200 intervals of level 0.9 that many hold the truth as binomial counts do, but for a chance of 1e-6."""
    inside = 0
    for seed in range(200):
        low, high = simulate(P, Q, rule="tokenwise", gamma=1, blocks=300, sequences=30, seed=seed).tau_interval(0.9)
        inside += low < 1.6 < high
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], 200, 0.9)
    assert least <= inside <= most


def test_traces_pool_only_what_belongs_together() -> None:
    a = simulate(P, Q, **RUN)
    with pytest.raises(ValueError, match=r"^sequence 0 is in both traces$"):
        merge_traces(a, a)
    b = simulate(P, Q, **RUN | {"gamma": 3, "sequences": range(1000, 2000)})
    with pytest.raises(ValueError, match=r"cannot be pooled: gamma is 2 in one and 3 in the other$"):
        merge_traces(a, b)
    c = simulate(P, P, **RUN | {"sequences": range(1000, 2000)})
    with pytest.raises(ValueError, match=r"cannot be pooled: models \(SHA-256\) is "):
        merge_traces(a, c)


@pytest.mark.parametrize("keep_tokens", [False, True])
def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, keep_tokens: bool) -> None:
    path, seen = tmp_path / "run.npz", []

    def stop(share: float, so_far: Trace | None) -> None:
        seen.append((share, so_far))
        if share > 0.6:
            raise KeyboardInterrupt

    options = RUN | {"keep_tokens": keep_tokens}
    with pytest.raises(KeyboardInterrupt):
        simulate(P, Q, checkpoint=path, progress=stop, **options)
    left = seen[-1][1]
    assert left is not None
    assert left.sequences.tolist() == list(range(512))  # the third shard was not finished
    assert same(trace.load(path), left)

    shares: list[float] = []
    whole = simulate(P, Q, checkpoint=path, progress=lambda share, _: shares.append(share), **options)
    assert shares == [0.0, 0.5, 0.5, 1.0, 1.0]  # what there was, and two shards more
    assert same(whole, simulate(P, Q, **options))
    assert same(simulate(P, Q, checkpoint=path, **options), whole)  # nothing left to run
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_checkpoints_of_other_simulations_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulate(P, Q, checkpoint=path, **RUN)
    before = path.read_bytes()
    for change, message in (
        ({"seed": 1}, r"is of another simulation: seed is 0 in one and 1 in the other$"),
        ({"blocks": 9000}, r"is of another simulation: blocks per sequence is 4 in one and 9 in the other$"),
        ({"rule": "tokenwise"}, r"is of another simulation: rule is specsim\.verify\.chain\.block in one"),
        ({"sequences": 500, "blocks": 2000}, r"holds sequence 500, which is not in range\(0, 500\)$"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(P, Q, checkpoint=path, **RUN | change)
    assert path.read_bytes() == before
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays | {"kept": arrays["kept"][:5]})
    with pytest.raises(ValueError, match=r"holds no trace \(its arrays have different numbers of sequences\)$"):
        simulate(P, Q, checkpoint=path, **RUN)
    path.write_text("nothing")
    with pytest.raises(ValueError, match=r"run\.npz holds no trace"):
        simulate(P, Q, checkpoint=path, **RUN)
    with pytest.raises(ValueError, match=r"is a directory; give a file name$"):
        simulate(P, Q, checkpoint=tmp_path, **RUN)


def invoke(*words: str) -> Any:
    return CliRunner().invoke(specsim.cli.app, ["simulate", *words])


LAWS = ["--target", "law:1/3,2/3", "--draft", "law:2/3,1/3"]


def test_command_prints_the_exact_value_beside() -> None:
    shown = invoke(*LAWS, "--rule", "block", "--gamma", "2", "--blocks", "2e4")
    assert shown.exit_code == 0, shown.output
    assert "blocks 20480" in shown.output
    assert "exact 2.2222" in shown.output
    assert "kept  of blocks  draft  kept if reached      99% interval" in shown.output
    read = json.loads(invoke(*LAWS, "--rule", "block", "--gamma", "2", "--blocks", "2e4", "--json").output)
    assert read["tau_exact"] == pytest.approx(20 / 9)
    assert read["tau"]["low"] < read["tau"]["value"] < read["tau"]["high"]
    assert sum(read["kept"]) == read["blocks"] == 20480
    assert read["finished"]


@pytest.mark.parametrize(
    ("words", "exact"),
    [
        (["--rule", "recursive", "--gamma", "2", "--num-drafts", "2"], True),
        (["--rule", "tokenwise", "--gamma", "30"], True),  # too many drafts to sum over, but one context
        (["--rule", "greedy_block", "--gamma", "2"], False),
        (["--rule", "traversal", "--tree", "2,1"], True),
        (["--rule", "traversal", "--tree", "2x2", "--scheme", "paths"], True),
        (["--rule", "tokenwise", "--tree", "2,1", "--scheme", "iid", "--step", "kseq"], True),
        (["--rule", "traversal", "--tree", "2x2", "--scheme", "beam"], False),
        (["--rule", "recursive", "--gamma", "2", "--num-drafts", "20"], False),
    ],
)
def test_command_runs_every_family(words: list[str], exact: bool) -> None:
    read = json.loads(invoke(*LAWS, *words, "--blocks", "2000", "--sequences", "100", "--json").output)
    assert (read["tau_exact"] is not None) == exact
    if exact:
        spread = read["tau"]["high"] - read["tau"]["value"]
        assert abs(read["tau"]["value"] - read["tau_exact"]) < 3 * spread


def test_command_counts_tokens_and_forgets_the_beginning(tmp_path: Path) -> None:
    """Tokens have an exact value beside them where all blocks are alike; a burn-in moves it towards the long run."""
    read = json.loads(invoke(*LAWS, "--gamma", "2", "--tokens", "2e4", "--json").output)
    assert 20_000 <= read["tokens"] <= 23_072  # rounded up to 20 a text, and at most two more
    assert read["tau_exact"] == pytest.approx(19 / 9)
    np.save(tmp_path / "p.npy", [[0.9, 0.1], [0.1, 0.9]])
    np.save(tmp_path / "q.npy", [[0.9, 0.1], [0.9, 0.1]])
    words = ["--target", f"markov:{tmp_path / 'p.npy'}", "--draft", f"markov:{tmp_path / 'q.npy'}", "--gamma", "3"]
    assert json.loads(invoke(*words, "--tokens", "2e4", "--json").output)["tau_exact"] is None
    exact = []
    for burn_in in (0, 50):
        more = ["--blocks", "3000", "--burn-in", str(burn_in), "--json"]
        read = json.loads(invoke(*words, *more).output)
        assert read["tau"]["low"] < read["tau_exact"] < read["tau"]["high"]
        exact.append(read["tau_exact"])
    long_run = stationary_tau(*command.models(*words[1:4:2]), rule="tokenwise", gamma=3)
    assert exact[0] - 0.1 > exact[1] == pytest.approx(long_run)


def test_models_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", [[0.5, 0.5], [0.25, 0.75]])
    (tmp_path / "a.txt").write_text("abcab")
    (tmp_path / "b.txt").write_text("bd")
    target, draft = command.models(f"markov:{tmp_path / 't.npy'}", "law:.5,1/2")
    assert target((1,)).tolist() == [0.25, 0.75]
    assert draft(()).tolist() == [F(1, 2), F(1, 2)]
    weights, rows = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    np.save(tmp_path / "w.npy", weights)
    np.save(tmp_path / "r.npy", rows)
    target, draft = command.models(
        f"mixture:{tmp_path / 'w.npy'}:{tmp_path / 't.npy'}", f"recorded:{tmp_path / 'r.npy'}"
    )
    assert np.array_equal(target.rows, mixture(weights, np.load(tmp_path / "t.npy")).rows)
    assert draft((0, 1)).tolist() == [1.0, 0.0]
    target, draft = command.models(f"text:{tmp_path / 'a.txt'}:2", f"text:{tmp_path / 'b.txt'}:1")
    assert (target.rows.shape, draft.rows.shape) == ((16, 4), (4, 4))  # of a, b, c, d


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "1,2", *LAWS[2:]], "target '1,2' is no model; give law:"),
        (["--target", "law:x", *LAWS[2:]], "target law:x: could not convert string to float: 'x'"),
        (["--target", "law:1/0", *LAWS[2:]], "target law:1/0: Fraction(1, 0)"),
        (["--target", "law:.5,.4", *LAWS[2:]], "sums to 0.9; probabilities must sum to 1"),
        (["--target", "markov:none.npy", *LAWS[2:]], "target: none.npy cannot be read as an array"),
        (["--target", "text:none.txt", *LAWS[2:]], "must end in the order, as in text:FILE:2"),
        (["--target", "text:none.txt:1", *LAWS[2:]], "target: none.txt cannot be read as text"),
        ([*LAWS, "--blocks", "1.5"], "blocks must be a whole number, got 1.5"),
        ([*LAWS, "--blocks", "inf"], "blocks must be a whole number, got inf"),
        ([*LAWS, "--tokens", "1.5"], "tokens must be a whole number, got 1.5"),
        ([*LAWS, "--gamma", "1", "--tokens", "9", "--blocks", "9"], "give blocks or tokens, one of the two"),
        ([*LAWS, "--tree", "99999,9999"], "tree '99999,9999' has 999990000 nodes, more than 4096"),
        ([*LAWS, "--tree", "99999x9999"], "tree '99999x9999' has 999890001 nodes, more than 4096"),
        ([*LAWS, "--rule", "traversal", "--tree", "2x0"], "parents must list those of a tree's nodes, got []"),
        (["--target", "mixture:none.npy:none.npy", *LAWS[2:]], "target: none.npy cannot be read as an array"),
        (["--target", "recorded:none.npy", *LAWS[2:]], "target: none.npy cannot be read as an array"),
        ([*LAWS, "--tree", "2,x"], "tree '2,x' must be children per node, level by level, as 2,2,1, or paths"),
        (LAWS, "give --gamma (drafts of a block) or --tree (children per level, as 2,2,1), not both"),
        ([*LAWS, "--rule", "lifted", "--gamma", "2"], "rule 'lifted' verifies trees: give a tree's parents, not gamma"),
        ([*LAWS, "--rule", "block", "--tree", "2,1"], "rule 'block' is a chain rule: give gamma, not a tree"),
        ([*LAWS, "--rule", "traversal", "--tree", "2", "--step", "kseq"], "rule 'traversal' asks for no step rule"),
    ],
)
def test_command_refuses_bad_input_in_one_line(words: list[str], message: str) -> None:
    shown = invoke(*words)
    assert shown.exit_code == 2
    assert message in shown.output
    assert len(shown.output.strip().splitlines()) == 1


def test_command_shows_what_an_interruption_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = run.shard

    def second_fails(job: Any, part: range, *rest: Any) -> Trace:
        if part.start:
            raise KeyboardInterrupt
        return own(job, part, *rest)

    monkeypatch.setattr(run, "shard", second_fails)
    words = [*LAWS, "--gamma", "2", "--blocks", "1000", "--checkpoint", str(tmp_path / "kept.npz")]
    shown = invoke(*words)
    assert shown.exit_code == 130
    assert "interrupted; what was finished:" in shown.output
    assert "blocks 256 " in shown.output
    monkeypatch.setattr(run, "shard", own)
    again = invoke(*words)
    assert again.exit_code == 0
    assert "blocks 1024 " in again.output


def test_a_checkpoint_of_another_rule_of_the_same_name_is_refused(tmp_path: Path) -> None:
    """Two rule files called `mine`: the second run must not be answered with the first one's tokens."""

    def mine(change: str) -> Any:
        path = tmp_path / change / "mine.py"
        path.parent.mkdir()
        path.write_text(f"from specsim.verify.chain.tokenwise import *\nCHANGE = {change!r}\n")
        spec = importlib.util.spec_from_file_location("mine", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    out = tmp_path / "run.npz"
    what: dict[str, Any] = {"gamma": 2, "blocks": 100, "sequences": 10, "checkpoint": out}
    simulate([0.5, 0.5], [0.9, 0.1], rule=mine("one"), **what)
    with pytest.warns(UserWarning, match=rf"^checkpoint {out} is begun anew: the source of rule has changed since it"):
        simulate([0.5, 0.5], [0.9, 0.1], rule=mine("two"), **what)


def test_more_drafts_than_the_support_are_refused() -> None:
    for how, what in (
        ("without replacement", {"gamma": 1, "num_drafts": 3, "rule": "recursive_wor"}),
        ("without replacement", {"parents": [-1] * 3, "rule": "traversal"}),
        ("greedy", {"gamma": 1, "num_drafts": 3, "rule": "greedy_draft"}),
    ):
        for call in (partial(simulate, blocks=10), block_chain):
            with pytest.raises(ValueError, match=rf"^3 different drafts \({how}\) are more than the 2 tokens"):
                call([0.5, 0.25, 0.25], [0.9, 0.1, 0.0], **what)
