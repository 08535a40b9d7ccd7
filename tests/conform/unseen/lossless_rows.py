"""Steps and chains that are lossless in unusual ways."""

from __future__ import annotations

import random as python_random
from itertools import product
from typing import Any

import numpy as np
import torch
from conform.unseen.form import Shelf, draw, inverse, rest

SUBJECTS = subject = Shelf()


@subject("step", sizes=(1,))
def lazy(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """A coin that looks at nothing decides to ignore the draft; either branch has the law p."""
    if random.random() < 0.5:
        return draw(random, p)
    x = int(drafts[0])
    return x if random.random() * q[x] < p[x] else draw(random, rest(p, q))


@subject("step", sizes=(1,))
def barker(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It keeps x with p / (p + q) and draws from p less what is kept, p q / (p + q)."""
    x = int(drafts[0])
    if random.random() * (p[x] + q[x]) < p[x]:
        return x
    total = p + q
    kept = np.divide(p * q, total, out=np.zeros_like(p), where=total > 0)
    return draw(random, p - kept)


@subject("step", sizes=(2, 3))
def last_draft_only(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """Of i.i.d. drafts the last one has the law q, whatever the others are."""
    x = int(drafts[-1])
    return x if random.random() * q[x] < p[x] else draw(random, rest(p, q))


@subject("step", sizes=(2,))
def better_of_two_by_its_law(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It picks the draft with the larger p / q, and tests it by the law that this choice has."""
    ratio = np.divide(p, q, out=np.zeros_like(p), where=q > 0)
    chosen = np.zeros_like(q)
    for x, y in product(range(len(q)), repeat=2):
        chosen[x if ratio[x] >= ratio[y] else y] += q[x] * q[y]
    a, b = map(int, drafts)
    x = a if ratio[a] >= ratio[b] else b
    return x if random.random() * chosen[x] < p[x] else draw(random, rest(p, chosen))


@subject("step", sizes=(2,), scheme="without_replacement")
def second_of_two_by_its_law(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """Drawn without replacement, the second draft alone has the law sum_y q(y) q(x) / (1 - q(y)), or repeats y."""
    second = np.zeros_like(q)
    for y in np.flatnonzero(q):
        left = q * (np.arange(len(q)) != y)
        second += q[y] * (left / left.sum() if left.any() else q)
    x = int(drafts[1])
    return x if random.random() * second[x] < p[x] else draw(random, rest(p, second))


@subject("step", sizes=(1,), randomness="coins", coins=lambda _: 1)
def quantile_coupling(p: Any, q: Any, drafts: Any, coins: Any) -> int:
    """The draft and one coin name a uniform point of [0, 1]; the token is the target's quantile there."""
    x = int(drafts[0])
    return inverse(p, q[:x].sum() + coins[0] * q[x])


@subject("step", sizes=(1,))
def row_of_the_transition(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It builds the whole matrix of the usual coupling, and draws once from the draft's row."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=q > 0).clip(0, 1)
    matrix = np.diag(ratio) + (1 - ratio)[:, None] * rest(p, q)
    return draw(random, matrix[int(drafts[0])])


@subject("step", sizes=(1,))
def stick_breaking(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """What is left over is drawn by one coin a token: is it this one, given that it is none before?"""
    x = int(drafts[0])
    if random.random() * q[x] < p[x]:
        return x
    law = rest(p, q)
    for token in range(len(law) - 1):
        if random.random() * law[token:].sum() < law[token]:
            return token
    return len(law) - 1


@subject("step", sizes=(2,))
def linear_program(p: Any, q: Any, drafts: Any, random: Any) -> int:
    """It solves the transport from pairs of drafts to p, and draws from the pair's row of the plan."""
    from scipy.optimize import linprog

    vocab, pairs = len(p), list(product(range(len(p)), repeat=2))
    weights = [q[a] * q[b] for a, b in pairs]
    of_pair = np.kron(np.eye(len(pairs)), np.ones(vocab))  # every row of the plan, given its pair, is a law
    of_token = np.kron(weights, np.eye(vocab))
    lost = [w * (token not in pair) for pair, w in zip(pairs, weights, strict=True) for token in range(vocab)]
    plan = linprog(lost, A_eq=np.vstack([of_pair, of_token]), b_eq=[*np.ones(len(pairs)), *p]).x
    row = plan.reshape(len(pairs), vocab)[pairs.index((int(drafts[0]), int(drafts[1])))]
    return draw(random, row.clip(0))


@subject("step", sizes=(1,), randomness="global")
def alias_table(p: Any, q: Any, drafts: Any) -> int:
    """What is left over is drawn by an alias table: an even choice of a column, then one coin."""
    x = int(drafts[0])
    if python_random.random() * q[x] < p[x]:
        return x
    vocab = len(p)
    height, alias = rest(p, q) * vocab, list(range(vocab))
    small = [v for v in range(vocab) if height[v] < 1]
    large = [v for v in range(vocab) if height[v] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        height[high] -= 1 - height[low]
        if height[high] < 1:
            small.append(large.pop())
    column = python_random.choice(range(vocab))
    return column if python_random.random() < height[column] else alias[column]


@subject("chain", sizes=(1, 2), randomness="coins", coins=lambda _: 1)
def one_recycled_coin(p: Any, q: Any, drafts: Any, coins: Any) -> tuple[int, int]:
    """One coin for a block: below a ratio a, u / a is uniform again; above it, (u - a) / (1 - a) is."""
    u = coins[0]
    for i, x in enumerate(map(int, drafts)):
        ratio = min(p[i, x] / q[i, x], 1.0)
        if u >= ratio:
            return i, inverse(rest(p[i], q[i]), (u - ratio) / (1 - ratio))
        u = u / ratio
    return len(drafts), inverse(p[-1], u)


def _matches(p: Any, q: Any, drafts: Any, random: Any) -> Any:
    """The batched twin of `match_of_samples`."""
    cumulative = np.cumsum(p, axis=-1)
    samples = (random.random((*p.shape[:2], 1)) >= cumulative / cumulative[..., -1:]).sum(-1)
    same = np.cumprod(samples[:, :-1] == drafts, axis=1)
    samples[:, 1:][same == 0] = -1
    return samples


@subject("chain", returns="tokens", batch=_matches)
def match_of_samples(p: Any, q: Any, drafts: Any, random: Any) -> list[int]:
    """It draws from every row of the target, and goes on as long as a draft equals the sample."""
    text = []
    for row, x in zip(p, [*map(int, drafts), -1], strict=True):
        text.append(draw(random, row))
        if text[-1] != x:
            break
    return text


@subject("chain", arrays="torch", randomness="global", sizes=(1, 2))
def cumprod_of_bernoullis(p: Any, q: Any, drafts: Any) -> tuple[Any, Any]:
    """Every test and every correction is drawn before it is known which are needed."""
    at = torch.arange(len(drafts))
    passed = torch.bernoulli((p[at, drafts] / q[at, drafts]).clamp(max=1))
    excess = (p[:-1] - q).clamp(min=0)
    excess = torch.where(excess.sum(-1, keepdim=True) > 0, excess, p[:-1])
    tokens = torch.multinomial(torch.cat([excess, p[-1:]]), 1)[:, 0]
    kept = torch.cumprod(passed, 0).sum().long()
    return kept, tokens[kept]


@subject("chain", randomness="global", sizes=(1, 2))
def numbers_asked_for_backwards(p: Any, q: Any, drafts: Any) -> tuple[int, int]:
    """The bonus comes first, then the last draft's correction and test, and the first draft's at the end."""
    kept, token = len(drafts), int(np.random.choice(p.shape[-1], p=p[-1]))  # noqa: NPY002
    for i in range(len(drafts) - 1, -1, -1):
        x = int(drafts[i])
        correction = int(np.random.choice(p.shape[-1], p=rest(p[i], q[i])))  # noqa: NPY002
        if not np.random.random() * q[i, x] < p[i, x]:  # noqa: NPY002
            kept, token = i, correction
    return kept, token


@subject("chain", arrays="torch", logits=True, logprobs="raw", sizes=(1, 2))
def logarithms_of_shifted_logits(p: Any, q: Any, drafts: Any, random: Any) -> Any:
    """It reports the log-softmax of rows that were shifted by constants; the shift cancels."""
    p, q = p + 3.0, q - 7.0
    log_p, log_q = p.log_softmax(-1), q.log_softmax(-1)
    text = []
    for i, x in enumerate(drafts.tolist()):
        if not random.random() * log_q[i, x].exp() < log_p[i, x].exp():
            text.append(draw(random, rest(log_p[i].exp().numpy(), log_q[i].exp().numpy())))
            break
        text.append(x)
    else:
        text.append(draw(random, log_p[-1].exp().numpy()))
    said = [float(log_p[i, x]) for i, x in enumerate(text)]
    kept = len(text) - 1
    return (kept, text[-1]), torch.tensor(said)


def _warped(law: Any, sampling_params: Any) -> Any:
    """Temperature by powers, top-k by counting larger tokens, top-p by the mass of larger tokens."""
    temperature, top_k, top_p = sampling_params
    if temperature == 0:
        return np.eye(len(law))[law.argmax()]
    law = (law / law.max()) ** (1 / temperature)
    law = law / law.sum()
    larger = law[None, :] > law[:, None]
    if top_k:
        law = np.where(larger.sum(1) < top_k, law, 0)
        law = law / law.sum()
    law = np.where((larger * law).sum(1) < top_p, law, 0)
    return law / law.sum()


@subject("chain", warps=True, sizes=(1, 2))
def filters_without_a_sort(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: Any) -> Any:
    """It warps by comparing every token with every other; ties aside, that is what a sort does."""
    for i, x in enumerate(map(int, drafts)):
        target, draft = _warped(p[i], sampling_params), _warped(q[i], sampling_params)
        if not random.random() * draft[x] < target[x]:
            return i, draw(random, rest(target, draft))
    return len(drafts), draw(random, _warped(p[-1], sampling_params))


@subject("chain", masks=True, sizes=(1, 2))
def forbidden_drafts_are_none(p: Any, q: Any, drafts: Any, random: Any, *, mask: Any) -> Any:
    """A forbidden draft is as if there were none; an allowed one has the law q, masked and normalised."""
    mask = np.ones(p.shape, dtype=bool) if mask is None else mask
    for i, x in enumerate(map(int, drafts)):
        target, allowed = p[i] * mask[i], q[i] * mask[i]
        target = target / target.sum()
        if not mask[i, x]:
            return i, draw(random, target)
        allowed = allowed / allowed.sum()
        if not random.random() * allowed[x] < target[x]:
            return i, draw(random, rest(target, allowed))
    return len(drafts), draw(random, p[-1] * mask[-1])


@subject("chain", stops=True, returns="tokens", sizes=(1, 2))
def verified_whole_and_cut(p: Any, q: Any, drafts: Any, random: Any, *, end: Any, limit: Any) -> Any:
    """It verifies past the end of the text, and cuts afterwards: what is cut off does not look back."""
    text = []
    for i, x in enumerate(map(int, drafts)):
        if not random.random() * q[i, x] < p[i, x]:
            text.append(draw(random, rest(p[i], q[i])))
            break
        text.append(x)
    else:
        text.append(draw(random, p[-1]))
    if end in text:
        text = text[: text.index(end) + 1]
    return text[:limit]


@subject("chain", stateful=True, sizes=(1, 2))
def every_other_block_plainly() -> Any:
    """It counts its blocks: in the second, fourth, ... it ignores the drafts, and draws one token from the target."""
    blocks = 0

    def run(p: Any, q: Any, drafts: Any, random: Any) -> tuple[int, int]:
        nonlocal blocks
        blocks += 1
        if blocks % 2 == 0:
            return 0, draw(random, p[0])
        for i, x in enumerate(map(int, drafts)):
            if not random.random() * q[i, x] < p[i, x]:
                return i, draw(random, rest(p[i], q[i]))
        return len(drafts), draw(random, p[-1])

    return run
