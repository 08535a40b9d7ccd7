"""Systems of several drafts: laws of a tree are those of its paths, expectations are exact, and the tests can fail."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from real.decode.score import laws
from real.decode.warp import Warping
from real.models.model import full_logits
from real.papers.lab import tree_blocks as blocks
from real.papers.lab import tree_lab as on
from real.papers.lab.contract import Lab, Record
from real.papers.lab.texts import texts
from real.papers.lab.times import recorded
from real.papers.lab.tree_lab import Kind, Reader, rows
from real.papers.lab.writing import pair
from real.papers.systems import mdsd, rsd, spectr
from real.studies.intervals import Estimate
from specsim import acceptance_rate, trees
from specsim.types import TokenTree

PROMPT = tuple(texts(1.0).prompts[0])


def law_of(text: tuple[int, ...]) -> np.ndarray:
    """The target's law after a text, from a pass that caches nothing."""
    found = full_logits(pair().target, torch.tensor(text))[-1].double().softmax(-1).numpy()
    return np.asarray(found / found.sum())


def test_a_reader_goes_back_and_forth() -> None:
    reader = Reader(pair().target)
    for more in ((), (5, 6, 7), (5, 6), (5, 8, 9, 10), (), (11,)):
        assert np.abs(reader((*PROMPT, *more)) - law_of((*PROMPT, *more))).max() < 1e-5
        reader.forget()


def test_laws_of_a_tree_are_those_of_its_paths() -> None:
    u = np.random.default_rng(0).random(trees.beam_uniforms(2, 3, pair().draft.vocab_size))
    drafted = trees.beam_tree(Reader(pair().draft), u, width=2, depth=3, prefix=PROMPT)
    found = on.laws_of(Reader(pair().target), PROMPT, drafted.tree)
    for node, parent in enumerate(drafted.tree.parents):
        path = [int(drafted.tree.tokens[node])]
        while parent >= 0:
            path.insert(0, int(drafted.tree.tokens[parent]))
            parent = drafted.tree.parents[parent]
        assert np.abs(found[node + 1] - law_of((*PROMPT, *path))).max() < 1e-5


def test_a_tree_that_was_read_leaves_no_trace() -> None:
    """Texts read after it, and trees, are as if it had never been; what it read is not read again."""
    reader, none = Reader(pair().target), np.zeros(0, dtype=np.int64)
    tree = TokenTree(np.array([-1, 0, 0, 1, -1]), np.array([5, 6, 7, 8, 5]), np.array([1, 2, 2, 3, 1]), "iid")
    reader.ahead(PROMPT, tree)
    last = reader((*PROMPT, 5, 6, 8))
    assert np.abs(last - law_of((*PROMPT, 5, 6, 8))).max() < 1e-5
    reader.ahead((*PROMPT, 5, 6, 8), TokenTree(none, none, none, "iid"))
    assert reader((*PROMPT, 5, 6, 8)) is last
    for more in ((5, 6, 9), (), (5, 7, 1)):
        reader.ahead((*PROMPT, *more), tree)
        assert np.abs(reader((*PROMPT, *more, 5, 7)) - law_of((*PROMPT, *more, 5, 7))).max() < 1e-5
        reader.forget()
        assert np.abs(reader((*PROMPT, 5)) - law_of((*PROMPT, 5))).max() < 1e-5


def test_a_block_of_one_draft_is_expected_as_its_coins_say() -> None:
    """1 + 1 - TV on average over the draft; a block of a target that drafts for itself keeps all it drafts."""
    one, q = Kind("iid", (-1,)), Reader(pair().draft)(PROMPT)
    p = on.laws_of(Reader(pair().target), PROMPT, trees.draw_tree(lambda text: q, (-1,), np.zeros(1)).tree)[0]
    starts = blocks.Starts([list(PROMPT)], "one", 1)
    drawn = [float(blocks.tallies(starts, {"one": one}, Lab(seed))["one"].tokens[0]) for seed in range(24)]
    ratio = np.minimum(1, p / q)
    assert set(np.round(drawn, 6)) <= set(np.round(1 + ratio, 6)), "each is 1 + min(1, p/q) of its draft"


def test_kinds_share_their_starts_and_their_uniforms() -> None:
    kinds = {"a": Kind("paths", (-1, 0), "kseq"), "b": Kind("paths", (-1, 0), "recursive"), "c": Kind("iid", (-1, 0))}
    found = blocks.tallies(blocks.Starts([list(PROMPT)] * 2, "a", 2), kinds, Lab(3))
    for name in ("b", "c"):  # with one draft a position all of them are the same rule
        assert np.abs(found["a"].tokens - found[name].tokens).max() < 1e-9
    assert found["a"].tokens[0] != found["a"].tokens[1], "each text has uniforms of its own"


def test_more_trees_at_a_start_are_blocks_of_their_own() -> None:
    """The first of them is the one that is drawn alone, and writes the same text."""
    kinds = {"a": Kind("paths", (-1, 0), "kseq"), "b": Kind("beam", (2, 2))}
    one, three = (blocks.tallies(blocks.Starts([list(PROMPT)], "a", 2, count), kinds, Lab(3)) for count in (1, 3))
    assert (one["b"].blocks.tolist(), three["b"].blocks.tolist()) == ([2.0], [6.0])
    assert all(one[name].tokens[0] < three[name].tokens[0] - 4 for name in kinds)


def test_blocks_end_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"a": Kind("paths", (-1, 0))}
    monkeypatch.setattr(blocks, "ends", lambda pair: frozenset(range(2048)))
    assert blocks.tallies(blocks.Starts([list(PROMPT)], "a", 3), kinds, Lab(3))["a"].blocks.tolist() == [1.0]


def test_merged_trees_have_each_text_once() -> None:
    first = TokenTree(np.array([-1, 0, -1]), np.array([5, 6, 5]), np.array([1, 2, 1]), "iid")
    second = TokenTree(np.array([-1, 0, 1]), np.array([5, 7, 6]), np.array([1, 2, 3]), "iid")
    found = blocks.merged([first, second])
    assert found.tokens.tolist() == [5, 6, 7, 6]
    assert found.parents.tolist() == [-1, 0, 0, 2]
    assert found.depth.tolist() == [1, 2, 2, 3]


def test_a_trial_of_rsd() -> None:
    """What trees of both kinds keep at the same starts, and what beams add."""
    found = rsd.run(Lab(share=0.02)).measured
    by_kind = {name: found[f"tokens a block, {rsd.of_size(name)}"].value for name in rsd.kinds(*rsd.SIZE)}
    assert min(by_kind.values()) > 1
    assert found[rsd.HEADLINE].value == pytest.approx(by_kind[rsd.BEAMS] / by_kind[rsd.IID] - 1)


def test_predicted_speeds_of_spectr_are_by_recorded_passes() -> None:
    """Two paths of four are verified in a pass over nine tokens, and drafted in four steps."""
    costs = recorded(1.0)
    measured = {"tokens a block, one draft, T = 1": Estimate(2.0, 1.9, 2.1)}
    assert set(spectr._predicted(measured)) == {"speed over plain decoding, one draft, T = 1"}
    measured |= {
        "tokens a block, K-SEQ, K = 2, T = 1": Estimate(2.4, 2.3, 2.5),
        "tokens a block added by K-SEQ to one draft, K = 2, T = 1": Estimate(0.2, 0.1, 0.3),
    }
    found = spectr._predicted(measured)
    two = costs.cycle(8) - costs.phase("draft", 8) + costs.phase("draft", 4)
    assert found["speed over plain decoding, K-SEQ, K = 2, T = 1"].low == pytest.approx(2.3 * costs.cycle(0) / two)
    assert found["speed over one draft, K-SEQ, K = 2, T = 1"].high == pytest.approx(1.3 * costs.cycle(4) / two)


def test_rows_are_those_of_the_texts() -> None:
    some = texts(1.0).of("test", 2)
    p, q = rows(some, 3)
    whole = laws(pair().target, pair().draft, some.prompts[1], some.tokens[1].tolist(), Warping())
    for got, along in zip((p, q), whole, strict=True):
        assert got.shape == (6, 2048)
        assert np.abs(got[4] - along[127].double().numpy()).max() < 1e-6
        assert np.abs(got.sum(-1) - 1).max() < 1e-12


def test_a_trial_of_mdsd() -> None:
    """At both temperatures the optimum is what the rules have and what they lack, over the same rows."""
    found = mdsd.run(Lab(share=0.02))
    assert found.exact["rows at each temperature"] == 8 * mdsd.EACH
    assert all(found.exact[f"{mdsd.OFF}, T = {at}"] < 1e-9 for at in ("1", "0.6"))
    numbers = found.measured
    assert mdsd.verdict(found) in ("shows", "does not show")
    for at in ("1", "0.6"):
        for rule, scheme in mdsd.RULES.items():
            lacks = numbers[f"{mdsd.gap(rule, 2)}, T = {at}"].value
            names = (f"acceptance of {rule}", f"optimum of {scheme}")
            kept, best = (numbers[f"{name}, K = 2, T = {at}"].value for name in names)
            assert best == pytest.approx(kept + lacks)
    for end in ("0.6", f"1{mdsd.OF_FOUR}"):
        added = numbers[f"{mdsd.WITHOUT}, K = 4, T = {end}"]
        assert added.low < added.high


def test_sampled_acceptance_is_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.ones(6), size=3) for _ in range(2))
    exact = [float(acceptance_rate(a, b, rule="recursive_wor", num_drafts=3)) for a, b in zip(p, q, strict=True)]
    assert np.abs(mdsd.accepted("recursive_wor", p, q, 3, 4000, 0) - exact).max() < 0.02
    assert np.abs(mdsd.accepted("kseq", p, q, 1, 1, 0) - np.minimum(p, q).sum(-1)).max() < 1e-12


ABOVE, BELOW, ACROSS = Estimate(0.1, 0.05, 0.2), Estimate(-0.1, -0.2, -0.05), Estimate(0.1, -0.05, 0.2)


def test_verdicts_follow_the_tests() -> None:
    def of_mdsd(added: Estimate, kseq: Estimate) -> str:
        short = {f"{mdsd.gap(rule)}, T = 1{mdsd.OF_FOUR}": ABOVE for rule in mdsd.SHORT}
        short |= {f"{mdsd.gap('kseq')}, T = 1{mdsd.OF_FOUR}": kseq}
        return mdsd.verdict(Record({}, {mdsd.HEADLINE: added} | short, {}))

    assert [of_mdsd(*both) for both in ((ABOVE, ABOVE), (ABOVE, ACROSS), (BELOW, ABOVE), (ABOVE, BELOW))] == [
        "shows",
        "does not show",
        "contradicts",
        "contradicts",
    ]
    assert [rsd.verdict(Record({}, {rsd.HEADLINE: one}, {})) for one in (ABOVE, ACROSS, BELOW)] == [
        "shows",
        "does not show",
        "contradicts",
    ]

    def of_spectr(found: Estimate, share: float) -> str:
        return spectr.verdict(
            Record({f"{spectr.SHARE}, K = {k}, T = 1": share for k in (2, 4, 8)}, {spectr.HEADLINE: found}, {})
        )

    assert [of_spectr(ABOVE, 0.7), of_spectr(ABOVE, 0.6), of_spectr(ACROSS, 0.7), of_spectr(BELOW, 0.7)] == [
        "shows",
        "contradicts",
        "does not show",
        "contradicts",
    ]
