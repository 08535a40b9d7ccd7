"""A conviction names the bug class that it resembles: by its law, by its symptoms, or not at all."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, Report, SamplingParams, Subject, Verdict, judgement, likeness, report
from specsim.conform.cases import warped
from specsim.conform.museum import table
from specsim.conform.properties import _laws
from specsim.conform.registry import EXHIBITS, EXONERATIONS, find, names, subjects_of
from specsim.conform.timeout import OutOfTime
from specsim.types import Array

# What is seen of exhibits is seen once for all of these tests.
SEEN = likeness.Exhibits()
judge = partial(judgement.judge, exhibits=SEEN)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk here."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)


def resembled(found: Report) -> tuple[str, tuple[str, ...]]:
    """In what it resembles which exhibits."""
    assert found.resemblance is not None
    return found.resemblance.how, found.resemblance.exhibits


QUICK = {  # one of every kind and property, or nearly; the others are asked in the slow tier
    "always_accepts",
    "batch_shares_its_coins",
    "bonus_from_the_row_before",
    "bonus_not_warped",
    "confident_draft_untested",
    "draft_not_renormalised",
    "drafter_rows_one_late",
    "first_ratio_only",
    "gate_never_set",
    "last_ratio_unused",
    "lookup_keeps_the_rejected",
    "residual_is_target",
    "zero_temperature_is_off",
}
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names(EXHIBITS)]


@pytest.mark.parametrize("name", EACH)
def test_an_exhibit_resembles_its_own_class(name: str) -> None:
    how, found = resembled(table.judged(name, SEEN))
    assert name in found
    assert how == "law" or find(name).PROPERTY not in likeness.OF_SINGLE_CALLS
    assert len(found) <= 3, "a class that many share is none"


def of_chain(
    p: Array, q: Array, drafts: Array, random: Any, *, tests: Any = None, weights: Any = None, bonus: int = -1
) -> tuple[int, int]:
    """Tokenwise rejection, with a place for errors."""
    for i, x in enumerate(drafts):
        if not (random.random() * q[i, x] < p[i, x] if tests is None else tests(p[i], q[i], x, random)):
            rest = (p[i] - q[i]).clip(0) if weights is None else weights(p[i], q[i])
            return i, int(random.choice(p.shape[1], p=rest / rest.sum()))
    return len(drafts), int(random.choice(p.shape[1], p=p[bonus]))


def chain(**errors: Any) -> Subject:
    """A fresh one."""
    return Subject("mine", "chain", lambda *given: of_chain(*given, **errors), sizes=(1, 2))


def in_steps(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """The correction comes from p, in a step of one token."""
    x = int(drafts[0])
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=p))


def in_torch(p: Any, q: Any, drafts: Any) -> Any:
    """The same, with torch's own random numbers."""
    import torch

    for i, x in enumerate(drafts.tolist()):
        if not bool(torch.rand(()) * q[i, x] < p[i, x]):
            return [*drafts[:i].tolist(), int(torch.multinomial(p[i], 1))]
    return [*drafts.tolist(), int(torch.multinomial(p[-1], 1))]


def one_block(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> list[int]:
    """A block of a decoder; sampling parameters reach test and correction, and not the bonus."""
    text, rows = tuple(prompt), []
    for _ in range(n - 1):
        rows.append(warped(draft(text), sampling_params))
        text = (*text, int(random.choice(len(rows[-1]), p=rows[-1])))
    p, q, drafts = target.rows(text, len(prompt)), np.array(rows), np.array(text[len(prompt) :])
    p[:-1] = [warped(row, sampling_params) for row in p[:-1]]
    kept, token = of_chain(p, q, drafts, random)
    return [*drafts[:kept].tolist(), token]


def test_a_fresh_step_of_a_known_class_is_matched() -> None:
    """Another kind than the exhibit's, and another name: the law is what counts."""
    how, found = resembled(judge(Subject("mine", "step", in_steps, sizes=(1,)), properties=["marginal"]))
    assert (how, "residual_is_target" in found) == ("law", True)


def test_a_fresh_decoder_of_a_known_class_is_matched() -> None:
    block = Subject("mine", "decoder", one_block, sizes=(1,), block=True, warps=True)
    assert resembled(judge(block, properties=["parameters"])) == ("law", ("bonus_not_warped",))


def test_a_report_names_the_class() -> None:
    late = judge(chain(bonus=-2)._replace(sizes=(1,)), properties=["joint"])
    assert resembled(late) == ("law", ("bonus_from_the_row_before",))
    assert "bonus_from_the_row_before" in report.text(late)
    assert report.as_json(late)["resemblance"]["how"] == "law"


def test_a_fresh_subject_on_torch_is_matched() -> None:
    pytest.importorskip("torch")
    subject = Subject(
        "mine", "chain", in_torch, arrays="torch", dtype="float32", randomness="global", returns="tokens", sizes=(1, 2)
    )
    assert resembled(judge(subject, properties=["marginal"])) == ("law", ("residual_is_target",))


def few_values(p: Array, q: Array, x: int, random: Any) -> bool:
    """A coin of five values, where the museum's has sixteen."""
    return bool(random.choice(5, p=np.full(5, 1 / 5)) / 5 * q[x] < p[x])


def test_another_law_with_the_same_symptoms_is_like_it() -> None:
    found = judge(chain(tests=few_values)._replace(sizes=(1,)), properties=["marginal"])
    how, exhibits = resembled(found)
    assert how == "symptoms"
    assert "coin_of_four_bits" in exhibits
    assert "draft 1 is kept too often" in report.text(found)


def test_frequencies_are_matched_as_far_as_they_tell() -> None:
    """Random numbers that no stand-in can follow: judged by Monte Carlo."""

    def hidden(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return in_steps(p, q, drafts, np.random.Generator(np.random.PCG64(int(float(random.random()) * 2**53))))

    found = judge(Subject("mine", "step", hidden, sizes=(1,)), budget=20, properties=["marginal"])
    assert found.verdicts[0].evidence == "Monte Carlo"
    assert "residual_is_target" in resembled(found)[1]


def constant(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Token 0, whatever is asked."""
    return 0, 0


def favourite(p: Array, q: Array) -> Array:
    """Weights that no exhibit has."""
    return p**3 + 0.01


@pytest.mark.parametrize(
    "subject",
    [
        Subject("constant", "chain", constant, sizes=(1, 2)),
        Subject("doubled", "step", lambda p, q, drafts, random: int(random.choice(len(p), p=p**2 / (p**2).sum()))),
        chain(tests=lambda p, q, x, random: random.random() < 0.5, weights=favourite),
    ],
)
def test_an_unrelated_failure_resembles_nothing(subject: Subject) -> None:
    found = judge(subject._replace(sizes=(1,)), properties=["marginal"])
    assert found.outcome == "convicted"
    assert resembled(found) == ("nothing", ())
    assert "resembles no exhibit" in report.text(found)


def test_who_is_not_convicted_resembles_nobody() -> None:
    assert judge(chain(), properties=["marginal"]).resemblance is None
    assert judge(chain(bonus=-2)._replace(lossless=False), properties=["joint"]).resemblance is None
    for name in names(EXONERATIONS)[:2]:
        assert table.judged(name, SEEN).resemblance is None


def test_exhibits_without_time_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not compared is not said to be alike, nor to be different."""

    def late(*_: Any) -> None:
        raise OutOfTime

    monkeypatch.setattr(likeness.Exhibits, "observe", late)
    found = judge(chain(bonus=-2), properties=["joint"])
    assert resembled(found) == ("nothing", ())
    assert "There was no time for" in report.text(found)


def test_a_property_that_no_exhibit_has_names_none() -> None:
    verdict = Verdict("mine", "no such property", "convicted")
    assert likeness._of_property(verdict, likeness.Exhibits(), np.inf).exhibits == ()


def test_a_failure_that_no_single_call_shows_is_put_beside_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that fail at the same input and as far; else at the same input; else at the same property."""
    seen = {"prompt_counted": ("a", 0.25), "limit_cuts_the_front": ("a", 0.5), "end_token_passed_over": ("b", 0.5)}
    own = Verdict("mine", "truncation", "convicted", reach="a", distance=0.5)
    made = {name: own._replace(reach=reach, distance=distance) for name, (reach, distance) in seen.items()}
    exhibits = likeness.Exhibits()
    monkeypatch.setattr(exhibits, "failure", lambda name, *_: made.get(name))
    assert likeness._of_property(own, exhibits, np.inf).exhibits == ("limit_cuts_the_front",)
    other = likeness._of_property(own._replace(distance=0.1), exhibits, np.inf)
    assert other.exhibits == ("limit_cuts_the_front", "prompt_counted")
    assert {*seen, "end_token_of_the_prompt"} == set(
        likeness._of_property(own._replace(reach="c"), exhibits, np.inf).exhibits
    )


def test_laws_on_five_tokens_are_compared() -> None:
    """Where an error shows on no fewer, and counterexamples have fewer."""
    (exhibit,) = subjects_of(find("residual_of_three_tokens"))
    found = judge(exhibit._replace(name="mine"), properties=["joint"])
    assert resembled(found) == ("law", ("residual_of_three_tokens",))


def test_exhibits_of_another_type_are_refused_before_work() -> None:
    def run(p: Any, q: Any, drafts: Any, random: Any) -> int:
        raise AssertionError("called")

    with pytest.raises(TypeError, match=r"exhibits must be an Exhibits, got \{\}"):
        judgement.judge(Subject("never called", "step", run), exhibits={})  # type: ignore[arg-type]
