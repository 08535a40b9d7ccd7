"""Conformance checks of controllers: does stopping keep the law, what is seen, are texts independent?"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.texts import host
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, Skipped
from specsim.exact import controlled_text
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table
from specsim.types import Array, Controller, ControllerOptions, Signals
from specsim.verify.chain import block, tokenwise

# Rules after whose blocks the target goes on unchanged.
RULES = (tokenwise, block)
# Tokens, length of the text, and largest number of drafts of a block.
SHAPES = ((2, 4, 3), (3, 3, 2))
# Texts, blocks, and largest number of drafts of a block, of runs on drawn signals.
TEXTS, BLOCKS, DRAFTS = 6, 8, 5
# Makes an array of a library of a NumPy one.
Kind = Callable[[Array], Array]


def contract(controller: ModuleType) -> None:
    """The module has every name of specsim.types.Controller."""
    same_names(controller, Controller)


def sees_the_draft_only(controller: ModuleType) -> None:
    """No function takes more than the Protocol gives it: there is no argument that the target's rows could come by."""
    functions = dict(inspect.getmembers(Controller, inspect.isfunction))
    functions |= dict(inspect.getmembers(ControllerOptions, inspect.isfunction))
    for name in ("more", "learn", "see", "block"):
        if not hasattr(controller, name):
            continue
        wanted = list(inspect.signature(functions[name]).parameters)[1:]
        parameters = list(inspect.signature(getattr(controller, name)).parameters)
        assert parameters == wanted, f"{name} takes {', '.join(parameters)}; a controller's takes {', '.join(wanted)}"


def stopping_keeps_the_law(controller: ModuleType) -> None:
    """Every draw of a decode loop followed: the text has the target's law, with tokenwise and block verification."""
    _no_bound(controller)
    for seed, (vocab, length, most) in enumerate(SHAPES):
        target, draft = (rational_table(np.random.default_rng([seed, i]), vocab, length) for i in range(2))
        wanted = {text: mass for text, mass in target_law(target, length).items() if mass}
        for params, rule in itertools.product(discover.process_cases(controller), RULES):
            law = controlled_text.law(discover.with_params(controller, params), rule, target, draft, length, most)
            off = sum(abs(law.get(text, 0) - wanted.get(text, 0)) for text in law.keys() | wanted.keys()) / 2
            what = f"{vocab} tokens, {length} places, {params}, {discover.name_of(rule)}"
            assert off == 0, f"{what}: the law of the text is off by {off} (TV)"


def states_are_values(controller: ModuleType) -> None:
    """A new state leaves the old one unchanged: asked twice alike, a controller answers alike."""
    for params in discover.process_cases(controller):
        configured = discover.with_params(controller, params)
        once, twice = (_lengths(configured, range(TEXTS), again=again) for again in (False, True))
        assert (once == twice).all(), f"{params}: lengths change when every question is asked twice"


def batches(controller: ModuleType) -> None:
    """Texts that are drafted together get the lengths that each gets alone; some stop before others."""
    for params in discover.process_cases(controller):
        configured = discover.with_params(controller, params)
        together = _lengths(configured, range(TEXTS))
        for i in range(TEXTS):
            alone = _lengths(configured, [i])[:, 0]
            assert (together[:, i] == alone).all(), f"{params}: {together[:, i]} drafts in a batch, {alone} alone"


def same_on_torch(controller: ModuleType) -> None:
    """Torch's signals give the lengths that NumPy's give."""
    if importlib.util.find_spec("torch") is None:
        raise Skipped("torch is not installed (extra `real`): nothing to compare NumPy with")
    import torch

    for params in discover.process_cases(controller):
        configured = discover.with_params(controller, params)
        in_numpy, on_torch = (_lengths(configured, range(TEXTS), kind=kind) for kind in (np.asarray, torch.tensor))
        assert (on_torch == in_numpy).all(), f"{params}: other lengths on torch than in NumPy"


def _no_bound(controller: ModuleType) -> None:
    """Skip controllers that know what will be accepted, which no decode loop can tell them."""
    if discover.controller_facts(controller).bound:
        raise Skipped("the module says BOUND = True: it is told what will be kept, which no decode loop can be")


def _lengths(controller: ModuleType, texts: Any, *, kind: Kind = np.asarray, again: bool = False) -> Array:
    """Return the drafts (blocks, texts) of each block, along signals and fates that depend on the text alone.

    A single text has no axis. With `again` everything is asked twice, and the second answer counts.
    """
    shape = (len(texts),) if len(texts) > 1 else ()
    sees = discover.controller_facts(controller).see
    state, lengths = controller.start(shape), []
    for number in range(BLOCKS):
        # Draft until every text has stopped.
        drafted, going = np.ones(len(texts), dtype=np.int64), np.ones(len(texts), dtype=bool)
        for place in range(1, DRAFTS):
            signals = _signals(texts, number, place, shape, kind)
            for _ in range(1 + again):
                seen = controller.see(state, signals) if sees else state
                goes = np.reshape(host(controller.more(seen, signals)), len(texts)) > 0
            state, going = seen, going & goes
            drafted = drafted + going
            if not going.any():
                break

        # The controller learns how many drafts were accepted, a random number.
        fates = ((np.random.default_rng([2, i, number]), n) for i, n in zip(texts, drafted, strict=True))
        accepted = np.array([rng.integers(0, n + 1) for rng, n in fates])
        fate = [kind(numbers.reshape(shape)) for numbers in (accepted, drafted)]
        for _ in range(1 + again):
            learned = controller.learn(state, *fate)
        state = learned
        lengths.append(drafted)
    return np.array(lengths)


def _signals(texts: Any, number: int, place: int, shape: tuple[int, ...], kind: Kind) -> Signals:
    """Return the signals of one draft of each text, drawn by (text, block, draft)."""
    rows = []
    for i in texts:
        rng = np.random.default_rng([1, i, number, place])
        rows.append((np.sort(rng.dirichlet(np.full(12, 0.15)))[::-1], rng.random()))
    # The largest probabilities, the entropy, and the probability of the token that is drawn.
    top = np.array([row[:10] for row, _ in rows])
    entropy = np.array([-(row[row > 0] * np.log(row[row > 0])).sum() for row, _ in rows])
    drawn = np.array([row[int(np.searchsorted(row.cumsum(), u * row.sum()))] for row, u in rows])
    where = np.full(len(rows), place)
    return Signals(kind(top.reshape(*shape, 10)), *(kind(w.reshape(shape)) for w in (entropy, where, drawn)))


CONTROL_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        sees_the_draft_only,
        stopping_keeps_the_law,
        states_are_values,
        batches,
        same_on_torch,
    )
}
