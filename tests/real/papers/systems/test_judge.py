"""Judge Decoding: its loop against the standard one, its labels against answers written anew, choices and verdicts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.papers.lab import judging, relaxed
from real.papers.lab.contract import Lab, Record
from real.papers.lab.introductions import problems
from real.papers.lab.judging import Head, Labels
from real.papers.lab.pairs import pair_named
from real.papers.lab.relaxed import Drafts
from real.papers.systems import judge
from real.studies.intervals import Estimate

PROMPTS = [list(range(5, 25)), list(range(30, 40)), list(range(7, 60, 2))]


def answers(rule: relaxed.Rule, temperature: float) -> relaxed.Answers:
    uniforms = [keyed(1, i) for i in range(len(PROMPTS))]
    return relaxed.decoded(
        pair_named("tiny"), PROMPTS, rule, uniforms, is_greedy=temperature == 0, gamma=3, max_tokens=14, ends=()
    )


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_the_standard_test_writes_what_the_loop_writes(temperature: float) -> None:
    both, warping = pair_named("tiny"), Warping(temperature)
    found, uniforms = answers(relaxed.standard, temperature), [keyed(1, i) for i in range(len(PROMPTS))]
    plain = decode_batch(both.target, both.draft, PROMPTS, max_tokens=14, gamma=3, uniforms=uniforms, warping=warping)
    assert found.tokens == [run.tokens for run in plain]
    assert found.accepted.tolist() == [sum(block.accepted for block in run.blocks) for run in plain]
    for prompt, tokens, log_p in zip(PROMPTS, found.tokens, found.log_p, strict=True):
        logits = both.target.cache().forward(torch.tensor([prompt + tokens]), len(tokens) + 1)[0, :-1]
        expected = logits.log_softmax(-1).gather(1, torch.tensor(tokens)[:, None]).mean()
        assert log_p == pytest.approx(float(expected), abs=1e-4)


def test_a_rule_is_given_the_state_at_the_draft() -> None:
    """Not the one before it, from which the target's row at the draft's place comes."""
    both, seen = pair_named("tiny"), []

    def rule(drafts: Drafts) -> np.ndarray:
        seen.append(drafts)
        return np.ones(drafts.p.shape, dtype=bool)

    found = answers(rule, 0.0)
    assert (found.calls.tolist(), found.drafted.tolist(), found.accepted.tolist()) == ([4] * 3, [10] * 3, [10] * 3)
    weights = both.target.weights
    assert weights is not None
    text = torch.tensor([PROMPTS[0] + found.tokens[0]])
    _, states = both.target.cache().states(text, [0], (len(weights.layers),))
    np.testing.assert_allclose(seen[0].states[0], states[0, 20:23, 0].numpy(), atol=1e-4)


def test_rules_accept_by_likelihood_by_rank_and_by_state() -> None:
    rows = np.array([[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]])
    drafts = Drafts(
        rows, p=np.array([[0.3, 0.2]]), q=np.array([[0.9, 0.4]]), u=None, states=np.array([[[1.0], [-1.0]]])
    )
    head = Head(np.zeros(1), np.ones(1), np.ones(1), 0.0)
    assert relaxed.standard(drafts).tolist() == [[False, False]]
    assert relaxed.lenient(0.5)(drafts).tolist() == [[True, False]]
    assert relaxed.top(2)(drafts).tolist() == [[True, False]]
    assert relaxed.judged_by(head, 0.5)(drafts).tolist() == [[True, False]]
    drawn = drafts._replace(u=np.array([[0.5, 0.6]]))
    assert relaxed.standard(drawn).tolist() == [[False, False]]
    assert relaxed.lenient(0.8)(drawn).tolist() == [[False, True]]


def test_labels_are_what_the_target_writes_after_a_draft() -> None:
    """Every state, ratio and label is that of an answer that is written anew, token after token."""
    both = pair_named("tiny")

    def grade(i: int, tokens: list[int]) -> float:
        return float(np.mean([token % 2 for token in tokens]))

    def written(text: list[int], count: int) -> list[int]:
        run = decode_batch(
            both.target, None, [text], max_tokens=count, gamma=0, uniforms=[keyed(0, 0)], warping=Warping(0.0)
        )
        return run[0].tokens

    labels = judging.mine(both, PROMPTS[:2], length=5, horizon=4, ends=(), grade=grade, seed=0)
    weights, k, answers = both.target.weights, 0, [written(prompt, 7) for prompt in PROMPTS[:2]]
    assert weights is not None
    for turn in range(5):
        for i in np.unique(labels.text):
            of_text = np.flatnonzero(labels.text == i)
            if turn >= len(of_text):
                continue
            row, answer, token = of_text[turn], answers[i], int(labels.tokens[of_text[turn]])
            # The place is the one whose state it is.
            texts = [[*PROMPTS[i], *answer[:t], token] for t in range(5)]
            states = [both.target.cache().states(torch.tensor([text]), [0], (len(weights.layers),)) for text in texts]
            off = [np.abs(state[0, -1, 0].numpy() - labels.states[row]).max() for _, state in states]
            t = int(np.argmin(off))
            assert off[t] < 1e-4
            logits = states[t][0][0, -2]
            assert labels.ratio[row] == pytest.approx(float((logits[token] - logits.max()).exp()), rel=1e-3)
            new, plain = [*answer[:t], token, *written(texts[t], 4)], answer[: t + 3]
            assert labels.unimportant[row] == (grade(i, new) >= grade(i, plain))
            k += 1
    assert k == len(labels.text) > 3
    assert 0 < labels.unimportant.mean() < 1


def test_a_head_learns_and_is_sure_of_one_kind() -> None:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(300, 4))
    unimportant = states[:, 1] > 0
    nobody = np.zeros(300)
    head = judging.fitted(Labels(states, unimportant, nobody, nobody, nobody))
    assert (((judging.sure(head, states) > 0.5) == unimportant).mean()) > 0.95
    alike = judging.fitted(Labels(states, unimportant | True, nobody, nobody, nobody))
    assert judging.sure(alike, states).min() > 0.99


def test_the_laxest_parameter_before_facts_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {"standard": 0.8, "a": 0.79, "b": 0.76, "c": 0.7, "d": 0.8}
    monkeypatch.setattr(relaxed, "standard", "standard")
    monkeypatch.setattr(judge, "solved", lambda lab, on, rule, t: judge.Result(*np.full((5, 1, 2), shares[rule])))
    rules = {"judge": {1.0: "a", 2.0: "b", 3.0: "c", 4.0: "d"}, "top k": {2.0: "c", 3.0: "d"}}
    assert judge.chosen(Lab(), rules) == {"judge": 2.0, "top k": 2.0}  # type: ignore[arg-type]


def test_the_judges_numbers_less_those_of_others() -> None:
    """Two heads and two prompts: a ratio of sums, means, and the differences of both."""
    plain = judge.Result(
        *np.array([[[8.0, 6.0]] * 2, [[4.0, 3.0]] * 2, [[4.0, 3.0]] * 2, [[0.5, 1.0]] * 2, [[-1.0, -2.0]] * 2])
    )
    ours = plain._replace(accepted=np.array([[6.0, 3.0], [8.0, 4.0]]), facts=np.array([[0.5, 0.5], [1.0, 0.0]]))
    found = judge.compared({"standard": plain, "lenience": plain, "top k": plain, "judge": ours}, ", T = 0")
    assert found[judge.HEADLINE].value == pytest.approx(21 / 14 - 1)
    assert found[f"facts named, judge less lenience, T = 0{judge.LOOP}{judge.ONE_SIDED}"].value == pytest.approx(-0.25)
    assert found[f"tokens a call, judge, T = 0{judge.LOOP}"].value == pytest.approx(2.0)


def test_parts_have_other_problems() -> None:
    of_parts = [set(problems(60, part)) for part in ("calibration", "validation", "test")]
    assert not of_parts[0] & of_parts[2]
    assert not of_parts[1] & of_parts[2]
    assert all(fact in problem.text for problem in of_parts[2] for fact in problem.facts)


@pytest.mark.parametrize(
    ("more", "facts", "alone", "verdict"),
    [
        ((0.5, 0.9), (-0.05, 0.01), (-0.5, -0.4), "shows"),
        ((-0.1, 0.9), (-0.05, 0.01), (-0.5, -0.4), "does not show"),
        ((0.5, 0.9), (-0.12, 0.01), (-0.5, -0.4), "does not show"),
        ((0.5, 0.9), (-0.05, 0.01), (-0.5, -0.2), "does not show"),
        ((-0.9, -0.1), (-0.05, 0.01), (-0.5, -0.4), "contradicts"),
        ((0.5, 0.9), (-0.3, -0.13), (-0.5, -0.4), "contradicts"),
    ],
)
def test_each_interval_can_decide(
    more: tuple[float, float], facts: tuple[float, float], alone: tuple[float, float], verdict: str
) -> None:
    names = {
        judge.HEADLINE: more,
        f"{judge.NAMED}, judge less standard, T = 0{judge.LOOP}{judge.ONE_SIDED}": facts,
        f"{judge.DRAFTED}, T = 0": alone,
    }
    assert judge.verdict(Record({}, {name: Estimate(0.0, *ends) for name, ends in names.items()}, {})) == verdict
