"""A rule's facts are read in one place, and say what its file says."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

import specsim
from specsim import discover
from specsim.checks.contract import misnamed
from specsim.types import (
    ChainOptions,
    ControllerOptions,
    CoupledOptions,
    DraftOptions,
    ObjectiveOptions,
    ProcessOptions,
    StepOptions,
    TreeOptions,
)
from specsim.verify.params import parsed_params

ROOT = Path(__file__).parents[2]
READERS = ("specsim/discover.py", "specsim/checks/contract.py")
OPTIONAL = {
    name
    for options in (
        *(StepOptions, ChainOptions, TreeOptions, DraftOptions, ProcessOptions),
        *(ControllerOptions, CoupledOptions, ObjectiveOptions),
    )
    for name in [*options.__annotations__, *(n for n in vars(options) if not n.startswith("_"))]
}
ASKED = re.compile(rf"(?:getattr|hasattr)\([^()]*(?:\([^()]*\))?[^()]*\"(?:{'|'.join(sorted(OPTIONAL))}|[A-Z_]+)\"")
FILES = [path for package in ("specsim", "real") for path in (ROOT / package).rglob("*.py")]


def test_nobody_else_asks_a_module() -> None:
    found = {str(path.relative_to(ROOT)): ASKED.findall(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path for path, asked in found.items() if asked} <= set(READERS)


@pytest.mark.parametrize(
    "line",
    [
        'getattr(rule, "ALSO", ())',
        'hasattr(rule, "bias")',
        'getattr(discover.find("draft", scheme), "PER_DRAFT", False)',
        'getattr(module, "COUNTS", (num_drafts,))',
        'getattr(process, "CASES", ())',
        'getattr(controller, "see", None)',
    ],
)
def test_the_search_can_fail(line: str) -> None:
    assert ASKED.search(line)


def test_facts_are_what_the_files_say() -> None:
    found = {(a.family, a.name): a for a in specsim.algorithms()}
    assert found["step", "rejection"].schemes == ("iid",)
    assert found["step", "rejection"].counts == (1,)
    assert found["step", "spechub"].counts == (1, 2), "what its scheme can draw"
    assert found["step", "recursive"].counts is None
    assert found["step", "optimal"].schemes == ("iid", "distinct")
    assert found["tree", "lifted"].own == tuple(discover.find("tree", "lifted").CHILDREN)
    assert found["tree", "lifted"].schemes[-1] == "distinct"
    assert found["tree", "traversal"].chain == "block"
    # Rules that are here today: one more of any kind changes nothing that is said of them.
    assert not found["step", "typical"].exact
    assert all(found["step", name].exact for name in ("rejection", "optimal", "greedy"))
    assert {name for name in ("greedy", "typical", "optimal", "naive") if found["step", name].bias} == {
        "greedy",
        "typical",
    }
    chains = {name: found["chain", name].continuation for name in ("block", "greedy_block", "tokenwise")}
    assert chains == {"block": False, "greedy_block": True, "tokenwise": False}
    assert all(found["chain", name].survival != found["chain", name].continuation for name in discover.names("chain"))


def test_parameters_are_those_of_prepare() -> None:
    found = {a.name: {n: p.default for n, p in a.parameters.items()} for a in specsim.algorithms() if a.parameters}
    assert found["typical"] == {"epsilon": 0.09, "delta": 0.3}
    assert set(found) >= {"typical", "optimal", "importance", "kseq"}
    assert not {"rejection", "greedy", "block", "traversal"} & set(found)


def test_schemes_say_what_they_draw() -> None:
    found = {name: discover.scheme_facts(scheme) for name, scheme in discover.rules("draft").items()}
    assert found["hub"].counts == (1, 2)
    assert [name for name, facts in found.items() if facts.per_draft] == ["independent"]
    assert [name for name, facts in found.items() if facts.random_number] == ["distinct"]


def test_a_process_says_with_what_it_is_run() -> None:
    jacobi = discover.find("process", "jacobi")
    assert list(discover.parameters(jacobi)) == ["window", "first", "width", "carry"]
    assert {"window": 2, "first": "left"} in discover.process_cases(jacobi)
    wide = discover.with_params(jacobi, {"window": 5})
    assert {case["window"] for case in discover.process_cases(wide)} == {5}
    assert wide.start(8).window == 5
    words = parsed_params(jacobi, ["first=up", "width=8"])
    assert words == {"first": "up", "width": 8}
    assert discover.facts(jacobi).family == "process"


def test_parameters_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    typical = discover.find("step", "typical")
    monkeypatch.setattr(typical, "prepare", lambda p, q, num_drafts, epsilon: None)
    assert misnamed(typical) == "parameter epsilon of prepare needs a default and an annotation"


def test_an_optional_function_is_held_to_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    typical = discover.find("step", "typical")
    assert misnamed(typical) == ""
    monkeypatch.setattr(typical, "bias", lambda law: Fraction(0))
    assert misnamed(typical) == "bias['law'] should take ['plan']"
