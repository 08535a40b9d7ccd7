"""Trees, decoders, a drafter and batches that are lossless in unusual ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from conform.unseen.form import Shelf, draw, rest

SUBJECTS = subject = Shelf()
SHAPES = ((-1, -1), (-1, -1, 0), (-1, 0, 0), (-1, -1, 0, 1))


@subject("tree", shapes=SHAPES)
def siblings_from_the_last(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """Siblings are i.i.d., so that they may be tried in any order that does not look at them."""
    path: list[int] = []
    node = -1
    while True:
        law = p[node + 1]
        for child in np.flatnonzero(tree.parents == node)[::-1]:
            x = int(tree.tokens[child])
            if random.random() * q[node + 1, x] < law[x]:
                path.append(int(child))
                break
            law = rest(law, q[node + 1])
        else:
            return path, draw(random, law)
        node = path[-1]


@subject("tree", shapes=SHAPES)
def one_random_path(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """A leaf is chosen evenly, before any token is looked at; the path to it is a plain chain of drafts."""
    leaves = [i for i in range(len(tree.parents)) if i not in tree.parents]
    node = leaves[int(random.choice(len(leaves)))]
    path: list[int] = []
    while node >= 0:
        path.insert(0, node)
        node = int(tree.parents[node])
    for i, node in enumerate(path):
        above, x = int(tree.parents[node]) + 1, int(tree.tokens[node])
        if not random.random() * q[above, x] < p[above, x]:
            return path[:i], draw(random, rest(p[above], q[above]))
    return path, draw(random, p[path[-1] + 1])


@subject("tree", shapes=SHAPES)
def correction_found_among_siblings(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """One child is tested; the correction, which looks at no sibling, goes on below one that equals it."""
    path: list[int] = []
    node = -1
    while True:
        children = [int(i) for i in np.flatnonzero(tree.parents == node)]
        if not children:
            return path, draw(random, p[node + 1])
        x = int(tree.tokens[children[0]])
        if random.random() * q[node + 1, x] < p[node + 1, x]:
            node = children[0]
        else:
            y = draw(random, rest(p[node + 1], q[node + 1]))
            equal = [i for i in children[1:] if int(tree.tokens[i]) == y]
            if not equal:
                return path, y
            node = equal[0]
        path.append(node)


@subject("decoder", sizes=(1, 2))
def two_tokens_as_one(target: Any, draft: Any, prompt: Any, n: int, _: Any, random: Any) -> list[int]:
    """A pair of tokens is drafted, tested and corrected as one token of a vocabulary of pairs."""
    text: list[int] = []
    while len(text) < n:
        seen = (*prompt, *text)
        first = draft(seen)
        joint_q = np.stack([first[x] * draft((*seen, x)) for x in range(len(first))])
        x, y = divmod(draw(random, joint_q.ravel()), len(first))
        rows = target.rows((*seen, x), len(seen))
        if not random.random() * joint_q[x, y] < rows[0][x] * rows[1][y]:
            joint_p = np.stack([rows[0][z] * target((*seen, z)) for z in range(len(first))])
            x, y = divmod(draw(random, rest(joint_p, joint_q).ravel()), len(first))
        text += [x, y]
    return text[:n]


@subject("decoder", sizes=(1, 2))
def common_random_numbers(target: Any, draft: Any, prompt: Any, n: int, _: Any, random: Any) -> list[int]:
    """Position i has one number u_i; draft and target both take their quantile there, and only equals stand."""
    u, text = random.random(n), list[int]()

    def quantile(law: Any, number: Any) -> int:
        cumulative = np.cumsum(law)
        at = (t for t in range(len(law)) if number < cumulative[t])
        return next(at, int(np.flatnonzero(law)[-1]))

    while len(text) < n:
        guess = list(text)
        while len(guess) < min(len(text) + 2, n):
            guess.append(quantile(draft((*prompt, *guess)), u[len(guess)]))
        rows = target.rows((*prompt, *guess), len(prompt) + len(text))
        for row in rows[: n - len(text)]:
            text.append(quantile(row, u[len(text)]))
            if text != guess[: len(text)]:
                break
    return text


@subject("decoder", sizes=(1, 2))
def lookup_in_the_text(target: Any, _: Any, prompt: Any, n: int, __: Any, random: Any) -> list[int]:
    """It drafts what last followed the last token, and never asks the draft model: a draft of law 1."""
    text: list[int] = []
    while len(text) < n:
        seen = [*prompt, *text]
        found = [i for i in range(len(seen) - 1) if seen[i] == seen[-1]]
        x = seen[found[-1] + 1] if found else 0
        rows = target.rows((*seen, x), len(seen))
        if random.random() < rows[0][x]:
            text += [x, draw(random, rows[1])]
        else:
            text.append(draw(random, rows[0] * (np.arange(len(rows[0])) != x)))
    return text[:n]


@subject("decoder", sizes=(1, 2), stops=True)
def draft_lags_one_token(target: Any, draft: Any, prompt: Any, n: int, _: Any, random: Any, *, end: Any) -> list[int]:
    """The draft has not read the last token, and is tested by the rows that it drew from."""
    text: list[int] = []
    while len(text) < n and end not in text:
        seen = (*prompt, *text)
        q, guess = [], list[int]()
        for _ in range(2):
            q.append(draft((*seen, *guess)[:-1]))
            guess.append(draw(random, q[-1]))
        rows = target.rows((*seen, *guess), len(seen))
        for i, x in enumerate(guess):
            if not random.random() * q[i][x] < rows[i][x]:
                text.append(draw(random, rest(rows[i], q[i])))
                break
            text.append(x)
        else:
            text.append(draw(random, rows[-1]))
    length = text.index(end) + 1 if end in text else n
    return text[: min(length, n)]


@subject("drafter")
def likeliest_or_drawn(draft: Any, prompt: Any, gamma: int, _: Any, random: Any) -> tuple[list[int], Any]:
    """Half of the drafts are the likeliest token, half are drawn; the row returned is that mixture."""
    text, rows = list[int](), []
    for _ in range(gamma):
        law = draft((*prompt, *text))
        likeliest = np.eye(len(law))[law.argmax()]
        rows.append((law + likeliest) / 2)
        text.append(int(law.argmax()) if random.random() < 0.5 else draw(random, law))
    return text, np.stack(rows)


def _excess(p: Any, q: Any) -> Any:
    excess = (p - q).clamp(min=0)
    return excess if excess.sum() > 0 else p


@subject("flat", sizes=(1, 2))
def rows_sorted_and_put_back(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any) -> Any:
    """It verifies the longest block first, and puts the results back by the inverse of that order."""
    starts = torch.cat([ends.new_zeros(1), ends[:-1]])
    order = torch.argsort(starts - ends, stable=True)
    out = torch.full((len(ends), int((ends - starts).max()) + 1), -1)
    for place, n in enumerate(order.tolist()):
        for k, t in enumerate(range(int(starts[n]), int(ends[n]))):
            x = drafts[t]
            if not torch.rand(()) * q[t, x] < p[t, x]:
                out[place, k] = torch.multinomial(_excess(p[t], q[t]), 1)[0]
                break
            out[place, k] = x
        else:
            out[place, int(ends[n] - starts[n])] = bonus[n]
    return out[torch.argsort(order)]


@subject("padded", sizes=(1, 2))
def column_by_column(p: Any, q: Any, drafts: Any, counts: Any) -> Any:
    """All rows are tested at place 0, then those still alive at place 1, and so on."""
    count, width = drafts.shape
    out = torch.full((count, width + 1), -1)
    alive = torch.ones(count, dtype=torch.bool)
    for k in range(width + 1):
        for n in torch.nonzero(alive)[:, 0].tolist():
            if k == int(counts[n]):
                out[n, k], alive[n] = torch.multinomial(p[n, k], 1)[0], False
                continue
            x = drafts[n, k]
            if torch.rand(()) * q[n, k, x] < p[n, k, x]:
                out[n, k] = x
            else:
                out[n, k], alive[n] = torch.multinomial(_excess(p[n, k], q[n, k]), 1)[0], False
    return out


@subject("vllm", sizes=(1, 2))
def one_race_for_all_places(drafts: Any, counts: Any, longest: int, ends: Any, q: Any, p: Any, bonus: Any) -> Any:
    """A row races its corrections with the same exponentials at every place: only the first rejection reads them."""
    out = torch.full((len(counts), longest + 1), -1)
    noise = torch.empty(len(counts), p.shape[-1], dtype=p.dtype).exponential_()
    for n, count in enumerate(counts):
        start = int(ends[n]) - count
        for k in range(count):
            x = drafts[start + k]
            if not torch.rand(()) * q[start + k, x] < p[start + k, x]:
                out[n, k] = (_excess(p[start + k], q[start + k]) / noise[n]).argmax()
                break
            out[n, k] = x
        else:
            out[n, count] = bonus[n, 0]
    return out
