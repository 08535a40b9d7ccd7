"""The any-order network: who looks at whom, and that nobody learns anything from those that he must not look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from real.papers.models.images import any_order
from real.papers.models.images.data import PIXELS, digits
from specsim.base.texts import Asked

EVERY = torch.arange(PIXELS)


@pytest.fixture(scope="module")
def network() -> Any:
    """Untrained, with weights so large that a row depends on whatever it sees."""
    model = any_order._untrained("any_order")
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4 if weight.ndim == 2 else 1)
    return model.eval()


def prompt(seed: int, share: float = 0.3) -> Tensor:
    return torch.rand(1, PIXELS, generator=torch.Generator().manual_seed(seed)) < share


def rows(network: Any, pixels: Tensor, rank: Tensor, seen: Tensor) -> Tensor:
    with torch.no_grad():
        told: Tensor = any_order.logits(network, torch.tensor([3]), pixels, rank, EVERY[None], seen)
    return told[0]


def depends(network: Any, rank: Tensor, seen: Tensor, changed: int) -> Tensor:
    """Which places' rows (64,) are others, in any digit, if the pixel at one place is."""
    pixels = torch.randint(8, (1, PIXELS), generator=torch.Generator().manual_seed(5))
    other = pixels.clone()
    other[0, changed] += 8
    return (rows(network, pixels, rank, seen) != rows(network, other, rank, seen)).any(-1)


def test_prompts_come_first_and_then_the_rest() -> None:
    rank = any_order.ranks(prompt(0))[0]
    order = rank.argsort()
    given = prompt(0)[0].nonzero()[:, 0].tolist()
    assert order.tolist() == [*given, *(place for place in range(PIXELS) if place not in given)]


@pytest.mark.parametrize("at", [0, 20, 40, 63])
def test_a_density_row_depends_on_lower_ranks_and_on_nothing_else(network: Any, at: int) -> None:
    """Not on its own pixel, nor on any of higher rank, to the last digit."""
    rank = any_order.ranks(prompt(1))
    changed = int(rank[0].argsort()[at])
    assert torch.equal(depends(network, rank, any_order.density(rank), changed), rank[0] > at)


@pytest.mark.parametrize("at", [3, 24, 25, 63])
def test_a_draft_row_depends_on_what_is_decoded_and_on_nothing_else(network: Any, at: int) -> None:
    """Not on its own draft, nor on any other, to the last digit."""
    rank, decoded = any_order.ranks(prompt(2)), torch.tensor([25])
    changed = int(rank[0].argsort()[at])
    found = depends(network, rank, any_order.draft(rank, decoded), changed)
    assert found[rank[0] >= 25].unique().tolist() == [at < 25]


def test_who_looks_at_whom() -> None:
    """The mask of three queries, entry by entry."""
    rank, places = any_order.ranks(prompt(3)), [7, 30, 63]
    seen = any_order.density(rank)[:, places]
    mask = any_order.visible(rank, seen)[0, 0]
    r = rank[0].tolist()
    for i in range(1 + PIXELS + 3):
        for j in range(1 + PIXELS + 3):
            if j == 0 or i == j:
                looks = True
            elif i == 0 or j > PIXELS:
                looks = False
            elif i <= PIXELS:
                looks = r[j - 1] < r[i - 1]
            else:
                looks = r[j - 1] < r[places[i - 1 - PIXELS]]
            assert mask[i, j] == (0 if looks else -torch.inf), (i, j)


def asked(pixels: Tensor, given: Tensor, reach: int) -> Asked:
    """Rows of the first places that are not given, as drafts."""
    rank, known = any_order.ranks(given), given.sum(1)
    places = torch.stack([row.argsort()[n : n + reach] for row, n in zip(rank, known.tolist(), strict=True)])
    return Asked(pixels, places, any_order.draft(rank, known)[:, :reach])


def test_the_oracle_gives_the_rows_of_all_queries_at_those_that_are_asked_for(network: Any) -> None:
    images, given = digits().held_out(), torch.cat([prompt(4), prompt(5), prompt(6)])
    labels, pixels = images.labels[:3], images.images[:3]
    one = asked(pixels, given, 4)
    told = any_order.oracle(network, labels, given)(one, torch.arange(3))
    assert told.dtype == torch.float64
    np.testing.assert_allclose(told.sum(-1), 1, atol=1e-12)
    rank, known = any_order.ranks(given), given.sum(1)
    every = any_order.logits(network, labels, pixels, rank, EVERY.expand(3, -1), any_order.draft(rank, known))
    law = every.detach().double().softmax(-1)
    np.testing.assert_allclose(told, law[torch.arange(3)[:, None], one.places], atol=1e-5)


def test_the_oracle_knows_which_texts_are_asked_for(network: Any) -> None:
    images, given = digits().held_out(), torch.cat([prompt(4), prompt(5), prompt(6)])
    ask = any_order.oracle(network, images.labels[:3], given)
    one = asked(images.images[:3], given, 4)
    few = Asked(*(part[[2, 0]] for part in one[:3]))
    told = ask(one, torch.arange(3))
    np.testing.assert_allclose(ask(few, torch.tensor([2, 0])), told[[2, 0]], atol=1e-5)
    assert float((told[2] - told[0]).abs().max()) > 1e-2


def test_places_that_see_no_beginning_of_the_order_are_refused(network: Any) -> None:
    given = torch.cat([prompt(4), prompt(5)])
    one = asked(torch.zeros_like(given, dtype=torch.int64), given, 2)
    seen = one.seen.clone()
    seen[1, 1, int(any_order.ranks(given)[1].argmax())] = True
    ask = any_order.oracle(network, torch.tensor([0, 1]), given)
    with pytest.raises(ValueError, match="places of text 1 see no beginning of its order"):
        ask(one._replace(seen=seen), torch.arange(2))


@pytest.mark.parametrize(
    ("labels", "shape", "words"),
    [
        ([0, 10], (2, 64), "labels are digits from 0 to 9, got 0 to 10"),
        ([0, 1], (3, 64), r"given has shape \(3, 64\); 2 texts have \(2, 64\)"),
        ([0], (1, 63), r"given has shape \(1, 63\); 1 texts have \(1, 64\)"),
    ],
)
def test_what_is_no_prompt_is_refused(network: Any, labels: list[int], shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        any_order.oracle(network, torch.tensor(labels), torch.zeros(shape, dtype=torch.bool))


def test_an_unknown_name_is_refused() -> None:
    for call in (any_order.train, any_order.model):
        with pytest.raises(ValueError, match="name 'raster' is no any-order model; known: any_order"):
            call("raster")


def test_the_shipped_weights_know_digits() -> None:
    """About 1.135 nats a pixel; levels alone, whatever the place and the digit, are worth about twice that."""
    assert 1.0 < any_order.held_out("any_order", any_order.model("any_order")) < 1.16
