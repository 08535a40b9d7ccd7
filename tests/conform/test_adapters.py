"""Adapters: files that reach public packages, what was recorded of them, and one more that is added."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from helpers.conform_record import ROOT, outcomes, recorded

from specsim.conform import SamplingParams, record, registry
from specsim.conform.adapters import _installed, _rows
from specsim.conform.cases import warped
from specsim.conform.judgement import judge

NAMES = registry.names(registry.ADAPTERS)
UNIVERSAL = {
    "get_vocab() ordered by id": "lossless",
    "get_vocab() in another order": "convicted",
    "nothing to prune": "broken",
}
OWN = """
from specsim.conform import Subject

DISTRIBUTION, VERSIONS, KIND = "", "", "step"
KEPT = {kept}


def run(p, q, drafts, random):
    x = drafts[0]
    if random.random() * q[x] < p[x]:
        return x
    rest = (p - q).clip(0) if KEPT else p
    return random.choice(len(p), p=rest / rest.sum())


def subjects():
    return [Subject("mine", "step", run, sizes=(1,))]
"""


@pytest.mark.parametrize(("kept", "outcome"), [(True, "lossless"), (False, "convicted")])
def test_adding_an_adapter_is_one_file(tmp_path: Path, kept: bool, outcome: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN.format(kept=kept))
    (subject,) = registry.subjects_of(registry.find(str(path)))
    assert judge(subject, budget=20, properties=["marginal"]).outcome == outcome


def test_a_file_in_the_folder_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = sys.modules.get(registry.ADAPTERS) or __import__(registry.ADAPTERS, fromlist=["_"])
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "added" not in registry.names(registry.ADAPTERS)
    (tmp_path / "added.py").write_text(OWN.format(kept=True))
    assert "added" in registry.names(registry.ADAPTERS)
    assert registry.find("added").KIND == "step"
    del sys.modules[f"{registry.ADAPTERS}.added"]


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_says_what_it_is_of(name: str) -> None:
    """And its file can be read without the package: it is imported inside functions only."""
    module = registry.find(name)
    assert re.fullmatch(r"==[\d.]+(,==[\d.]+)*", module.VERSIONS)
    assert module.DISTRIBUTION.replace("-", "_") == name
    assert module.KIND in ("step", "chain", "tree", "decoder", "drafter")
    assert module.LICENCE in ("Apache-2.0", "MIT")
    found = registry.subjects_or_reason(module)
    if isinstance(found, str):
        assert module.DISTRIBUTION in found
    else:
        assert [one.name for one in found if module.ENTRY.split(".")[0] not in one.name] == []


def test_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda distribution: "1.2")
    assert _installed.note("x", "==1.1,==1.2") == ""
    assert _installed.note("x", "==1.1", "slow") == "version 1.2, the adapter was written for 1.1; slow"


def test_a_file_is_imported_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "heavy" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "heavy" / "__init__.py").write_text("raise ImportError('a server')\n")
    (folder / "__init__.py").write_text("raise ImportError('a kernel')\n")
    (folder / "rule.py").write_text("from ..base import ONE\n")
    (tmp_path / "heavy" / "base.py").write_text("ONE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _installed.bare("heavy.deep.rule").ONE == 1
    assert not [name for name in sys.modules if name.startswith("heavy")]
    with pytest.raises(ImportError, match="a server"):
        _installed.module("heavy.deep.rule")


def test_triton_is_told_of_its_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the file is imported."""
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "kernel.py").write_text("import os\nSAID = os.environ['TRITON_INTERPRET']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    (tmp_path / "engine" / "__init__.py").write_text("raise ImportError('a server')\n")
    assert _installed.interpreted("engine.kernel").SAID == "1"


@pytest.mark.parametrize(
    "params", [SamplingParams(), SamplingParams(temperature=2.0), SamplingParams(top_k=2), SamplingParams(top_p=0.7)]
)
def test_rows_are_warped_as_the_cases_are(params: SamplingParams) -> None:
    torch = pytest.importorskip("torch")
    rows = np.array([[[0.5, 0.25, 0.125, 0.125], [0.1, 0.0, 0.7, 0.2]], [[0.5, 0.25, 0.125, 0.125], [0, 0, 0.4, 0.6]]])
    found = torch.softmax(_rows.warm(_rows.log(rows), params), -1).numpy()
    expected = np.stack([np.stack([warped(row, params) for row in two]) for two in rows])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_record_is_of_these_adapters() -> None:
    """Every adapter has its part, of a version that it was written for, or the reason why it has none."""
    held = recorded()["adapters"]
    assert sorted(held) == NAMES
    for name, found in held.items():
        module = registry.find(name)
        assert (found["distribution"], found["entry"]) == (module.DISTRIBUTION, module.ENTRY)
        assert found["subjects"] or found["reason"]
        assert "versions" not in found or f"=={found['versions'][module.DISTRIBUTION]}" in module.VERSIONS.split(",")
        for one in found["subjects"]:
            assert one["complete"], one["subject"]


def test_the_page_has_the_table_of_the_record() -> None:
    page = (ROOT / "docs" / "results" / "conform.md").read_text(encoding="utf-8")
    table = record.markdown(recorded())
    assert f"-->\n{table}\n<!-- conform: end -->" in page
    other = table.replace("**convicted**", "lossless", 1)
    assert other != table
    assert other not in page


def test_the_page_says_what_was_found() -> None:
    """The sentences under the table."""
    held = {name: outcomes(found) for name, found in recorded()["adapters"].items()}
    eagle = held["eagle_llm"]["eagle.model.utils.evaluate_posterior"]
    assert (eagle["joint"], eagle["parameters"]) == ("lossless", "convicted")
    hsd = held["sequential_speculative_decoding"]
    assert hsd["seqspecdecod.capped_hsd.capped_hsd_step"]["bound"] == "convicted"
    assert hsd["seqspecdecod.naive_hsd.naive_hsd_step"]["bound"] == "not available"
    assert held["flashspec"]["flashspec.sampling.typical.typical_sample, typical_p=1"]["vacuity"] == "vacuous"
    shared = [one for one in recorded()["adapters"]["lmdeploy"]["subjects"] if "greedy" not in one["subject"]]
    assert len(shared) == 2
    laws = [v for one in shared for v in one["verdicts"] if v["property"] not in ("degenerate", "larger")]
    assert {v["evidence"] for v in laws} == {"scripted"}
    engine, place = held["vllm_cpu"], "vllm.v1.sample.rejection_sampler"
    for words in ("", ", one-hot drafts"):
        of_words = engine[f"{place}.rejection_sample{words}"]
        assert of_words.pop("degenerate") == "measured"
        assert set(of_words.values()) == {"lossless"}
    for outcome in held["sglang"].values():
        assert {name for name, said in outcome.items() if said == "convicted"} == {"degenerate"}
    assert engine[f"{place}.RejectionSampler.forward"]["joint"] == "convicted"
    assert engine[f"{place}.RejectionSampler.forward"]["greedy"] == "lossless"
    universal = "transformers.generation.UniversalSpeculativeDecodingGenerator"
    said = {words: held["transformers"][f"{universal}, {words}"]["contract"] for words in UNIVERSAL}
    assert said == UNIVERSAL


def test_a_package_that_cannot_be_had_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> Path:
        raise record.Missing("no such package")

    monkeypatch.setattr(record, "environment", gone)
    found = record.judged("medusa_llm", budget=1)
    assert (found["reason"], found["subjects"]) == ("no such package", [])
    assert "not available: no such package" in record.markdown({"adapters": {"medusa_llm": found}})


@pytest.mark.parametrize("words", UNIVERSAL)
def test_drafters_with_a_vocabulary_of_their_own(words: str) -> None:
    """With the transformers that is installed, on one draft."""
    module = registry.find("transformers")
    found = registry.subjects_or_reason(module)
    if isinstance(found, str) or found[0].note:
        pytest.skip(found if isinstance(found, str) else found[0].note)
    (one,) = [s for s in found if s.name.endswith(f"UniversalSpeculativeDecodingGenerator, {words}")]
    one = one._replace(sizes=(1,), warps=False)
    assert judge(one, properties=["contract"], budget=300, patience=100).outcome == UNIVERSAL[words]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_package_is_what_was_recorded(name: str) -> None:
    """In its own temporary environment, one subject for each outcome; `python -m specsim.conform.record` judges all."""
    before = recorded()["adapters"][name]
    if "reason" in before:
        pytest.skip(f"nothing is recorded: {before['reason']}")
    first = {one["outcome"]: one for one in reversed(before["subjects"])}
    before = before | {"subjects": [one for one in before["subjects"] if one in first.values()]}
    names = [one["subject"] for one in before["subjects"]]
    found = record.judged(name, budget=before["budget"], only=names)
    if "reason" in found:
        pytest.skip(f"{found['distribution']} cannot be had: {found['reason']}")
    assert found["versions"][found["distribution"]] == before["versions"][before["distribution"]]
    assert outcomes(found) == outcomes(before)
