"""`specsim conform --config`: is what an engine is told lossless, by which field, and at what price?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from specsim.commands.json_form import json_answer
from specsim.commands.options import Form

if TYPE_CHECKING:
    from specsim.conform.configs.price import Price
    from specsim.conform.configs.record import Config
    from specsim.report.forms import Form as PageForm

# Exit statuses, as those of a judgement: it passed, it is convicted, it is not decided.
STATUSES = {"lossless": 0, "lossy": 1, "undecided": 2}
OUTCOMES = {
    "lossless": "lossless: no field changes the law of the output",
    "lossy": "lossy",
    "undecided": "undecided: fields that are not known here",
}

# What the rows of CSV about the price hold.
PRICE_WORDS = {
    "acceptance": "probability that a draft (of a block, the first one) is accepted",
    "acceptance_lossless": "the same without the lossy fields",
    "total_variation": "distance of a token's law (of a block, the first one's) from what it is compared with",
    "rows": "number of rows at which a token or a block begins",
    "unit": "what begins at these rows",
    "source": "where the rows are from",
    "against": "what the law is compared with",
    "draft": "what is drafted",
}


def print_config(path: Path, rows: Path | None, form: Form) -> int:
    """Print the verdict on a configuration; return the exit status."""
    from specsim.conform.configs import read_config

    config = read_config(path)
    price = _price(config, rows)
    if form == "json":
        typer.echo(json_answer("specsim/conform-config", as_json(path, config, price)))
        return STATUSES[config.outcome]
    typer.echo(_page(path, config, price, form))
    return STATUSES[config.outcome]


def as_json(path: Path, config: Config, price: Price | str) -> dict[str, Any]:
    """Return the answer as a JSON object."""
    return {
        "file": str(path),
        "engine": config.engine,
        "outcome": config.outcome,
        "fields": [field._asdict() for field in config.fields],
        "rule": None if config.law is None else {"name": config.law.rule, "params": dict(config.law.params)},
        "price": None if isinstance(price, str) else price._asdict(),
        "not_priced": price if isinstance(price, str) and config.outcome == "lossy" else None,
    }


def _price(config: Config, rows: Path | None) -> Price | str:
    """Return the price on given rows or on the reference rows, or why it is not computed."""
    from specsim.commands.plan.read import read_laws
    from specsim.conform.configs.price import REFERENCE_WORDS, NotPriced, price, reference_rows

    # A file of rows is checked whether or not it is needed.
    p, q, source = (*reference_rows(), REFERENCE_WORDS) if rows is None else read_laws(rows)
    if config.law is None:
        return config.unpriced
    try:
        return price(config.law, p, q, source)
    except NotPriced as error:
        # What the configuration is does not hang on the rows.
        return str(error)


def _page(path: Path, config: Config, price: Price | str, form: PageForm) -> str:
    """Return the verdict, its fields, and the price."""
    from specsim.report.forms import page

    verdict = f"{path.name} ({config.engine}): {OUTCOMES[config.outcome]}"
    priced = _price_lines(config, price)
    if form == "text":
        shown = [f"  {field.effect}: {field.name} = {field.value}: {field.reason}" for field in config.fields]
        return page([verdict, *shown, *priced], form)
    table = [["field", "value", "effect", "reason"]]
    table += [[field.name, str(field.value), field.effect, field.reason] for field in config.fields]
    # CSV has tables alone: the verdict and the price are rows of it.
    if form == "csv":
        table.append(["outcome", config.outcome, "verdict", verdict])
        table += _price_rows(config, price)
    return page([table, "", verdict, *priced], form)


def _price_rows(config: Config, price: Price | str) -> list[list[str]]:
    """Return what `_price_lines` says as rows of the table of fields."""
    if config.outcome != "lossy":
        return []
    if isinstance(price, str):
        return [["price", "", "price", f"not computed: {price}"]]
    names = ("acceptance", "acceptance_lossless", "total_variation", "rows", "unit", "source", "against", "draft")
    return [[name, str(getattr(price, name)), "price", PRICE_WORDS[name]] for name in names]


def _price_lines(config: Config, price: Price | str) -> list[str]:
    """Return what a lossy configuration costs and gains, in words."""
    if config.outcome != "lossy":
        return []
    if isinstance(price, str):
        return [f"price: not computed: {price}"]
    gained = price.acceptance - price.acceptance_lossless
    draft, token, mean = "a draft", "a token", f"mean over {price.rows} rows"
    if price.unit == "blocks":
        draft, token = "the first draft of a block", "the first token of a block"
        mean = f"mean over blocks that begin at {price.rows} of them"
    return [
        f"price on {price.source} ({mean}; the draft is {price.draft}):",
        f"  {draft} is accepted with {price.acceptance:.3f}; without the lossy fields {price.acceptance_lossless:.3f}, "
        f"so {gained:.3f} is gained",
        f"  {token} is {price.total_variation:.3f} from {price.against}, in total variation",
    ]
