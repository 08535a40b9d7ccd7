"""Devices and model shapes by name, from the tables in `data/`; every row names its source."""

from __future__ import annotations

import csv
import difflib
import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from specsim.base import check


class Hardware(NamedTuple):
    """A device: bytes per second of its memory and its link, dense operations per second by type, bytes of memory.

    source: where these numbers are printed.

    Examples
    --------
    >>> hardware("h200-sxm").bandwidth / 1e12
    4.8
    """

    name: str
    bandwidth: float
    flops: dict[str, float]
    link: float
    memory: float
    source: str
    notes: str = ""


# Columns of the table of devices by type of number.
_RATES = {"bf16": "bf16_tflops", "fp16": "fp16_tflops", "int8": "int8_tops", "fp8": "fp8_tflops", "fp4": "fp4_tflops"}


@cache
def rows(table: str) -> dict[str, dict[str, str]]:
    """Return the rows of a shipped table ("hardware", "models" or "hub") by name, in the table's order.

    Of several rows with one name the last one counts. "models" also has the models of `configs`, last, in rows of name
    and source alone.
    """
    text = (files("specsim.latency") / "data" / f"{table}.csv").read_text(encoding="utf-8")
    named = {next(iter(row.values())): row for row in csv.DictReader(text.splitlines())}
    if table == "models":
        named |= {name: {"model": name, "source": source} for name, (source, _) in configs().items()}
    return named


@cache
def configs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return (source, config) of each model whose layers no row of a table can describe, by name.

    They are the files of `data/configs`.
    """
    folder = files("specsim.latency") / "data" / "configs"
    contents = {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
    }
    return {name: (content["source"], content["config"]) for name, content in contents.items()}


@cache
def grouped(table: str, column: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of a shipped table in groups that share the value of a column, in their order."""
    text = (files("specsim.latency") / "data" / f"{table}.csv").read_text(encoding="utf-8")
    groups: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        groups.setdefault(row[column], []).append(row)
    return groups


def find(table: str, name: str, argument: str) -> dict[str, str]:
    """Return the row of a name; capitals and punctuation do not matter, and a unique beginning is enough."""
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be a name, got {name!r}")
    # The whole name, or its beginning.
    table_rows = rows(table)
    by_plain_name = {_plain(row_name): row for row_name, row in table_rows.items()}
    beginning = _plain(name)
    if beginning in by_plain_name:
        return by_plain_name[beginning]
    matches = [row_name for row_name in table_rows if beginning and _plain(row_name).startswith(beginning)]

    # Or its other names: the maker's name may be left out, and words in brackets may stand alone:
    # m4-pro, 4090, ryzen-ai-max+-395. A whole name comes before a beginning.
    other_names = {row_name: _other_names(row_name) for row_name in table_rows}
    if beginning and not matches:
        matches = [row_name for row_name, names in other_names.items() if beginning in names]
    if beginning and not matches:
        matches = [row_name for row_name, names in other_names.items() if _begins(names, beginning)]
    if len(matches) == 1:
        return table_rows[matches[0]]
    if matches:
        raise ValueError(f"{argument} {name!r} could be {', '.join(matches)}")
    way_on = _WAY_ON if table == "models" else ""
    raise ValueError(f"{argument} {name!r} is unknown; {_near(table, name)}{way_on}")


def _other_names(row_name: str) -> list[str]:
    """Return the other names of a row: its words after the first, and those in brackets."""
    _, _, after_maker = row_name.partition(" ")
    _, _, in_brackets = row_name.partition("(")
    return [_plain(after_maker), _plain(in_brackets)]


def _begins(names: list[str], beginning: str) -> bool:
    """Return whether one of the names has this beginning."""
    return any(name.startswith(beginning) for name in names)


# Words of errors: what to do about a model that the table does not have.
_WAY_ON = "; of any other model the file config.json says all sizes: download that file alone, and give its path"


def _near(table: str, name: str) -> str:
    """Return words on the names of a table that are near a name; if there are none, on its first names."""
    by_plain_name = {_plain(row_name): row_name for row_name in rows(table)}
    near_names = difflib.get_close_matches(_plain(name), list(by_plain_name), n=3, cutoff=0.5)
    if near_names:
        return f"near names: {', '.join(by_plain_name[near_name] for near_name in near_names)}"
    first = list(rows(table))[:_SHOWN]
    return f"known: {', '.join(first)}, and {len(rows(table)) - len(first)} more"


def of_hub(name: str) -> dict[str, str]:
    """Return the row of a model by its id on a hub, as org/model: from the tables alone, nothing is fetched.

    Examples
    --------
    >>> of_hub("meta-llama/Llama-3.3-70B-Instruct")["model"]
    'Llama-3.1-70B'
    """
    row = of_published(name)
    if row is not None:
        return row
    _, _, model_name = name.rpartition("/")
    raise ValueError(
        f"model {name!r} is not in the table, and nothing is fetched from a hub; give the folder of its config.json, "
        f"or a name of the table; {_near('models', model_name)}{_WAY_ON}"
    )


def of_published(name: str) -> dict[str, str] | None:
    """Return the row of a model by the name under which it is published, with its owner or without; None without one.

    Examples
    --------
    >>> of_published("Llama-3.1-70B-Instruct")["model"], of_published("deepseek-r1")["model"]
    ('Llama-3.1-70B', 'DeepSeek-V3')
    """
    # The name without its owner, and without words such as "Instruct".
    _, _, model_name = name.rpartition("/")
    words = [word for word in model_name.split("-") if word.lower() not in _SAME_SHAPE]
    plain_name = _plain("-".join(words))

    # As the table has it, or as it is published.
    for row_name, row in rows("models").items():
        if _plain(row_name) == plain_name:
            return row
    for published_name, row in rows("hub").items():
        if _plain(published_name) == plain_name:
            return rows("models")[row["model"]]
    return None


# How many names an error lists if none is near.
_SHOWN = 8
# Words of a hub id that do not change the shape. Words for quantized weights are not among them:
# see `roofline`, dtype.
_SAME_SHAPE = {"meta", "instruct", "chat", "hf", "it", "base", "bf16", "2507"}


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(c for c in name.lower() if c.isalnum())


def hardware(name: str) -> Hardware:
    r"""Return the device of a name.

    .. math:: \text{ridge} = \frac{\text{operations per second}}{\text{bytes per second}}

    The ridge is the number of tokens from which on 16-bit matrix products take longer to multiply than to read (2
    operations and 2 bytes a weight).

    Parameters
    ----------
    name : str
        As in the table `specsim/latency/data/hardware.csv`; capitals and punctuation do not matter, and a beginning
        that only one device has is enough.

    Returns
    -------
    Hardware
        Bandwidth and link in bytes/s (a link in one direction), flops in dense operations/s by type.

    Raises
    ------
    ValueError
        An unknown or ambiguous name; the message lists the near ones.

    References
    ----------
    Each row of the table names its source; "recalled" rows were not checked against a document.

    Examples
    --------
    >>> device = hardware("a100-sxm4-80gb")
    >>> round(device.flops["bf16"] / device.bandwidth)
    153
    """
    row = find("hardware", name, "hardware")
    flops = {kind: float(row[column]) * 1e12 for kind, column in _RATES.items() if row[column]}
    link = float(row["link_gbps"] or row["host_link_gbps"] or 0) * 1e9
    return Hardware(
        row["device"],
        float(row["bandwidth_gbps"]) * 1e9,
        flops,
        link,
        float(row["memory_gb"]) * 1e9,
        row["source"],
        row["notes"],
    )


def expected_experts(tokens: int, *, experts: int, per_token: int, correlation: float = 1) -> float:
    r"""Return the expected number of distinct experts that a batch of tokens reads in one layer.

    .. math:: N(t) = E \left(1 - (1 - k/E)^{t^\kappa}\right)

    At kappa = 1 this is exact if every token's experts are a uniform draw, independent of the other tokens'. Real
    routing is correlated and touches fewer: kappa < 1, or a measured curve.

    Parameters
    ----------
    tokens : int
        t, at least 1.
    experts : int
        E, the experts of a layer.
    per_token : int
        k, the experts of one token, at most E.
    correlation : float
        kappa in (0, 1].

    Returns
    -------
    float
        Mean number of distinct experts, between k and E.

    Raises
    ------
    ValueError
        A count below 1, per_token above experts, or correlation outside (0, 1].

    References
    ----------
    MoESD, arXiv:2505.19645 (kappa = 1).

    Examples
    --------
    >>> round(expected_experts(8, experts=64, per_token=8), 2)
    42.01
    """
    t, total = check.integer(tokens, "tokens", 1), check.integer(experts, "experts", 1)
    k = check.integer(per_token, "per_token", 1)
    if k > total:
        raise ValueError(f"per_token is {k}, more than the {total} experts of a layer")
    kappa = float(check.scalar(correlation, "correlation", "(0, 1]"))
    return float(total * (1 - (1 - k / total) ** (t**kappa)))
