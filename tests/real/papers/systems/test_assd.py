"""ASSD on digits: what the record holds, and what the verdict makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from real.papers.lab import contract
from real.papers.lab.contract import Lab, Record
from real.papers.models.images import any_order
from real.papers.models.images.data import LEVELS, PIXELS
from real.papers.systems import assd
from real.process import Texts, fill, keyed
from real.studies.intervals import Estimate
from specsim.base.texts import Asked
from specsim.process import any_subset

GAP = "first place's law, draft against density, the largest difference"
MOST = "passes less tokens, the most of any image"
ENERGY = "energy over one by one, k = 10, published"
PARALLEL = "energy over one by one, k = 10, not judged"


def record(**other: tuple[float, float, float]) -> Record:
    """What the prototype found, and another number here and there."""
    less = {f"passes a token, k = {k}, bonus less published": (-0.1, -0.2, -0.05) for k in (2, 5, 10, 20)}
    found = less | {
        assd.HEADLINE: (0.404, 0.393, 0.414),
        ENERGY: (0.0, -0.03, 0.03),
        PARALLEL: (0.66, 0.6, 0.7),
        MOST: (0.0, 0.0, 0.0),
        GAP: (1e-8, 1e-8, 1e-8),
    }
    return Record({}, {name: Estimate(*one) for name, one in (found | other).items()}, {})


def test_the_verdict_of_what_the_prototype_found() -> None:
    assert assd.verdict(record()) == "shows"
    bonus = "passes a token, k = 20, bonus less published"
    assert assd.verdict(record(**{bonus: (0.001, -0.001, 0.003)})) == "shows"


@pytest.mark.parametrize(
    ("name", "values", "verdict"),
    [
        (assd.HEADLINE, (0.58, 0.55, 0.61), "does not show"),
        (assd.HEADLINE, (1.2, 1.1, 1.3), "contradicts"),
        (ENERGY, (0.04, 0.0, 0.08), "does not show"),
        (ENERGY, (-0.04, -0.08, 0.0), "does not show"),
        (ENERGY, (0.2, 0.1, 0.3), "contradicts"),
        (ENERGY, (-0.2, -0.3, -0.1), "contradicts"),
        (PARALLEL, (0.4, 0.29, 0.5), "does not show"),
        (MOST, (1.0, 1.0, 1.0), "contradicts"),
        (GAP, (1e-4, 1e-4, 1e-4), "does not show"),
        ("passes a token, k = 2, bonus less published", (-0.1, -0.2, 0.0), "does not show"),
        ("passes a token, k = 5, bonus less published", (-0.1, -0.2, 0.0), "does not show"),
        ("passes a token, k = 10, bonus less published", (0.2, 0.1, 0.3), "does not show"),
    ],
)
def test_the_verdict_turns_with_each_number(name: str, values: tuple[float, float, float], verdict: str) -> None:
    assert assd.verdict(record(**{name: values})) == verdict


def test_it_says_what_every_system_says() -> None:
    assert contract.flaw(vars(assd)) is None
    assert "11 %" in assd.CLAIM
    assert "easier" in assd.CLAIM


def test_on_a_table_nothing_is_biased_but_drafts_that_nobody_judges() -> None:
    found = assd.on_table()
    assert {found[f"bias on a table of 3 positions, {form}"] for form in assd.FORMS} == {0.0}
    assert found["bias on a table of 3 positions, not judged"] > 0.1
    assert found["passes a token on that table, bonus"] < found["passes a token on that table, published"] <= 1


def test_a_few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assd, "KS", (10,))
    said: list[str] = []
    found = assd.run(Lab(share=0.0, said=said.append)).measured
    assert said == ["one by one", "k = 10"]
    assert found[assd.HEADLINE].value < 0.6
    assert found[MOST].value <= 0
    assert found[GAP].value <= 1e-6
    assert found[PARALLEL].value > 0.3
    assert abs(found["energy less entropy, one by one"].value) < 0.15
    assert found["energy less entropy, k = 10, not judged"].low > 0.2
    assert set(record().measured) - set(found) == {f"passes a token, k = {k}, bonus less published" for k in (2, 5, 20)}


def test_differences_have_the_sign_that_their_names_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs whose texts are worth 1 one by one, 2 as published, 3 with the bonus, 4 unjudged."""

    def filled(process: Any, rows: Any, *, batch: int, params: dict[str, Any], **told: Any) -> Texts:
        alone = params["slots"] == 1
        worth = 1 if alone else 4 if process is not any_subset else 2 + params["bonus"]
        passes = 20 + np.arange(batch) - 5 * params["bonus"]
        return Texts(torch.full((batch, PIXELS), worth), passes, 0.0, 0.0)

    monkeypatch.setattr(assd, "fill", filled)
    monkeypatch.setattr(assd, "on_table", dict)
    monkeypatch.setattr(assd, "first_rank_gap", lambda model, asked, seed: 0.0)
    monkeypatch.setattr(
        assd, "worth", lambda model, asked, text: (text.double().mean(1).numpy(), text.double().mean(1).numpy())
    )
    found, tokens = assd.run(Lab(share=0.0)).measured, assd.prompts(8, 0).tokens()
    assert found[ENERGY].value == 1
    assert found["energy over one by one, k = 2, bonus"].value == 2
    assert found[PARALLEL].value == 3
    assert found["passes a token, k = 2, bonus less published"].value == pytest.approx(-5 * 8 / tokens.sum())
    assert found[MOST].value == max(20 + np.arange(8) - tokens)


def test_a_query_that_sees_its_own_draft_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents that look at all ranks carry drafts into the first place's law."""
    model, asked = any_order.model("any_order"), assd.prompts(4, seed=0)
    assert assd.first_rank_gap(model, asked, seed=0) <= 1e-6
    honest = any_order.visible

    def open_contents(rank: Tensor, seen: Tensor) -> Tensor:
        mask = honest(rank, seen)
        mask[..., 1 : 1 + PIXELS, 1 : 1 + PIXELS] = 0
        return mask

    monkeypatch.setattr(any_order, "visible", open_contents)
    assert assd.first_rank_gap(model, asked, seed=0) > 1e-3


def test_an_image_of_a_batch_is_filled_as_it_is_alone() -> None:
    model, asked = any_order.model("any_order"), assd.prompts(3, seed=1)

    def filled(first: int, end: int) -> tuple[list[list[int]], list[int]]:
        few = assd.Prompts(*(part[first:end] for part in asked))
        rows = any_order.oracle(model, few.labels, few.given)
        params = {"slots": 10, "given": few.mappings()}
        sizes = {"length": PIXELS, "vocab": LEVELS, "batch": end - first}
        found = fill(any_subset, rows, params=params, draw=keyed(0, end - first, first), **sizes)
        return found.tokens.tolist(), found.passes.tolist()

    together, alone = filled(0, 3), [filled(i, i + 1) for i in range(3)]
    assert together[0] == [text for texts, _ in alone for text in texts]
    assert together[1] == [passes for _, each in alone for passes in each]
    given = asked.given
    assert torch.equal(torch.tensor(together[0])[given], asked.pixels[given])


def test_energy_and_entropy_are_those_of_the_laws_along_an_image() -> None:
    model, asked = any_order.model("any_order"), assd.prompts(2, seed=2)
    energy, surprise = assd.worth(model, asked, asked.pixels)
    rank = any_order.ranks(asked.given)
    rows = any_order.oracle(model, asked.labels, asked.given)
    for i in range(2):
        own = [place for place in rank[i].argsort().tolist() if not asked.given[i, place]]
        told, entropy = [], []
        for place in own[:3] + own[-3:]:
            seen = (rank[i] < rank[i, place])[None, None]
            one = rows(Asked(asked.pixels[i : i + 1], torch.tensor([[place]]), seen), torch.tensor([i]))
            told.append(-float(one[0, 0, asked.pixels[i, place]].log()))
            entropy.append(-float((one * one.log()).sum()))
        logs = any_order.along(model, asked.labels, asked.pixels, asked.given).detach().double().log_softmax(-1)[i]
        every = np.array([-float(logs[place, asked.pixels[i, place]]) for place in own])
        np.testing.assert_allclose(np.r_[every[:3], every[-3:]], told, atol=1e-4)
        assert energy[i] == pytest.approx(every.mean(), abs=1e-6)
        mean = np.mean([-float((logs[place].exp() * logs[place]).sum()) for place in own])
        assert energy[i] - surprise[i] == pytest.approx(mean, abs=1e-6)
        assert min(entropy) > 0
