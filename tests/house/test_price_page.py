"""The page of what acceptance costs: its record is of these rules, no point is below the line, the picture is drawn."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from specsim.base import imports

DOCS = Path(__file__).parents[2] / "docs"
ON_THE_LINE = {"clipped", "judge, likeliest", "judge, above", "lantern", "lenience"}


@pytest.fixture
def price(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(DOCS))
    yield importlib.import_module("_generate.price")
    for name in [name for name in sys.modules if name.partition(".")[0] == "_generate"]:
        del sys.modules[name]


def wrong(price: ModuleType, record: dict[str, Any]) -> list[str]:
    """What is not as T33 has it."""
    lines = {line: [price.over(one) for one in record["points"] if one["line"] == line] for line in ON_THE_LINE}
    found = [f"{line} has no points" for line, far in lines.items() if not far]
    found += [f"{line} is off the line" for line, far in lines.items() if any(far)]
    return found + [f"{one['line']} is below the line" for one in record["points"] if price.over(one) < 0]


def test_every_lossy_rule_is_recorded_as_it_is(price: ModuleType) -> None:
    """`python -m _generate.price`, in docs/, measures them anew."""
    record = price.recorded()
    now = {name: imports.code(f"specsim.verify.step.{name}") for name in price.lossy()}
    assert record["sources"] == now
    assert {one["rule"] for one in record["points"]} == set(now)


def test_no_point_is_below_the_line(price: ModuleType) -> None:
    record = price.recorded()
    assert wrong(price, record) == []
    cheap = deepcopy(record)
    cheap["points"][0]["acceptance"] = 1.5
    assert wrong(price, cheap)
    off = deepcopy(record)
    next(one for one in off["points"] if one["line"] == "lenience")["bias"] += 0.01
    assert wrong(price, off) == ["lenience is off the line"]
    assert max(price.over(one) for one in record["points"] if one["line"] == "lantern, zeroed") > 0.05


def test_what_is_measured_is_measured_again(price: ModuleType) -> None:
    """On rows of a few tokens: the points of every rule, by the rule itself."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(8), (2, 6))
    near = np.stack([np.roll(np.arange(8), -1 - i) for i in range(3)], axis=-1)
    record = json.loads(json.dumps(price.measured(p, q, near)))
    assert wrong(price, record) == []
    assert {one["rule"] for one in record["points"]} == set(price.lossy())


def test_the_page_has_every_point_and_the_picture_is_the_same_again(price: ModuleType, tmp_path: Path) -> None:
    price.write(tmp_path)
    page, picture = (tmp_path / name for name in ("index.md", "price.svg"))
    record, before = price.recorded(), picture.read_bytes()
    assert page.read_text().count("\n| ") == len(record["points"]) + 2
    assert "(../proofs/T33_price.md)" in page.read_text()
    price.write(tmp_path)
    assert picture.read_bytes() == before
    figure = price.figure(record)
    told = figure.legends[0]
    assert {text.get_text() for text in told.get_texts()} == {
        "least there is",
        *(one["line"] for one in record["points"]),
    }
