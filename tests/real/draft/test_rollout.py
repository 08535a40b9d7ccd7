"""Networks on the target's states: nothing leaks, offsets are right, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.decoding import models
from helpers.small_drafters import HIDDEN, networks, of_few_tokens, random
from helpers.tiny_models import tiny_gemma2, tiny_llama
from torch import nn

from real import TINY, load
from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.draft import _rollout, feature, heads, one_pass, trigram
from real.draft._contract import along_blocks
from real.draft._parts import Frozen, Look, frozen
from real.models.model import from_hf, full_states

MAKERS = {"heads": heads, "trigram": trigram, "feature": feature}
EVERY = pytest.mark.parametrize("name", networks())
GAMMA = 4


def read(net: nn.Module, ends: Frozen, tokens: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """What the head reads (gamma, n, hidden) of blocks after every place."""
    before = _rollout.shifted(states[None])
    steps = _rollout.rolled(net, ends, tokens[None], before, torch.arange(len(tokens)), GAMMA)
    return torch.stack([step.read[0] for step in steps])


@EVERY
def test_nothing_leaks(name: str) -> None:
    """A block after place u sees tokens up to u + j at step j, and states before u: no other changes what it reads."""
    _, model, _ = models(8, seed=3)
    net, ends = networks()[name].double(), frozen(model, HIDDEN)
    tokens = torch.tensor([3, 1, 4, 1, 5, 2, 6, 5])
    states = full_states(model, tokens, (1,))[1][:, 0]
    with torch.no_grad():
        first = read(net, ends, tokens, states)
        for place in range(1, len(tokens)):
            other, changed = tokens.clone(), states.clone()
            other[place], changed[place] = 7, -states[place]
            found = read(net, ends, other, states), read(net, ends, tokens, changed)
            for j in range(GAMMA):
                for u in range(len(tokens) - j):
                    by_token, by_state = ((w[j, u] - first[j, u]).abs().max() > 1e-9 for w in found)
                    if by_token:
                        assert u + j >= place
                    if by_state:
                        assert u > place, "the state after the block's first known token is told by nobody"
            own = [(w[0, place + k] - first[0, place + k]).abs().max() for w, k in zip(found, (0, 1), strict=True)
                   if place + k < len(tokens)]  # fmt: skip
            reads = (name != "heads", True)[: len(own)]
            assert [bool(w > 1e-9) for w in own] == list(reads), "it reads its newest token, and the newest state"


@pytest.mark.parametrize(("name", "sees"), [("heads", 0), ("one_pass", 0), ("one_pass, corrected", 1), ("feature", 3)])
def test_drafts_of_one_pass_do_not_see_each_other(name: str, sees: int) -> None:
    """Step j of a block changes with the drafts that it sees: none, with a correction the one before, else all."""
    _, model, _ = models(8, seed=3)
    net, ends = networks()[name].double(), frozen(model, HIDDEN)
    tokens, u = torch.tensor([3, 1, 4, 1, 5, 2, 6, 5]), 2
    states = full_states(model, tokens, (1,))[1][:, 0]
    with torch.no_grad():
        first = read(net, ends, tokens, states)[:, u]
        for drafted in range(1, GAMMA):
            other = tokens.clone()
            other[u + drafted] = 7
            changed = (read(net, ends, other, states)[:, u] - first).abs().amax(-1) > 1e-9
            assert changed.tolist() == [drafted <= j < drafted + sees for j in range(GAMMA)]


class _Peeks(heads.Heads):
    """Reads the state after the bonus token, which is off by one: nobody has told it yet."""

    def step(self, j: int, three: Any, carried: Any, block_keys: Any, look: Look) -> _rollout.Step:
        return super().step(j, three, torch.roll(carried, -1, 1) if carried.shape[1] > 1 else carried, block_keys, look)


def test_a_head_that_is_off_by_one_is_found() -> None:
    """Along a text it is better than it can be: what the loop drafts from is something else."""
    _, model, _ = models(8, seed=3)
    text = [3, 1, 4, 1, 5, 2]
    for kind, wrong in ((heads.Heads, False), (_Peeks, True)):
        drafter = heads.drafter(random(kind(HIDDEN, 5, 6)), model)
        found, made = (f(model, [1, 2], text, 3, Warping()).q for f in (drafter.along, _made(drafter)))
        assert bool(abs(found - made).max() > 1e-3) == wrong


def _made(drafter: Any) -> Any:
    return lambda *told: along_blocks(drafter, *told)


def test_attention_of_blocks_is_attention() -> None:
    """Step j of a block after place u looks at j steps of its own behind u + 1 keys of the text, one by one."""
    net, x = random(trigram.Attention(HIDDEN, 8, 2)).double(), torch.randn(1, 6, HIDDEN, dtype=torch.float64)
    drafted = torch.randn(2, 6, HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        own = [net.keys(w)[None] for w in drafted]
        found = net(drafted[1][None], Look(net.keys(x), torch.arange(6)[None]), own)[0]
        for u in range(6):
            text = torch.cat([x[0, : u + 1], drafted[:, u]])
            q = (net.query @ drafted[1, u]).view(2, 4)
            k, v = (text @ net.both.T).view(-1, 2, 2, 4).unbind(1)
            age = torch.arange(len(text) - 1, -1, -1)
            share = (torch.einsum("hd,nhd->hn", q, k) / 2 - torch.tensor([[0.5], [0.25]]) * age).softmax(-1)
            one = net.out @ torch.einsum("hn,nhd->hd", share, v).flatten()
            torch.testing.assert_close(found[u], one, atol=1e-12, rtol=0)


@pytest.mark.parametrize("name", [*MAKERS, "one_pass", "one_pass, corrected"])
def test_a_lesson_teaches(name: str) -> None:
    """Every parameter has a gradient, and a few steps make the loss smaller."""
    _, model, _ = models(8, seed=3)
    recipe = {"hidden": HIDDEN, "starts": 6, "unroll": 2, "head_share": 0.1}
    net = networks()[{"feature": "feature, both"}.get(name, name)].double()
    of = MAKERS.get(name, one_pass).lesson(net, model, recipe)
    tokens = torch.randint(8, (4, 12), generator=torch.Generator().manual_seed(0))
    states = torch.stack([full_states(model, row, (1,))[1] for row in tokens])
    learner = torch.optim.Adam(net.parameters(), 0.02)
    losses = []
    for step in range(40):
        value = of(tokens, states, torch.Generator().manual_seed(step % 2))
        learner.zero_grad()
        value.backward()
        losses.append(value.item())
        if not step:
            unused = {n for n, w in net.named_parameters() if w.grad is None or not w.grad.abs().max() > 0}
            assert unused <= {n for n, _ in net.named_parameters() if n[-1] in "2345"}, (
                "only heads that are not unrolled"
            )
        learner.step()
    assert sum(losses[-4:]) < 0.9 * sum(losses[:4])


def test_variants_have_equal_parameters() -> None:
    """The control of FSPAD has what both of its changes add, to 1 %; heads have what Chimera has."""
    sizes = {
        name: sum(w.numel() for w in feature.network(feature.RECIPES["feature"] | _plain() | told).parameters())
        for name, told in feature.VARIANTS.items()
    }
    assert sizes["eagle"] < sizes["pad"] < sizes["fs"] < sizes["both"]
    assert sizes["control"] == pytest.approx(sizes["both"], rel=0.01)
    two = [sum(w.numel() for w in m.network(m.RECIPES[n]).parameters()) for n, m in MAKERS.items() if n != "feature"]
    assert two[0] == pytest.approx(two[1], rel=0.01)


def test_variants_of_chimera_lack_one_part_each() -> None:
    """With as many parameters, to 1 %; of what is taken out, other tokens or the text, nothing depends."""
    nets = {name: trigram.network(trigram.RECIPES["trigram"] | told) for name, told in trigram.VARIANTS.items()}
    sizes = [sum(w.numel() for w in net.parameters()) for net in nets.values()]
    assert sizes == [pytest.approx(sizes[0], rel=0.01)] * 3
    rng = torch.Generator().manual_seed(0)
    three, before, carried = (torch.randn(1, 2, n, generator=rng) for n in (3 * 256, 256, 256))
    depends: dict[str, tuple[bool, bool]] = {}
    for name, net in nets.items():
        random(net)

        def read(three: torch.Tensor, before: torch.Tensor, net: trigram.Trigram = net) -> torch.Tensor:
            look = Look(net.keys(three, before), torch.tensor([[1, 1]]))
            return net.step(0, three, carried, [], look).read

        other = three + torch.cat([torch.ones(2 * 256), torch.zeros(256)])
        whole = read(three, before)
        depends[name] = (
            not torch.equal(read(other, before), whole),
            not torch.equal(read(three, 2 * before + 1), whole),
        )
    assert depends == {"whole": (True, True), "without trigrams": (False, True), "without context": (True, False)}


def _plain() -> dict[str, Any]:
    return {"fuse": 0, "pad": False, "extra": 0}


def test_what_is_refused() -> None:
    _, model, _ = models(8, seed=3)
    drafter = heads.drafter(networks()["heads"], model)
    told: dict[str, Any] = {"max_tokens": 12, "uniforms": [keyed(0, 0)], "proposer": drafter}
    with pytest.raises(ValueError, match=r"^gamma=7 is too long: the drafter has heads for 6 drafts"):
        decode_batch(model, None, [[1, 2]], gamma=7, **told)
    with pytest.raises(ValueError, match=r"^gamma=7 is too long"):
        drafter.along(model, [1], [2, 3], 7, Warping())
    wide = from_hf(tiny_llama(8, hidden=16))
    for name, maker in MAKERS.items():
        with pytest.raises(ValueError, match=r"^the drafter reads states of width 8, and the target's have 16"):
            maker.drafter(networks()[name], wide)
        with pytest.raises(ValueError, match=r"^a drafter that reads the target's states needs one on the fast path"):
            maker.drafter(networks()[name], from_hf(tiny_gemma2(8, 4)))


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_shipped_drafts(name: str) -> None:
    """It keeps the greedy text of the bundled target, and more drafts than chance."""
    pair = load(TINY / "target", TINY / "draft")
    prompts = [list(pair.tokenizer(words)["input_ids"]) for words in ("def read(self", "The value of", "import os\n")]
    told: dict[str, Any] = {"max_tokens": 24, "uniforms": [keyed(0, i) for i in range(3)], "warping": Warping(0)}
    drafter = MAKERS[name].drafting(MAKERS[name].shipped(name), pair.target)
    plain = decode_batch(pair.target, None, prompts, gamma=0, **told)
    drafted = decode_batch(pair.target, None, prompts, gamma=2, proposer=drafter, **told)
    assert [run.tokens for run in drafted] == [run.tokens for run in plain]
    assert sum(len(run.blocks) for run in drafted) < 0.95 * 3 * 24


def test_a_head_of_few_tokens_gives_the_others_nothing() -> None:
    """Their drafts have no mass, and the others are in the proportions of the whole head."""
    _, model, _ = models(8, seed=3)
    text = [3, 1, 4, 1, 5, 2, 0, 6]
    whole = feature.drafter(networks()["feature"], model)
    few = feature.drafter(of_few_tokens(networks()["feature"], model), model)
    q, all_q = (one.along(model, [1, 2], text, 1, Warping()).q[:, 0] for one in (few, whole))
    known = [token in (0, 2, 4, 6, 7) for token in text]
    assert (q > 0).tolist() == known
    assert (q[known] > all_q[known]).all()


def test_a_head_with_a_token_of_no_vocabulary_is_refused() -> None:
    _, model, _ = models(8, seed=3)
    net = networks()["feature"]
    net.tokens = torch.tensor([0, 8], dtype=torch.int32)
    with pytest.raises(ValueError, match=r"^the drafter knows token 8, and the target's last is 7$"):
        feature.drafter(net, model)
