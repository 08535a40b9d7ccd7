"""`real.Warping`: a key, a bias and a penalty for whole batches, and nothing that waits for the device."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from specsim import warp

SETTINGS = st.fixed_dictionaries(
    {
        "temperature": st.one_of(st.just(1.0), st.floats(0.1, 4)),
        "top_k": st.integers(0, 10),
        "top_p": st.one_of(st.just(1.0), st.floats(0.05, 1)),
        "min_p": st.one_of(st.just(0.0), st.floats(0, 1)),
    }
)


@pytest.fixture(scope="module")
def real_warp() -> Any:
    pytest.importorskip("torch")
    return pytest.importorskip("real.decode.warp")


def test_warping_takes_bias_and_penalty(real_warp: Any) -> None:
    torch, warping = pytest.importorskip("torch"), real_warp.Warping(0.7, 3, 0.9, 0.1, 1.3, ((4, -np.inf), (1, 2)))
    logits, seen = torch.linspace(-3, 3, 10).reshape(2, 5), torch.tensor([[True, False, True, False, False]])
    bias = torch.tensor([0, 2.0, 0, 0, -torch.inf])
    wanted = warp(
        logits, temperature=0.7, top_k=3, top_p=0.9, min_p=0.1, repetition_penalty=1.3, seen=seen, logit_bias=bias
    )
    assert torch.equal(real_warp.probabilities(logits, warping, seen), wanted)
    half = real_warp.probabilities(logits.half(), warping, seen)
    assert half.dtype == torch.float32
    assert torch.allclose(half, wanted, atol=1e-2)
    assert real_warp.probabilities(logits.double(), warping, seen).dtype == torch.float64
    with pytest.raises(ValueError, match="needs `seen`"):
        real_warp.probabilities(logits, warping)


def test_warping_is_a_key_and_survives_json(real_warp: Any) -> None:
    warping = real_warp.Warping(repetition_penalty=1.3, logit_bias=((4, -1.5), (1, 2)))
    again = real_warp.Warping(**json.loads(json.dumps(vars(warping), allow_nan=False)))
    assert again == warping
    assert {warping: 1}[again] == 1
    assert vars(real_warp.Warping())["logit_bias"] == ()


def test_the_bias_vector_is_built_once(real_warp: Any) -> None:
    torch, dense = pytest.importorskip("torch"), real_warp._dense_bias
    key = (real_warp.Warping(logit_bias=((1, 2.0),)), 3, torch.device("cpu"), torch.float32)
    assert dense(*key) is dense(*key)
    assert dense(*key).tolist() == [0, 2, 0]
    assert dense(*key[:3], torch.float64).dtype == torch.float64
    assert len(dense(key[0], 4, *key[2:])) == 4
    assert dense(real_warp.Warping(logit_bias=((2, 2.0),)), *key[1:]).tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("bias", "error", "message"),
    [
        (((1, 2.0), (0, 1.0), (1, 2.0)), ValueError, "logit_bias names token 1 twice"),
        (((-1, 2.0),), ValueError, "token of logit_bias must be at least 0, got -1"),
        (((1.5, 2.0),), TypeError, r"token of logit_bias must be an integer, got 1\.5"),
        (((1, np.inf),), ValueError, "logit_bias of token 1 is inf; it must lie in"),
        (((1, np.nan),), ValueError, "logit_bias of token 1 is nan; it must lie in"),
        (((1, "2"),), TypeError, "logit_bias of token 1 must be one number"),
        ((1, 2.0), TypeError, r"logit_bias must hold pairs \(token, bias\)"),
        (3, TypeError, r"logit_bias must hold pairs \(token, bias\)"),
        ({1: 2.0}, TypeError, r"logit_bias must hold pairs \(token, bias\)"),
    ],
    ids=str,
)
def test_bad_bias_of_sampling(real_warp: Any, bias: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        real_warp.Warping(logit_bias=bias)


def test_bad_sampling_for_a_vocabulary(real_warp: Any) -> None:
    torch, check = pytest.importorskip("torch"), real_warp.check_vocabulary
    warping = real_warp.Warping(logit_bias=((0, -np.inf), (7, -np.inf)))
    check(warping, 8)
    check(real_warp.Warping(), 1)
    with pytest.raises(ValueError, match=r"logit_bias names token 7, outside the vocabulary 0\.\.6"):
        check(warping, 7)
    with pytest.raises(ValueError, match="names token 7, outside"):
        real_warp.probabilities(torch.zeros(7), warping)
    with pytest.raises(ValueError, match="logit_bias excludes every one of the 2 tokens"):
        check(real_warp.Warping(logit_bias=((0, -np.inf), (1, -np.inf))), 2)
    with pytest.raises(ValueError, match="repetition_penalty is 0"):
        real_warp.Warping(repetition_penalty=0)


@given(st.data(), st.integers(1, 3), st.integers(0, 6), st.integers(1, 8))
def test_rows_see_what_was_read(real_warp: Any, data: st.DataObject, batch: int, m: int, vocab: int) -> None:
    torch = pytest.importorskip("torch")
    seen = data.draw(hnp.arrays(np.bool_, (batch, vocab)))
    tokens = data.draw(hnp.arrays(np.int64, (batch, m), elements=st.integers(0, vocab - 1)))
    before = seen.copy()
    rows = real_warp.seen_rows(torch.from_numpy(seen), torch.from_numpy(tokens)).numpy()
    assert rows.shape == (batch, m, vocab)
    assert rows.dtype == np.bool_
    assert (seen == before).all()
    for b in range(batch):
        for i in range(m):
            known = set(np.flatnonzero(seen[b])) | set(tokens[b, : i + 1])
            assert set(np.flatnonzero(rows[b, i])) == known


@settings(max_examples=30)
@given(SETTINGS, st.booleans())
def test_nothing_waits_for_the_device(real_warp: Any, chosen: dict[str, Any], greedy: bool) -> None:
    """Meta tensors have no values: whatever would read one back fails."""
    torch = pytest.importorskip("torch")
    chosen = chosen | {"temperature": 0.0} if greedy else chosen
    warping = real_warp.Warping(**chosen, repetition_penalty=1.2, logit_bias=((1, 2.0),))
    seen = real_warp.seen_rows(
        torch.empty(2, 8, dtype=torch.bool, device="meta"), torch.empty(2, 3, dtype=torch.int64, device="meta")
    )
    law = real_warp.probabilities(torch.empty(2, 3, 8, device="meta"), warping, seen)
    assert law.shape == (2, 3, 8)
    with pytest.raises((RuntimeError, NotImplementedError)):
        bool(law.sum() > 0)
