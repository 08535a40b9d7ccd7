"""Stand-ins that go from one library to another, or into one array: the same numbers, and the same function of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import call, inputs
from specsim.forking.programs import scripted

torch = pytest.importorskip("torch")
QUARTER = 0.25
Program = Callable[[Any], Any]  # (random) -> result

# Each is true with probability 1/4: the last number is below 1/4, whatever array it came through.
BELOW: dict[str, Program] = {
    "tensor of whole numbers": lambda random: torch.tensor(random.random(2) / QUARTER, dtype=torch.int64)[1] < 1,
    "whole numbers of torch": lambda random: (torch.rand(2) / QUARTER).long()[1] < 1,
    "int of torch": lambda random: (torch.rand(2) / QUARTER).int()[1] == 0,
    "floor of torch": lambda random: torch.floor(torch.rand(2) / QUARTER)[1] == 0,
    "ones less torch's": lambda random: (torch.ones(2) - torch.rand(2))[1] < QUARTER,
    "one less what fills a tensor": lambda random: (1 - torch.empty(2).uniform_())[1] < QUARTER,
    "item of a logarithm": lambda random: torch.rand(1).log().item() < math.log(QUARTER),
    "list of logarithms": lambda random: torch.rand(2).log().tolist()[1] < math.log(QUARTER),
    "logarithms in NumPy": lambda random: torch.rand(2).log().numpy()[1] < math.log(QUARTER),
    "item of NumPy's logarithm": lambda random: np.log(random.random(1)).item() < math.log(QUARTER),
    "from_numpy": lambda random: torch.from_numpy(random.random(2))[1] < QUARTER,
    "from_numpy of logarithms": lambda random: torch.from_numpy(np.log(random.random(2)))[1] < math.log(QUARTER),
    "as_tensor": lambda random: torch.as_tensor(random.random(2), dtype=torch.float64)[1] < QUARTER,
    "tensor of a number": lambda random: torch.tensor(random.random()) < QUARTER,
    "tensor of a list": lambda random: torch.tensor([random.random(), random.random()])[1] < QUARTER,
    "tensor of lists": lambda random: torch.tensor([[random.random()], [random.random()]])[1, 0] < QUARTER,
    "stack": lambda random: torch.stack([torch.rand(2), torch.rand(2)], dim=1)[1, 1] < QUARTER,
    "cat": lambda random: torch.cat([torch.rand(2), torch.rand(3).log().exp()])[4] < QUARTER,
    "cat along an axis": lambda random: torch.cat([torch.rand(2, 1), 2 * torch.rand(2, 1)], -1)[1, 1] < 2 * QUARTER,
    "NumPy's stack": lambda random: np.stack([random.random(2), random.random(2)], axis=1)[1, 1] < QUARTER,
    "NumPy's concatenate": lambda random: np.concatenate([random.random(2), random.random(1)])[2] < QUARTER,
    "gather of fewer rows": lambda random: (
        (torch.rand(2, 3).gather(1, torch.tensor([[2]])) < QUARTER).shape == (1, 1) and torch.rand(1)[0] < QUARTER
    ),
}

REFUSED: dict[str, Program] = {
    "stack with numbers": lambda random: torch.stack([torch.rand(2), torch.zeros(2)]),
    "stack with logarithms": lambda random: torch.stack([torch.rand(2), torch.rand(2).log()]),
    "stack with exponentials": lambda random: torch.stack([torch.rand(2), torch.empty(2).exponential_()]),
    "tensor with numbers": lambda random: torch.tensor([random.random(), 0.5]),
    "stack into a tensor": lambda random: torch.stack([torch.rand(2)], out=torch.empty(1, 2)),
    "logarithms drawn anew": lambda random: torch.rand(2).log().uniform_(),
    "logarithms of exponentials drawn anew": lambda random: torch.empty(2).exponential_().log().exponential_(),
    "flattened in part": lambda random: torch.rand(2, 3, 1).flatten(1),
}


@pytest.mark.parametrize("name", BELOW)
def test_a_stand_in_is_the_same_number_in_another_array(name: str) -> None:
    law = scripted.law(lambda random: bool(BELOW[name](random))).law
    assert law == pytest.approx({True: QUARTER, False: 1 - QUARTER}, abs=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_one_array_is_refused(name: str) -> None:
    """It is refused where it is made, whatever becomes of it."""
    with pytest.raises(scripted.NotScriptable):
        scripted.law(lambda random: REFUSED[name](random) is None)


def test_gumbel_noise_goes_to_numpy() -> None:
    weights = np.array([0.5, 0.3, 0.2])
    noise = scripted.law(lambda random: int((np.log(weights) - torch.empty(3).exponential_().log().numpy()).argmax()))
    assert noise.law == pytest.approx(dict(enumerate(weights.tolist())), abs=1e-12)


def test_a_tensor_shares_the_numbers_it_was_made_of() -> None:
    """As torch does it: numbers drawn anew are seen in both arrays, but for `torch.tensor`, which copies."""

    def program(random: Any) -> tuple[bool, bool]:
        u = torch.rand(1)
        shared, copied = torch.as_tensor(u), torch.tensor(u)
        shared.uniform_()
        return bool(u[0] < 0.5) == bool(shared[0] < 0.5), bool(u[0] < 0.5) == bool(copied[0] < 0.5)

    assert scripted.law(program).law == pytest.approx({(True, True): 0.5, (True, False): 0.5}, abs=1e-12)


def test_coins_of_torch_are_torchs() -> None:
    """Where a coin is compared with a number of Python's, what comes out is a tensor, too."""

    def run(p: Any, q: Any, drafts: Any, u: Any) -> int:
        x = drafts[0]
        if torch.logical_not(u[0] < float(p[x] / q[x])):
            rest = (p - q).clamp(min=0)
            x = torch.searchsorted(rest.cumsum(0) / rest.sum(), u[1:])[0]
        return int(x)

    subject = Subject("torch's coins", "step", run, "torch", randomness="coins", sizes=(1,))
    case = next(iter(standard(subject)))
    law: dict[int, float] = {}
    for given in inputs(subject, case):
        for answer, mass in scripted.law(partial(call, subject, case, given)).law.items():
            law[answer.text[0]] = law.get(answer.text[0], 0.0) + given.weight * mass
    assert law == pytest.approx(dict(enumerate(case.p(()).tolist())), abs=1e-6)
