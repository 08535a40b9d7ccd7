"""Adapters: files that reach public packages, what was recorded of them, and one more that is added."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim.conform import SamplingParams, Subject, record, registry
from specsim.conform.adapters import _installed, _rows
from specsim.conform.cases import warped
from specsim.conform.judgement import judge

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "bench" / "conform.json"
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
    if random.random() * q[x] <= p[x]:
        return x
    rest = (p - q).clip(0) if KEPT else p
    return random.choice(len(p), p=rest / rest.sum())


def subjects():
    return [Subject("mine", "step", run, sizes=(1,))]
"""


def recorded() -> dict[str, Any]:
    held: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return held


def outcomes_of(one: dict[str, Any]) -> dict[str, str]:
    """Property -> outcome."""
    return {v["property"]: v["outcome"] for v in one["verdicts"]}


def outcomes(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Subject -> property -> outcome."""
    return {one["subject"]: outcomes_of(one) for one in found["subjects"]}


@pytest.mark.fast
@pytest.mark.parametrize(("kept", "outcome"), [(True, "lossless"), (False, "convicted")])
def test_adding_an_adapter_is_one_file(tmp_path: Path, kept: bool, outcome: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OWN.format(kept=kept))
    (subject,) = registry.subjects_of(registry.find(str(path)))
    assert judge(subject, budget=20, properties=["marginal"]).outcome == outcome


@pytest.mark.fast
def test_a_file_in_the_folder_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = sys.modules.get(registry.ADAPTERS) or __import__(registry.ADAPTERS, fromlist=["_"])
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    assert "added" not in registry.names(registry.ADAPTERS)
    (tmp_path / "added.py").write_text(OWN.format(kept=True))
    assert "added" in registry.names(registry.ADAPTERS)
    assert registry.find("added").KIND == "step"
    del sys.modules[f"{registry.ADAPTERS}.added"]


@pytest.mark.fast
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


@pytest.mark.fast
def test_another_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda distribution: "1.2")
    assert _installed.note("x", "==1.1,==1.2") == ""
    assert _installed.note("x", "==1.1", "slow") == "version 1.2, the adapter was written for 1.1; slow"


@pytest.mark.fast
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


@pytest.mark.fast
def test_triton_is_told_of_its_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the file is imported."""
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "kernel.py").write_text("import os\nSAID = os.environ['TRITON_INTERPRET']\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    (tmp_path / "engine" / "__init__.py").write_text("raise ImportError('a server')\n")
    assert _installed.interpreted("engine.kernel").SAID == "1"


@pytest.mark.fast
@pytest.mark.parametrize(
    "params", [SamplingParams(), SamplingParams(temperature=2.0), SamplingParams(top_k=2), SamplingParams(top_p=0.7)]
)
def test_rows_are_warped_as_the_cases_are(params: SamplingParams) -> None:
    torch = pytest.importorskip("torch")
    rows = np.array([[[0.5, 0.25, 0.125, 0.125], [0.1, 0.0, 0.7, 0.2]], [[0.5, 0.25, 0.125, 0.125], [0, 0, 0.4, 0.6]]])
    found = torch.softmax(_rows.warm(_rows.log(rows), params), -1).numpy()
    expected = np.stack([np.stack([warped(row, params) for row in two]) for two in rows])
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.fast
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


@pytest.mark.fast
def test_the_page_has_the_table_of_the_record() -> None:
    page = (ROOT / "docs" / "results" / "conform.md").read_text(encoding="utf-8")
    table = record.markdown(recorded())
    assert f"-->\n{table}\n<!-- conform: end -->" in page
    other = table.replace("**convicted**", "lossless", 1)
    assert other != table
    assert other not in page


@pytest.mark.fast
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
    assert {v["evidence"] for one in shared for v in one["verdicts"]} == {"Monte Carlo"}
    engine, place = held["vllm_cpu"], "vllm.v1.sample.rejection_sampler"
    assert engine[f"{place}.rejection_sample"]["joint"] == "lossless"
    assert engine[f"{place}.RejectionSampler.forward"]["joint"] == "convicted"
    assert engine[f"{place}.RejectionSampler.forward"]["greedy"] == "lossless"
    universal = "transformers.generation.UniversalSpeculativeDecodingGenerator"
    said = {words: held["transformers"][f"{universal}, {words}"]["contract"] for words in UNIVERSAL}
    assert said == UNIVERSAL


def exact(held: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Subject -> its block of two drafts, where that is scripted."""
    every = [one for found in held["adapters"].values() for one in found["subjects"]]
    found = [one for one in every if one["two drafts"]]
    return {one["subject"]: one["two drafts"] | {"joint": outcomes_of(one)["joint"]} for one in found}


def inexact(held: dict[str, Any]) -> list[str]:
    """Subjects whose block of two drafts is not what the verdict says: equal to 1e-6, or not."""
    return [name for name, two in exact(held).items() if (two["distance"] <= 1e-6) != (two["joint"] == "lossless")]


def late(held: dict[str, Any], most: float = 2.0) -> list[str]:
    """Subjects whose block of two drafts took longer, if it was timed."""
    return [name for name, two in exact(held).items() if (two["seconds"] or 0.0) >= most]


@pytest.mark.fast
def test_blocks_of_two_drafts_are_judged_exactly() -> None:
    held = recorded()
    assert inexact(held) == []
    several = {name for name, found in held["adapters"].items() if set(outcomes(found)) & set(exact(held))}
    assert len(several) >= 5
    worse = json.loads(json.dumps(held))
    next(one for one in worse["adapters"]["dflash"]["subjects"] if one["two drafts"])["two drafts"]["distance"] = 2e-6
    assert len(inexact(worse)) == 1


@pytest.mark.fast
def test_blocks_of_two_drafts_take_two_seconds_at_most() -> None:
    held = recorded()
    slow = json.loads(json.dumps(held))
    next(one for one in slow["adapters"]["dflash"]["subjects"] if one["two drafts"])["two drafts"]["seconds"] = 2.0
    assert len(late(slow)) == len(late(held)) + 1
    assert late(held) == []
    if not [two for two in exact(held).values() if two["seconds"] is not None]:
        pytest.skip("not measured: the record was made without --timed")


@pytest.mark.fast
def test_two_drafts() -> None:
    def run(p: Any, q: Any, drafts: Any, random: Any) -> Any:
        return 0, random.choice(3, p=p[0])

    one = Subject("none", "chain", run)
    found = record.two_drafts(one, timed=False)
    assert found is not None
    assert (found["runs"], found["seconds"]) == (27, None)
    assert found["distance"] < 1e-12
    timed = record.two_drafts(one, timed=True)
    assert timed is not None
    assert 0 < timed["seconds"] < 2
    assert record.two_drafts(one._replace(run=lambda *_: 1 / 0), timed=True) is None
    assert record.two_drafts(one._replace(kind="drafter"), timed=True) is None


@pytest.mark.fast
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
    """In its own temporary environment."""
    before = recorded()["adapters"][name]
    if "reason" in before:
        pytest.skip(f"nothing is recorded: {before['reason']}")
    found = record.judged(name, budget=before["budget"])
    if "reason" in found:
        pytest.skip(f"{found['distribution']} cannot be had: {found['reason']}")
    assert found["versions"][found["distribution"]] == before["versions"][before["distribution"]]
    assert outcomes(found) == outcomes(before)
