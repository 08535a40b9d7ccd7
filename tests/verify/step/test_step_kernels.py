"""How many kernels a GPU launches for a step rule over a real vocabulary, counted where there is none."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from real.decode.capture import count_kernels  # noqa: E402
from specsim.verify.step import kseq, optimal  # noqa: E402

VOCAB, DRAFTS = 128_256, 4


def kernels(rule: ModuleType, num_drafts: int) -> int:
    def arguments() -> tuple[Any, ...]:
        p, q = (torch.empty(2, VOCAB, device="cuda") for _ in range(2))
        u = torch.empty(2, rule.uniforms(num_drafts), dtype=torch.float64, device="cuda")
        return p, q, torch.empty(2, num_drafts, dtype=torch.int64, device="cuda"), u

    return count_kernels(lambda p, q, x, u: rule.verify(rule.prepare(p, q, num_drafts), x, u), arguments)


def test_optimal_looks_sums_up_in_one_call() -> None:
    """Not by halving the vocabulary, which took 549; drafts cost what powers of them do."""
    assert kernels(optimal, DRAFTS) <= 120
    assert kernels(optimal, 8) <= 126


def test_kseq_finds_its_root_in_a_few_looks_at_the_row() -> None:
    """Not by 50 halvings, which took 1,156."""
    assert kernels(kseq, DRAFTS) <= 200
    assert kernels(kseq, 8) <= 260


@pytest.mark.parametrize("num_drafts", [2, 4, 8])
def test_the_root_of_kseq_is_where_as_many_drafts_are_tried(num_drafts: int) -> None:
    """Rows of few and of many tokens, with zeros in either: c(rho) = rho, or rho = 1 where every draft passes."""
    rng = np.random.default_rng(num_drafts)
    for vocab in (2, 5, 300):
        p, q = rng.dirichlet(np.full(vocab, 0.4), (2, 40))
        p[:10, 0], q[10:20, -1] = 0, 0
        p, q = (w / w.sum(-1, keepdims=True) for w in (p, q))
        q[20] = p[20]
        found = [kseq.smallest_rho(*w, num_drafts) for w in ((p, q), (torch.tensor(p), torch.tensor(q)))]
        assert np.allclose(*found, rtol=0, atol=1e-13)
        failed = np.maximum(q - p / found[0], 0).sum(-1)
        tried = sum(failed**k for k in range(num_drafts))
        assert tried == pytest.approx(found[0][:, 0], abs=1e-12)
        assert found[0][20, 0] == pytest.approx(1, abs=1e-12)


def test_rows_of_torch_get_the_tokens_of_numpy() -> None:
    """Its search in one call finds what halving finds, also where the last uniform asks for an end of the row."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.full(50, 0.2), (2, 300))
    drafts = np.stack([rng.choice(50, 3, p=row) for row in q])
    u = rng.random((300, optimal.uniforms(3)))
    u[:100, -1], u[100:200, -1] = 0, np.nextafter(1, 0)
    u[:, -2] = np.where(rng.random(300) < 0.5, u[:, -2], np.nextafter(1, 0))  # most are refused
    token = optimal.verify(optimal.prepare(p, q, 3), drafts, u)
    found = optimal.verify(optimal.prepare(torch.tensor(p), torch.tensor(q), 3), torch.tensor(drafts), torch.tensor(u))
    assert (token == found.numpy()).all()
    assert (token[:, None] != drafts).all(axis=-1).sum() >= 20
