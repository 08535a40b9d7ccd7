"""Chats that a target writes, and training on them: mechanics, on the bundled target with a template of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from real import TINY, load
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import exit, feature, heads, lowrank, trigram
from real.train import smollm2, smollm2_chats, states
from real.train.chat_texts import Chats, write_chats

MAKERS = {"exit": exit, "feature": feature, "heads": heads, "lowrank": lowrank, "trigram": trigram}
PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]


@pytest.fixture(scope="module")
def teacher() -> smollm2_chats.Teacher:
    pair = load(TINY / "target", TINY / "draft")
    tokenizer: Any = pair.tokenizer
    tokenizer.chat_template = "{% for m in messages %}User: {{ m.content }}\nBot: {% endfor %}"
    return smollm2_chats.Teacher(pair.target, tokenizer, pair.target)


def test_greedy_answers_are_those_of_the_loop(teacher: smollm2_chats.Teacher) -> None:
    """Prompts of several lengths in batches of two: each text is what decoding alone writes."""
    chats = write_chats(teacher.target, PROMPTS, 0, length=24, temperature=0.0, seed=0, batch=2)
    for i, prompt in enumerate(PROMPTS):
        (alone,) = decode_batch(
            teacher.target, None, [prompt], max_tokens=24 - len(prompt), gamma=0,
            uniforms=[keyed(0, 0)], warping=Warping(0.0), stop=frozenset([0]),
        )  # fmt: skip
        assert chats.tokens[i, : len(prompt)].tolist() == prompt
        assert chats.tokens[i][chats.answered[i]].tolist() == alone.tokens
        assert not chats.answered[i, : len(prompt)].any()


def test_an_answer_ends_at_the_end_token_and_belongs_to_it(teacher: smollm2_chats.Teacher) -> None:
    plain = write_chats(teacher.target, PROMPTS, -1, length=40, temperature=1.0, seed=3)
    end = int(plain.tokens[0, 10])
    ended = write_chats(teacher.target, PROMPTS, end, length=40, temperature=1.0, seed=3)
    for row, mine in zip(ended.tokens, ended.answered, strict=True):
        answer = row[mine].tolist()
        assert end not in answer[:-1]
        assert answer[-1] == end or bool(mine[-1]), "it ends with its end token, or where there is no more room"
        assert (row[len(answer) + int(mine.nonzero()[0]) :] == 0).all(), "nothing stands after it"


def test_the_law_of_an_answer_is_the_targets(teacher: smollm2_chats.Teacher) -> None:
    """First tokens of many answers to one prompt, against the target's law of its eight likeliest tokens."""
    from real.models.model import full_logits

    law = full_logits(teacher.target, torch.tensor([5, 6, 7]))[-1].softmax(-1)
    chats = write_chats(teacher.target, [[5, 6, 7]] * 4000, 0, length=4, temperature=1.0, seed=1, batch=1000)
    counts = torch.bincount(chats.tokens[:, 3], minlength=len(law)) / 4000
    likeliest = law.topk(8).indices
    assert ((counts - law)[likeliest].abs() < 5 * (law[likeliest] / 4000).sqrt()).all()


def test_a_prompt_without_room_is_refused(teacher: smollm2_chats.Teacher) -> None:
    with pytest.raises(ValueError, match=r"^prompt 1 has 4 tokens: an answer needs 1 to 3$"):
        write_chats(teacher.target, [[1], [1, 2, 3, 4]], 0, length=4, temperature=0.0, seed=0)
    with pytest.raises(ValueError, match=r"^prompt 0 has 0 tokens"):
        write_chats(teacher.target, [[]], 0, length=4, temperature=0.0, seed=0)


def test_the_first_texts_hold_so_many_answered_tokens() -> None:
    answered = torch.tensor([[True, True, False], [True, False, False], [True, True, True]])
    chats = Chats(torch.zeros(3, 3, dtype=torch.int64), answered)
    assert [len(chats.first(n).tokens) for n in (1, 2, 3, 4, 6, 99)] == [1, 1, 2, 3, 3, 3]


@pytest.mark.parametrize("name", MAKERS)
def test_training_teaches_and_ignores_what_the_target_did_not_write(
    name: str, teacher: smollm2_chats.Teacher, tmp_path: Path
) -> None:
    maker: Any = MAKERS[name]
    tiny = {
        "hidden": 256, "tokens": 300, "batch": 24, "starts": 1 << 20, "rate": 2e-2, "seed": 0, "unroll": 2,
        "steps": 25, "head_share": 1.0, "inner": 16, "gated": 16, "rank": 4, "heads": 4, "after": 1,
        "width": 32 if name == "lowrank" else 768, "ffn": 64, "layers": 1,
    }  # fmt: skip
    chats = write_chats(teacher.target, PROMPTS * 4, 0, length=24, temperature=1.0, seed=0)
    chats.answered[:, 18:] = False  # the answers end there
    held = states.cached(teacher.target, chats.tokens, maker.reads(tiny), None)

    def losses_and_net(texts: Chats, read: torch.Tensor) -> tuple[Any, Any]:
        with pytest.warns(UserWarning, match="calibration tokens"):
            net, done = smollm2.trained(maker, tiny, teacher, texts, read)
        return net, done.losses

    net, losses = losses_and_net(chats, held)
    assert losses[-1][1] < 0.95 * losses[0][1]
    assert len(net.tokens) == 300
    assert teacher.tokenizer.eos_token_id in net.tokens.tolist()

    # What stands after an answer says nothing: other tokens and states there leave every weight as it was.
    other, changed = chats.tokens.clone(), held.clone()
    other[:, 18:], changed[:, 18:] = 7, 0
    assert not torch.equal(other, chats.tokens)
    again, _ = losses_and_net(Chats(other, chats.answered), changed)
    for one, two in zip(net.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)


def test_acceptance_is_that_of_the_overlap(teacher: smollm2_chats.Teacher) -> None:
    """An exit behind half of the layers, judged on answers: shares between 0 and 1, by temperature."""
    answers = smollm2.judged(teacher, 12, 3)
    net = exit.shipped("exit_3")
    shares = smollm2.hazards(exit, net, teacher, answers)
    assert shares.keys() == {"T=1", "T=0"}
    assert all(0.1 < share <= 1 for row in shares.values() for share in row)
    drafter, total, count = exit.drafting(net, teacher.target), 0.0, 0
    for row, mine in zip(answers[0.0].tokens, answers[0.0].answered, strict=True):
        first = int(mine.nonzero()[0])
        along = drafter.along(teacher.target, row[:first].tolist(), row[mine].tolist(), 1, Warping(0.0))
        total, count = total + float((along.q[:, 0] > 0).sum()), count + len(along.p)
    assert shares["T=0"][0] == pytest.approx(total / count, abs=1e-4)
