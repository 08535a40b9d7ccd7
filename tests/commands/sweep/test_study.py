"""What a study's file says: its points in order, their keys, and one line for whatever is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from helpers import studies

from specsim.commands.sweep import kinds
from specsim.commands.sweep.study import Study, key, parsed, point, points, read

ROOT = Path(__file__).parents[3]


def of(text: str) -> Study:
    return parsed(tomllib.loads(text), "study.toml")


def test_the_last_axis_changes_fastest() -> None:
    found = [(one["alpha"], one["gamma"], one["cost_ratio"]) for one in points(of(studies.PLAN))]
    assert found == [(a, g, c) for a in (0.6, 0.8) for g in range(5) for c in (0.05, 0.1, 0.2)]


def test_cases_go_together_and_defaults_are_kept() -> None:
    study = of(
        'kind = "acceptance"\n[grid]\nnum_drafts = [1, 2]\n'
        '[[case]]\ntarget = "law:1/2,1/2"\ndraft = "zipf:2:1"\n'
        '[[case]]\ntarget = "zipf:3:1"\ndraft = "law:.2,.3,.5"\n'
    )
    found = [(one["target"], one["draft"], one["num_drafts"], one["rule"]) for one in points(study)]
    first, second = ("law:1/2,1/2", "zipf:2:1"), ("zipf:3:1", "law:.2,.3,.5")
    assert found == [(*pair, n, "rejection") for pair in (first, second) for n in (1, 2)]
    assert list(point(study, 0)) == list(study.kind.inputs)


def test_ranges_are_whole_linear_and_logarithmic() -> None:
    study = of(
        'kind = "plan"\n[grid]\nalpha = { from = 0.5, to = 0.9, count = 5 }\ngamma = { from = 1, to = 16, step = 5 }\n'
        'cost_ratio = { from = 0.01, to = 1, count = 3, scale = "log" }\n'
    )
    assert study.axes["alpha"] == pytest.approx((0.5, 0.6, 0.7, 0.8, 0.9))
    assert study.axes["gamma"] == (1, 6, 11, 16)
    assert study.axes["cost_ratio"] == pytest.approx((0.01, 0.1, 1.0))


def test_whole_numbers_are_read_as_on_the_command_line() -> None:
    """`gamma = "1-8"` was refused, where every option takes it."""
    text = 'kind = "plan"\n[grid]\nalpha = 0.8\ncost_ratio = 0.1\ngamma = "1-3,8"\n'
    assert of(text).axes["gamma"] == (1, 2, 3, 8)
    for words, said in (("1-3,2", "study.toml: gamma has 2 twice"), ("3-1", "study.toml: gamma has '3-1', an empty")):
        with pytest.raises(ValueError, match=f"^{said}"):
            of(text.replace("1-3,8", words))


def test_a_key_is_of_all_inputs_and_of_nothing_else() -> None:
    """Not of the place in the file: a study that has grown finds the rows it had."""
    small, grown = of(studies.PLAN), of(studies.PLAN.replace("[0.6, 0.8]", "[0.7, 0.6, 0.8]"))
    mine, other = ([key(study.kind, one) for one in points(study)] for study in (small, grown))
    assert set(mine) < set(other)
    assert len(set(other)) == grown.size == 45
    twice = of(studies.SIMULATE)
    assert len({key(twice.kind, one) for one in points(twice)}) == twice.size == 16  # seeds tell rows apart
    as_float = of(studies.PLAN.replace("0.1, 0.2", "0.1, 0.20"))
    assert [key(as_float.kind, one) for one in points(as_float)] == mine


BAD = [
    ("", 'study.toml has no kind; give kind = "plan"'),
    ('kind = "plans"', "kind 'plans' is unknown; did you mean 'plan'? known: acceptance, block"),
    ('kind = "plan"\ngird = 1', "study.toml: field 'gird' is unknown; did you mean 'grid'? known: kind, grid, case"),
    ("[grid]\ngama = 3\n", "study.toml, [grid]: field 'gama' is unknown; did you mean 'gamma'? known: alpha, gamma"),
    ("[grid]\nalpha = 0.8\ncost_ratio = 0\n", "study.toml does not give gamma, which a study of kind plan needs"),
    ("[grid]\nalpha = [0.8, 1.5]\n", "study.toml: alpha[1] is 1.5"),
    ("[grid]\nalpha = nan\n", "study.toml: alpha is nan"),
    ('[grid]\nalpha = "high"\n', "study.toml: alpha is 'high'; give a number"),
    ("[grid]\nalpha = true\n", "study.toml: alpha is True; give a number"),
    ("[grid]\nalpha = []\n", "study.toml: alpha is an empty list"),
    ("[grid]\nalpha = [0.8, 0.5, 0.8]\n", "alpha[2] is 0.8, as study.toml: alpha[0] is: no row is written twice"),
    ("[grid]\ngamma = 2.5\n", "study.toml: gamma is 2.5; it must be a whole number from 0 to 4096"),
    ("[grid]\ngamma = { from = 1, to = 99999 }\n", "study.toml: gamma.to is 99999; it must be a whole number"),
    ("[grid]\ngamma = { from = 5, to = 1 }\n", "study.toml: gamma has 0 values from 5 to 1"),
    ("[grid]\ngamma = { from = 1, upto = 9 }\n", "study.toml: gamma: field 'upto' is unknown; "),
    ("[grid]\ngamma = { from = 1 }\n", "study.toml: gamma has no 'to'"),
    ("[grid]\ngamma = { from = 1, to = 9, count = 3 }\n", "gamma is of whole numbers: give step, not count"),
    ("[grid]\nalpha = { from = 0, to = 1, step = 0.1 }\n", "study.toml: alpha.count is None"),
    ("[grid]\nalpha = { from = 0, to = 1, count = 3, step = 1 }\n", "alpha is of real numbers: give count, not step"),
    ('[grid]\nalpha = { from = 0, to = 1, count = 3, scale = "log" }\n', "alpha.scale is 'log'"),
    ("[grid]\nalpha = { from = 0, to = 1, count = 9999999 }\n", "alpha.count is 9999999; it must be a whole number"),
    ('[grid]\ntarget = "llama-9"\n', "study.toml: target is 'llama-9': "),
    ('[grid]\ntarget = { from = "a", to = "b" }\n', "study.toml: target takes text, which has no range"),
    ("[grid]\nalpha = 0.8\ngamma = 1\n", "the costs are incomplete, target, draft, hardware missing: give"),
    ("[grid]\nalpha = 0.8\ngamma = 1\ncost_ratio = 0\ntp = 2\n", "tp cannot be combined with cost_ratio"),
    (
        "[grid]\nalpha = { from = 0, to = 1, count = 2000 }\ngamma = { from = 0, to = 4000 }\ncost_ratio = 0\n",
        "study.toml has 8002000 points; a study of kind plan has 1048576 at most",
    ),
    ("grid = 3\n", "study.toml: grid is 3; write [grid]"),
    ("case = 3\n", "study.toml: case is 3; write [[case]]"),
    ("[[case]]\nalpha = 0.8\n[[case]]\ngamma = 1\n", "[[case]] 2: all cases give the same inputs; this and the first"),
    ("[[case]]\nalpha = 0.8\n[[case]]\nalpha = 0.8\n", "[[case]] 2 is the same as 1: no row is written twice"),
    ("[grid]\nalpha = 1\n[[case]]\nalpha = 0.8\n", "[[case]] 1: alpha is in [grid], too"),
    ("[[case]]\nalpha = [0.8]\n", "study.toml, [[case]] 1: alpha is [0.8]; give a number"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD, ids=[text.replace("\n", " ")[:60] or "empty" for text, _ in BAD])
def test_bad_files_are_one_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        of(text if "kind" in text or not text else f'kind = "plan"\n{text}')
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\xff", "is not UTF-8 text"), (b"kind = ", "is no TOML: "), (None, "cannot be read: No such file")],
)
def test_a_file_that_is_no_study(data: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ValueError, match=said):
        read(path)


def test_studies_of_the_documentation_are_studies() -> None:
    page = (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8")
    found = [of(text) for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    assert [(one.kind.name, one.size) for one in found] == [("plan", 4160), ("acceptance", 36)]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == kinds.names()


def test_every_kind_says_what_a_row_is() -> None:
    assert {"plan", "tree", "acceptance", "block", "simulate", "compare"} <= set(kinds.names())
    for name in kinds.names():
        kind = kinds.find(name)
        assert not set(kind.inputs) & set(kind.outputs)
        assert not {"key", "refused"} & (set(kind.inputs) | set(kind.outputs))
        assert {one.column for one in kind.inputs.values()} <= {"double", "int64", "string"}
        assert kind.chunk <= kind.most
    assert [name for name in kinds.names() if kinds.find(name).timed] == ["compare"]
