"""LANTERN on digits: a draft is also kept for its neighbours' probability.

The costs of that, and where they arise, are computed. Then images are decoded with the rule in the
loop: tokens a pass, seconds, and how many digits can still be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.lab.jacobi import ancestral, labels
from real.papers.lab.lantern_loop import WRITTEN, Exact, Relaxed, Timed, Way, complete, openings, read_digits, timed
from real.papers.models.images import raster
from real.papers.models.images.data import LEVELS, digits
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim import acceptance_rate, output_law
from specsim.types import Array

NAME = "LANTERN"
PAPER = "arXiv:2410.03355"
CLAIM = (
    "A speed-up 1.75x and 1.82x that of exact speculation on LlamaGen, greedy and sampled, images about as good: "
    "the nearest codes stand in for one another, random ones do not"
)
AXES = {
    "drafting": "smaller model: of pixels",
    "termination": "fixed: a number of drafts",
    "management": "chain",
    "verification": "one pass",
    "acceptance": "neighbours: lossy, with exact bias",
    "order": "raster",
    "carry": "nothing",
}
TEST = (
    "Where nearest and random neighbours, k = 4, have the same acceptance, and so the same TV: W1 with random ones "
    "less W1 with nearest ones, in grey levels, has an interval over texts above 0. In the decode loop, where held-out "
    "images are completed from class and first row, with four nearest neighbours, delta = 0.2, and the drafts a block "
    "that are fastest on other images: processor time of exact speculation over that of the relaxed one has an "
    "interval above 1; and digits that the nearest image of the data names rightly, relaxed less exact, have one above "
    "-5 points; both at T = 1 and at T = 0."
)
HEADLINE = "W1 saved by nearest neighbours, k = 4"
MODELS = ("raster_target", "raster_draft")

# Images that the target writes; tables of random neighbours that are averaged.
TEXTS, TABLES = 96, 3
# Numbers of neighbours.
FEW, ALL = (2, 4, 8), LEVELS - 1
DELTAS = (0.05, 0.1, 0.2, 0.4)
EPSILONS = (1.0, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2)

# In the loop. The rule whose speed is tested, and drafts a block that are tried.
K, DELTA, GAMMAS = 4, 0.2, (1, 2, 3, 4, 6)
# Images that are timed, those that lengths are chosen on, and turns of each.
TIMED, TRIED, TURNS = 96, 16, 2
# Held-out images that are completed to be read, and completions of each at T = 1.
READ, COMPLETIONS = 200, 5
# The most digits, as a share, that "about as good" may lose.
LOSS = 0.05


class Cost(NamedTuple):
    """Means over the pixels of each text, shape (n,): acceptance, TV and W1 (in grey levels) of the output from p."""

    acceptance: Array
    tv: Array
    w1: Array


def nearest(levels: int = LEVELS) -> Array:
    """The other grey levels of each level (levels, levels - 1), nearest first.

    Of two equally near levels the darker one comes first.
    """
    every = np.arange(levels)
    away = np.abs(every - every[:, None])
    # So the level itself comes first, and is cut.
    np.fill_diagonal(away, -1)
    return np.argsort(away, axis=-1, kind="stable")[:, 1:]


def shuffled(seed: int, levels: int = LEVELS) -> Array:
    """The other grey levels of each level in random order."""
    return np.random.default_rng(seed).permuted(nearest(levels), axis=-1)


def rows(model: Any, texts: Tensor) -> Array:
    """A model's laws along texts (n, 64, 16), in float64, where they sum to 1 to the last digit but one."""
    law = raster.laws(model, texts[:, :-1]).double().numpy()
    return law / law.sum(axis=-1, keepdims=True)


def cost(p: Array, q: Array, rule: str, params: dict[str, Any] | None = None) -> Cost:
    """Acceptance, TV and W1 of a rule on the rows (n, pixels, V) of each text."""
    off = output_law(p, q, rule=rule, params=params) - p
    each = (
        acceptance_rate(p, q, rule=rule, params=params),
        np.abs(off).sum(axis=-1) / 2,
        np.abs(np.cumsum(off, axis=-1)).sum(axis=-1),
    )
    return Cost(*(value.mean(axis=-1) for value in each))


def mean(costs: list[Cost]) -> Cost:
    """The average, text by text."""
    return Cost(*(np.mean(values, axis=0) for values in zip(*costs, strict=True)))


def shared(first: list[Cost], second: list[Cost]) -> float:
    """The acceptance in the middle of the range that both curves have."""
    ends = [[float(point.acceptance.mean()) for point in curve] for curve in (first, second)]
    return (max(map(min, ends)) + min(map(max, ends))) / 2


def read(acceptance: Array, value: Array, level: float) -> Array:
    """Values of a curve (points, ...) at a level of acceptance, on the line between two points.

    Where acceptance is equal so is the bias: it is acceptance less a constant, on such lines as
    well.
    """
    last = np.clip((acceptance <= level).sum(axis=0) - 1, 0, len(acceptance) - 2)[None]
    (a, b), (v, w) = (
        [np.take_along_axis(curve, last + step, axis=0)[0] for step in (0, 1)] for curve in (acceptance, value)
    )
    return v + (w - v) * (level - a) / np.where(b > a, b - a, 1)


def less(first: list[Cost], second: list[Cost], level: float) -> Estimate:
    """W1 along one curve less W1 along the other, at the same acceptance."""
    points = [*first, *second]

    def statistic(*data: Array) -> Array:
        """The difference of each resample."""
        accepted, moved = (np.stack([d.mean(axis=-1) for d in part]) for part in (data[::2], data[1::2]))
        n = len(first)
        first_w1 = read(accepted[:n], moved[:n], level)
        return np.asarray(first_w1 - read(accepted[n:], moved[n:], level))

    return bootstrap(tuple(values for point in points for values in (point.acceptance, point.w1)), statistic)


def _averaged(values: Array) -> Estimate:
    """The mean over texts with its interval."""
    return bootstrap((values,), lambda a: a.mean(axis=-1))


def run(lab: Lab) -> Record:
    """Return the record: rules compared along images of the target, then the relaxed rule in the decode loop."""
    lab.said("the target writes images")
    texts = ancestral(labels(lab.texts(TEXTS), lab.seed), seed=lab.seed).texts
    p, q = (rows(raster.model(name), texts) for name in MODELS)
    record = compared_rules(p, q, lab.seed, lab.said)

    # The rule in the decode loop, sampled and greedy.
    exact, measured = dict(record.exact), dict(record.measured)
    for temperature in (1, 0):
        lengths, numbers = decoded(lab, is_greedy=temperature == 0)
        exact |= {f"{name}, T = {temperature}": value for name, value in lengths.items()}
        measured |= {f"{name}, T = {temperature}": value for name, value in numbers.items()}
    return Record(exact, measured, {})


def decoded(lab: Lab, is_greedy: bool) -> tuple[dict[str, float], dict[str, Estimate]]:
    """Drafts a block of exact and relaxed speculation; then their speed, and what becomes of their images."""
    words = "greedy" if is_greedy else "sampled"
    near = nearest()[:, :K]
    ways: dict[str, Way] = {"exact": Exact(is_greedy), "relaxed": Relaxed(near, DELTA, is_greedy)}

    # The drafts a block, on images that the models learned from.
    tried = openings(digits().learned())[: lab.texts(TRIED, 2)]
    lengths = {name: fastest(lab, f"{name}, {words}", tried, way) for name, way in ways.items()}

    # Time and passes by turns, on held-out images.
    prompts = openings(digits().held_out())
    few = prompts[: lab.texts(TIMED, 4)]
    lab.said(f"images are timed, {words}")
    runs = [(ways["exact"], 0), *((way, lengths[name]) for name, way in ways.items())]
    seconds, passes = np.asarray(lab.keep(f"timed, {words}", lambda: as_lists(timed(few, runs, lab.seed, TURNS))))
    plain, exact, relaxed = seconds
    tokens = np.full(len(few), float(WRITTEN))
    numbers = {
        "speed of relaxed over exact speculation": ratio(exact, relaxed),
        "speed of exact speculation over plain decoding": ratio(plain, exact),
        "speed of relaxed speculation over plain decoding": ratio(plain, relaxed),
        "tokens a pass, exact": ratio(tokens, passes[1]),
        "tokens a pass, relaxed": ratio(tokens, passes[2]),
        "tokens a pass, relaxed over exact": ratio(passes[1], passes[2]),
    }
    numbers |= images_of(lab, prompts, lengths, is_greedy)
    return {f"drafts a block, {name}": float(gamma) for name, gamma in lengths.items()}, numbers


def fastest(lab: Lab, name: str, prompts: list[list[int]], way: Way) -> int:
    """The drafts a block that take the least time on some images."""
    if len(GAMMAS) == 1:
        return GAMMAS[0]
    lab.said(f"drafts a block are chosen, {name}")
    every = [(way, gamma) for gamma in GAMMAS]
    seconds, _ = lab.keep(f"lengths, {name}", lambda: as_lists(timed(prompts, every, lab.seed, TURNS)))
    return GAMMAS[int(np.argmin(np.sum(seconds, axis=-1)))]


def images_of(lab: Lab, prompts: list[list[int]], lengths: dict[str, int], is_greedy: bool) -> dict[str, Estimate]:
    """Digits that are read rightly, and energies, of relaxed images at each delta beside those of exact ones."""
    read = prompts[: lab.texts(READ)]
    completions = 1 if is_greedy else COMPLETIONS
    labels = digits().held_out().labels[: len(read)]

    def judged(way: Way, gamma: int) -> tuple[Array, Array]:
        """Share of completions read rightly, and mean energy, of each image (n,)."""
        right, energies = np.zeros(len(read)), np.zeros(len(read))
        for turn in range(completions):
            runs = complete(read, way, gamma, lab.seed, first=turn * len(read))
            texts = torch.tensor([prompt + run.tokens for prompt, run in zip(read, runs, strict=True)])
            right += (read_digits(texts[:, 1:]) == labels).numpy() / completions
            energies += raster.energy(raster.model("raster_target"), texts).numpy() / completions
        return right, energies

    lab.said(f"images are read, {'greedy' if is_greedy else 'sampled'}")
    right, energies = judged(Exact(is_greedy), lengths["exact"])
    numbers = {"digits read, exact": _averaged(right)}
    for delta in DELTAS:
        other, others = judged(Relaxed(nearest()[:, :K], delta, is_greedy), lengths["relaxed"])
        numbers[f"digits read, delta = {delta:g}"] = _averaged(other)
        numbers[f"digits read, relaxed less exact, delta = {delta:g}"] = _averaged(other - right)
        numbers[f"energy, relaxed less exact, delta = {delta:g}"] = _averaged(others - energies)
    return numbers


def as_lists(times: Timed) -> list[list[list[float]]]:
    """Seconds and passes in the form that a file gives back."""
    return [times.seconds.tolist(), times.passes.tolist()]


def compared_rules(p: Array, q: Array, seed: int = 0, show_stage: Callable[[str], None] = lambda words: None) -> Record:
    """Acceptance, TV and W1 of all rules on rows (texts, pixels, V) of target and draft."""
    levels = p.shape[-1]
    tables = {"nearest": [nearest(levels)], "random": [shuffled(seed + i, levels) for i in range(TABLES)]}

    def curve(kind: str, k: int) -> list[Cost]:
        """Costs at each delta, averaged over the tables of a kind."""
        show_stage(f"{kind} neighbours, k = {k}")
        points_params = [[{"neighbours": table[:, :k], "delta": delta} for table in tables[kind]] for delta in DELTAS]
        return [mean([cost(p, q, "lantern", params) for params in point]) for point in points_params]

    # Rules without neighbours.
    exact, measured = cost(p, q, "rejection"), {}
    measured["acceptance of rejection"] = _averaged(exact.acceptance)
    drafted = np.abs(np.cumsum(q - p, axis=-1)).sum(axis=-1).mean(axis=-1)
    measured["W1 of the draft alone"] = _averaged(drafted)
    lenient = [cost(p, q, "lenience", {"epsilon": epsilon}) for epsilon in EPSILONS]
    points = {f"lenience, epsilon = {e:g}": point for e, point in zip(EPSILONS, lenient, strict=True) if e < 1}

    # Nearest neighbours, random ones and lenience, compared at the same acceptance.
    compared = {}
    for k in dict.fromkeys(min(k, levels - 1) for k in (*FEW, ALL)):
        near, random = curve("nearest", k), curve("random", k)
        level = compared[f"acceptance compared at, k = {k}"] = shared(near, random)
        measured[f"W1 saved by nearest neighbours, k = {k}"] = less(random, near, level)
        measured[f"W1 saved by lenience instead of nearest, k = {k}"] = less(near, lenient, level)
        if k in FEW:
            for kind, line in (("nearest", near), ("random", random)):
                points |= {f"{kind}, k = {k}, delta = {d:g}": point for d, point in zip(DELTAS, line, strict=True)}

    # The zeroed variant; then all points, and how far they are from their price.
    for delta in (0.0, 0.2):
        near_by = {"neighbours": nearest(levels)[:, :4], "delta": delta}
        points[f"zeroed, k = 4, delta = {delta:g}"] = cost(p, q, "lantern", near_by | {"zeroed": True})
    for name, point in points.items():
        for what, values in zip(("acceptance", "TV", "W1"), point, strict=True):
            measured[f"{what} of {name}"] = _averaged(values)
    paid = [np.abs(c.tv - (c.acceptance - exact.acceptance)).max() for n, c in points.items() if "zeroed" not in n]
    return Record({"largest |TV - price of the acceptance|": float(max(paid)), **compared}, measured, {})


def verdict(record: Record) -> Verdict:
    """Whether nearest neighbours move less mass, or move it less far; and what the loop makes of them."""
    measured = record.measured
    parts = [(measured[HEADLINE], 0.0)]
    for at in ("T = 1", "T = 0"):
        parts.append((measured[f"speed of relaxed over exact speculation, {at}"], 1.0))
        parts.append((measured[f"digits read, relaxed less exact, delta = {DELTA:g}, {at}"], -LOSS))
    if any(number.high < bound for number, bound in parts):
        return "contradicts"
    return "shows" if all(number.low > bound for number, bound in parts) else "does not show"
