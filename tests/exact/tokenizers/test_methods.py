"""Drafts of another tokenizer, exactly: which methods keep the target's law, on random small tokenizers."""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from fractions import Fraction as F
from typing import Any

import pytest

import specsim
from specsim.exact.tokenizers import methods
from specsim.exact.tokenizers.proposals import NothingToDraft, TokenModel, paths, reencoded_proposals
from specsim.exact.tokenizers.tokenizer import Tokenizer, decode, is_canonical, small_tokenizer

LOSSLESS = [name for name in methods.names() if methods.find(name).LOSSLESS]
# A target that can write "ab" in one token or in two, and a draft that can only in two.
PAIR = small_tokenizer(["a", "b", "ab"]), small_tokenizer(["a", "b"])


def random_tokenizer(rng: random.Random, alphabet: str) -> Tokenizer:
    """A vocabulary of the alphabet and up to three longer tokens, merged in order or taken by length."""
    words, merges = list(alphabet), []
    for _ in range(rng.randint(0, 3)):
        left, right = rng.choice(words), rng.choice(words)
        if len(left + right) <= 3 and left + right not in words:
            words.append(left + right)
            merges.append((left, right))
    rng.shuffle(words)
    return small_tokenizer(words, merges if rng.random() < 0.5 else None)


def random_model(tokenizer: Tokenizer, seed: object) -> TokenModel:
    """Laws in rationals that depend on the last two tokens, and some zeros among them."""

    def row(ids: tuple[int, ...]) -> tuple[F, ...]:
        weights = [random.Random(f"{seed} {ids[-2:]} {token}").randint(0, 4) for token in range(len(tokenizer.tokens))]
        if not sum(weights):
            weights[0] = 1
        return tuple(F(weight, sum(weights)) for weight in weights)

    return TokenModel(tokenizer, row)


def random_pair(seed: int) -> tuple[TokenModel, TokenModel]:
    """A target and a draft of one alphabet."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ab", "abc"])
    target, draft = (random_tokenizer(rng, alphabet) for _ in range(2))
    return random_model(target, (seed, "target")), random_model(draft, (seed, "draft"))


def fixed(tokenizer: Tokenizer, *weights: int) -> TokenModel:
    """The same law after every text."""
    return TokenModel(tokenizer, lambda ids: tuple(F(weight, sum(weights)) for weight in weights))


def results(seed: int, **options: Any) -> dict[str, specsim.AcrossTokenizers]:
    """Every method on one random pair; without those that have nothing to draft there."""
    target, draft = random_pair(seed)
    made = {}
    for name in methods.names():
        with contextlib.suppress(NothingToDraft if name == "intersection" else ()):
            made[name] = specsim.across_tokenizers(target, draft, name, **options)
    return made


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.slow)], ids=str)
def test_lossless_methods_keep_the_targets_law_exactly(seeds: range) -> None:
    lossy = defaultdict(int)
    for seed in seeds:
        for name, made in results(seed, tokens=3).items():
            assert sum(made.tokens.values()) == sum(made.texts.values()) == 1
            assert made.text_distance <= made.token_distance
            if name in LOSSLESS:
                assert made.token_distance == 0, (name, seed)
                assert made.lossless
            lossy[name] += made.token_distance > 0
    # The others are lossy on most pairs, so that the comparison can tell.
    assert min(lossy[name] for name in methods.names() if name not in LOSSLESS) > len(seeds) / 3


def test_knowing_the_law_of_proposals_accepts_no_less_than_exact_match() -> None:
    gains = [results(seed, tokens=1) for seed in range(20)]
    differences = [made["string_rejection"].accepted - made["exact_match"].accepted for made in gains]
    assert min(differences) >= 0
    assert max(differences) > F(1, 10)


def test_neither_the_intersection_nor_string_rejection_is_always_better() -> None:
    """Strings propose a token that only the target has; the intersection two that are encoded as one."""
    draft = fixed(PAIR[1], 1, 1)
    for weights, better in (((0, 0, 1), "string_rejection"), ((1, 1, 0), "intersection")):
        calls = {
            name: specsim.across_tokenizers(fixed(PAIR[0], *weights), draft, name).tokens_per_call
            for name in ("string_rejection", "intersection")
        }
        assert max(calls, key=lambda name: calls[name]) == better
        assert len(set(calls.values())) == 2


@pytest.mark.parametrize("name", methods.names())
def test_with_one_tokenizer_the_methods_are_those_that_are_known(name: str) -> None:
    """Rejection, whose blocks have 1 + alpha + alpha^2 tokens; exact match has sum pq for alpha."""
    characters = small_tokenizer(["a", "b", "c"])
    target, draft = fixed(characters, 5, 3, 2), fixed(characters, 1, 3, 6)
    made = specsim.across_tokenizers(target, draft, name)
    p, q = target.row(()), draft.row(())
    rejection = specsim.acceptance_rate(p, q)
    match = sum(a * b for a, b in zip(p, q, strict=True))
    alpha = match if name in ("exact_match", "reencoded") else rejection
    assert made.token_distance == 0
    assert made.tokens_per_call == 1 + alpha + alpha**2
    assert made.accepted == alpha + alpha**2


def test_exact_match_is_what_the_target_draws_compared_with_the_drafts() -> None:
    """Written as its authors do: the target draws at each place, and goes on where the draft is its draw."""
    for seed in range(6):
        target, draft = random_pair(seed)
        law: dict[tuple[int, ...], F] = defaultdict(F)
        for proposal in reencoded_proposals(target.tokenizer, draft, "", 2):
            drawn = {(): proposal.weight}
            for token in (*proposal.tokens, None):
                for before, weight in list(drawn.items()):
                    del drawn[before]
                    for other, probability in enumerate(target.row(before)):
                        to = drawn if other == token else law
                        to[(*before, other)] = to.get((*before, other), F(0)) + weight * probability
        made = specsim.across_tokenizers(target, draft, "exact_match", tokens=1)
        assert made.tokens_per_call == sum(len(ids) * weight for ids, weight in law.items())
        first = defaultdict(F)
        for ids, weight in law.items():
            first[ids[:1]] += weight
        assert {ids: weight for ids, weight in first.items() if weight} == made.tokens


@pytest.mark.parametrize(("target", "written"), [((1, 1, 2), (1, 2, 5)), ((2, 1, 1), (2, 2, 4))])
def test_transferred_probabilities_by_hand(target: tuple[int, ...], written: tuple[int, ...]) -> None:
    """Of four drafts "ab" becomes one token, tested against 1/4; "aa", "ba", "bb" begin with one tested against 1/2.

    Under the target's law (1/4, 1/4, 1/2) "ab" is kept always, "a" and "b" half of the time; under (1/2, 1/4, 1/4)
    "a" is kept always, too. What is left over is "ab" alone.
    """
    made = specsim.across_tokenizers(fixed(PAIR[0], *target), fixed(PAIR[1], 1, 1), "transferred", tokens=1)
    assert made.tokens == {(token,): F(eighths, 8) for token, eighths in enumerate(written)}
    assert made.token_distance == F(1, 8) * sum(
        max(0, eighths - 2 * quarters) for eighths, quarters in zip(written, target, strict=True)
    )


def test_a_text_that_is_encoded_anew_is_read_in_other_tokens() -> None:
    """The target writes a, b and then c; read as "ab" it would write d. No draft is ever accepted here."""
    target = small_tokenizer(["a", "b", "ab", "c", "d"])
    chains = {(): "a", (0,): "b", (0, 1): "c", (2,): "d"}
    words = target.tokens

    def row(ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(word == chains.get(ids, "d")) for word in words)

    draft = TokenModel(small_tokenizer(["a", "b", "c", "d"]), lambda ids: (0, 0, 0, 1))
    for name, text in (("exact_match", "abc"), ("reencoded", "abd")):
        made = specsim.across_tokenizers(TokenModel(target, row), draft, name, drafts=1, tokens=3)
        assert made.texts == {text: 1}
    assert not is_canonical(target, (0, 1))


def test_a_target_that_writes_canonical_texts_alone_may_be_encoded_anew() -> None:
    """After a it never writes b."""
    target = TokenModel(PAIR[0], lambda ids: (F(1, 2), F(0), F(1, 2)) if ids[-1:] == (0,) else (F(1, 3),) * 3)
    made = specsim.across_tokenizers(target, fixed(PAIR[1], 1, 1), "reencoded", tokens=4)
    assert made.token_distance == 0
    assert all(is_canonical(PAIR[0], ids) for ids in made.tokens)


def test_no_intersection_passes_the_bound_of_its_vocabulary() -> None:
    """With the target's own law, restricted, for a draft it is reached."""
    target = fixed(PAIR[0], 1, 1, 2)
    shared = specsim.shared_tokens(PAIR[0].tokens, PAIR[1].tokens)
    bound = specsim.vocabulary_bound(target.row(()), shared)
    for weights in ((1, 3), (1, 1)):
        made = specsim.across_tokenizers(target, fixed(PAIR[1], *weights), "intersection", drafts=1)
        assert made.accepted <= bound
    assert made.accepted == bound == F(1, 2)


def test_floats_are_taken_as_they_are() -> None:
    exact = specsim.across_tokenizers(fixed(PAIR[0], 1, 1, 2), fixed(PAIR[1], 1, 3), "string_rejection")
    target, draft = TokenModel(PAIR[0], lambda ids: [1 / 3] * 3), TokenModel(PAIR[1], lambda ids: [1 / 2] * 2)
    made = specsim.across_tokenizers(target, draft, "string_rejection")
    assert made.lossless
    assert isinstance(made.tokens_per_call, float)
    assert isinstance(exact.tokens_per_call, F)
    assert made.tokens.keys() == exact.tokens.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exactmatch"}, r"method 'exactmatch' is unknown; did you mean 'exact_match'\?"),
        ({"drafts": 0}, "drafts must be at least 1"),
        ({"drafts": 20}, r"drafts is 20: of 2 tokens there are 2\*\*20 sequences, and at most 16384 are enumerated"),
        ({"tokens": 0}, "tokens must be at least 1"),
        ({"tokens": 12}, r"tokens is 12: of 3 tokens there are 3\*\*12 sequences"),
        ({"target": fixed(PAIR[0], 1, 1)}, r"target.row\(\(\)\) has 2 entries; expected one for each of its 3 tokens"),
        ({"draft": TokenModel(PAIR[1], lambda ids: (F(1, 2), F(1, 3)))}, r"draft.row\(\(\)\) sums to 5/6"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    arguments = {"target": fixed(PAIR[0], 1, 1, 2), "draft": fixed(PAIR[1], 1, 1)} | options
    with pytest.raises(ValueError, match=message):
        specsim.across_tokenizers(**arguments)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({0: 0.5, 1: 0.5}, TypeError, "must be a list of probabilities, got {0: 0.5, 1: 0.5}"),
        (None, TypeError, "must be a list of probabilities, got None"),
        ([[0.5, 0.5]] * 2, ValueError, r"has shape \(2, 2\); give one probability for each token"),
    ],
)
def test_what_is_no_row_is_named(row: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=rf"^draft.row\(\(\)\) {message}"):
        specsim.across_tokenizers(fixed(PAIR[0], 1, 1, 2), TokenModel(PAIR[1], lambda ids: row))


def test_the_draft_goes_on_behind_the_text() -> None:
    """Lossless methods keep the law whatever is drafted, so the draft's own context is checked by itself."""
    draft = TokenModel(PAIR[1], lambda ids: (F(1), F(0)) if ids[-1:] == (1,) else (F(1, 3), F(2, 3)))
    assert [(path.path, path.weight) for path in paths(draft, "ab", 2)] == [((0, 0), F(1, 3)), ((0, 1), F(2, 3))]


def test_a_token_that_covers_two_has_the_law_of_the_first_beside_it() -> None:
    """The draft's second law differs from its first: "ab" is tested against 1/2 * 3/4, "a" and "b" have 1/2."""
    draft = TokenModel(PAIR[1], lambda ids: (F(1, 4), F(3, 4)) if ids else (F(1, 2), F(1, 2)))
    method = methods.find("transferred")
    proposals = method.propose(PAIR[0], draft, "", 2)
    (both,) = (proposal for proposal in proposals if proposal.tokens == (2,))
    assert method.draft_row(both, 0, proposals, PAIR[0], PAIR[1]) == (F(1, 2), F(1, 2), F(3, 8))


def test_a_draft_without_shared_tokens_is_refused() -> None:
    target = fixed(small_tokenizer(["a", "b"]), 1, 1)
    draft = fixed(small_tokenizer(["a", "b", "ab"]), 0, 0, 1)
    with pytest.raises(ValueError, match=r"^draft.row\(\(\)\) has no mass on the 2 tokens of draft.tokenizer"):
        specsim.across_tokenizers(target, draft, "intersection")
    assert specsim.across_tokenizers(target, draft, "exact_match").lossless


def test_merges_are_made_in_their_order() -> None:
    """Of "abcbc" the pair that was learnt first is merged everywhere, before the other one."""
    words = ["a", "b", "c", "bc", "ab"]
    later, earlier = ("a", "b"), ("b", "c")
    encode = specsim.exact.tokenizers.tokenizer.encode
    assert encode(small_tokenizer(words, [earlier, later]), "abcbc") == (0, 3, 3)
    assert encode(small_tokenizer(words, [later, earlier]), "abcbc") == (4, 2, 3)


def test_decode_is_the_inverse_of_encode() -> None:
    rng = random.Random(5)
    for _ in range(50):
        made = random_tokenizer(rng, "abc")
        text = "".join(rng.choice("abc") for _ in range(rng.randint(0, 9)))
        ids = specsim.exact.tokenizers.tokenizer.encode(made, text)
        assert decode(made, ids) == text
        assert is_canonical(made, ids)


@pytest.mark.parametrize(
    ("tokens", "merges", "message"),
    [
        (["a", ""], None, r"tokens\[1\] is ''; expected a text of at least one character"),
        (["a", "a"], None, r"tokens\[1\] is 'a', which is tokens\[0\], too"),
        (["a", "ab"], None, r"tokens\[1\] is 'ab', but its character 'b' is no token by itself"),
        (["a", "b"], [("a", "b")], r"merges\[0\] is 'a' \+ 'b'; expected two tokens that make up a third"),
        ([], None, "the number of tokens"),
    ],
)
def test_bad_tokenizers(tokens: list[str], merges: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        specsim.small_tokenizer(tokens, merges)


def test_a_character_that_is_no_token_is_named() -> None:
    with pytest.raises(ValueError, match=r"text\[1\] is 'x', which is no token"):
        specsim.exact.tokenizers.tokenizer.encode(PAIR[0], "axb")
