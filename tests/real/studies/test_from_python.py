"""`real.compare`: what the command measures and shows, from Python."""

from __future__ import annotations

import json
import shutil
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.forwards import forbid
from typer.testing import CliRunner

import real
import real.cli
import real.studies.compare.from_python
import real.studies.compare.measure
import real.studies.compare.tree_recorded
from real import TINY, Comparison
from real.decode.warping import Warping
from real.options import read_prompts
from real.studies.records import markdown

RESULTS = Path(__file__).parents[3] / "real" / "results"
KINDS = {"chains": "bundled", "rules": "block", "trees": "compare-trees"}


def command(*arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, list(arguments))


def recorded(name: str) -> Comparison:
    return Comparison(json.loads((RESULTS / f"{KINDS[name]}.json").read_text(encoding="utf-8")))


@cache
def pair() -> real.Pair:
    torch.set_num_threads(1)
    return real.load(TINY / "target", TINY / "draft")


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second that a copy of memory takes."""
    for module in (real.studies.compare.measure, real.studies.compare.tree_recorded):
        monkeypatch.setattr(module, "copy_bandwidth", lambda device: 1e10)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("--gamma 1,2", {"gammas": [1, 2]}),
    ("--gamma 1,2 --calibrate 2 --temperature 0.5", {"gammas": (1, 2), "calibrated": [2], "temperature": 0.5}),
    ("--gamma 2 --rule tokenwise,block --seed 3", {"gammas": [2], "rules": ["tokenwise", "block"], "seed": 3}),
    (
        "--gamma 1 --rule typical --param epsilon=0.2 --temperature 0 --top-k 5",
        {"gammas": [1], "rules": "typical", "params": {"epsilon": 0.2}, "warping": Warping(0, top_k=5)},
    ),
    (
        "--tree 2,1 --chains 1 --scheme without_replacement --rule traversal",
        {"trees": "2,1", "chains": [1], "scheme": "without_replacement", "rules": "traversal"},
    ),
]


@pytest.mark.parametrize(("words", "given"), CASES, ids=[words for words, _ in CASES])
def test_a_call_is_the_command(words: str, given: dict[str, Any], tmp_path: Path, quick: None) -> None:
    """The same study: the command finds the record that was written, and shows what `table` shows."""
    prompts = read_prompts(TINY / "prompts.json")[:2]
    found = real.compare(pair(), prompts, max_tokens=6, **given)
    out = tmp_path / "compare.json"
    found.to_json(out)
    assert json.loads(out.read_text()) == found.record
    assert found.record["complete"] is True
    assert found.record["provenance"]["command"] == "real.compare"
    same = ("compare", "tiny", "--widen", "0", "--count", "2", "--max-tokens", "6", *words.split(), "--out", str(out))
    shown = command(*same)
    assert shown.exit_code == 0, shown.output
    assert "holds this study, measured" in shown.output
    assert lines(shown.output)[: len(lines(found.table()))] == lines(found.table())
    assert lines(command(*same, "--csv").stdout) == lines(found.table("csv"))


def test_numbers_are_those_of_the_command(tmp_path: Path, quick: None) -> None:
    """Measured anew by the command: texts, acceptance and tau are equal, and all fields but times have one value."""
    prompts = read_prompts(TINY / "prompts.json")[:2]
    found = real.compare(pair(), prompts, gammas=[2], max_tokens=6)
    words = ("--widen", "0", "--count", "2", "--max-tokens", "6", "--gamma", "2", "--out", str(tmp_path / "x.json"))
    shown = command("compare", "tiny", *words, "--json")
    assert shown.exit_code == 0, shown.output
    record = json.loads(shown.stdout)
    assert record.keys() == found.record.keys()
    assert record["acceptance"] == found.record["acceptance"]
    for key in ("tau", "target_calls", "blocks_keeping_at_least"):
        assert record["pairs"][0][key] == found.rows[0][key]


def test_prompts_are_the_commands_where_none_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real.studies.compare.from_python, "prepared", lambda *told: lambda run: None)
    found = [real.compare(pair(), texts) for texts in (None, read_prompts(TINY / "prompts.json")[:5])]
    what = [one.record["provenance"] for one in found]
    assert what[0]["prompts"] == what[1]["prompts"] == 5
    assert what[0]["prompts_digest"] == what[1]["prompts_digest"]
    assert what[0]["gammas"] == list(range(1, 9))


def test_a_record_says_what_was_done_to_the_target(quick: None) -> None:
    """Emulated costs and rounded weights, as the command's do; and models in memory have no other name."""
    wide = real.load(TINY / "draft", TINY / "draft", widen_to=6_000_000)
    found = real.compare(wide, ["def main():"], gammas=[1], max_tokens=2)
    assert found.record["provenance"]["widened_to_millions"] == 6
    assert "Cost emulation: the target" in found.table()
    rounded = real.load(TINY / "draft", TINY / "draft", weights="int8")
    found = real.compare(rounded, ["def main():"], gammas=[1], max_tokens=2)
    assert found.record["provenance"]["target_weights"] == "int8"
    assert found.record["provenance"]["target"] == str(TINY / "draft")
    assert isinstance(found.record["provenance"]["weights"][0], str)
    memory = real.Pair(pair().target, pair().draft, pair().tokenizer)
    found = real.compare(memory, ["def main():"], gammas=[1], max_tokens=2)
    assert found.record["provenance"]["target"] == "a model in memory"


def test_a_chat_template_is_written_around_prompts(tmp_path: Path, quick: None) -> None:
    """As `--chat` does: the command finds the study again."""
    chatty, file, out = tmp_path / "chatty", tmp_path / "prompts.txt", tmp_path / "compare.json"
    shutil.copytree(TINY / "draft", chatty)
    (chatty / "chat_template.jinja").write_text("{% for m in messages %}def {{ m.content }}{% endfor %}")
    file.write_text("main():\n")
    torch.set_num_threads(1)
    both = real.load(chatty, TINY / "draft")
    found = real.compare(both, ["main():"], chat=True, gammas=[1], max_tokens=2)
    assert found.record["provenance"]["chat_template"] is True
    found.to_json(out)
    words = ("compare", str(chatty), str(TINY / "draft"), "--prompts", str(file), "--chat", "--gamma", "1")
    shown = command(*words, "--max-tokens", "2", "--out", str(out))
    assert "holds this study, measured" in shown.output
    assert "chat_template" not in real.compare(both, ["main():"], gammas=[1], max_tokens=2).record["provenance"]


@pytest.mark.parametrize("name", KINDS)
def test_a_comparison_is_one_line(name: str) -> None:
    """The answer first: the best that was measured, and what was predicted of it."""
    found = recorded(name)
    best = sorted(found.rows, key=lambda row: float(row["speedup"]["measured"]))[-1]
    speed, (low, high) = best["speedup"], best["speedup"]["interval"]
    shown = repr(found)
    start = f"Comparison(speedup={speed['measured']:.2f} [{low:.2f}, {high:.2f}], predicted={speed['predicted']:.2f}, "
    assert shown.startswith(start)
    assert shown.endswith(f", target='bundled', draft='bundled', prompts={found.record['provenance']['prompts']})")
    assert f"gamma={best['gamma']}" in shown if name != "trees" else f"name={best['name']!r}" in shown
    assert ("rule=" in shown) == (name != "chains")
    assert "\n" not in shown


@pytest.mark.parametrize("name", KINDS)
def test_rows_have_ends_of_intervals_in_pandas(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    found = recorded(name)
    rows = found.to_pandas()
    assert len(rows) == len(found.rows) > 1
    for row, raw in zip(rows, found.rows, strict=True):
        assert [row["speedup.low"], row["speedup.high"]] == raw["speedup"]["interval"]
        assert row["tau.measured"] == raw["tau"]["measured"]
        assert row["tau.difference_low"] == (raw["tau"]["difference_interval"] or [None])[0]
        assert not any(key.endswith("interval") for key in row)
    assert ("rule" in rows[0]) == (name != "chains")


def test_one_prompt_has_no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    record = recorded("chains").record
    record["pairs"][0]["speedup"]["interval"] = None
    assert Comparison(record).to_pandas()[0]["speedup.low"] is None


@pytest.mark.parametrize("name", KINDS)
def test_forms_are_those_of_the_command(name: str) -> None:
    found, path = recorded(name), str(RESULTS / f"{KINDS[name]}.json")
    for form in ("csv", "latex"):
        assert lines(command("table", path, f"--{form}").stdout.rstrip()) == lines(found.table(form))  # type: ignore[arg-type]
    whole = markdown(found.record, "x.png")
    assert "![" in whole
    assert found.table("markdown") == "\n".join(x for x in whole.splitlines() if "![" not in x).rstrip()
    assert found.table().startswith(("Speculation ", "The "))
    assert len(found.table(wide=True)) > len(found.table())


@pytest.mark.parametrize("name", KINDS)
def test_a_notebook_shows_the_table(name: str) -> None:
    shown = recorded(name)._repr_html_()
    rows = len({row.get("gamma", i) for i, row in enumerate(recorded(name).rows)})
    assert shown.startswith("<table><tr><th>")
    assert shown.count("<table>") == (2 if name == "rules" else 1)
    assert shown.count("<tr>") == shown.count("<table>") * (rows + 1)
    assert "<p>" in shown
    assert "![" not in shown


def test_cells_of_a_notebook_are_escaped() -> None:
    record = recorded("chains").record
    record["provenance"]["target"] = "<script>"
    shown = Comparison(record)._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("name", KINDS)
def test_a_comparison_is_drawn(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = recorded(name).plot()
    assert len(figure.axes) == 2
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is a directory; give a file name"):
        recorded("chains").to_json(tmp_path)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"pair": 5}, "pair must be a Pair, got 5"),
    ({"prompts": []}, "prompts must be a list of texts, at least one; got []"),
    ({"prompts": "def main():"}, "prompts must be a list of texts, at least one; got 'def main():'"),
    ({"prompts": ["a", 5]}, "prompts must be a list of texts, at least one; got ['a', 5]"),
    ({"prompts": [""]}, "prompt 0: the prompt is empty: it must have at least one token"),
    ({"prompts": ["a = 1\n", "a = 1\n" * 400]}, "prompt 1: a prompt of "),
    ({"gammas": []}, "gammas is empty: give at least one speculation length"),
    ({"gammas": [0]}, "gammas must be at least 1, got 0"),
    ({"gammas": [2, 2]}, "gammas 2, 2 names a length twice"),
    ({"gammas": 4}, "gammas must be a list of whole numbers, got 4"),
    ({"gammas": "1-8"}, "gammas must be a list of whole numbers, got '1-8'"),
    ({"gammas": [10**9]}, "gammas is 1000000000; the largest that is sensible is 4096"),
    ({"calibrated": [1.5]}, "calibrated must be an integer, got 1.5"),
    ({"calibrated": [600]}, "calibrated 600 needs blocks longer than the models' context"),
    ({"rules": "blok"}, "rule 'blok' is unknown; did you mean 'block'?"),
    ({"rules": ["block", "block"]}, "rules 'block, block': give at least one, and none twice"),
    ({"rules": []}, "rules must be a name or a list of names, at least one; got []"),
    ({"rules": "typical"}, "rule 'typical' is not lossless at temperature 1: "),
    ({"params": {"epsilon": 0.2}}, "param 'epsilon=0.2' is a parameter of none of the rules tokenwise"),
    ({"params": "epsilon=0.2"}, "params must be a mapping from names to values, got 'epsilon=0.2'"),
    ({"temperature": -1}, "temperature is -1; it must lie in [0, inf)"),
    ({"temperature": 0, "warping": Warping()}, "temperature=0 and a warping with temperature 1 are both given"),
    ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    ({"seed": -1}, "seed must be at least 0, got -1"),
    ({"chat": 1}, "chat must be True or False, got 1"),
    ({"chat": True}, "chat is asked for, but the target's tokenizer has no chat template: "),
    ({"progress": 1}, "progress must be True or False, got 1"),
    ({"scheme": "iid"}, "scheme='iid' is for trees: give trees, too"),
    ({"chains": [1]}, "chains=[1] is for trees: give trees, too"),
    ({"trees": "2,1", "gammas": [1]}, "gammas=[1] is for chains alone: with trees give chains, and every pass is"),
    ({"trees": "2,1", "params": {"epsilon": 0.2}}, "params={'epsilon': 0.2} is for chains alone"),
    ({"trees": ["2,1", "2,1"]}, "trees '2,1, 2,1': give at least one, and none twice"),
    ({"trees": 5}, "trees must be a name or a list of names, at least one; got 5"),
    ({"trees": "2,1", "rules": "block"}, "rule 'block' verifies chains; rules of trees: "),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[message[:44] for _, message in REFUSED])
def test_refusals(given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, before anything is computed."""
    pair()
    forbid(monkeypatch.setattr)
    with pytest.raises((TypeError, ValueError)) as refusal:
        real.compare(**{"pair": pair(), "prompts": ["a = 1\n"], **given})
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)


def test_a_target_alone_is_refused() -> None:
    alone: Any = real.load(TINY / "draft")
    with pytest.raises(ValueError, match=r"^compare needs a draft model, and this pair has none: load one, by real\."):
        real.compare(alone, ["a = 1\n"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "html"}, "form 'html' is unknown; known: text, markdown, csv, latex"),
        ({"form": "csv", "wide": True}, "wide is for form='text': form='csv' has all columns"),
    ],
)
def test_forms_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        recorded("chains").table(**given)
