"""Trees, decoders, a drafter and batches that are lossy in subtle ways; distances as in `lossy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from conform.unseen.form import Shelf, draw, rest

SUBJECTS = subject = Shelf()
SHAPES = ((-1, -1), (-1, -1, 0), (-1, 0, 0), (-1, -1, 0, 1))


@subject("tree", 0.1, shapes=SHAPES)
def likeliest_path_only(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """Of the drafted paths it reads the likeliest under the draft, and tests it as if it were the only one."""
    leaves = [i for i in range(len(tree.parents)) if i not in tree.parents]
    paths = []
    for leaf in leaves:
        path, node, weight = list[int](), leaf, 1.0
        while node >= 0:
            weight *= q[int(tree.parents[node]) + 1, int(tree.tokens[node])]
            path.insert(0, node)
            node = int(tree.parents[node])
        paths.append((weight, path))
    path = max(paths)[1]
    for i, node in enumerate(path):
        above, x = int(tree.parents[node]) + 1, int(tree.tokens[node])
        if not random.random() * q[above, x] < p[above, x]:
            return path[:i], draw(random, rest(p[above], q[above]))
    return path, draw(random, p[path[-1] + 1])


@subject("tree", 0.05, shapes=SHAPES)
def leaf_subtracts_its_parents_draft(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """The row of the draft is kept in a variable, which at a leaf still holds its parent's: the bonus is too small."""
    path: list[int] = []
    node, draft = -1, None
    while True:
        law, children = p[node + 1], np.flatnonzero(tree.parents == node)
        draft = q[node + 1] if len(children) else draft
        for child in children:
            x = int(tree.tokens[child])
            if random.random() * draft[x] < law[x]:
                path.append(int(child))
                break
            law = rest(law, draft)
        else:
            return path, draw(random, law if len(children) else rest(law, draft))
        node = path[-1]


@subject("tree", 0.05, shapes=SHAPES)
def mass_not_restored_between_siblings(p: Any, q: Any, tree: Any, random: Any) -> tuple[list[int], int]:
    """What the first sibling leaves over is not normalised when the second is tested: p = (1, 2)/3, q = (2, 1)/3."""
    path: list[int] = []
    node = -1
    while True:
        law = p[node + 1]
        for child in np.flatnonzero(tree.parents == node):
            x = int(tree.tokens[child])
            if random.random() * q[node + 1, x] < law[x]:
                path.append(int(child))
                break
            law = (law - q[node + 1]).clip(0)
        else:
            return path, draw(random, law if law.any() else p[node + 1])
        node = path[-1]


@subject("decoder", 0.1, sizes=(1, 2))
def bonus_unread(target: Any, draft: Any, prompt: Any, n: int, _: Any, random: Any) -> list[int]:
    """After a block that was kept whole the next one is verified on the text without the bonus."""
    text, unread = list[int](), 0
    while len(text) < n:
        seen = (*prompt, *text)
        seen = seen[: len(seen) - unread]
        x = draw(random, draft(seen))
        q, rows = draft(seen), target.rows((*seen, x), len(seen))
        unread = int(random.random() * q[x] < rows[0][x])
        text += [x, draw(random, rows[1])] if unread else [draw(random, rest(rows[0], q))]
    return text[:n]


@subject("decoder", 0.05, sizes=(1, 2))
def second_guess_not_conditioned(target: Any, draft: Any, prompt: Any, n: int, _: Any, random: Any) -> list[int]:
    """The two likeliest drafts are certain guesses; the second is kept with p(b) instead of p(b) / (1 - p(a)).

    At p = (1, 1, 1)/3 the second has 2/9, and the third 4/9.
    """
    text: list[int] = []
    while len(text) < n:
        seen = (*prompt, *text)
        a, b = map(int, np.argsort(-draft(seen), kind="stable")[:2])
        rows = target.rows((*seen, a), len(seen))
        law, left = rows[0], rows[0] * ~np.isin(np.arange(len(rows[0])), (a, b))
        if random.random() < law[a]:
            text += [a, draw(random, rows[1])]
        elif random.random() < law[b] or not left.any():
            text.append(b)
        else:
            text.append(draw(random, left))
    return text[:n]


@subject("drafter", 0.1)
def likelier_of_two_draws(draft: Any, prompt: Any, gamma: int, _: Any, random: Any) -> tuple[list[int], Any]:
    """It draws twice and drafts the likelier token; the row that it returns is that of one draw: (2, 1)/3 gives 8/9."""
    text, rows = list[int](), []
    for _ in range(gamma):
        law = draft((*prompt, *text))
        rows.append(law)
        text.append(max(draw(random, law), draw(random, law), key=lambda x, law=law: law[x]))
    return text, np.stack(rows)


def _excess(p: Any, q: Any) -> Any:
    excess = (p - q).clamp(min=0)
    return excess if excess.sum() > 0 else p


@subject("flat", 0.1, sizes=(1, 2, 3))
def rows_put_back_by_the_same_order(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any) -> Any:
    """Blocks are sorted by length, and put back by the order itself, not its inverse: wrong for cycles of three."""
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
    return out[order]


@subject("padded", 0.1, sizes=(1, 2, 3))
def longest_row_has_no_bonus_row(p: Any, q: Any, drafts: Any, counts: Any) -> Any:
    """The row of the bonus is clamped to the width of the drafts: the longest blocks draw from the row before."""
    count, width = drafts.shape
    out = torch.full((count, width + 1), -1)
    for n in range(count):
        size = int(counts[n])
        for k in range(size):
            x = drafts[n, k]
            if not torch.rand(()) * q[n, k, x] < p[n, k, x]:
                out[n, k] = torch.multinomial(_excess(p[n, k], q[n, k]), 1)[0]
                break
            out[n, k] = x
        else:
            out[n, size] = torch.multinomial(p[n, min(size, width - 1)], 1)[0]
    return out


@subject("vllm", 0.1, sizes=(1, 2))
def one_race_for_all_rows(drafts: Any, counts: Any, longest: int, ends: Any, q: Any, p: Any, bonus: Any) -> Any:
    """All rows race their corrections with the same exponentials: each row is right, and any two hang together."""
    out = torch.full((len(counts), longest + 1), -1)
    noise = torch.empty(p.shape[-1], dtype=p.dtype).exponential_()
    for n, count in enumerate(counts):
        start = int(ends[n]) - count
        for k in range(count):
            x = drafts[start + k]
            if not torch.rand(()) * q[start + k, x] < p[start + k, x]:
                out[n, k] = (_excess(p[start + k], q[start + k]) / noise).argmax()
                break
            out[n, k] = x
        else:
            out[n, count] = bonus[n, 0]
    return out
