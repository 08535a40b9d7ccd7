"""Claims of the literature: the record follows from the code, and a counterexample is the smallest."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from specsim.claims import settled
from specsim.claims.statements import _bank, _verdict
from specsim.cli import app
from specsim.report import text

NAMES = settled.names()
RECORD = settled.recorded()
run = CliRunner().invoke


@pytest.mark.parametrize("name", NAMES)
def test_the_record_follows_from_the_code(name: str) -> None:
    found = settled.settle(name)
    assert found == RECORD[name], "specsim claims --run, and then the record"
    assert found.verdict in _verdict.VERDICTS
    # A paper, or a thread of a repository.
    form = r"arXiv:\d{4}\.\d{5}|[\w-]+/[\w.-]+#\d+"
    assert all(re.fullmatch(form, source) for source in found.source.split(", "))
    assert found.statement.endswith(".")
    assert found.because.endswith(".")


def test_every_file_is_in_the_record() -> None:
    assert list(RECORD) == NAMES
    assert len(NAMES) >= 20
    assert {one.verdict for one in RECORD.values()} == set(_verdict.VERDICTS)


def test_small_pairs_come_first_and_none_is_left_out() -> None:
    sizes = [(len(p), max(x.denominator for x in (*p, *q))) for p, q in _bank.pairs((2, 3), 4)]
    assert sizes[0] == (2, 2)
    assert [vocab for vocab, _ in sizes] == sorted(vocab for vocab, _ in sizes)
    two = [tuple(p) + tuple(q) for p, q in _bank.pairs((2,), 4)]
    assert len(two) == 1 + 2**2 + 3**2
    assert all(sum(law) == 1 for pair in _bank.pairs((3,), 5) for law in pair)
    assert len(list(_bank.laws(3, 5))) == 6


def test_the_first_case_is_taken_and_decides() -> None:
    """A statement that fails from a certain size on, and one that never does."""
    case = _bank.smallest(lambda p, q: (Fraction(2, 5) - p[0] + q[0], Fraction(0)))
    assert case is not None
    assert (_bank.shown(case.p), _bank.shown(case.q)) == ("3/4, 1/4", "1/4, 3/4")
    held = _verdict.Settled(_verdict.HOLDS, "why.", {})
    assert _bank.smallest(lambda p, q: (Fraction(0), Fraction(0))) is None
    assert _bank.unless(None, held, "a", "b") == held
    assert _bank.unless(case, held, "a", "b").verdict == "refuted"
    assert _bank.unless(case, held, "a", "b").numbers["a"] == "-1/10"
    assert _bank.refuted(case, "why.", "a", "b") == ("refuted", "why.", case.numbers("a", "b"))
    assert _bank.refuted(None, "why.", "a", "b").verdict == "holds under"


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("recursive_optimal", {"target": "1/3, 2/3", "recursive rejection": "7/9", "optimum": "8/9"}),
        ("spectr_gbv_length", {"claimed, 1 path of 2": "4/3", "optimum there": "11/9"}),
        ("spectr_gbv_length", {"claimed, 2 paths of 1 draft": "5/6", "optimum": "8/9"}),
        ("spectr_gbv_lossless", {"bias, 2 of 1": "7/240", "kept, 2 of 1": "319/400", "bias, 1 of 2": "1/9"}),
        ("order_of_drafts", {"draft": "1/2, 1/2", "bias, as drawn": "0", "bias, likelier first": "1/2"}),
        ("kseq_rho", {"draft": "2/3, 1/3", "hits, gamma = 2": "5/6", "hits, root": "0.811420"}),
        ("greedy_block_change", {"bias without, 2 drafts": "1/9"}),
        ("traversal_above_walk", {"traversal": "38/27", "walk": "40/27"}),
    ],
)
def test_numbers_of_known_counterexamples(name: str, numbers: dict[str, str]) -> None:
    """By hand, and those that Sun et al. print (arXiv:2403.10444)."""
    assert numbers.items() <= RECORD[name].numbers.items()


def test_the_command_prints_every_claim() -> None:
    shown = run(app, ["claims"]).output
    assert all(name in shown for name in NAMES)
    found = json.loads(run(app, ["claims", "--json"]).output)["claims"]
    assert found["recursive_optimal"]["numbers"]["optimum"] == "8/9"
    marked = run(app, ["claims", "--markdown"]).output
    assert marked.count("\n") == len(NAMES) + 2
    assert "7/9" in marked


def test_what_holds_under_a_condition_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the table and in full, each in 80 columns; other verdicts have none."""
    monkeypatch.setattr(text, "terminal_width", lambda: 80)
    shown = run(app, ["claims"]).output
    assert max(map(len, shown.splitlines())) <= 80
    under = [claim for claim in RECORD.values() if claim.verdict == "holds under"]
    assert shown.count("Condition: ") == len(under) > 0
    words = " ".join(shown.split())
    assert "Condition: acceptances that do not depend on the text;" in words
    full = run(app, ["claims", "--run", "renewal_formula"]).output
    assert max(map(len, full.splitlines())) <= 80
    assert "condition" in full
    assert "because" not in full
    assert settled.condition(RECORD["kseq_rho"]) == "passes are meant, which fall with gamma."
    both = dict(settled.in_full("kseq_rho", RECORD["kseq_rho"]))
    assert f"{both['condition']} {both['because']}" == RECORD["kseq_rho"].because


def test_one_is_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    agrees = "computed anew, and as the record says: 1 claim"
    done = run(app, ["claims", "--run", "recursive_optimal"])
    assert (done.exit_code, "7/9" in done.output, agrees in done.output) == (0, True, True)
    assert "computed anew" not in run(app, ["claims"]).output
    other = RECORD | {"recursive_optimal": RECORD["recursive_optimal"]._replace(verdict="holds")}
    monkeypatch.setattr(settled, "recorded", lambda: other)
    done = run(app, ["claims", "--run", "recursive_optimal"])
    assert (done.exit_code, "not what the record says" in done.output) == (1, True)
    assert "computed anew" not in done.output


def test_an_unknown_claim_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"^no claim 'recursive'; did you mean 'recursive_optimal'\?$"):
        settled.settle("recursive")
    with pytest.raises(ValueError, match=r"^no claim 'xyz'; `specsim claims` lists them$"):
        settled.settle("xyz")
