"""Steps and chains that are lossy in subtle ways; the distance is in total variation, which is
reached at the input that is named, or at a law on three tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from conform.unseen.form import Shelf, draw, inverse, rest

SUBJECTS = subject = Shelf()


@subject("step", 1 / 7, sizes=(1,))
def rest_of_a_lookup(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It corrects with p less the draft, right for one-hot drafts alone: p = (3, 2, 5)/10, q = (5, 0, 5)/10."""
    x = int(drafts[0])
    if random.random() * q[x] < p[x]:
        return x
    return draw(random, p * (np.arange(len(p)) != x))


@subject("step", 1 / 6, sizes=(2,))
def better_of_two_by_a_wrong_law(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It takes 1 - (1 - q)^2, normalised, for the law of the draft with the larger p / q: p = (2, 1, 1)/4, q even."""
    ratio = np.divide(p, q, out=np.zeros_like(p), where=q > 0)
    chosen = 1 - (1 - q) ** 2
    chosen = chosen / chosen.sum()
    a, b = map(int, drafts)
    x = a if ratio[a] >= ratio[b] else b
    return x if random.random() * chosen[x] < p[x] else draw(random, rest(p, chosen))


@subject("step", 0.15, sizes=(2,))
def second_draft_as_if_without_replacement(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """I.i.d. drafts, but the second is tested by q without the first."""
    law, draft = p, q
    for x in map(int, drafts):
        if random.random() * draft[x] < law[x]:
            return x
        law = rest(law, draft)
        draft = draft * (np.arange(len(q)) != x)
        if not draft.any():
            break
        draft = draft / draft.sum()
    return draw(random, law)


@subject("step", 0.1, sizes=(2,), scheme="without_replacement")
def second_law_not_normalised(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """The first draft is taken out of q, and what is left is not normalised."""
    law, draft = p, q
    for x in map(int, drafts):
        if random.random() * draft[x] < law[x]:
            return x
        law = rest(law, draft)
        draft = draft * (np.arange(len(q)) != x)
    return draw(random, law)


@subject("step", 1 / 4, sizes=(1,), randomness="coins", coins=lambda _: 1)
def quantile_of_the_whole_head(p: Any, q: Any, drafts: Any, coins: Any) -> int:
    """A quantile coupling that stretches the coin from 0 to Q(x) instead of from Q(x - 1): p = q = (1, 1)/2."""
    x = int(drafts[0])
    return inverse(p, coins[0] * q[: x + 1].sum())


@subject("step", 1 / 20, sizes=(1,))
def hesitates(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It tests against nine tenths of p, and corrects as if against p: p = (1, 1)/2, q = (1, 3)/4."""
    x = int(drafts[0])
    return x if random.random() * q[x] < 0.9 * p[x] else draw(random, rest(p, q))


@subject("step", 0.075, sizes=(1,), arrays="torch", randomness="global")
def race_of_uniforms(p: Any, q: Any, drafts: Any) -> Any:
    """What is left over is divided by uniform numbers, not exponential ones: p = (6, 3, 1)/10, q = (0, 0, 10)/10."""
    x = drafts[0]
    if torch.rand((), dtype=p.dtype) * q[x] < p[x]:
        return x
    excess = (p - q).clamp(min=0)
    excess = excess if excess.sum() > 0 else p
    return (excess / torch.rand(len(p), dtype=p.dtype)).argmax()


@subject("step", 0.12, sizes=(1,), randomness="coins", coins=lambda _: 2)
def quantile_of_an_excess_of_less_than_one(p: Any, q: Any, drafts: Any, coins: Any) -> int:
    """The excess is searched by a coin without being normalised; past its end is its last token.

    p = (4, 4, 2)/10, q = (2, 2, 6)/10.
    """
    x = int(drafts[0])
    return x if coins[0] * q[x] < p[x] else inverse((p - q).clip(0), coins[1])


@subject("step", 1 / 6, sizes=(1,))
def tested_twice(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """Two layers test the draft, each with a coin of its own, and one corrects: p = (1, 1)/2, q = (1, 3)/4."""
    x = int(drafts[0])
    passed = random.random() * q[x] < p[x] and random.random() * q[x] < p[x]
    return x if passed else draw(random, rest(p, q))


@subject("chain", 0.1, sizes=(2, 3))
def leaked_loop_variable(p: Any, q: Any, drafts: Any, random: Any) -> tuple[int, int]:
    """A loop over all rows leaves the last row of the draft behind, which every correction then subtracts."""
    ratios = []
    for target, draft, x in zip(p, q, map(int, drafts), strict=False):
        ratios.append(min(target[x] / draft[x], 1.0))
    for i, ratio in enumerate(ratios):
        if not random.random() < ratio:
            return i, draw(random, rest(p[i], draft))
    return len(drafts), draw(random, p[-1])


@subject("chain", 0.1, arrays="torch", randomness="global", sizes=(2, 3))
def counts_passes(p: Any, q: Any, drafts: Any) -> tuple[Any, Any]:
    """It sums the tests that pass instead of those before the first that fails: fail, pass keeps the first draft."""
    at = torch.arange(len(drafts))
    passed = torch.rand(len(drafts), dtype=p.dtype) * q[at, drafts] < p[at, drafts]
    kept = int(passed.sum())
    if kept == len(drafts):
        return kept, torch.multinomial(p[-1], 1)[0]
    excess = (p[kept] - q[kept]).clamp(min=0)
    return kept, torch.multinomial(excess if excess.sum() > 0 else p[kept], 1)[0]


@subject("chain", 0.05, sizes=(3,), randomness="coins")
def coins_wrap_around(p: Any, q: Any, drafts: Any, coins: Any) -> tuple[int, int]:
    """A buffer of two coins serves the tests of three drafts: the third sees the first one's."""
    for i, x in enumerate(map(int, drafts)):
        if not coins[i % 2] * q[i, x] < p[i, x]:
            return i, inverse(rest(p[i], q[i]), coins[-1])
    return len(drafts), inverse(p[-1], coins[-1])


@subject("chain", 0.1, sizes=(1, 2), randomness="coins", coins=lambda _: 1)
def coin_shifted_and_not_stretched(p: Any, q: Any, drafts: Any, coins: Any) -> tuple[int, int]:
    """One coin for a block; past a ratio a it goes on as u - a, which is uniform below 1 - a only."""
    u = coins[0]
    for i, x in enumerate(map(int, drafts)):
        ratio = min(p[i, x] / q[i, x], 1.0)
        if u >= ratio:
            return i, inverse(rest(p[i], q[i]), u - ratio)
        u = u / ratio
    return len(drafts), inverse(p[-1], u)


@subject("chain", 0.08, sizes=(1, 2))
def bonus_never_repeats(p: Any, q: Any, drafts: Any, random: Any) -> tuple[int, int]:
    """The bonus is drawn from the target's row without the last draft: the bonus of p(x) is lost."""
    for i, x in enumerate(map(int, drafts)):
        if not random.random() * q[i, x] < p[i, x]:
            return i, draw(random, rest(p[i], q[i]))
    law = p[-1] * (np.arange(p.shape[-1]) != int(drafts[-1]))
    return len(drafts), draw(random, law if law.any() else p[-1])


@subject("chain", 0.2, sizes=(1, 2))
def likeliest_is_waved_through(p: Any, q: Any, drafts: Any, random: Any) -> tuple[int, int]:
    """The target's likeliest token is kept without a test: p = (6, 4)/10, q = (8, 2)/10 gives it 8/10."""
    for i, x in enumerate(map(int, drafts)):
        if x != p[i].argmax() and not random.random() * q[i, x] < p[i, x]:
            return i, draw(random, rest(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


@subject("chain", 0.1, sizes=(1, 2), masks=True)
def mask_without_normalising(p: Any, q: Any, drafts: Any, random: Any, *, mask: Any) -> Any:
    """The masked target is compared as it is, of a mass below 1, with the draft: too few are kept."""
    mask = np.ones(p.shape, dtype=bool) if mask is None else mask
    for i, x in enumerate(map(int, drafts)):
        target = p[i] * mask[i]
        if not random.random() * q[i, x] < target[x]:
            excess = (target - q[i]).clip(0)
            return i, draw(random, excess if excess.any() else target)
    return len(drafts), draw(random, p[-1] * mask[-1])


@subject("chain", 0.1, sizes=(1, 2), logprobs="raw")
def logarithm_of_the_rest(p: Any, q: Any, drafts: Any, random: Any) -> Any:
    """A correction is reported with its logarithm in what is left over, not in the target; the tokens are right."""
    said = []
    for i, x in enumerate(map(int, drafts)):
        if not random.random() * q[i, x] < p[i, x]:
            law = rest(p[i], q[i])
            y = draw(random, law)
            return (i, y), [*said, float(np.log(law[y]))]
        said.append(float(np.log(p[i, x])))
    y = draw(random, p[-1])
    return (len(drafts), y), [*said, float(np.log(p[-1, y]))]


def _heated(law: Any, temperature: float, top_k: int, top_p: float) -> Any:
    """Return the law under temperature, top-k and top-p, in this order."""
    if temperature == 0:
        return np.eye(len(law))[law.argmax()]
    law = (law / law.max()) ** (1 / temperature)
    order = np.argsort(-law, kind="stable")
    if top_k:
        law[order[top_k:]] = 0
    law = law / law.sum()
    before = np.cumsum(law[order]) - law[order]
    law[order[before >= top_p]] = 0
    return law / law.sum()


def _under(wrong_target: Any, wrong_draft: Any) -> Any:
    """Return the usual chain; the two functions change the sampling parameters of target and draft."""

    def run(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: Any) -> Any:
        of_target, of_draft = wrong_target(*sampling_params), wrong_draft(*sampling_params)
        for i, x in enumerate(map(int, drafts)):
            target, draft = _heated(p[i], *of_target), _heated(q[i], *of_draft)
            if not random.random() * draft[x] < target[x]:
                return i, draw(random, rest(target, draft))
        return len(drafts), draw(random, _heated(p[-1], *of_target))

    return run


@subject("chain", 0.15, sizes=(1, 2), warps=True)
def hot_is_clamped(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: Any) -> Any:
    """The target's temperature is clamped at 1: at 2, (9, 1)/10 should become (3, 1)/4."""
    run = _under(lambda t, k, s: (min(t, 1.0), k, s), lambda *same: same)
    return run(p, q, drafts, random, sampling_params=sampling_params)


@subject("chain", 0.1, sizes=(1, 2), warps=True)
def one_more_of_the_drafts_top_k(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: Any) -> Any:
    """The draft is tested as if top-k had left it one token more: at top-k 2, p = (1, 2, 3)/6, q = (3, 2, 1)/6."""
    run = _under(lambda *same: same, lambda t, k, s: (t, k + (k > 0), s))
    return run(p, q, drafts, random, sampling_params=sampling_params)


@subject("chain", 1 / 4, sizes=(1, 2), stops=True, returns="tokens")
def end_is_never_drafted(p: Any, q: Any, drafts: Any, random: Any, *, end: Any, limit: Any) -> Any:
    """A drafted end token counts as no draft, and the target is drawn from: p = q = (1, 1)/2 ends in 1/4."""
    text = []
    for i, x in enumerate(map(int, drafts)):
        if x == end:
            text.append(draw(random, p[i]))
            return text[:limit]
        if not random.random() * q[i, x] < p[i, x]:
            text.append(draw(random, rest(p[i], q[i])))
            return text[:limit]
        text.append(x)
        if len(text) == limit:
            return text
    return [*text, draw(random, p[-1])]


@subject("chain", 0.1, sizes=(1,), stateful=True)
def trusted_after_a_full_block() -> Any:
    """After a block that was kept whole the next one is kept without tests."""
    trusted = False

    def run(p: Any, q: Any, drafts: Any, random: Any) -> tuple[int, int]:
        nonlocal trusted
        tests, trusted = not trusted, False
        for i, x in enumerate(map(int, drafts)):
            if tests and not random.random() * q[i, x] < p[i, x]:
                return i, draw(random, rest(p[i], q[i]))
        trusted = tests
        return len(drafts), draw(random, p[-1])

    return run
