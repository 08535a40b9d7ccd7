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
NOT_PRICED = "price: not computed, since no rule of specsim is this one"


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


def as_json(path: Path, config: Config, price: Price | None) -> dict[str, Any]:
    """Return the answer as a JSON object."""
    return {
        "file": str(path),
        "engine": config.engine,
        "outcome": config.outcome,
        "fields": [field._asdict() for field in config.fields],
        "rule": None if config.law is None else {"name": config.law.rule, "params": dict(config.law.params)},
        "price": None if price is None else price._asdict(),
    }


def _price(config: Config, rows: Path | None) -> Price | None:
    """Return the price on given rows or on the reference rows; None if no rule of specsim has the law."""
    from specsim.commands.plan.read import read_laws
    from specsim.conform.configs.price import REFERENCE_WORDS, price, reference_rows

    if rows is None:
        return None if config.law is None else price(config.law, *reference_rows(), REFERENCE_WORDS)
    p, q, source = read_laws(rows)
    return None if config.law is None else price(config.law, p, q, source)


def _page(path: Path, config: Config, price: Price | None, form: PageForm) -> str:
    """Return the verdict, its fields, and the price."""
    from specsim.report.forms import page

    verdict = f"{path.name} ({config.engine}): {OUTCOMES[config.outcome]}"
    priced = _price_lines(config, price)
    if form == "text":
        shown = [f"  {field.effect}: {field.name} = {field.value}: {field.reason}" for field in config.fields]
        return page([verdict, *shown, *priced], form)
    table = [["field", "value", "effect", "reason"]]
    table += [[field.name, str(field.value), field.effect, field.reason] for field in config.fields]
    return page([table, "", verdict, *priced], form)


def _price_lines(config: Config, price: Price | None) -> list[str]:
    """Return what a lossy configuration costs and gains, in words."""
    if config.outcome != "lossy":
        return []
    if price is None:
        return [NOT_PRICED]
    gained = price.acceptance - price.acceptance_lossless
    return [
        f"price on {price.source} ({price.rows} rows; the draft is {price.draft}):",
        f"  a draft is accepted with {price.acceptance:.3f}; without the lossy fields {price.acceptance_lossless:.3f}, "
        f"so {gained:.3f} is gained",
        f"  a token is {price.total_variation:.3f} from {price.against}, in total variation",
    ]
