"""One run of `specsim plan`, from words to words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from specsim.base import check
from specsim.base.files import check_writable, write_bytes
from specsim.commands.plan import answer, cells, read, shown
from specsim.commands.plan.comparison import read_comparison
from specsim.commands.plan.costs import Costs, Told, of
from specsim.commands.plan.emit import BY_BATCH, ENGINES, TABLES, emit
from specsim.commands.plan.share import LOOKED_UP, mixed_acceptance, mixed_costs
from specsim.speed.grid import batch_schedule
from specsim.speed.shapes import fastest_shapes

# A schedule asks for every batch size and length: so many predictions take some seconds.
MOST_ASKED = 1 << 18


def run(
    *,
    alpha: float | None,
    ranks: str | None,
    hazards: Path | None,
    histogram: Path | None,
    rows: Path | None,
    comparison: Path | None,
    target: str | None,
    draft: str | None,
    device: str | None,
    tp: int,
    draft_tp: int,
    dtype: str | None,
    draft_vocab: int | None,
    cost_ratio: float | None,
    verify_cost: str | None,
    overhead: float | None,
    weights: str | None,
    draft_weights: str | None,
    one_pass: bool,
    cache_hits: str | None,
    experts_overhead: float | None,
    drafted_share: float | None,
    unmasked_draft: bool,
    batch: str,
    context: str,
    max_gamma: int,
    nodes: int,
    level: float,
    engine: str | None,
    plot: Path | None,
    as_markdown: bool,
    as_json: bool,
) -> tuple[str, str]:
    """What to print, and what to say beside it; ValueError for anything that is wrong, before the work."""
    batches, contexts = read.whole_numbers(batch, "batch", 1), read.whole_numbers(context, "context", 0)
    read.bounded(max_gamma, "max_gamma", 1)
    read.bounded(nodes, "nodes", 1)
    check.scalar(level, "level", "(0, 1)")
    if engine is not None and engine not in ENGINES:
        raise ValueError(f"--emit must be one of {', '.join(ENGINES)}, got {engine!r}")
    asked_for = max(batches) if engine is not None else len(batches)
    asked_for *= len(contexts) if engine in (None, *BY_BATCH, *TABLES) else 1
    if asked_for * max_gamma > MOST_ASKED:
        raise ValueError(
            f"{asked_for} points of {max_gamma} lengths are too many; their product may be {MOST_ASKED} at most"
        )
    if plot is not None:
        check_writable(plot)
    if unmasked_draft and rows is None:
        raise ValueError("--unmasked-draft is about the mask of --rows; leave it out")
    compared = None if comparison is None else read_comparison(comparison)
    if compared is not None and all(one is None for one in (alpha, ranks, hazards, histogram, rows)):
        given = compared.given
    else:
        seen = not unmasked_draft
        given = read.acceptance(alpha, ranks, hazards, histogram, rows, masked_draft=seen, drafted_share=drafted_share)
    curve = None if verify_cost is None else read.numbers(verify_cost, "verify_cost", "(0, inf)")
    if curve is not None:
        if len(curve) < 2:
            raise ValueError("verify_cost has 1 entry; t(1), t(2), ... of one draft or more are needed")
        max_gamma = min(max_gamma, len(curve) - 1)
    if compared is not None:
        max_gamma, nodes = min(max_gamma, compared.most - 1), min(nodes, compared.most - 1)
    if weights is not None and cost_ratio is not None:
        max_gamma = min(max_gamma, 16)  # as many as were timed
    hits = None if cache_hits is None else read.numbers(cache_hits, "cache_hits", "[0, 1]")
    shaped = (
        weights,
        draft_weights,
        one_pass,
        hits,
        experts_overhead,
        drafted_share,
    )
    told = Told(target, draft, device, tp, draft_tp, dtype, draft_vocab, cost_ratio, curve, overhead, *shaped)
    costs = of(told, compared, given.acceptance, batches, contexts)
    latency, notes = costs.latency, list(costs.notes)
    if given.ranks and costs.share < 1:
        raise ValueError("drafts that are looked up are chains: give --hazards or --alpha instead of --ranks")
    mixed = mixed_costs(latency, costs.share)
    kept_of_all = mixed_acceptance(given.acceptance, costs.share)
    if latency.longest is not None:
        max_gamma = min(max_gamma, latency.longest)
    if latency.unit != "s":  # nothing depends on them: one point says all
        if len(batches) * len(contexts) > 1:
            notes.append("the costs given are the same at every batch and context: one point says all")
        batches, contexts = batches[:1], contexts[:1]
    if plot is not None:
        from specsim.report import plots

        kept = next((f"acceptance of {path.name}" for path in (hazards, histogram, rows) if path is not None), None)
        said = f"acceptance by rank {ranks}" if ranks is not None else "acceptance of the same record"
        kept = kept or (f"alpha = {alpha:g}" if alpha is not None else said)
        parts = f"{tp} x " if tp > 1 else ""
        timed = f"times of {comparison.name}" if comparison is not None else f"c = {cost_ratio or 0:g}"
        timed = timed if target is None else f"{target} with {draft} on {parts}{device}"
        title = f"{timed}, {kept}"
        write_bytes(plot, plots.plan(mixed, kept_of_all, batches, contexts, max_gamma=max_gamma, title=title))
    if engine is not None:
        shared = engine.startswith(("vllm", "sglang")) and costs.method not in LOOKED_UP
        if shared and tp != draft_tp:  # these engines share a draft among the devices of its target
            name = "vLLM" if engine.startswith("vllm") else "SGLang"
            raise ValueError(f"{name} shares a draft model among the devices of its target: plan with --draft-tp {tp}")
        costs, given = costs._replace(latency=mixed), given._replace(acceptance=kept_of_all)
        return _emit(
            engine, costs, given, batches, contexts, max_gamma=max_gamma, nodes=nodes, level=level, draft=draft
        )
    found = answer.answer(
        latency,
        given,
        batches,
        contexts,
        max_gamma=max_gamma,
        level=level,
        notes=notes,
        nodes=nodes,
        allowed=costs.allowed,
        steps=costs.steps,
        share=costs.share,
    )
    if not as_json:
        return shown.text(found, as_markdown), ""
    asked = {
        "comparison": None if comparison is None else str(comparison),
        **told._asdict(),
        "batch": batches,
        "context": contexts,
        "max_gamma": max_gamma,
        "nodes": nodes,
    }
    types = None if costs.types is None else costs.types.as_json()
    asked["dtype"] = None if types is None else types["products"]
    return json.dumps({"asked": asked, "weights": types} | shown.as_json(found), allow_nan=False), ""


# Where an engine wants a model that it can load, and only a name of the table, or of a kind of drafter, is known.
PLACEHOLDER = "REPLACE-WITH-"


def loadable_draft(draft: str | None, engine: str) -> str:
    """The folder or hub id of the draft as an engine can load it, else a name that says what to put in its place.

    Examples
    --------
    >>> loadable_draft("eagle3", "vllm"), loadable_draft("llama-3.2-1b", "llamacpp")
    ('REPLACE-WITH-PATH-OF-eagle3', 'REPLACE-WITH-GGUF-OF-llama-3.2-1b')
    """
    path = Path(draft or "DRAFT")
    path = path.parent if path.name == "config.json" else path
    name = re.sub(r"[^\w.-]", "-", path.name or "DRAFT")
    if engine.startswith("llamacpp"):
        return f"{PLACEHOLDER}GGUF-OF-{name}"
    if path.is_dir() or (draft is not None and not path.exists() and re.fullmatch(r"[^/\s]+/[^/\s]+", draft)):
        return str(path)
    return f"{PLACEHOLDER}PATH-OF-{name}"


def _emit(
    engine: str,
    costs: Costs,
    given: read.Given,
    batches: list[int],
    contexts: list[int],
    *,
    max_gamma: int,
    nodes: int,
    level: float,
    draft: str | None,
) -> tuple[str, str]:
    latency, top, context = costs.latency, max(batches), contexts[0]
    rests = [f"- {given.acceptance.words}", f"- {answer.EVERYWHERE}", *(f"- {said}" for said in latency.assumptions)]
    if engine in TABLES:
        asked: dict[str, Any] = {"max_batch": top, "max_gamma": max_gamma, "level": level, "allowed": costs.allowed}
        table = cells.cells(latency, given.acceptance, contexts, **asked)
        words = [given.acceptance.words, answer.EVERYWHERE, *latency.assumptions]
        text = cells.as_csv(table) if engine == "csv" else cells.as_json(table, costs.method, level, words)
        said = "lengths by batch and context, each predicted at its first batch and context; no engine reads this file"
        return text, "\n".join([said, *rests])
    schedule = engine in BY_BATCH
    notes: list[str] = []
    if schedule and len(contexts) > 1:
        found, lost, b, s = cells.by_batch(latency, given.acceptance, contexts, max_batch=top, max_gamma=max_gamma)
        notes.append(
            f"predicted for contexts {', '.join(map(str, contexts))} and batches up to {top}, the last entry beyond"
        )
        notes.append(f"- no engine takes lengths by context: these lose {lost:.1%} at most, at batch {b}, context {s}")
    else:
        found = batch_schedule(latency, given.acceptance, max_batch=top, context=context, max_gamma=max_gamma)
        where = f"batches up to {top}, the last entry beyond" if schedule else f"batch {batches[0]}"
        notes.append(f"predicted for context {context} and {where}")
    if not schedule:  # one length for all: that of the first batch
        found = [entry for entry in found if entry[0] <= batches[0] <= entry[1]]
    if engine.endswith("-synthetic"):
        notes[0] += "; WARNING: acceptance is forced, so the text is no answer: for benchmarks only, never to be served"
    tree: tuple[int, ...] = ()
    more: list[str] = []
    if given.ranks and engine == "sglang":
        steps = costs.steps or None
        best = fastest_shapes(
            latency, given.ranks, nodes=nodes, depth=max_gamma, draft_s=steps, batch=batches[0], context=context
        )
        tree = tuple(int(p) for p in best.tree.parents)
        more.append("- bounds of the best tree; SGLang fills them by the draft's confidence, not by this shape")
    elif given.ranks and engine == "sglang-adaptive":
        more.append(
            "- the first of the ranks alone: SGLang adapts the length of chains (top-k 1), and no tree; --emit sglang "
            "gives the tree of one batch"
        )
    elif given.ranks:
        more.append("- the first of the ranks alone: this engine takes no trees")
    if engine.startswith("vllm") and len(found) > 1:
        if costs.method in ("model", "ngram", "mtp"):
            more.append("- vLLM says that a length by batch size is tested with EAGLE heads alone: try it first")
        more.append("- its V2 model runner ignores lengths by batch size: start it with VLLM_USE_V2_MODEL_RUNNER=0")
    path = loadable_draft(draft, engine)
    text = emit(engine, found, given.acceptance, draft=path, method=costs.method, tree=tree)
    if path.startswith(PLACEHOLDER) and path in text:
        what = "file (GGUF)" if engine == "llamacpp" else "folder or hub id"
        notes[0] += f"; write the draft's {what} in place of {path}"
    if engine == "sglang-adaptive":
        most = [(1, top, max(gamma for _, _, gamma in found))]
        beside = emit("sglang", most, given.acceptance, draft=path, method=costs.method)
        more.append(f"- {beside} --speculative-adaptive --speculative-adaptive-config FILE")
    return text, "\n".join([notes[0], rests[0], *notes[1:], *more, *rests[1:]])
