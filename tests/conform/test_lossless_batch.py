"""`assert_lossless_batch` judges whole batches: rows that hang together, or get what is another's, are convicted."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import likeness, observing
from specsim.conform.evidence import montecarlo
from specsim.conform.properties import _laws
from specsim.conform.registry import EXHIBITS, EXONERATIONS, find, names, subjects_of
from specsim.testing import assert_lossless_batch

torch = pytest.importorskip("torch")

Verify = Callable[..., Any]


@pytest.fixture(autouse=True)
def plain_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, and no exhibit is compared."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    monkeypatch.setattr(montecarlo, "WANTED", montecarlo.UNDECIDED)


def spans(ends: Any) -> list[tuple[int, int]]:
    return list(zip([0, *ends.tolist()[:-1]], ends.tolist(), strict=True))


def loops(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any, *, compacted: bool = False, skipped: int = 0) -> Any:
    """Block after block; `compacted` takes the bonus at a running index, `skipped` keeps every so many blocks as is."""
    out, full = torch.full((len(ends), 8), -1), 0
    for n, (a, b) in enumerate(spans(ends)):
        for k, t in enumerate(range(a, b)):
            x = drafts[t]
            if (skipped and n % skipped == skipped - 1) or torch.rand(()) * q[t, x] < p[t, x]:
                out[n, k] = x
            else:
                out[n, k] = torch.multinomial((p[t] - q[t]).clamp(min=0), 1)[0]
                break
        else:
            out[n, b - a] = bonus[full if compacted else n]
            full += 1
    return out


def shared(p: Any, q: Any, drafts: Any, counts: Any, *, rows: bool = False) -> Any:
    """The coins of a position serve all rows; a row of their own each where they have `rows`."""
    count, longest = drafts.shape
    u = torch.rand(count, longest) if rows else torch.rand(longest).expand(count, longest)
    out = torch.full((count, longest + 1), -1)
    for n, c in enumerate(counts.tolist()):
        for k in range(c):
            x = drafts[n, k]
            if u[n, k] * q[n, k, x] < p[n, k, x]:
                out[n, k] = x
            else:
                out[n, k] = torch.multinomial((p[n, k] - q[n, k]).clamp(min=0), 1)[0]
                break
        else:
            out[n, c] = torch.multinomial(p[n, c], 1)[0]
    return out


def up_front(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any, *, wrong: str = "") -> Any:
    """All coins and all recovered tokens are drawn before it is known which of them are needed."""
    every, count = torch.arange(len(drafts)), len(ends)
    ok = torch.rand(len(drafts)) < p[every, drafts] / q[every, drafts]
    rest = p if wrong == "residual" else (p - q).clamp(min=0) + 1e-20
    recovered = torch.multinomial(rest, 1)[:, 0]
    starts = torch.cat([ends.new_zeros(1), ends[:-1]])
    place = every - starts[torch.searchsorted(ends, every, right=True)]
    row = torch.searchsorted(ends, every, right=True)
    grid = torch.zeros(count, int((ends - starts).max()) + 1, dtype=torch.bool)
    grid[row, place] = ok
    if wrong == "neighbour":  # the first block's decision serves the second, too
        grid[1:2, 0] = grid[0:1, 0]
    kept = grid.long().cumprod(1).sum(1)
    out = torch.full(grid.shape, -1)
    out[row, place] = torch.where(place < kept[row], drafts, -1)
    full = kept == ends - starts
    last = recovered[(starts + kept).clamp(max=len(drafts) - 1)]
    ours = torch.roll(bonus, 1) if wrong == "bonus" else bonus
    out[torch.arange(count), kept] = torch.where(full, ours, last)
    return out


def convicted(verify: Verify, *properties: str, **facts: Any) -> str:
    with pytest.raises(AssertionError) as error:
        assert_lossless_batch(verify, properties=properties, **facts)
    return str(error.value)


def test_a_bonus_at_a_running_index() -> None:
    """B1: wrong as soon as a block before was rejected."""
    one = partial(loops, compacted=True)
    assert "convicted" in convicted(one, "joint", layout="flat", sizes=(1,))
    assert "convicted" in convicted(one, "batches", layout="flat", sizes=(1,))


def test_coins_of_all_rows() -> None:
    """B1: every row is right by itself."""
    assert "scripted" in convicted(shared, "batches", sizes=(1,))
    assert assert_lossless_batch(shared, sizes=(1,), properties=["joint"]).outcome == "lossless"
    assert assert_lossless_batch(partial(shared, rows=True), sizes=(1,), properties=["batches"]).outcome == "lossless"


@pytest.mark.parametrize("skipped", [3, 4])
def test_rows_that_are_never_verified(skipped: int) -> None:
    """Every fourth row of a batch was not counted."""
    assert "convicted" in convicted(partial(loops, skipped=skipped), "batches", layout="flat", sizes=(1,))


def test_coins_drawn_up_front() -> None:
    """B2: right, and decided exactly."""
    report = assert_lossless_batch(up_front, layout="flat", sizes=(1,), properties=["joint"])
    assert report.verdicts[0].evidence == "scripted"


@pytest.mark.slow
def test_coins_drawn_up_front_within_the_default_budget() -> None:
    report = assert_lossless_batch(up_front, layout="flat")
    reach = next(v.reach for v in report.verdicts if v.property == "batches")
    assert reach.startswith("3 equal rows; 1 row; ")
    assert "; 2 equal rows that reject; 2 equal rows that keep; two rows; two rows among 4; 5 equal rows; 8" in reach


@pytest.mark.parametrize(("wrong", "asked"), [("residual", "joint"), ("bonus", "joint"), ("neighbour", "batches")])
def test_what_is_wrong_up_front(wrong: str, asked: str) -> None:
    assert "scripted" in convicted(partial(up_front, wrong=wrong), asked, layout="flat", sizes=(1,))


def test_paths_that_are_too_many_are_left_to_frequencies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of noise for everything: many ragged blocks a call decide."""
    monkeypatch.setattr(observing, "MANY", 60)

    def noisy(*given: Any) -> Any:
        torch.bernoulli(torch.full((11,), 0.5))
        return up_front(*given)

    report = assert_lossless_batch(noisy, layout="flat", sizes=(1,), properties=["joint"])
    assert (report.outcome, report.verdicts[0].evidence) == ("lossless", "Monte Carlo")


OF_BATCHES = [name for name in names(EXHIBITS) if find(name).PROPERTY == "batches"]
RIGHT = [name for name in names(EXONERATIONS) if subjects_of(find(name))[0].batch is not None]


def ragged(name: str) -> Verify:
    """A verifier of the museum for padded batches: blocks of one length are its batch."""
    rows = find(name).rows

    def verify(p: Any, q: Any, drafts: Any, counts: Any) -> Any:
        out = np.full((len(counts), drafts.shape[1] + 1), -1)
        for count in sorted(set(counts.tolist())):
            (which,) = np.nonzero(counts == count)
            given = p[which, : count + 1], q[which, :count], drafts[which, :count]
            for n, (kept, token) in zip(which, rows(*given, np.random), strict=True):
                out[n, : kept + 1] = [*drafts[n, :kept], token]
        return out

    return verify


@pytest.mark.parametrize("name", OF_BATCHES)
def test_the_museum_is_convicted_through_it(name: str) -> None:
    assert "convicted" in convicted(ragged(name), "batches", arrays="numpy", dtype="float64", sizes=(1,))


@pytest.mark.parametrize("name", RIGHT)
def test_the_exonerations_are_not(name: str) -> None:
    assert_lossless_batch(ragged(name), arrays="numpy", dtype="float64", sizes=(1,), properties=["batches"])


def warping(p: Any, q: Any, drafts: Any, counts: Any, *, sampling_params: Any, logprobs: bool, late: bool) -> Any:
    """Temperature, top-k and top-p of logits, and the log-probabilities of what is emitted."""

    def law(row: Any) -> Any:
        temperature, top_k, top_p = sampling_params
        if temperature == 0:
            return torch.nn.functional.one_hot(row.argmax(), len(row)).float()
        row = row if late else row / temperature
        if top_k:
            row = torch.where(row >= row.topk(min(top_k, len(row))).values[-1], row, -torch.inf)
        cut = row.softmax(-1)
        if top_p < 1:
            order = cut.argsort(descending=True)
            before = cut[order].cumsum(0) - cut[order]
            cut[order[before >= top_p]] = 0
        return cut / cut.sum()

    out, said = [], []
    for n, count in enumerate(counts.tolist()):
        row: list[int] = []
        for k in range(count):
            one, other, x = law(p[n, k]), law(q[n, k]), int(drafts[n, k])
            if torch.rand(()) * other[x] > one[x]:
                row.append(int(torch.multinomial((one - other).clamp(min=0), 1)[0]))
                break
            row.append(x)
        else:
            row.append(int(torch.multinomial(law(p[n, count]), 1)[0]))
        said.append([float(p[n, k].log_softmax(-1)[x]) for k, x in enumerate(row)])
        out.append(row)
    return (out, said) if logprobs else out


@pytest.mark.parametrize(("late", "asked"), [(False, ["parameters", "greedy"]), (True, ["parameters"])])
def test_sampling_parameters_reach_a_batch(late: bool, asked: list[str]) -> None:
    """Trials C: documented, and answered by "got an unexpected keyword argument"."""
    verify = partial(warping, logprobs=False, late=late)
    if late:
        assert "convicted" in convicted(verify, *asked, logits=True, warps=True, sizes=(1,))
    else:
        report = assert_lossless_batch(verify, logits=True, warps=True, sizes=(1,), properties=asked)
        assert [v.outcome for v in report.verdicts] == ["lossless", "lossless"]


@pytest.mark.parametrize("off", [0.0, 0.1])
def test_log_probabilities_of_a_batch(off: float) -> None:
    """Trials C: documented, and answered by "not a pair"."""

    def verify(p: Any, q: Any, drafts: Any, counts: Any, **named: Any) -> Any:
        out, said = warping(p, q, drafts, counts, logprobs=True, late=False, **named)
        return out, [[value + off for value in row] for row in said]

    facts: dict[str, Any] = {"logits": True, "warps": True, "logprobs": "raw", "sizes": (1,)}
    if off:
        assert "is reported where" in convicted(verify, "logprobs", **facts)
    else:
        report = assert_lossless_batch(verify, properties=["logprobs", "joint"], **facts)
        assert math.isclose(report.verdicts[0].distance, 0, abs_tol=1e-5)


@pytest.mark.parametrize("wrong", [False, True])
def test_masks_of_a_batch(wrong: bool) -> None:
    """The mask has the shape of p, its neighbours' rows allow everything."""

    def verify(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any, *, mask: Any) -> Any:
        if mask is not None and not wrong:
            p = p * mask
            p = p / p.sum(-1, keepdim=True)
        return loops(p, q, drafts, ends, bonus)

    facts: dict[str, Any] = {"layout": "flat", "masks": True, "sizes": (1,)}
    if wrong:
        assert "convicted" in convicted(verify, "structured", **facts)
    else:
        assert assert_lossless_batch(verify, properties=["structured"], **facts).outcome == "lossless"


def test_what_the_layout_decides_cannot_be_told() -> None:
    for name, value in (("returns", "kept"), ("batch", print), ("kind", "step")):
        with pytest.raises(TypeError, match=f"{name}=.* is decided by the layout"):
            assert_lossless_batch(loops, **{name: value})
    with pytest.raises(ValueError, match="randomness 'coins' is not one of a batch; known: global, random"):
        assert_lossless_batch(loops, randomness="coins")


def test_a_generator_is_the_last_argument_where_it_is_asked_for() -> None:
    def verify(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any, random: Any) -> Any:
        out = []
        for n, (a, b) in enumerate(spans(ends)):
            row: list[int] = []
            for t in range(a, b):
                if random.random() * q[t, drafts[t]] > p[t, drafts[t]]:
                    rest = (p[t] - q[t]).clip(0)
                    row.append(int(random.choice(len(rest), p=rest / rest.sum())))
                    break
                row.append(int(drafts[t]))
            else:
                row.append(int(bonus[n]))
            out.append(row)
        return out

    facts: dict[str, Any] = {"arrays": "numpy", "dtype": "float64", "randomness": "random", "sizes": (1,)}
    assert_lossless_batch(verify, layout="flat", properties=["joint", "batches"], **facts)
