"""Rows without drafts stand beside others in `assert_lossless_batch`, and emit one token of their target each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, declared, judge, likeness, standard_cases
from specsim.conform.evidence import montecarlo
from specsim.conform.properties import _laws, batches
from specsim.testing import assert_lossless_batch, ragged
from specsim.testing.layouts import Block, Layout

torch = pytest.importorskip("torch")

Verify = Callable[..., Any]
ASKED = ["marginal", "joint", "batches"]


@pytest.fixture(autouse=True)
def few_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk or compared, and laws on three tokens are enough."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)
    monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())
    monkeypatch.setattr(batches, "EQUAL", (3,))


def drawn(weights: Any) -> int:
    return int(torch.multinomial(weights, 1))


def padded(p: Any, q: Any, drafts: Any, counts: Any, *, wrong: str = "", hides: bool = False) -> Any:
    """A loop over rows, wrong where a row has no drafts; `hides` makes coins that no script follows."""
    out, coins, last = torch.full((len(counts), drafts.shape[1] + 1), -1), list[Any](), 0
    for n, count in enumerate(counts.tolist()):
        u = torch.rand(drafts.shape[1] + 1)
        u = (3 * u).cos().acos() / 3 if hides else u
        if wrong == "coins of the row before last" and n > 1 and counts[n - 1] == 0:
            u = coins[n - 2]
        if wrong == "coins of the row before" and n > 0 and count == 0:
            u = coins[n - 1]
        coins.append(u)
        if count == 0 and wrong == "raises":
            raise IndexError("no drafts in this row")
        for k in range(count):
            x = drafts[n, k]
            if not u[k] * q[n, k, x] < p[n, k, x]:
                out[n, k] = drawn((p[n, k] - q[n, k]).clamp(min=0))
                break
            out[n, k] = x
        else:
            law = p[n, count]
            if count == 0 and wrong == "row of the next":
                law = p[min(n + 1, len(p) - 1), 0]
            if count == 0 and wrong == "coins of the row before":
                out[n, 0] = sum(bool(u[0] > cut) for cut in law.cumsum(0)[:-1])
            elif count == 0 and wrong == "argmax":
                out[n, 0] = law.argmax()
            elif count == 0 and wrong == "the last token":
                out[n, 0] = last
            else:
                out[n, count] = drawn(law)
        last = int(out[n][out[n] >= 0][-1])
    return out


def said(verify: Verify, **facts: Any) -> str:
    """Return the first line of a conviction."""
    with pytest.raises(AssertionError) as error:
        assert_lossless_batch(verify, **{"sizes": (1,), "properties": ASKED, **facts})
    return str(error.value)


@pytest.mark.parametrize(
    ("wrong", "asked", "words"),
    [
        ("argmax", "marginal", "3, 0 drafts"),
        ("row of the next", "marginal", "3, 0 drafts"),
        ("the last token", "marginal", "3, 0 drafts"),
        ("coins of the row before last", "batches", "depend on each other"),
        ("coins of the row before", "batches", "depend on each other"),
    ],
)
def test_what_is_wrong_where_a_row_has_no_drafts(wrong: str, asked: str, words: str) -> None:
    """32 A.1: all of them passed, as every row had a draft."""
    line = said(partial(padded, wrong=wrong))
    assert line.startswith("convicted")
    assert f" {asked} " in line
    assert "scripted" in line
    assert words in line


@pytest.mark.parametrize("wrong", ["argmax", "coins of the row before last"])
def test_by_frequencies(wrong: str) -> None:
    """No script follows these coins."""
    line = said(partial(padded, wrong=wrong, hides=True), properties=["batches"] if "coins" in wrong else ["marginal"])
    assert line.startswith("convicted")
    assert ("depend on each other" if "coins" in wrong else "3, 0 drafts") in line


def test_rows_without_drafts_that_are_right() -> None:
    report = assert_lossless_batch(padded, sizes=(1,), properties=ASKED)
    marginal, _, whole = report.verdicts
    assert "V=3, 0 drafts" in marginal.reach
    assert "3 rows without drafts; 2 rows without drafts among 5" in whole.reach
    assert all(verdict.evidence == "scripted" for verdict in report.verdicts)


def test_a_verifier_that_raises_on_them_is_judged_without() -> None:
    """What it refuses is no lossy law, and every acquittal says so."""
    calls = list[int]()

    def verify(p: Any, q: Any, drafts: Any, counts: Any) -> Any:
        calls.append(int((counts == 0).sum()))
        return padded(p, q, drafts, counts, wrong="raises")

    report = assert_lossless_batch(verify, sizes=(1,), properties=["marginal", "joint"])
    words = "rows without drafts: refused by the verifier (raised IndexError: no drafts in this row), not judged"
    assert all(verdict.reach.endswith(words) for verdict in report.verdicts)
    assert "0 drafts" not in "".join(verdict.reach for verdict in report.verdicts)
    assert sum(count > 0 for count in calls) == 1, "it is tried once"
    line = said(verify, sizes=(0, 1), properties=["marginal"])
    assert line.startswith("broken"), "who says that it takes them has to"


def test_sampling_parameters_reach_a_row_without_drafts() -> None:
    def verify(p: Any, q: Any, drafts: Any, counts: Any, *, sampling_params: Any, wrong: bool = False) -> Any:
        hot = 1 / sampling_params.temperature if sampling_params.temperature else 50.0
        cold = [1.0 if wrong and count == 0 else hot for count in counts.tolist()]
        power = torch.tensor(cold)[:, None, None]
        laws = [(law * power[: len(law)]).softmax(-1) for law in (p, q)]
        return padded(*laws, drafts, counts)

    facts: dict[str, Any] = {"logits": True, "warps": True, "properties": ["parameters"]}
    line = said(partial(verify, wrong=True), **facts)
    assert line.startswith("convicted")
    assert "0 drafts: temperature 0.5" in line


@pytest.mark.parametrize("layout", ["flat", "vllm"])
def test_every_layout_has_them(layout: Layout) -> None:
    """A block without drafts emits its bonus; one that emits that of the block before is convicted."""

    def verify(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any, *, late: bool = False) -> Any:
        starts, out = [0, *ends.tolist()[:-1]], list[Any]()
        for n, (a, b) in enumerate(zip(starts, ends.tolist(), strict=True)):
            row: list[int] = []
            for t in range(a, b):
                if not torch.rand(()) * q[t, drafts[t]] < p[t, drafts[t]]:
                    row.append(drawn((p[t] - q[t]).clamp(min=0)))
                    break
                row.append(int(drafts[t]))
            else:
                row.append(int(bonus[n - 1 if late and a == b and n else n]))
            out.append(row)
        return out

    def vllm(drafts: Any, counts: Any, longest: int, ends: Any, q: Any, p: Any, bonus: Any, **more: Any) -> Any:
        return verify(p, q, drafts, ends, bonus.flatten(), **more)

    run = verify if layout == "flat" else vllm
    assert assert_lossless_batch(run, layout=layout, sizes=(1,), properties=["marginal"]).outcome == "lossless"
    assert "3, 0 drafts" in said(partial(run, late=True), layout=layout, properties=["marginal"])


def test_neighbours_without_drafts_and_rows_that_stand_side_by_side() -> None:
    own = Subject("it", "chain", print, sizes=(0, 1), returns="tokens")
    like = Block(np.full((2, 3), 1 / 3), np.full((1, 3), 1 / 3), np.array([0]), None)
    none = Block(like.p[:1], like.p[:0], like.drafts[:0], None)
    blocks, places = ragged.arranged([like, none] * 50, own)
    assert places == list(range(100)), "nothing stands between them"
    blocks, places = ragged.arranged([like] * 200, own)
    counts = {len(blocks[i].drafts) for i in range(len(blocks)) if i not in places}
    assert counts == {0, 1, 2}
    blocks, _ = ragged.arranged([none], own)
    assert any(len(block.drafts) for block in blocks)


def test_a_chain_that_takes_no_drafts_alone() -> None:
    """The same is asked of a single chain that says so, and its `batch` gets -1 as drafts."""

    def run(p: Any, q: Any, drafts: Any, random: Any, *, wrong: bool = False) -> list[int]:
        if len(drafts) == 0:
            return [int(p[0].argmax()) if wrong else int(random.choice(len(p[0]), p=p[0]))]
        kept = random.random() * q[0, drafts[0]] < p[0, drafts[0]]
        rest = (p[0] - q[0]).clip(0)
        return [int(drafts[0])] if kept else [int(random.choice(len(rest), p=rest / rest.sum()))]

    for wrong in (False, True):
        one = Subject("it", "chain", partial(run, wrong=wrong), sizes=(0, 1), returns="tokens")
        assert judge(one, properties=["joint"]).outcome == ("convicted" if wrong else "lossless")
    with pytest.raises(ValueError, match="give a number of drafts above 0, too"):
        declared.validate(one._replace(sizes=(0,)))
