"""A rule file without `acceptance` works wherever a step rule does: its hits are counted by `transition`."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.bounds.curves import acceptance_curves
from specsim.checks import family_checks
from specsim.checks.findings import find
from specsim.verify import hits
from specsim.verify.hits import SPREAD, accepted
from specsim.verify.lookup import chain_rule

Array = Any
SKELETON = Path(__file__).parents[3] / "docs" / "developer" / "skeletons" / "step.py"
LARGEST = '''"""Test the draft of largest p/q alone, as if it were drawn from q: lossy with more than one."""

from specsim.base.arrays import accept_probability, accepts, array_namespace, at, one_hot, pick, residual

DRAFTS, EXACT, THEOREM, PAPER = "iid", True, "open", "none"


def prepare(p, q, num_drafts):
    return p, q, residual(p, q)


def chosen(plan, drafts):
    p, q, _ = plan
    best = drafts[..., 0]
    for k in range(1, drafts.shape[-1]):
        x = drafts[..., k]
        best = array_namespace(p).where(at(p, x) * at(q, best) > at(p, best) * at(q, x), x, best)
    return best


def transition(plan, drafts):
    (p, q, left_over), x = plan, chosen(plan, drafts)
    kept = accept_probability(p, q, x)[..., None]
    return kept * one_hot(x, p) + (1 - kept) * left_over


def uniforms(num_drafts):
    return 2


def verify(plan, drafts, u):
    (p, q, left_over), x = plan, chosen(plan, drafts)
    return array_namespace(p).where(accepts(p, q, x, u[..., 0]), x, pick(left_over, u[..., 1]))
'''


@pytest.fixture
def naive(tmp_path: Path) -> str:
    """The rule of the skeleton, without its closed form."""
    text = SKELETON.read_text(encoding="utf-8")
    start, end = text.index("def acceptance("), text.index("def uniforms(")
    (tmp_path / "own_naive.py").write_text(text[:start] + text[end:], encoding="utf-8")
    return str(tmp_path / "own_naive.py")


@pytest.fixture
def largest(tmp_path: Path) -> str:
    """The rule of the first user who tried: a multi-draft rule has no closed form on its first day."""
    (tmp_path / "largest.py").write_text(LARGEST, encoding="utf-8")
    return str(tmp_path / "largest.py")


@pytest.mark.parametrize("num_drafts", [1, 2, 3])
def test_acceptance_is_enumerated_on_few_tokens(naive: str, num_drafts: int) -> None:
    p, q = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], [Fraction(1, 10), Fraction(3, 10), Fraction(3, 5)]
    told: dict[str, Any] = {"num_drafts": num_drafts}
    assert specsim.acceptance_rate(p, q, rule=naive, **told) == specsim.acceptance_rate(p, q, rule="naive", **told)
    rows = np.random.default_rng(0).dirichlet(np.ones(9), (2, 3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = specsim.acceptance_rate(*rows, rule=naive, **told)
    assert found == pytest.approx(specsim.acceptance_rate(*rows, rule="naive", **told), abs=1e-14)


def test_acceptance_is_sampled_on_many_tokens_and_said_so(naive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "MAX_SAMPLED", 2**20)
    p, q = np.random.default_rng(1).dirichlet(np.full(300, 0.05), (2, 3))
    with pytest.warns(UserWarning, match=r"^rule 'own_naive' states no acceptance, and drafts of 300 tokens") as told:
        found = specsim.acceptance_rate(p, q, rule=naive, num_drafts=2)
    exact = specsim.acceptance_rate(p, q, rule="naive", num_drafts=2)
    within = accepted(specsim.discover.find("step", naive), p, q, 2).error
    assert (within > 0).all()
    assert (abs(found - exact) < 2 * within + 1e-12).all()
    assert f"within {within.max():.2g} (99 %)" in str(told[0].message)
    assert told[0].filename == __file__  # not a line of the package


def test_the_interval_covers(naive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 60 rows, sampled with drafts of their own, most lie within one half-width, and all within two."""
    monkeypatch.setattr(hits, "MAX_ENUMERATED", 1)
    monkeypatch.setattr(hits, "MAX_SAMPLED", 2**19)
    p, q = np.random.default_rng(2).dirichlet(np.full(30, 0.5), (2, 60))
    value, error = accepted(specsim.discover.find("step", naive), p, q, 1)
    off = abs(value - specsim.acceptance_rate(p, q, rule="naive")) / error
    assert (off < 1).mean() > 0.9
    assert off.max() < 2
    assert (off * SPREAD).std() > 0.3  # and are not too wide


def test_curves_of_a_file(naive: str) -> None:
    p, q = np.random.default_rng(3).dirichlet(np.full(40, 0.3), (2, 2))
    for point, shipped in zip(
        *(acceptance_curves(p, q, num_drafts=[1, 2, 4], rules=[rule]) for rule in (naive, "naive")), strict=True
    ):
        assert point.value == pytest.approx(shipped.value, abs=1e-12 + 2 * point.error)
        assert point.rule == "" or (point.error > 0) == (point.num_drafts == 4)
    with pytest.raises(TypeError, match=r"^rules must be a sequence of rules, got 'naive': write \[\.\.\.\]$"):
        acceptance_curves(p, q, rules="naive")
    with pytest.raises(TypeError, match=r"^rules must be a sequence of rules, got 3: write \[\.\.\.\]$"):
        acceptance_curves(p, q, rules=3)  # type: ignore[arg-type]


def test_other_doors_take_it(naive: str) -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    posterior = (specsim.hit_posterior(p, q, rule=rule, num_drafts=2) for rule in (naive, "naive"))
    assert next(posterior) == pytest.approx(next(posterior))
    run: dict[str, Any] = {"num_drafts": 2, "gamma": 3, "blocks": 2000}
    assert specsim.simulate(p, q, rule=naive, **run).tau == specsim.simulate(p, q, rule="naive", **run).tau
    rows = np.tile(p, (4, 1)), np.tile(q, (4, 1))
    assert chain_rule(naive).acceptance(*rows) == pytest.approx(chain_rule("naive").acceptance(*rows))


def test_checks_skip_the_closed_form_by_name(naive: str, largest: str) -> None:
    found = {}
    for path in (naive, largest):
        module = specsim.discover.find("step", path)
        names = ("contract", "acceptance_is_exact", "acceptance_below_optimum", "batches", "output_is_target")
        found[path] = [find(name, family_checks("step")[name], module) for name in names]
    assert [one.outcome for one in found[naive]] == ["pass", "skipped", "pass", "pass", "pass"]
    assert found[naive][1].detail.startswith("the rule states no acceptance")
    assert [one.outcome for one in found[largest]] == ["pass", "skipped", "FAIL", "pass", "FAIL"]
    assert "is above the optimum" in found[largest][2].detail
    assert found[largest][4].detail.endswith("p=[1/4, 3/4] q=[1/2, 1/2] gives [1/8, 7/8]; TV 1/8, stated 0")


def test_guarantee_tries_several_drafts_and_says_so(naive: str, largest: str) -> None:
    """`lossless=True` once, of a rule that is lossy from two drafts on: it was tried with one."""
    found = specsim.guarantee(largest)
    assert not found.lossless
    assert re.fullmatch(r"p = .*, bias \(TV\) 10/27, with 3 drafts", found.reason)
    assert specsim.guarantee(largest, num_drafts=1).lossless
    assert "exact cases with one draft" in specsim.guarantee(largest, num_drafts=1).reason
    found = specsim.guarantee(naive)
    assert found.lossless
    assert found.cases == 3 * 116
    assert "no difference in 348 exact cases with 1, 2 or 3 drafts" in found.reason
    assert "with one draft" in specsim.guarantee("rejection").reason  # whose COUNTS are (1,)
    assert "with 1 or 2 drafts" in specsim.guarantee("spechub").reason


def test_a_wrong_closed_form_is_shown_with_its_laws(naive: str) -> None:
    """What is stated and what is enumerated, as the neighbours of this check do."""
    module = specsim.discover.find("step", naive)
    wrong = type(module)("own_naive", module.__doc__)
    vars(wrong).update(vars(module), acceptance=lambda plan: np.minimum(plan.p, plan.q).sum(axis=-1))
    found = find("acceptance_is_exact", family_checks("step")["acceptance_is_exact"], wrong)
    assert found.failed
    where = re.compile(r".*V=\d .*K=\d: p=\[.*\] q=\[.*\] has acceptance (.*) as stated, (.*) by enumeration")
    match = where.fullmatch(found.detail)
    assert match is not None
    assert match[1] != match[2]


def test_an_error_without_words_says_where_it_was_raised() -> None:
    def stub(module: Any) -> None:
        raise NotImplementedError

    found = find("stub", stub, specsim.discover.find("step", "naive"))
    assert found.detail.startswith("NotImplementedError: raised in test_no_closed_form.py, line ")
    assert found.detail.endswith("in stub")
