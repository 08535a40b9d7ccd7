"""Readers of numbers and of acceptance, from the command line or from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, extras
from specsim.base.lists import number_in
from specsim.base.reading import MOST_BYTES, check_whole_numbers, parsed_json, read_text
from specsim.base.unknown import check_names
from specsim.commands.plan import lists
from specsim.commands.plan.answers import acceptance_of_log, acceptance_of_tau, of_every_step
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.share import LOOKED_UP
from specsim.laws.masks import masked_row
from specsim.lengths.acceptance_record import Acceptance, from_alpha, from_counts, from_rows
from specsim.lengths.hazard_files import HazardCurves, read_hazards
from specsim.lengths.hazards import MAX_DRAFTS, estimate_hazards
from specsim.lengths.one_pass_rows import from_one_pass_rows
from specsim.logs.read import read_log


class PlanAcceptance(NamedTuple):
    """Acceptance of a chain of drafts, of siblings by rank if given, and by context where a file says it.

    one_pass: whether it is that of drafts that do not see each other; None if the source does not say.
    """

    acceptance: Acceptance
    ranks: tuple[float, ...] = ()
    curves: HazardCurves | None = None
    one_pass: bool | None = None


def numbers(text: str, name: str, allowed: str) -> list[float]:
    """Return the numbers of a list such as 0.7,0.12, each in the interval `allowed`."""
    return [number_in(part.strip(), f"{name}[{k}]", allowed) for k, part in enumerate(text.split(","))]


def verify_curve(text: str) -> list[float]:
    """Return the times of passes over 1, 2, ... tokens, in plain steps."""
    curve = numbers(text, "verify_cost", "(0, inf)")
    if len(curve) < 2:
        raise ValueError("verify_cost has 1 entry; t(1), t(2), ... of one draft or more are needed")
    return curve


def acceptance(options: PlanOptions) -> PlanAcceptance:
    """Read the one source of acceptance that the options name."""
    sources = {name: getattr(options, name) for name in ("alpha", "ranks", "hazards", "histogram", "rows", "tau")}
    names = [name for name, value in sources.items() if value is not None]
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        raise ValueError(f"give one of alpha, --ranks, --hazards, --histogram, --rows, --tau; got {listed}")
    if options.alpha is not None:
        alpha = float(check.scalar(options.alpha, "alpha", "[0, 1]"))
        words = f"every draft is kept with probability {alpha:g}, whatever came before: declared, not measured"
        return PlanAcceptance(from_alpha(alpha, words))
    if options.tau is not None:
        return PlanAcceptance(acceptance_of_tau(options.tau, options.gamma))
    if options.ranks is not None:
        return read_ranks(options.ranks)
    # A draft model, EAGLE and MTP draft in every step; without --draft the drafter is not known.
    every_step = options.draft is not None and options.draft.lower() not in LOOKED_UP
    if options.hazards is not None:
        try:
            curves = read_hazards(options.hazards)
        except ValueError as error:
            return PlanAcceptance(_of_log(options, options.hazards, every_step, error))
        hazards = of_every_step(options.hazards, options.drafted_share, next(iter(curves.by_context.values())))
        return PlanAcceptance(hazards, curves=curves if curves.contexts else None)
    if options.histogram is not None:
        if '"acceptance_histogram"' in _text(options.histogram):
            answers = acceptance_of_log(options.histogram, options.gamma, options.drafted_share, every_step)
            return PlanAcceptance(answers)
        hazards = read_histogram(options.histogram)
        return PlanAcceptance(of_every_step(options.histogram, options.drafted_share, hazards))
    assert options.rows is not None
    return read_rows(options.rows, masked_draft=not options.unmasked_draft)


def read_ranks(text: str) -> PlanAcceptance:
    """Read the probabilities, as 0.7,0.12,0.05, that sibling 1, 2, ... is accepted; a chain has the first."""
    ranks = numbers(text, "ranks", "[0, 1]")
    if len(ranks) > lists.MOST["ranks"]:
        raise ValueError(f"ranks has {len(ranks)} entries; the most that are sensible are {lists.MOST['ranks']}")
    if sum(ranks) > 1:
        raise ValueError(f"ranks sum to {sum(ranks):g}; one sibling at most is kept")
    words = f"sibling k is the one kept with probability {text}, whatever came before: declared, not measured"
    return PlanAcceptance(from_alpha(ranks[0], words), tuple(ranks))


def _of_log(options: PlanOptions, path: Path, every_step: bool, as_csv: ValueError) -> Acceptance:
    """Return the acceptance of a log; ValueError for what is neither a log by request nor, as `as_csv` says, a CSV."""
    if not path.is_file():
        raise as_csv
    # A file of JSON is no CSV: what is wrong with it the readers of logs say.
    is_json = _text(path).lstrip()[:1] in ("{", "[")
    try:
        runs = read_log(path)
    except (ValueError, OSError) as error:
        raise error if is_json else as_csv from None
    if all(run.requests is None for run in runs):
        if not is_json:
            raise as_csv
        raise ValueError(
            f"{path.name} does not count acceptance by request: specsim log {path.name} --out hazards.csv writes what "
            "--hazards reads"
        )
    length = options.gamma
    if length is None and any(request.reach for run in runs if run.requests for request in run.requests.requests):
        # A trace by position has blocks of any length.
        length = options.max_gamma
    return acceptance_of_log(path, length, options.drafted_share, every_step)


def read_histogram(path: Path) -> Acceptance:
    """Read JSON {"drafted": g, "counts": [blocks that kept 0, ..., g]}; "accepted" is that of `estimate_hazards`."""
    content = parsed_json(_text(path), path.name)
    if not isinstance(content, dict) or not {"drafted", "counts"} <= set(content):
        fields = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise ValueError(
            f'{path.name} holds {fields or "nothing"}; it needs "drafted" and "counts", or acceptance_histogram of an '
            'engine; for blocks of 3 drafts write {"drafted": 3, "counts": [blocks that kept 0, 1, 2, 3 drafts]}'
        )
    check_names(content, ("drafted", "counts", "accepted"), path.name, "field")
    # Types and lengths.
    drafted, counts = content["drafted"], content["counts"]
    if isinstance(drafted, bool) or not isinstance(drafted, (int, list)):
        raise ValueError(f"{path.name}: drafted is {json.dumps(drafted)}, not a whole number or a list of them")
    if isinstance(drafted, int) and drafted > MAX_DRAFTS:
        raise ValueError(f"{path.name}: drafted is {drafted}; blocks have at most {MAX_DRAFTS} drafts")
    if not isinstance(counts, list):
        raise ValueError(f"{path.name}: counts is {json.dumps(counts)}, not a list")
    for name in ("drafted", "counts", "accepted"):
        check_whole_numbers(content.get(name, 0), f"{path.name}: {name}")
    if "accepted" not in content and isinstance(drafted, int) and len(counts) != drafted + 1:
        raise ValueError(f"{path.name}: {len(counts)} counts; blocks of {drafted} drafts keep 0, ..., {drafted}")
    # The estimate; its errors name the file.
    try:
        estimate = estimate_hazards(np.array(content.get("accepted", range(len(counts)))), drafted, counts=counts)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not len(estimate.hazards):
        raise ValueError(f"{path.name}: no block drafted a token")
    return from_counts(estimate, f"hazards counted in {path.name}, blocks independent")


def read_rows(path: Path, masked_draft: bool = True) -> PlanAcceptance:
    """Read laws p and q (n, V) along texts that the target wrote; with `tokens` (n,) of texts of `lengths`, exactly.

    A drafter of one pass has q (n, gamma, V): a law for each position of a block that starts at each token.

    With a `mask` (n, V) of the tokens that a grammar allows, p, and q unless the draft does not see it, are
    conditioned on them.

    With the tokens the renewal law of block starts gives the hazards of every length; without them all that is known is
    the mean over positions.
    """
    tensors = _tensors(path)
    one_pass = "q" in tensors and np.ndim(tensors["q"]) == 3
    p, q, source = _one_pass_laws(tensors, path) if one_pass else _laws(tensors, path, masked_draft)
    # With tokens acceptance is that along the texts.
    if "tokens" not in tensors:
        return PlanAcceptance(from_rows(p, q, source=source), one_pass=False)
    y = check.tokens(tensors["tokens"], f"{path.name}: tokens", p.shape[1])
    lengths = np.asarray(tensors.get("lengths", [len(p)]))
    if lengths.dtype.kind not in "iu":
        raise ValueError(f"{path.name}: lengths has type {lengths.dtype}; give whole numbers of tokens")
    if y.shape != p.shape[:1] or lengths.sum() != len(p) or (lengths < 1).any():
        raise ValueError(
            f"{path.name}: {len(p)} rows, {len(y)} tokens, lengths that sum to {lengths.sum()}; they differ"
        )
    of_texts = from_one_pass_rows if one_pass else from_rows
    return PlanAcceptance(of_texts(p, q, y, lengths.tolist(), source=source), one_pass=one_pass)


def _one_pass_laws(tensors: dict[str, Any], path: Path) -> tuple[Any, Any, str]:
    """Return laws p (n, V) and q (n, gamma, V) in float64, and where they are from."""
    check_names(tensors, ("p", "q", "tokens", "lengths"), path.name, "tensor")
    missing = [name for name in ("p", "tokens") if name not in tensors]
    if missing:
        listed = " and ".join(f"{name} ({'n, V' if name == 'p' else 'n'})" for name in missing)
        raise ValueError(
            f"{path.name} has no tensor {listed}; q, with a law for each position of a block, needs the target's laws "
            "p (n, V) and the tokens (n) that it wrote"
        )
    p = check.law(np.asarray(tensors["p"], dtype=np.float64), f"{path.name}: p")
    q = check.law(np.asarray(tensors["q"], dtype=np.float64), f"{path.name}: q")
    if p.ndim != 2 or not q.size or (len(q), q.shape[2]) != p.shape:
        raise ValueError(f"{path.name}: p has shape {p.shape} and q {q.shape}; they must be (n, V) and (n, gamma, V)")
    return p, q, path.name


def read_laws(path: Path) -> tuple[Any, Any, str]:
    """Read laws p and q (n, V), under a mask of both if the file has one, and the words for where they are from."""
    return _laws(_tensors(path), path, masked_draft=True)


def _laws(tensors: dict[str, Any], path: Path, masked_draft: bool) -> tuple[Any, Any, str]:
    """Return the laws of `read_rows` in float64, and where they are from."""
    missing = [name for name in ("p", "q") if name not in tensors]
    if missing:
        raise ValueError(
            f"{path.name} has no tensor {' and '.join(missing)}; it has {', '.join(sorted(tensors)) or 'none'}"
        )
    check_names(tensors, ("p", "q", "tokens", "lengths", "mask"), path.name, "tensor")
    if "lengths" in tensors and "tokens" not in tensors:
        raise ValueError(f"{path.name} has lengths of texts and no tokens; give both, or leave lengths out")
    p, q = (np.asarray(tensors[name], dtype=np.float64) for name in ("p", "q"))
    p, q = check.laws(p, q, (f"{path.name}: p", f"{path.name}: q"))
    if p.ndim != 2 or p.shape != q.shape or not len(p):
        raise ValueError(f"{path.name}: p has shape {p.shape} and q {q.shape}; both must be (n, V), with n at least 1")
    # Under a mask, which the draft may not see.
    source = path.name
    if "mask" in tensors:
        mask = np.asarray(tensors["mask"])
        if mask.shape != p.shape:
            raise ValueError(f"{path.name}: mask has shape {mask.shape} for rows of shape {p.shape}")
        p = masked_row(p, mask.astype(bool), f"{path.name}: p")
        q = masked_row(q, mask.astype(bool), f"{path.name}: q") if masked_draft else q
        source += " under its mask" if masked_draft else " under its mask, which the draft does not see"
    elif not masked_draft:
        raise ValueError(f"{path.name} has no tensor mask; --unmasked-draft says that the draft does not see it")
    return p, q, source


def _tensors(path: Path) -> dict[str, Any]:
    """Return the tensors of a safetensors file."""
    with extras.needed(f"reading {path.name}"):
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    try:
        return dict(load_file(path))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except (SafetensorError, TypeError, KeyError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _text(path: Path) -> str:
    """Return the text of a file; ValueError if it cannot be read."""
    try:
        return read_text(path, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
