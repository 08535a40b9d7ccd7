"""`specsim conform --config`: the price of a lossy configuration, on rows by hand and on the reference rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.conform.configs.price import NotPriced, price, reference_rows
from specsim.conform.configs.record import Law


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["conform", *arguments])
    return done.exit_code, done.output


def test_the_price_is_that_of_the_rule() -> None:
    """By hand: two rows, the draft's likeliest token 0 in both."""
    p, q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    threshold = Law("accept_threshold", {"threshold_single": 0.5, "threshold_acc": 0.4}, "greedy", "sampling")
    found = price(threshold, p, q, "two rows")
    assert (found.rows, found.acceptance, found.acceptance_lossless) == (2, 0.75, pytest.approx(0.4))
    assert found.total_variation == pytest.approx(0.35)
    relaxed = Law("relaxed", {"relaxed_topk": 3, "relaxed_delta": 0.3}, "greedy", "greedy")
    found = price(relaxed, p, q, "two rows")
    assert (found.acceptance, found.acceptance_lossless, found.total_variation) == (1.0, 0.5, 0.5)


def test_siblings_are_priced_together() -> None:
    """By hand: two rows, the draft's likeliest two tokens 0 and 1 in that order, with the sums .2, .7 and .6, .7."""
    p, q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    law = Law("accept_threshold", {"threshold_single": 1.0, "threshold_acc": 0.8}, "greedy", "sampling", children=2)
    found = price(law, p, q, "two rows")
    assert found.rows == 2
    assert (found.acceptance, found.acceptance_lossless) == (pytest.approx(0.7 / 0.8), pytest.approx(0.7))
    assert found.total_variation == pytest.approx(0.7 / 0.8 - 0.7)
    # The second child is kept with 1 - .2 / .4 in the first row, as p asks; in the second row never.
    found = price(law._replace(params={"threshold_single": 1.0, "threshold_acc": 0.4}), p, q, "two rows")
    assert (found.acceptance, found.total_variation) == (1.0, pytest.approx((0.3 + 0.4) / 2))
    assert found.draft == "one of its 2 likeliest tokens, siblings"
    assert price(law._replace(children=9), p, q, "two rows").acceptance == pytest.approx(1.0)


@pytest.mark.parametrize(("topk", "words"), [("4", "one of its 4 likeliest tokens, siblings"), ("1", "its likeliest")])
def test_the_siblings_of_sglang_are_priced(topk: str, words: str, tmp_path: Path) -> None:
    config = tmp_path / "args.txt"
    start = "python -m sglang.launch_server --speculative-algorithm EAGLE --speculative-accept-threshold-acc 0.5"
    config.write_text(f"{start} --speculative-eagle-topk {topk}")
    status, said = run("--config", str(config))
    assert (status, words in said, "is not given" in said) == (1, True, False), said
    config.write_text(start)
    said = run("--config", str(config))[1]
    assert "speculative_eagle_topk is not given, the price is that of 1" in said
    assert "the draft is its likeliest token" in said
    nothing = tmp_path / "nothing.json"
    given = {"speculative_algorithm": "EAGLE", "speculative_accept_threshold_acc": 0.5, "speculative_eagle_topk": None}
    nothing.write_text(json.dumps(given))
    assert "speculative_eagle_topk is not given" in run("--config", str(nothing))[1]
    config.write_text(f"{start} --speculative-eagle-topk 0")
    status, said = run("--config", str(config))
    assert (status, "speculative_eagle_topk must be a whole number of at least 1, got 0" in said) == (3, True)


def test_fly_is_priced_on_blocks() -> None:
    """By hand: three fair coins against drafts that are sure; half of the first fail, half of these are deferred."""
    p, q = np.full((3, 2), 0.5), np.array([[0.9, 0.1]] * 3)
    params = {"fly_window_size": 1, "fly_entropy_threshold": 0.6, "fly_entropy_top_k": 3}
    found = price(Law("fly", params, "greedy", "sampling"), p, q, "three rows")
    assert (found.rows, found.acceptance, found.acceptance_lossless, found.total_variation) == (1, 0.75, 0.5, 0.25)
    found = price(Law("fly", params, "sampled", "sampling"), p, q, "three rows")
    assert found.total_variation == pytest.approx(0.4 * 0.6)
    with pytest.raises(NotPriced, match=r"^a window of 1 drafts needs 3 rows in a row, got 2; give more by --rows$"):
        price(Law("fly", params, "greedy", "sampling"), p[:2], q[:2], "two rows")


@pytest.mark.parametrize(
    ("window", "words"), [(14, "mean over blocks that begin at 8 of them;"), (15, "needs 17 rows in a row, got 16")]
)
def test_a_window_longer_than_the_reference_rows_is_still_lossy(window: int, words: str, tmp_path: Path) -> None:
    config = tmp_path / "given.json"
    told = {"num_speculative_tokens": 40, "rejection_sample_method": "fly", "fly_window_size": window}
    config.write_text(json.dumps(told))
    status, said = run("--config", str(config))
    assert (status, "given.json (vLLM): lossy" in said, words in said) == (1, True, True), said
    answer = json.loads(run("--config", str(config), "--json")[1])
    assert (answer["outcome"], answer["price"] is None) == ("lossy", window == 15)
    assert (answer["not_priced"] or "").startswith("a window of 15 drafts") == (window == 15)


def test_the_reference_rows_are_laws_of_a_real_pair() -> None:
    p, q = reference_rows()
    assert p.shape == q.shape == (8, 16, 48)
    for w in (p, q):
        assert (w >= 0).all()
        assert np.allclose(w.sum(axis=-1), 1)
    assert 0.4 < np.minimum(p, q).sum(axis=-1).mean() < 0.8
