"""Several drafters in one --draft: each has the plan that it has alone, and the table says which is fastest."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from helpers.planning import as_json, run

from specsim.commands.plan.drafters import candidate_options
from specsim.commands.plan.options import PlanOptions

TARGET = "--target llama-3.1-8b --hardware h100-sxm"
THREE = "eagle3=0.75,ngram=0.5,llama-3.2-1b"
WORDS = f"0.7 {TARGET} --draft {THREE} --drafted-share 0.4 --batch 1,32 --context 2k"
ALONE = {
    "eagle3": "0.75 --draft eagle3",
    "ngram": "0.5 --draft ngram --drafted-share 0.4",
    "llama-3.2-1b": "0.7 --draft llama-3.2-1b",
}


def test_each_has_the_plan_that_it_has_alone() -> None:
    plans = as_json(WORDS)["plans"]
    assert [plan["draft"] for plan in plans] == list(ALONE)
    assert [plan["method"] for plan in plans] == ["eagle3", "ngram", "model"]
    assert [plan["drafted_share"] for plan in plans] == [1.0, 0.4, 1.0]
    for plan in plans:
        alone = as_json(f"{ALONE[plan['draft']]} {TARGET} --batch 1,32 --context 2k")
        fields = set(alone) - {"schema", "provenance", "asked", "weights"}
        assert {name: plan[name] for name in fields} == {name: alone[name] for name in fields}


def test_the_table_is_of_the_plans() -> None:
    plans = as_json(WORDS)["plans"]
    rows = list(csv.DictReader(io.StringIO(run(f"{WORDS} --csv"))))
    assert [(row["drafter"], row["batch"]) for row in rows] == [(name, b) for b in ("1", "32") for name in ALONE]
    for index, row in enumerate(rows):
        plan, place = plans[index % 3], index // 3
        point = plan["points"][place]
        assert (int(row["gamma"]), float(row["tau"])) == (point["gamma"], point["tau"]["value"])
        assert float(row["tokens per s"]) == point["tokens_per_time"]["value"]
        assert float(row["draft's GB"]) == plan["draft_weights_gb"]
        assert (row["break-even"] == "") is bool(place)
    # Weights of the draft model, once: 1.24 billion parameters in 16 bits.
    assert plans[2]["draft_weights_gb"] == pytest.approx(2.47, abs=0.05)
    assert plans[1]["draft_weights_gb"] == 0
    # Caches grow with the batch, weights do not.
    assert float(rows[3]["all GB"]) > float(rows[0]["all GB"]) == plans[0]["memory_gb"]


def test_the_sentence_ranks_what_helps_and_fits() -> None:
    shown = run(WORDS)
    speedups = {plan["draft"]: plan["points"][0]["speedup"]["value"] for plan in as_json(WORDS)["plans"]}
    order = sorted(speedups, key=speedups.__getitem__, reverse=True)
    assert order == ["eagle3", "llama-3.2-1b", "ngram"]
    first = shown.splitlines()[0]
    assert first.startswith(f"Yes: fastest is eagle3, {speedups['eagle3']:.2f} times as fast with 7 drafts per block")
    assert [first.index(name) for name in order] == sorted(first.index(name) for name in order)
    assert "eagle3: every draft is kept with probability 0.75" in shown
    assert "llama-3.2-1b: every draft is kept with probability 0.7," in shown
    assert "NAME=ALPHA gives one its own" in shown
    # Where one does not help, or fit, or none does.
    worse = run(f"0.7 {TARGET} --draft eagle3,llama-3.2-1b=0.1").splitlines()[0]
    assert worse.startswith("Yes: fastest is eagle3")
    assert worse.endswith("llama-3.2-1b does not help.")
    assert run(f"0 {TARGET} --draft eagle3,mtp").startswith("No: no drafter beats plain decoding (predicted, batch 1")
    large = "0.7 --target llama-3.1-70b --hardware h100-sxm --draft eagle3,llama-3.2-1b"
    assert run(large).startswith(
        "Does not fit at batch 1, context 1024; eagle3 does not fit the memory; llama-3.2-1b does not fit the memory."
    )


def test_a_drafter_that_does_not_fit_is_not_the_fastest() -> None:
    plan = "--target llama-3.1-8b --hardware a100-sxm4-40gb --batch 170 --context 1k --overhead 0"
    answer = as_json(f"{plan} --draft llama-3.2-1b=0.99,ngram=0.5 --drafted-share 0.5")
    assert [one["helps"] for one in answer["plans"]] == ["does not fit", "perhaps"]
    assert answer["sentence"].startswith("Perhaps: fastest is ngram")
    assert answer["sentence"].endswith("llama-3.2-1b does not fit the memory.")


def test_options_go_to_the_drafters_that_read_them() -> None:
    words = f"0.7 {TARGET} --draft eagle3,ngram --drafted-share 0.4 --draft-vocab 16000 --draft-weights q8_0"
    eagle, looked_up = as_json(words)["plans"]
    assert eagle["draft_weights_gb"] < as_json(f"0.7 {TARGET} --draft eagle3,mtp")["plans"][0]["draft_weights_gb"]
    assert looked_up["helps"] == "yes"
    assert candidate_options(PlanOptions(draft="eagle3")) == {}
    both = candidate_options(PlanOptions(draft="a=0.5, b", hazards="h.csv"))  # type: ignore[arg-type]
    assert [(one.draft, one.alpha, one.hazards) for one in both.values()] == [("a", 0.5, None), ("b", None, "h.csv")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0.7 {t} --draft eagle3,ngram", "--draft ngram needs --drafted-share"),
        ("0.7 {t} --draft eagle3,mtp --drafted-share 0.4", "goes with drafts that are looked up (ngram, suffix), and"),
        ("0.7 {t} --draft ngram,suffix --drafted-share 0.4", "is of one of them: compare one at a time"),
        ("0.7 {t} --draft eagle3,", "a name is missing beside a comma"),
        ("0.7 {t} --draft eagle3,eagle3=0.5", "--draft names eagle3 twice"),
        ("0.7 {t} --draft eagle3=x,mtp", "--draft eagle3=x: the acceptance is 'x'; expected a number, as eagle3=0.8"),
        ("0.7 {t} --draft eagle3=1.5,mtp", "--draft eagle3: alpha is 1.5; it must lie in [0, 1]"),
        ("{t} --draft eagle3,mtp=0.5", "give one of alpha"),
        ("0.7 {t} --draft eagle3,llama-9", "llama-9"),
        ("0.7 {t} --draft eagle3,mtp --emit vllm", "--emit beside several drafters in --draft: an engine runs"),
        ("0.7 {t} --draft eagle3,mtp --concurrency 1", "--concurrency beside several drafters in --draft"),
        ("0.7 {t} --draft eagle3,mtp --rate 1", "--rate beside several drafters in --draft"),
        ("--ranks 0.7,0.1 {t} --draft eagle3,mtp", "--ranks beside several drafters in --draft: trees are planned"),
        ("0.7 {t} --draft eagle3,mtp --nodes 3", "--nodes beside several drafters"),
        ("0.7 --cost-ratio 0.1 --draft eagle3,mtp", "--target and --hardware missing"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_named(words: str, message: str) -> None:
    assert message in run(words.format(t=TARGET), 2)


def test_every_drafter_is_read_before_any_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(problem: Any) -> Any:
        raise AssertionError("planned before all drafters were read")

    monkeypatch.setattr("specsim.commands.plan.answer.answer", planned)
    assert "llama-9" in run(f"0.7 {TARGET} --draft eagle3,llama-9", 2)
