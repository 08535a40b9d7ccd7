"""Conformance checks of controllers: does stopping keep the law, who is seen, do texts heed each other?"""

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

RULES = (tokenwise, block)  # the target goes on as it is after their blocks
SHAPES = ((2, 4, 3), (3, 3, 2))  # tokens, length of the text, drafts of a block at most
TEXTS, BLOCKS, DRAFTS = 6, 8, 5  # of runs on drawn signals
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
        found = list(inspect.signature(getattr(controller, name)).parameters)
        assert found == wanted, f"{name} takes {', '.join(found)}; a controller's takes {', '.join(wanted)}"


def stopping_keeps_the_law(controller: ModuleType) -> None:
    """Every draw of a decode loop followed: the text has the target's law, with tokenwise and block verification."""
    _no_bound(controller)
    for seed, (vocab, length, most) in enumerate(SHAPES):
        target, draft = (rational_table(np.random.default_rng([seed, i]), vocab, length) for i in range(2))
        wanted = {text: mass for text, mass in target_law(target, length).items() if mass}
        for params, rule in itertools.product(discover.process_cases(controller), RULES):
            found = controlled_text.law(discover.with_params(controller, params), rule, target, draft, length, most)
            off = sum(abs(found.get(text, 0) - wanted.get(text, 0)) for text in found.keys() | wanted.keys()) / 2
            what = f"{vocab} tokens, {length} places, {params}, {discover.name_of(rule)}"
            assert off == 0, f"{what}: the law of the text is off by {off} (TV)"


def states_are_values(controller: ModuleType) -> None:
    """What is made of a state leaves it as it is: asked again with the same, a controller says the same."""
    for params in discover.process_cases(controller):
        own = discover.with_params(controller, params)
        once, twice = (_lengths(own, range(TEXTS), again=again) for again in (False, True))
        assert (once == twice).all(), f"{params}: lengths change when every question is asked twice"


def batches(controller: ModuleType) -> None:
    """Texts that are drafted together get the lengths that each gets alone; some stop before others."""
    for params in discover.process_cases(controller):
        own = discover.with_params(controller, params)
        together = _lengths(own, range(TEXTS))
        for i in range(TEXTS):
            alone = _lengths(own, [i])[:, 0]
            assert (together[:, i] == alone).all(), f"{params}: {together[:, i]} drafts in a batch, {alone} alone"


def same_on_torch(controller: ModuleType) -> None:
    """Torch's signals give the lengths that NumPy's give."""
    if importlib.util.find_spec("torch") is None:
        raise Skipped("torch is not installed (extra `real`): nothing to compare NumPy with")
    import torch

    for params in discover.process_cases(controller):
        own = discover.with_params(controller, params)
        numpy, found = (_lengths(own, range(TEXTS), kind=kind) for kind in (np.asarray, torch.tensor))
        assert (found == numpy).all(), f"{params}: other lengths on torch than in NumPy"


def _no_bound(controller: ModuleType) -> None:
    if discover.controller_facts(controller).bound:
        raise Skipped("the module says BOUND = True: it is told what will be kept, which no decode loop can be")


def _lengths(controller: ModuleType, texts: Any, *, kind: Kind = np.asarray, again: bool = False) -> Array:
    """Drafts (blocks, texts) of each block, along the same signals and fates in whatever company; one text has no axis.

    `again`: everything is asked twice, and the second answer counts.
    """
    shape = (len(texts),) if len(texts) > 1 else ()
    sees = discover.controller_facts(controller).see
    state, out = controller.start(shape), []
    for number in range(BLOCKS):
        drafted, going = np.ones(len(texts), dtype=np.int64), np.ones(len(texts), dtype=bool)
        for place in range(1, DRAFTS):
            told = _signals(texts, number, place, shape, kind)
            for _ in range(1 + again):
                seen = controller.see(state, told) if sees else state
                goes = np.reshape(host(controller.more(seen, told)), len(texts)) > 0
            state, going = seen, going & goes
            drafted = drafted + going
            if not going.any():
                break
        fates = ((np.random.default_rng([2, i, number]), n) for i, n in zip(texts, drafted, strict=True))
        kept = np.array([rng.integers(0, n + 1) for rng, n in fates])
        fate = [kind(w.reshape(shape)) for w in (kept, drafted)]
        for _ in range(1 + again):
            learned = controller.learn(state, *fate)
        state = learned
        out.append(drafted)
    return np.array(out)


def _signals(texts: Any, number: int, place: int, shape: tuple[int, ...], kind: Kind) -> Signals:
    """Signals of one draft of each text, drawn by (text, block, draft)."""
    rows = []
    for i in texts:
        rng = np.random.default_rng([1, i, number, place])
        rows.append((np.sort(rng.dirichlet(np.full(12, 0.15)))[::-1], rng.random()))
    top = np.array([row[:10] for row, _ in rows])
    entropy = np.array([-(row[row > 0] * np.log(row[row > 0])).sum() for row, _ in rows])
    own = np.array([row[int(np.searchsorted(row.cumsum(), u * row.sum()))] for row, u in rows])
    where = np.full(len(rows), place)
    return Signals(kind(top.reshape(*shape, 10)), *(kind(w.reshape(shape)) for w in (entropy, where, own)))


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
