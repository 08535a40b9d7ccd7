"""Readers of numbers and of acceptance, from the command line or from files."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, extras
from specsim.base.reading import MOST_BYTES, check_whole_numbers, parsed_json, read_text
from specsim.commands.plan import lists
from specsim.commands.plan.answers import COLUMN, acceptance_of_answers, acceptance_of_tau, check_names, of_every_step
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.share import LOOKED_UP
from specsim.laws.masks import masked_row
from specsim.lengths.acceptance_record import Acceptance, from_alpha, from_counts, from_hazards, from_rows
from specsim.lengths.hazards import MAX_DRAFTS, HazardEstimate, estimate_hazards


class PlanAcceptance(NamedTuple):
    """Acceptance of a chain of drafts, and of siblings by rank if given."""

    acceptance: Acceptance
    ranks: tuple[float, ...] = ()


def numbers(text: str, name: str, allowed: str) -> list[float]:
    """Return the numbers of a list such as 0.7,0.12, each in the interval `allowed`."""
    return [_number(part.strip(), f"{name}[{k}]", allowed) for k, part in enumerate(text.split(","))]


def acceptance(options: PlanOptions) -> PlanAcceptance:
    """Read the one source of acceptance that the options name."""
    sources = {name: getattr(options, name) for name in ("alpha", "ranks", "hazards", "histogram", "rows", "tau")}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) != 1:
        got = ", ".join(named) or "none"
        raise ValueError(f"give one of alpha, --ranks, --hazards, --histogram, --rows, --tau; got {got}")
    if options.alpha is not None:
        alpha = float(check.scalar(options.alpha, "alpha", "[0, 1]"))
        words = f"every draft is kept with probability {alpha:g}, whatever came before: declared, not measured"
        return PlanAcceptance(from_alpha(alpha, words))
    if options.tau is not None:
        return PlanAcceptance(acceptance_of_tau(options.tau, options.gamma))
    if options.ranks is not None:
        return read_ranks(options.ranks)
    if options.hazards is not None:
        hazards = read_hazards(options.hazards)
        return PlanAcceptance(of_every_step(options.hazards, options.drafted_share, hazards))
    if options.histogram is not None:
        # A draft model, EAGLE and MTP draft in every step; without --draft the drafter is not known.
        every_step = options.draft is not None and options.draft.lower() not in LOOKED_UP
        hazards = read_histogram(options.histogram, options.drafted_share, every_step)
        return PlanAcceptance(of_every_step(options.histogram, options.drafted_share, hazards))
    assert options.rows is not None
    return PlanAcceptance(read_rows(options.rows, masked_draft=not options.unmasked_draft))


def read_ranks(text: str) -> PlanAcceptance:
    """Read the probabilities, as 0.7,0.12,0.05, that sibling 1, 2, ... is accepted; a chain has the first."""
    ranks = numbers(text, "ranks", "[0, 1]")
    if len(ranks) > lists.MOST["ranks"]:
        raise ValueError(f"ranks has {len(ranks)} entries; the most that are sensible are {lists.MOST['ranks']}")
    if sum(ranks) > 1:
        raise ValueError(f"ranks sum to {sum(ranks):g}; one sibling at most is kept")
    words = f"sibling k is the one kept with probability {text}, whatever came before: declared, not measured"
    return PlanAcceptance(from_alpha(ranks[0], words), tuple(ranks))


def read_hazards(path: Path) -> Acceptance:
    """Read a CSV of `position` and one more column, whose name says what its numbers are, in any case.

    hazard: probability that the draft is kept if all before it were. rate: that it is kept, of all blocks, as engines
    print it by position; each over the one before is the hazard. count: blocks that kept that many drafts or more, from
    position 0, which counts all. tried and kept: blocks that came to test the draft, and that kept it.
    """
    table = csv.DictReader(_text(path).splitlines())
    try:
        names = [name.strip().lower() for name in table.fieldnames or ()]
        table.fieldnames = names
        lines = list(table)
    except csv.Error as error:
        raise ValueError(f"{path.name}, line {table.line_num + 1}: {error}") from None
    # The columns, of which one kind is read.
    for name in names:
        if name and names.count(name) > 1:
            raise ValueError(f"{path.name} has two columns {name}; leave out what is not to be read")
    pairs = "tried" in names and "kept" in names
    kinds = [name for name in ("hazard", "rate", "count") if name in names] + (["tried and kept"] if pairs else [])
    if "position" not in names or not kinds:
        raise ValueError(
            f"{path.name} has columns {', '.join(names) or 'none'}; it needs position and hazard, or position "
            "and rate, or position and count, or position, tried and kept"
        )
    if len(kinds) > 1:
        raise ValueError(f"{path.name} has {kinds[0]} beside {kinds[1]}; leave out what is not to be read")
    kind = kinds[0]
    check_names(names, ["position", *kind.split(" and "), COLUMN], path, "column")
    for i, line in enumerate(lines, 1):
        if None in line or None in line.values():
            raise ValueError(f"{path.name}, row {i} has another number of fields than the head, {len(names)}")
    # Rows count up without a gap.
    if not lines:
        raise ValueError(f"{path.name} has no rows")
    if len(lines) > MAX_DRAFTS:
        raise ValueError(f"{path.name} has {len(lines)} rows; the most that are sensible are {MAX_DRAFTS}")
    first = 0 if kind == "count" else 1
    for i, line in enumerate(lines):
        if (line["position"] or "").strip() != str(i + first):
            raise ValueError(
                f"{path.name}, row {i + 1}: position is {line['position']!r}; rows must count up from {first}"
            )
    # Hazards, or what they follow from.
    if kind == "hazard":
        a = _column(path, lines, kind, "[0, 1]")
        return from_hazards(np.array(a), f"hazards as {path.name} gives them, without an error")
    if kind == "rate":
        rates = [1.0, *_column(path, lines, kind, "[0, 1]")]
        _falling(path, rates[1:], kind)
        hazards = [after / before if before else 0.0 for before, after in pairwise(rates)]
        words = f"rates by position of all blocks, as {path.name} gives them, without an error"
        return from_hazards(np.array(hazards), words)
    if kind == "count":
        counts = _column(path, lines, kind, "[0, inf)")
        if len(counts) < 2:
            raise ValueError(f"{path.name} has position 0 alone; it needs 1 and more")
        _falling(path, counts, kind)
        tested = [list(pair) for pair in pairwise(counts)]
        words = f"counted in {path.name}, every block of {len(counts) - 1} drafts, blocks independent"
        return from_counts(_from_counts(path, tested, ("count", "count"), 1), words)
    both = [_column(path, lines, name, "[0, inf)") for name in ("tried", "kept")]
    estimate = _from_counts(path, [list(pair) for pair in zip(*both, strict=True)])
    return from_counts(estimate, f"hazards counted in {path.name}, blocks independent")


def _column(path: Path, lines: list[dict[str, str]], name: str, allowed: str) -> list[float]:
    """Return the numbers of a column, each in the interval `allowed`."""
    return [_number(line[name], f"{path.name}, row {i}: {name}", allowed) for i, line in enumerate(lines, 1)]


def _falling(path: Path, values: list[float], name: str) -> None:
    """Raise ValueError if a value is above the one before it."""
    for i, (before, after) in enumerate(pairwise(values), 2):
        if after > before:
            raise ValueError(
                f"{path.name}, row {i}: {name} is {after:g}, above the {before:g} before it; of all blocks no more can "
                "keep the later draft (if these are hazards, name the column hazard)"
            )


def _number(text: str | None, where: str, allowed: str) -> float:
    """Return the number that a text holds; ValueError with its place."""
    try:
        value = float(text or "")
    except ValueError:
        raise ValueError(f"{where} is {text!r}, not a number") from None
    return float(check.scalar(value, where, allowed))


def _from_counts(
    path: Path, pairs: list[list[float]], names: tuple[str, str] = ("tried", "kept"), offset: int = 0
) -> HazardEstimate:
    """Return the hazards: at each draft, count the blocks that rejected it, and those that ended after it."""
    if not pairs[0][0]:
        raise ValueError(f"{path.name}, row 1: {names[0]} is 0, so nothing was counted")
    # Blocks that come to each draft: whole numbers, which never rise.
    kinds = []
    after = [pair[0] for pair in pairs[1:]] + [0.0]
    for position, ((tried, accepted), tried_next) in enumerate(zip(pairs, after, strict=True), 1):
        if not (tried.is_integer() and accepted.is_integer()):
            shown = f"{names[0]} {tried:g} and {names[1]} {accepted:g}"
            raise ValueError(f"{path.name}, row {position + offset}: {shown} must be whole numbers of blocks")
        if accepted > tried:
            raise ValueError(
                f"{path.name}, row {position}: kept is {accepted:g}, more than the {tried:g} blocks that tried"
            )
        if tried_next > accepted:
            raise ValueError(
                f"{path.name}, row {position + 1}: tried is {tried_next:g}, more than the {accepted:g} that came so far"
            )
        # (accepted, drafted, blocks): rejected at this draft, and ended after it.
        kinds += [(position - 1, position, tried - accepted), (position, position, accepted - tried_next)]
    return estimate_hazards(
        *(np.array(column) for column in list(zip(*kinds, strict=True))[:2]), counts=[kind[2] for kind in kinds]
    )


def read_histogram(path: Path, share: float | None = None, every_step: bool = False) -> Acceptance:
    """Read JSON {"drafted": g, "counts": [blocks that kept 0, ..., g]}, or with "accepted" as for `estimate_hazards`.

    share, every_step: which steps had a draft, if the file has an engine's answers; see `acceptance_of_answers`.
    """
    text = _text(path)
    if '"acceptance_histogram"' in text:
        return acceptance_of_answers(path, share, every_step)
    content = parsed_json(text, path.name)
    if not isinstance(content, dict) or not {"drafted", "counts"} <= set(content):
        fields = ", ".join(content) if isinstance(content, dict) else type(content).__name__
        raise ValueError(
            f'{path.name} holds {fields or "nothing"}; it needs "drafted" and "counts", or acceptance_histogram of an '
            'engine; for blocks of 3 drafts write {"drafted": 3, "counts": [blocks that kept 0, 1, 2, 3 drafts]}'
        )
    check_names(content, ("drafted", "counts", "accepted"), path, "field")
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


def read_rows(path: Path, masked_draft: bool = True) -> Acceptance:
    """Read laws p and q (n, V) along texts that the target wrote; with `tokens` (n,) of texts of `lengths`, exactly.

    With a `mask` (n, V) of the tokens that a grammar allows, p, and q unless the draft does not see it, are
    conditioned on them.

    With the tokens the renewal law of block starts gives the hazards of every length; without them all that is known is
    the mean over positions.
    """
    tensors = _tensors(path)
    missing = [name for name in ("p", "q") if name not in tensors]
    if missing:
        raise ValueError(
            f"{path.name} has no tensor {' and '.join(missing)}; it has {', '.join(sorted(tensors)) or 'none'}"
        )
    check_names(tensors, ("p", "q", "tokens", "lengths", "mask"), path, "tensor")
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
    # With tokens acceptance is that along the texts.
    if "tokens" not in tensors:
        return from_rows(p, q, source=source)
    y = check.tokens(tensors["tokens"], f"{path.name}: tokens", p.shape[1])
    lengths = np.asarray(tensors.get("lengths", [len(p)]))
    if lengths.dtype.kind not in "iu":
        raise ValueError(f"{path.name}: lengths has type {lengths.dtype}; give whole numbers of tokens")
    if y.shape != p.shape[:1] or lengths.sum() != len(p) or (lengths < 1).any():
        raise ValueError(
            f"{path.name}: {len(p)} rows, {len(y)} tokens, lengths that sum to {lengths.sum()}; they differ"
        )
    return from_rows(p, q, y, lengths.tolist(), source=source)


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
