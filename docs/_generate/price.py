"""Bias against acceptance of every lossy step rule on the bundled pair's rows: a page, a picture, and their record.

`python -m _generate.price`, in docs/, writes the record, which takes ten minutes and torch; the site is made from it. A
record is of one source: it holds a digest of each rule's own code, and a test says where that has changed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np

from _generate.outputs import dominated, frontier, outputs, some_rows, swept
from _generate.proofs import put
from specsim import discover
from specsim.base import imports
from specsim.base.arrays import overlap
from specsim.types import Array

mpl.use("svg")

import matplotlib.pyplot as plt

RECORD = Path(__file__).with_name("price.json")
PROMPTS, TOKENS, FEW = 16, 24, 24  # texts and their tokens; rows for what costs V^2 each
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
WORDS = (
    "# What acceptance costs",
    "A rule of one draft cannot keep it more often than with probability 1 - TV(p, q) and leave the target's law "
    "alone. Each point of acceptance beyond that costs at least a point of bias, the total variation distance of "
    "what is emitted from the target's law ([T33](../proofs/T33_price.md)): no rule is below the line. Lenience, a "
    "judge (the standard test, or a set of tokens that the context lets pass: here the target's likeliest, or those "
    "above a level) and LANTERN with the residual of its paper are all on it, whatever their settings: what they "
    "choose is which tokens the bias falls on. Rules that replace a refused draft by something else are above it.",
    "In KL the least price is another: the first points of acceptance cost next to nothing, and rules that pay the "
    "same bias pay different KL. One output is nearest in both at each acceptance, that of the rule `clipped` "
    "([T44](../proofs/T44_frontier.md)): it keeps what lenience keeps, and gives what is refused to the tokens that "
    "the output has least of. Lenience comes close to it. Rules that emit the likeliest token for a refused draft are "
    "dominated by most others here, where the target samples; they are meant for greedy targets. "
    "`specsim.lossy_optimum` computes the frontier of your rows, with a certificate. The line in total variation is "
    "theorem 5 of Yin et al., arXiv:2411.00841; the clipped ratio is Huber's, of 1965.",
    "Two rules are not here, since a row alone does not price them. FLy looks at the drafts that follow: the first "
    "token of a block is on the line ([T52](../proofs/T52_fly.md)), and those after a deferred draft cost more; "
    "`specsim conform --config` prices it on blocks. On a tree SGLang's kernel adds up the target probabilities of the "
    "siblings that it has come to, and tests one number against their sum over the threshold. The law here is that of "
    "a chain; that of a tree (`specsim.verify.lossy_tree.accept_threshold`, [T51](../proofs/T51_thresholds.md)) "
    "depends on the siblings, and from the second one on it can pay more bias than it gains acceptance.",
    "```{image} price.svg\n:alt: bias and KL against acceptance of every lossy rule, all points on or above two "
    "frontiers\n```",
)


def settings(name: str, near: Array, p: Array) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What a rule is told, a line of the picture at a time: line, setting, parameters."""
    ranks = np.argsort(np.argsort(-p, axis=-1, kind="stable"), axis=-1)
    if name in ("clipped", "lenience"):
        yield from ((name, f"epsilon = {e:g}", {"epsilon": e}) for e in (0.9, 0.7, 0.5, 0.3, 0.1, 0.01))
    elif name == "judge":
        yield from (("judge, likeliest", f"the first {k}", {"judged": ranks < k}) for k in (1, 2, 4, 16, 64, 256, 1024))
        yield from (
            ("judge, above", f"p > {level:g}", {"judged": p > level}) for level in (0.2, 0.05, 0.01, 1e-3, 1e-4)
        )
    elif name == "lantern":
        fixed = {"neighbours": near}
        yield from ((name, f"delta = {d:g}", fixed | {"delta": d}) for d in SHARES)
        fixed["zeroed"] = True
        yield from (("lantern, zeroed", f"delta = {d:g}", fixed | {"delta": d}) for d in (0.05, 0.2, 0.7))
    elif name == "typical":
        yield from ((name, f"epsilon = {e:g}", {"epsilon": e}) for e in (0.3, 0.09, 0.03, 0.01, 1e-3))
    elif name == "relaxed":
        yield from ((name, f"delta = {d:g}", {"relaxed_delta": d}) for d in (0.01, 0.05, 0.2, 0.6))
    elif name == "accept_k":
        yield from ((name, f"tolerance = {t:g}", {"accept_tolerance": t}) for t in (0.5, 1, 2, 5))
    elif name == "cascade":
        for deferral in ("opt", "token_v3"):
            fixed = {"deferral": deferral}
            yield from ((f"{name}, {deferral}", f"alpha = {a:g}", fixed | {"alpha": a}) for a in (0, 0.2, 0.5, 0.8))
    elif name == "accept_threshold":
        fixed = {"threshold_single": 1}
        yield from ((name, f"acc = {c:g}", fixed | {"threshold_acc": c}) for c in (0.9, 0.7, 0.5, 0.3, 0.1))
        fixed = {"threshold_acc": 1}
        yield from ((f"{name}, single", f"single = {s:g}", fixed | {"threshold_single": s}) for s in (0.5, 0.2, 0.05))
    else:
        yield from swept(name, lossy()[name])


def point(rule: ModuleType, p: Array, q: Array, params: dict[str, Any]) -> tuple[float, float]:
    """Mean acceptance and mean bias over rows (n, V)."""
    plan = rule.prepare(p, q, 1, **params)
    return float(np.mean(rule.acceptance(plan))), float(np.mean(rule.bias(plan)))


def lossy() -> dict[str, ModuleType]:
    """The step rules that say a bias, by name."""
    return {name: rule for name, rule in discover.rules("step").items() if discover.facts(rule).bias}


def measured(p: Array, q: Array, near: Array) -> dict[str, Any]:
    """The record of rows (n, V) and of each token's neighbours (V, k).

    What costs V^2 a row is told of the first rows alone, with the line that these have.
    """
    found: list[dict[str, Any]] = []
    some = some_rows(len(p))
    for name, rule in lossy().items():
        for line, setting, params in settings(name, near, p):
            rows = slice(FEW if params.get("zeroed") else None)
            rate, bias = point(rule, p[rows], q[rows], params)
            free = float(np.mean(overlap(p[rows], q[rows])))
            row_params = {key: value[some] if np.shape(value) == p.shape else value for key, value in params.items()}
            found.append(
                {"rule": name, "line": line, "setting": setting, "acceptance": rate, "bias": bias, "free": free}
                | outputs(name, p[some], q[some], row_params)
            )
    sources = {name: imports.code(f"{discover.FAMILIES['step']}.{name}") for name in lossy()}
    return {
        "rows": len(p),
        "few": min(FEW, len(p)),
        "free": float(np.mean(overlap(p, q))),
        "some": len(some),
        "frontier": frontier(p[some], q[some]),
        "sources": sources,
        "points": found,
    }


def of_the_pair() -> tuple[Array, Array, Array]:
    """Rows of the bundled pair along texts of its target, and the four tokens nearest to each by its embeddings."""
    from real import TINY
    from real.decode.warp import Warping
    from real.load_pair import load
    from real.options import read_prompts
    from real.studies.rows.command import along

    pair = load(TINY / "target", TINY / "draft")
    prompts = [list(pair.tokenizer(text)["input_ids"]) for text in read_prompts(TINY / "prompts.json")[:PROMPTS]]
    held = along(pair, prompts, max_tokens=TOKENS, warping=Warping(1.0), seed=0)
    p, q = (rows / rows.sum(axis=-1, keepdims=True) for rows in (held[k].astype(np.float64) for k in ("p", "q")))
    assert pair.target.weights is not None
    places = pair.target.weights.embedding.double().numpy()
    places = places / np.maximum(np.linalg.norm(places, axis=-1, keepdims=True), 1e-12)
    alike = places @ places.T
    np.fill_diagonal(alike, -np.inf)
    return p, q, np.argsort(-alike, axis=-1, kind="stable")[:, :4]


def recorded() -> dict[str, Any]:
    """The record as it is kept."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def write(folder: Path) -> None:
    """`folder`/index.md and its picture."""
    folder.mkdir(exist_ok=True)
    record = recorded()
    draw(record, folder / "price.svg")
    put(folder, {"index.md": page(record), "price.svg": (folder / "price.svg").read_text(encoding="utf-8")})


def page(record: dict[str, Any]) -> str:
    """The words, and a table of the points."""
    rows = [
        f"| {one['line']} | {one['setting']} | {one['acceptance']:.3f} | {one['bias']:.3f} | {over(one):.3f} | "
        f"{one['kl']:.3f} | {round(one['kl'] - one['least_kl'], 9) + 0.0:.3f} | {better(one, record['points'])} |"
        for one in record["points"]
    ]
    head = [
        "| rule | setting | acceptance | bias | above the line | KL | above the least KL | dominated by |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    where = (
        f"Means over {record['rows']} rows of the bundled pair along texts of its target, temperature 1, in float64; "
        f"a lossless rule accepts {record['free']:.3f} there. LANTERN's neighbours are the four tokens nearest by the "
        f"target's embeddings. With `zeroed`, which draws a replacement from p (no released code does so), "
        f"it is told of the first {record['few']} rows, and above the line of these. KL is KL(output || target) in "
        f"nats, over {record['some']} of the rows; the least KL is that of any rule that accepts as often, row by row. "
        "A setting is dominated by the rules that have one with no less acceptance, no more bias and no more KL on "
        "these rows, and better in one of them."
    )
    return "\n\n".join([*WORDS, where, "\n".join(head + rows)]) + "\n"


def better(one: dict[str, Any], points: list[dict[str, Any]]) -> str:
    """Name the first three lines that dominate a point, and the number of others."""
    lines = dominated(one, points)
    more = f"; {len(lines) - 3} more" if len(lines) > 3 else ""
    return ("; ".join(lines[:3]) + more) or "-"


def over(one: dict[str, Any]) -> float:
    """How far a point is above the line of its rows, without the sign of what rounding leaves."""
    far: float = one["bias"] - (one["acceptance"] - one["free"])
    return round(far, 9) + 0.0


def figure(record: dict[str, Any]) -> Any:
    """Two frontiers, and each rule's points; what is told of a few rows is moved to the line of all."""
    made, (axes, below) = plt.subplots(2, 1, figsize=(6.8, 7.6), layout="constrained")
    free = record["free"]
    axes.plot([free, 1], [0, 1 - free], color="0.25", lw=1, zorder=1, label="least there is")
    below.plot(*zip(*record["frontier"], strict=True), color="0.25", lw=1, zorder=1)
    lines = dict.fromkeys(one["line"] for one in record["points"])
    marks, colors = itertools.cycle("*osDv^P<>"), itertools.cycle(plt.colormaps["tab10"].colors)
    for line, mark, color in zip(lines, marks, colors, strict=False):
        points = [one for one in record["points"] if one["line"] == line]
        x = [one["acceptance"] - one["free"] + free for one in points]
        style = {"ms": 6, "mfc": "none", "mew": 1.4, "color": color, "zorder": 3}
        axes.plot(x, [one["bias"] for one in points], mark, label=line, **style)
        below.plot([one["some_acceptance"] for one in points], [one["kl"] for one in points], mark, **style)
    axes.set(ylabel="bias (TV from the target's law)")
    axes.set_title("The bundled pair, one draft", fontsize=9, loc="left")
    below.set(xlabel="acceptance", ylabel=f"KL(output || target), {record['some']} rows")
    for part in (axes, below):
        part.grid(alpha=0.25)
        part.spines[["top", "right"]].set_visible(False)
    made.legend(loc="outside right upper", frameon=False, fontsize=8)
    return made


def draw(record: dict[str, Any], path: Path) -> None:
    """The same bytes at every build."""
    with mpl.rc_context({"svg.hashsalt": "specsim", "svg.fonttype": "path", "font.size": 9}):
        made = figure(record)
        made.savefig(path, format="svg", metadata={"Date": None})
        plt.close(made)


if __name__ == "__main__":
    RECORD.write_text(json.dumps(measured(*of_the_pair()), indent=1) + "\n", encoding="utf-8")
