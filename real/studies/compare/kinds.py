"""The kinds of comparison (one chain rule, several, or trees): their tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from real.studies.compare import answer, report, rules_report, tree_report
from real.studies.compare.settings import Settings
from real.studies.compare.tree_settings import TreeSettings
from real.studies.runner import Study


class Kind(NamedTuple):
    """A comparison's table for a terminal, its figure, and the function that writes it to a file."""

    table: Callable[..., Any]
    drawn: Callable[[dict[str, Any]], Any]
    write_plot: Callable[[Path, dict[str, Any]], None]


KINDS = {
    report.SCHEMA: Kind(answer.table, report.drawn, report.write_plot),
    rules_report.SCHEMA: Kind(rules_report.table, rules_report.drawn, rules_report.write_plot),
    tree_report.SCHEMA: Kind(tree_report.table, tree_report.drawn, tree_report.write_plot),
}


def schema_of(settings: Settings | TreeSettings) -> str:
    """Return the schema of the record of a comparison with these settings."""
    if isinstance(settings, TreeSettings):
        return tree_report.SCHEMA
    return rules_report.SCHEMA if len(settings.rules) > 1 else report.SCHEMA


def study_of(settings: Settings | TreeSettings, name: str, *, wide: bool) -> Study:
    """Return the study of these settings, as the runner takes it; its default record has this name."""
    schema = schema_of(settings)
    kind = KINDS[schema]
    return Study(name, schema, partial(kind.table, wide=wide), kind.write_plot)
