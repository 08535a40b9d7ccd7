"""Errors that begin at sizes beyond the exact cases, and subjects that are right there, or cannot take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim.conform import Subject, Verdict, judge, judgement
from specsim.conform.large_cases import WIDER
from specsim.conform.properties import _laws, larger
from specsim.types import Array, TokenTree

ASKED = ["marginal", "larger"]
Is = Callable[..., bool]  # (place, drafts, tokens) -> whether it is wrong there


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer runs; nothing is compared with the museum."""
    monkeypatch.setattr(larger, "RUNS", 300)
    monkeypatch.setattr(larger, "LEAST", 30.0)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def nowhere(place: int, drafts: int, vocab: int) -> bool:
    return False


def chain(keeps: Is = nowhere, forgets: Is = nowhere) -> Any:
    """A rejection that keeps what it should not, or corrects by p, where it is told to."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        for i, x in enumerate(drafts):
            where = i, len(drafts), p.shape[1]
            if not keeps(*where) and not random.random() * q[i, x] < p[i, x]:
                return i, drawn(random, p[i] if forgets(*where) else rest(p[i], q[i]))
        return len(drafts), drawn(random, p[-1])

    return run


def found(run: Any, kind: Any = "chain", **facts: Any) -> Verdict:
    (verdict,) = judge(Subject("it", kind, run, **facts), properties=["larger"]).verdicts
    return verdict


CHAINS: dict[str, tuple[Is, Is]] = {
    "keeps all of more than 16 tokens": (lambda i, n, vocab: vocab > 16, nowhere),
    "forgets the residual of more than 16 tokens": (nowhere, lambda i, n, vocab: vocab > 16),
    "forgets the residual of more than 512 tokens": (nowhere, lambda i, n, vocab: vocab > 512),
    "keeps the first draft of more than four": (lambda i, n, vocab: n > 4 and i == 0, nowhere),
    "keeps the fifth draft": (lambda i, n, vocab: i == 4, nowhere),
    "keeps the eighth draft": (lambda i, n, vocab: i == 7, nowhere),
    "forgets the residual of the sixth draft": (nowhere, lambda i, n, vocab: i == 5),  # needs the most runs
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_that_is_wrong_at_larger_sizes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`marginal` and `joint` see none of them; the last look does."""
    monkeypatch.setattr(larger, "RUNS", 1000 if "th draft" in name and "five" not in name else 300)
    verdict = found(chain(*CHAINS[name]))
    evidence = "Monte Carlo" if "tokens" in name else "scripted"
    assert (verdict.outcome, verdict.evidence) == ("convicted", evidence), verdict
    assert verdict.counterexample is not None
    assert verdict.distance > 0.02


@pytest.mark.parametrize("name", [name for name in CHAINS if "draft" in name])
def test_frequencies_see_it_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no exact law of long blocks."""
    monkeypatch.setattr(larger, "long", lambda subject: ())
    monkeypatch.setattr(larger, "RUNS", 1000 if "th draft" in name else 300)
    verdict = found(chain(*CHAINS[name]))
    assert (verdict.outcome, verdict.evidence) == ("convicted", "Monte Carlo"), verdict


def test_a_row_in_anothers_place_is_seen() -> None:
    """Of more than four drafts every row is the first one: its law is right, where rows are alike."""
    right = chain()

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        return right(p[[0] * len(p)] if len(drafts) > 4 else p, q, drafts, random)

    assert found(run).convicted


def test_a_right_chain_is_acquitted_and_its_sizes_are_said() -> None:
    report = judge(Subject("right", "chain", chain()), properties=ASKED)
    last = report.verdicts[-1]
    assert (report.outcome, last.property, last.evidence) == ("lossless", "larger", "Monte Carlo")
    for size in ("V=65, 1 draft (", "V=1000, 1 draft (", "V=65, 6 drafts (", "V=65, 8 drafts (300 runs)"):
        assert size in last.reach
    assert "would be seen" in last.reach


def candidates(wrong: bool) -> Any:
    """A step that tests its candidates one after the other; beyond 16 tokens the fourth is kept, if it is wrong."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        for k, x in enumerate(drafts):
            if (wrong and k == 3 and len(p) > 16) or random.random() * q[x] < p[x]:
                return int(x)
            p = rest(p, q)
        return drawn(random, p)

    return run


@pytest.mark.parametrize("wrong", [False, True])
def test_more_than_three_candidates_of_many_tokens(wrong: bool) -> None:
    assert found(candidates(wrong), "step").outcome == ("convicted" if wrong else "lossless")


def certain(wrong: Is) -> Any:
    def run(p: Array, q: Any, drafts: Array, random: Any) -> Any:
        for i, x in enumerate(drafts):
            if not wrong(i, len(drafts), p.shape[1]) and not random.random() < p[i, x]:
                law = p[i].copy()
                law[x] = 0
                return i, drawn(random, law)
        return len(drafts), drawn(random, p[-1])

    return run


@pytest.mark.parametrize("wrong", [nowhere, lambda i, n, vocab: vocab > 16, lambda i, n, vocab: n > 4 and i >= 4])
def test_certain_drafts(wrong: Is, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(larger, "RUNS", 1000)
    verdict = found(certain(wrong), takes_q=False)
    assert verdict.outcome == ("lossless" if wrong is nowhere else "convicted"), verdict


def tree(wrong: Is) -> Any:
    """A walk down from the root that tests siblings in their order; wrong(node, rank, nodes) is kept untested."""

    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> Any:
        path: list[int] = []
        while True:
            node = path[-1] if path else -1
            law = p[node + 1]
            for rank, child in enumerate(i for i, parent in enumerate(drafted.parents) if parent == node):
                x = drafted.tokens[child]
                if wrong(child, rank, len(drafted.parents)) or random.random() * q[node + 1, x] < law[x]:
                    path.append(child)
                    break
                law = rest(law, q[node + 1])
            else:
                return path, drawn(random, law)

    return run


@pytest.mark.parametrize("wrong", [lambda node, rank, nodes: node == 3, lambda node, rank, nodes: rank == 2])
def test_the_fourth_node_and_the_third_sibling(wrong: Is) -> None:
    """They are in an exact case."""
    verdict = judge(Subject("tree", "tree", tree(wrong)), properties=["joint"]).verdicts[0]
    assert (verdict.outcome, verdict.evidence) == ("convicted", "scripted")


@pytest.mark.parametrize("wrong", [nowhere, lambda node, rank, nodes: nodes > 4, lambda node, rank, nodes: node >= 5])
def test_more_nodes_of_a_tree(wrong: Is) -> None:
    """A tree of eight is tried."""
    verdict = found(tree(wrong), "tree")
    assert verdict.outcome == ("lossless" if wrong is nowhere else "convicted")
    assert f"tree {list(WIDER)}" in verdict.reach


@pytest.mark.parametrize("often", [(0, 2, 4, 6), (1, 3, 5, 7), ()])
def test_a_tree_on_eight_tokens(often: tuple[int, ...]) -> None:
    """Each is drafted too often in one of two exact cases."""

    def run(p: Array, q: Array, drafted: TokenTree, random: Any) -> Any:
        if p.shape[1] == 8 and drafted.tokens[0] in often:
            return [0], drawn(random, p[1])
        return tree(nowhere)(p, q, drafted, random)

    verdict = judge(Subject("tree", "tree", run, shapes=((-1, -1),)), properties=["joint"]).verdicts[0]
    assert (verdict.outcome, verdict.evidence) == ("convicted" if often else "lossless", "scripted")
    assert "V=8, tree [-1, -1]" in verdict.reach


def decoder(wrong: Is) -> Any:
    def run(target: Any, draft: Any, prompt: Any, n: int, sampling_params: Any, random: Any) -> Any:
        text: list[int] = []
        while len(text) < n:
            p, q = target((*prompt, *text)), draft((*prompt, *text))
            x = drawn(random, q)
            kept = wrong(len(text), n, len(p)) or random.random() * q[x] < p[x]
            text.append(x if kept else drawn(random, rest(p, q)))
        return text

    return run


@pytest.mark.parametrize("wrong", [nowhere, lambda i, n, vocab: vocab > 16, lambda i, n, vocab: i == 7])
def test_a_decoder(wrong: Is) -> None:
    assert found(decoder(wrong), "decoder").outcome == ("lossless" if wrong is nowhere else "convicted")


def in_rows(p: Array, q: Array, drafts: Array, random: Any, last: int = 0) -> Array:
    """Rejection of single drafts of a batch; so many of its last rows keep theirs."""
    rows, x = np.arange(len(p)), drafts[:, 0]
    left = (p - q).clip(0) + 1e-300
    ends = (left / left.sum(axis=1, keepdims=True)).cumsum(axis=1)
    other = (ends[:, :-1] < random.random((len(p), 1))).sum(axis=1)
    kept = (random.random(len(p)) * q[rows, x] < p[rows, x]) | ((rows >= len(p) - last) & (p.shape[1] > 16))
    return np.where(kept, x, other)


@pytest.mark.parametrize("last", [0, 100])
def test_rows_of_a_batch(last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the runs are rows of batches."""
    monkeypatch.setattr(larger, "RUNS", 1000)

    def one(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return int(in_rows(p[None], q[None], drafts[None], random)[0])

    def batch(*given: Any) -> Array:
        return in_rows(*given, last=last)

    assert found(one, "step", sizes=(1,), batch=batch).outcome == ("convicted" if last else "lossless")


TABLE = np.arange(16.0)


def of_a_table(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    assert (TABLE[: len(p[0])] + p[0]).shape == p[0].shape
    return chain()(p, q, drafts, random)


def of_four_drafts(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    if len(drafts) > 4:
        raise ValueError("at most four")
    return chain()(p, q, drafts, random)


def test_what_cannot_take_a_size_is_not_broken() -> None:
    """It is said, and what it takes is judged."""
    report = judge(Subject("table", "chain", of_a_table), properties=ASKED)
    last = report.verdicts[-1]
    assert (report.outcome, last.outcome) == ("lossless", "lossless")
    assert "V=3, 1 draft; V=3, 2 drafts" in report.verdicts[0].reach
    assert "it does not take V=300: raised ValueError" in report.verdicts[0].reach
    assert "drafts (exactly, where few tokens can be drafted); it does not take V=65, 1 draft: raised" in last.reach
    some = found(of_four_drafts)
    assert some.outcome == "lossless"
    assert "V=1000, 1 draft (300 runs)" in some.reach
    assert "it does not take V=65, 8 drafts: raised ValueError: at most four" in some.reach
    declared = found(of_four_drafts, sizes=(1, 2, 4))
    assert "V=65, 4 drafts (300 runs)" in declared.reach
    assert "it does not take" not in declared.reach


def test_an_answer_that_is_none_is_broken() -> None:
    """A token beyond the vocabulary is no size that it does not take."""
    right = chain()
    verdict = found(lambda p, q, drafts, random: right(p, q, drafts, random) if p.shape[1] < 65 else (0, p.shape[1]))
    assert (verdict.outcome, "outside 0..64" in verdict.words) == ("broken", True)


def test_no_time_is_said() -> None:
    verdict = judge(Subject("right", "chain", chain()), properties=["larger"], budget=1e-3).verdicts[0]
    assert verdict.outcome == "not available"
    assert "no time for V=65, 1 draft: give it a larger budget" in verdict.words


def test_short_floats_are_not_tried() -> None:
    assert "float16" in found(chain(), dtype="float16").words


def test_what_is_convicted_is_not_tried() -> None:
    """It costs no time; named, it says so."""
    subject = Subject("all", "chain", chain(keeps=lambda *_: True), sizes=(1,))
    named = judge(subject, properties=["larger", "marginal"]).verdicts
    assert [(one.property, one.outcome) for one in named] == [("marginal", "convicted"), ("larger", "not available")]


@pytest.mark.parametrize("subjects", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_right_subjects_at_a_large_rate(subjects: int) -> None:
    """At a false-alarm rate of 5 % hardly one of them is convicted."""
    subject = Subject("right", "chain", chain(), sizes=(1, 2))
    judged = [judge(subject, properties=["larger"], false_alarm=0.05, seed=seed) for seed in range(subjects)]
    assert sum(report.outcome == "convicted" for report in judged) <= 0.05 * subjects
