"""What `specsim plan` is told: models, acceptance, batches and contexts, each checked before any work."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, extras
from specsim.base.arrays import at, overlap
from specsim.latency import ModelShape
from specsim.lengths.blocks import renewal, text_survival
from specsim.lengths.hazards import HazardEstimate, estimate_hazards, pool_texts
from specsim.speed.grid import Acceptance
from specsim.types import Array
from specsim.verify.lookup import chain_rule

MOST = {"batch": 2**14, "context": 2**30}  # schedules try every batch
FEW = 10  # texts below which the spread between them says little


class Given(NamedTuple):
    """Acceptance as `specsim.plan` takes it, what it rests on, and that of the siblings of a tree by rank, if given."""

    acceptance: Acceptance
    words: str
    ranks: tuple[float, ...] = ()


def shape(name: str) -> ModelShape:
    """A model of the table, or of a config.json (or the folder that holds it)."""
    path = Path(name)
    if path.suffix == ".json" or (path / "config.json").is_file():
        return ModelShape.from_config(path)
    return ModelShape.named(name)


def whole_numbers(text: str, name: str, least: int) -> list[int]:
    """Numbers as 1,8,64 or 1k,32k; k is 1024.

    Examples
    --------
    >>> whole_numbers("512,32k", "context", 0)
    [512, 32768]
    """
    found = []
    for part in text.split(","):
        digits = part.strip().lower()
        unit = 1024 if digits.endswith("k") else 1
        if not digits.removesuffix("k").isdecimal():
            raise ValueError(f"{name} has {part.strip()!r}, which is no whole number; write 1,8,64 or 1k,32k")
        if len(digits) > 12 or int(digits.removesuffix("k")) * unit > MOST[name]:
            raise ValueError(f"{name} is {digits[:20]}; it must be at most {MOST[name]}")
        found.append(check.integer(int(digits.removesuffix("k")) * unit, name, least))
    return found


def numbers(text: str, name: str, allowed: str) -> list[float]:
    """Numbers as 0.7,0.12, each in an interval."""
    return [_number(part.strip(), f"{name}[{k}]", allowed) for k, part in enumerate(text.split(","))]


def acceptance(
    alpha: float | None, ranks: str | None, hazards: Path | None, histogram: Path | None, rows: Path | None
) -> Given:
    """The one source of acceptance that was given."""
    given = {"alpha": alpha, "ranks": ranks, "hazards": hazards, "histogram": histogram, "rows": rows}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(
            f"give one of alpha, --ranks, --hazards, --histogram, --rows; got {', '.join(named) or 'none'}"
        )
    if alpha is not None:
        words = f"every draft is kept with probability {alpha:g}, whatever came before: declared, not measured"
        return Given(float(check.scalar(alpha, "alpha", "[0, 1]")), words)
    if ranks is not None:
        return from_ranks(ranks)
    if hazards is not None:
        return from_hazards(hazards)
    return from_histogram(histogram) if histogram is not None else from_rows(Path(str(rows)))


def from_ranks(text: str) -> Given:
    """Probabilities, as 0.7,0.12,0.05, that the first, second, ... sibling is the one kept; a chain has the first."""
    found = numbers(text, "ranks", "[0, 1]")
    if sum(found) > 1:
        raise ValueError(f"ranks sum to {sum(found):g}; one sibling at most is kept")
    words = f"sibling k is the one kept with probability {text}, whatever came before: declared, not measured"
    return Given(found[0], words, tuple(found))


def from_hazards(path: Path) -> Given:
    """A CSV of `position` (1, 2, ...) and `hazard`; or of `position`, `tried` and `kept`, blocks counted in a log."""
    table = csv.DictReader(_text(path).splitlines())
    try:
        lines = list(table)
    except csv.Error as error:
        raise ValueError(f"{path.name}, line {table.line_num + 1}: {error}") from None
    names = table.fieldnames or ()
    counted = "tried" in names and "kept" in names
    if "position" not in names or not (counted or "hazard" in names):
        raise ValueError(f"{path.name} has columns {', '.join(names) or 'none'}; it needs position and hazard, or "
                         "position, tried and kept")  # fmt: skip
    if counted and "hazard" in names:
        raise ValueError(f"{path.name} has hazard beside tried and kept; leave out what is not to be read")
    if not lines:
        raise ValueError(f"{path.name} has no rows")
    for i, line in enumerate(lines, 1):
        if (line["position"] or "").strip() != str(i):
            raise ValueError(f"{path.name}, row {i}: position is {line['position']!r}; rows must count up from 1")
    if not counted:
        a = [_number(line["hazard"], f"{path.name}, row {i}: hazard", "[0, 1]") for i, line in enumerate(lines, 1)]
        return Given(np.array(a), f"hazards as {path.name} gives them, without an error")
    pairs = [
        [_number(line[name], f"{path.name}, row {i}: {name}", "[0, inf)") for name in ("tried", "kept")]
        for i, line in enumerate(lines, 1)
    ]
    return Given(_from_counts(path, pairs), f"hazards counted in {path.name}, blocks independent")


def _number(text: str | None, where: str, allowed: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        raise ValueError(f"{where} is {text!r}, not a number") from None
    return float(check.scalar(value, where, allowed))


def _from_counts(path: Path, pairs: list[list[float]]) -> HazardEstimate:
    """Blocks that failed at a draft, and those that kept it and made no more."""
    if not pairs[0][0]:
        raise ValueError(f"{path.name}, row 1: tried is 0, so nothing was counted")
    kinds = []
    after = [pair[0] for pair in pairs[1:]] + [0.0]
    for i, ((tried, kept), then) in enumerate(zip(pairs, after, strict=True), 1):
        if not (tried.is_integer() and kept.is_integer()):
            raise ValueError(f"{path.name}, row {i}: tried {tried:g} and kept {kept:g} must be whole numbers of blocks")
        if kept > tried:
            raise ValueError(f"{path.name}, row {i}: kept is {kept:g}, more than the {tried:g} blocks that tried")
        if then > kept:
            raise ValueError(f"{path.name}, row {i + 1}: tried is {then:g}, more than the {kept:g} that came so far")
        kinds += [(i - 1, i, tried - kept), (i, i, kept - then)]
    return estimate_hazards(*(np.array(c) for c in list(zip(*kinds, strict=True))[:2]), counts=[k[2] for k in kinds])


def from_histogram(path: Path) -> Given:
    """JSON {"drafted": g, "counts": [blocks that kept 0, ..., g]}; or with "accepted" as `estimate_hazards` has it."""
    try:
        held = json.loads(_text(path))
    except ValueError as error:
        raise ValueError(f"{path.name} is not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deep") from None
    if not isinstance(held, dict) or not {"drafted", "counts"} <= set(held):
        fields = ", ".join(held) if isinstance(held, dict) else type(held).__name__
        raise ValueError(f'{path.name} holds {fields or "nothing"}; it needs "drafted" and "counts"')
    drafted, counts = held["drafted"], held["counts"]
    if isinstance(drafted, bool) or not isinstance(drafted, (int, list)):
        raise ValueError(f"{path.name}: drafted is {json.dumps(drafted)}, not a whole number or a list of them")
    if not isinstance(counts, list):
        raise ValueError(f"{path.name}: counts is {json.dumps(counts)}, not a list")
    if "accepted" not in held and isinstance(drafted, int) and len(counts) != drafted + 1:
        raise ValueError(f"{path.name}: {len(counts)} counts; blocks of {drafted} drafts keep 0, ..., {drafted}")
    try:
        found = estimate_hazards(np.array(held.get("accepted", range(len(counts)))), drafted, counts=counts)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not len(found.hazards):
        raise ValueError(f"{path.name}: no block drafted a token")
    return Given(found, f"hazards counted in {path.name}, blocks independent")


def from_rows(path: Path) -> Given:
    """Laws p and q (n, V) along texts that the target wrote; with `tokens` (n,), of texts of `lengths`, exactly so.

    With the tokens the renewal law of block starts gives the hazards of every length; without them all that is known is
    the mean over positions.
    """
    held = _tensors(path)
    missing = [name for name in ("p", "q") if name not in held]
    if missing:
        raise ValueError(
            f"{path.name} has no tensor {' and '.join(missing)}; it has {', '.join(sorted(held)) or 'none'}"
        )
    p, q = (np.asarray(held[name], dtype=np.float64) for name in ("p", "q"))
    p, q = check.laws(p, q, (f"{path.name}: p", f"{path.name}: q"))
    if p.ndim != 2 or p.shape != q.shape or not len(p):
        raise ValueError(f"{path.name}: p has shape {p.shape} and q {q.shape}; both must be (n, V), with n at least 1")
    if "tokens" not in held:
        words = f"the mean acceptance over the positions of {path.name}, as if all were alike (it holds no tokens); "
        words += "that they are a sample is in no interval"
        return Given(float(overlap(p, q).mean()), words)
    y = check.tokens(held["tokens"], f"{path.name}: tokens", p.shape[1])
    lengths = np.asarray(held.get("lengths", [len(p)]))
    if lengths.dtype.kind not in "iu":
        raise ValueError(f"{path.name}: lengths has type {lengths.dtype}; give whole numbers of tokens")
    if y.shape != p.shape[:1] or lengths.sum() != len(p) or (lengths < 1).any():
        raise ValueError(
            f"{path.name}: {len(p)} rows, {len(y)} tokens, lengths that sum to {lengths.sum()}; they differ"
        )
    mine, other = at(p, y), at(q, y)
    if (mine == 0).any():
        i = int(np.argmax(mine == 0))
        raise ValueError(f"{path.name}: token {i} has probability 0 under the target, which wrote the text")
    texts = np.split(other / mine, np.cumsum(lengths)[:-1])

    @cache
    def pooled(gamma: int) -> Array | HazardEstimate:
        found = [renewal(text_survival(chain_rule("tokenwise").survival, ratio, gamma)) for ratio in texts]
        tried = np.array([one.tried for one in found])
        kept = np.array([one.hazards for one in found]) * tried
        if len(texts) > 1 and tried.sum(axis=0).all():
            return pool_texts(kept, tried)
        return kept.sum(axis=0) / np.where(tried.sum(axis=0) > 0, tried.sum(axis=0), 1)

    sample = "an independent sample of texts" if len(texts) > 1 else "of one text, so its error is not known"
    sample += "; so few that the error is uncertain" * (1 < len(texts) < FEW)
    return Given(pooled, f"acceptance along {path.name} ({len(texts)} texts), by the renewal law: {sample}")


def _tensors(path: Path) -> dict[str, Any]:
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
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text") from None
