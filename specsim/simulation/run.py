"""Monte-Carlo decode loops: many texts in lockstep, shard by shard, on NumPy or compiled by JAX."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, source
from specsim.base.files import check_writable
from specsim.base.locks import locked
from specsim.base.unknown import unknown
from specsim.base.warned import warn
from specsim.discover import Rule
from specsim.simulation.blocks import ready
from specsim.simulation.checkpoints import Checkpoint, continued, store
from specsim.simulation.decode_loop import Setup, setup
from specsim.simulation.rounds import Rounds, on_jax, on_numpy
from specsim.simulation.shards import CORES, MOST, SHARD, Job, checked_seed, consecutive, shard
from specsim.simulation.toys.models import Automaton
from specsim.simulation.trace import SOURCE, Trace, merge_traces
from specsim.types import Array

BACKENDS = ("numpy", "jax")
# Most sequences in one run, and the largest number of a sequence: places in the generator must fit into 64 bits.
MAX_SEQUENCES, MAX_NUMBER = 2**24, 2**48
# Most blocks, or tokens, of a run: weeks of decoding.
MAX_BLOCKS = 10**13

Progress = Callable[[float, Trace | None], None]


@np.errstate(under="ignore")
def simulate(
    target: Automaton | Array,
    draft: Automaton | Array,
    *,
    rule: Rule,
    num_drafts: int = 1,
    scheme: str | None = None,
    step: Rule | None = None,
    gamma: int | None = None,
    parents: Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
    blocks: int | None = None,
    tokens: int | None = None,
    burn_in: int = 0,
    seed: int = 0,
    sequences: int | range = 1024,
    backend: str = "numpy",
    keep_tokens: bool = False,
    checkpoint: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trace:
    r"""Decode texts with a rule on models whose laws are known, and count.

    .. math:: \hat\tau = \frac{\text{tokens emitted}}{\text{blocks}}

    A chain rule verifies gamma drafts at a time. A step rule verifies K candidates at each of gamma positions in turn,
    drawn after the token emitted before them, as long as that was a candidate; then a token of the target follows. A
    tree rule verifies a tree of one shape. After a block of a rule with a `continuation` (greedy_block) the blocks that
    follow are verified against the changed target until the change ends; changes nest.

    Block b of sequence s takes its uniforms from the counter-based generator Philox with key (seed, b), from place s
    times their number rounded up to a multiple of 4 on: neither batches, shards, backends nor the number of blocks
    matter. Backends may differ where rounding decides.

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models (`markov`, `mixture`, `ngram`, `recorded`), or one law each. Fractions become floats.
    rule : str, path or module
        Name of a chain or step rule, or of a tree rule if parents are given; or a module that is one, or its file.
    num_drafts : int
        Candidates K per position of a step rule.
    scheme : str, optional
        How a step rule's candidates or a tree's children are drawn, if the rule verifies several schemes; by default
        the first that it names. With "distinct", num_drafts is how many distinct candidates are expected.
    step : str, path or module, optional
        The step rule that "tokenwise" and "lifted" trees run, if not their own choice.
    gamma : int, optional
        Drafted positions per block; 0 is plain decoding.
    parents : sequence of int, optional
        Parents of the nodes of a token tree, instead of gamma (see `specsim.trees`); (width, depth) for scheme
        "beam". For "distinct", of its places: one number of them wherever there is more than one.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.
    blocks, tokens : int
        How much to simulate, one of the two: blocks, or tokens emitted, in all. Every sequence runs the same number of
        blocks, or until it has its share of the tokens; shares are rounded up.
    burn_in : int
        Blocks of every sequence that run first and are not counted (nor are their tokens kept): where contexts differ,
        what follows is nearer to the long run (`stationary_tau`) than what a text begins with.
    seed : int
        In 0..2^64-1.
    sequences : int or range
        Texts, or their numbers where this run is a shard of a larger one; they are independent.
    backend : str
        "numpy", or "jax" (extra `jax`), which compiles the loop.
    keep_tokens : bool
        Whether to return the texts.
    checkpoint : path, optional
        A .npz file, written after every shard; what it holds of this simulation is not run again.
    force : bool
        Whether to begin anew whatever the checkpoint holds, also where it is of another simulation.
    progress : callable, optional
        Called with the share that is done, and with the trace of the shards that are finished (None at first): what an
        interruption leaves.

    Returns
    -------
    Trace
        Counts, with tau, hazards and their intervals.

    Raises
    ------
    ValueError, TypeError
        A model or argument is wrong (named), the rule cannot verify such drafts, or the checkpoint has other settings.
    ImportError
        The backend is not installed.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (the loop); Salmon et al. 2011 (Philox); the rule's paper.

    Examples
    --------
    >>> trace = simulate([1/3, 2/3], [2/3, 1/3], rule="block", gamma=2, blocks=100_000)
    >>> low, high = trace.tau_interval()
    >>> low < 20 / 9 < high
    True
    """
    return simulate_setup(
        setup(target, draft, rule, gamma, parents, num_drafts, scheme, step, params, step_params),
        blocks=blocks,
        tokens=tokens,
        burn_in=burn_in,
        seed=seed,
        sequences=sequences,
        backend=backend,
        keep_tokens=keep_tokens,
        checkpoint=checkpoint,
        force=force,
        progress=progress,
    )


def simulate_setup(
    what: Setup,
    *,
    blocks: int | None = None,
    tokens: int | None = None,
    burn_in: int = 0,
    seed: int = 0,
    sequences: int | range = 1024,
    backend: str = "numpy",
    keep_tokens: bool = False,
    checkpoint: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """Return the trace of a decode loop that is checked already; the arguments are those of `simulate`."""
    # Refuse wrong amounts before any work.
    run, step = what.loop, what.step
    pair = what.pair._replace(p=what.pair.p.astype(np.float64), q=what.pair.q.astype(np.float64))
    if (blocks is None) == (tokens is None):
        raise ValueError("give blocks or tokens, one of the two")
    seed, burn_in = checked_seed(seed), _amount(burn_in, "burn_in", 0)
    if not isinstance(sequences, range):
        sequences = range(check.integer(sequences, "sequences", 1))
    if not sequences or sequences.step != 1 or sequences.start < 0:
        raise ValueError(f"sequences must be a range of consecutive numbers from 0 on, got {sequences}")
    if sequences.stop > MAX_NUMBER or len(sequences) > MAX_SEQUENCES:
        raise ValueError(f"sequences must be at most {MAX_SEQUENCES}, of numbers up to {MAX_NUMBER}, got {sequences}")
    if backend not in BACKENDS:
        raise unknown("backend", backend, BACKENDS)
    each_blocks, each_tokens = (
        None if n is None else -(-_amount(n, name, 1) // len(sequences))
        for name, n in (("blocks", blocks), ("tokens", tokens))
    )
    # Settings of the trace: a checkpoint is continued only if all of them agree.
    digest = hashlib.sha256()
    for table in pair[:3]:
        digest.update(np.ascontiguousarray(table).data)
    settings = {
        "rule": run.rule.__name__,
        "gamma": None if run.family == "tree" else run.depth,
        "tree": run.beam or run.parents,
        "step": None if step is None else discover.name_of(discover.find("step", step)),
        "params": _written(what.params),
        "step_params": _written(what.step_params),
        "num_drafts": run.num_drafts,
        "scheme": run.scheme,
        "blocks per sequence": each_blocks,
        "tokens per sequence": each_tokens,
        "burn_in": burn_in or None,
        "seed": seed,
        "keep_tokens": bool(keep_tokens),
        "start": pair.start,
        f"rule{SOURCE}": source.of_module(run.rule),
        f"step{SOURCE}": "" if step is None else source.of_module(discover.find("step", step)),
        f"specsim{SOURCE}": source.package(),
        "models (SHA-256)": digest.hexdigest(),
    }
    # Run it; no other process may write the checkpoint meanwhile.
    # NumPy gets one thread: its short calls wait for the interpreter's lock, and two threads are slower than one.
    threads = CORES if backend == "jax" else 1
    written, keep = json.dumps(settings), bool(keep_tokens)
    job = Job(ready(run, pair), run, each_blocks, each_tokens, burn_in, seed, keep, written, threads)
    path = None if checkpoint is None else check_writable(Path(checkpoint))
    rounds = (on_jax if backend == "jax" else on_numpy)(job.pair, run)
    modules = (run.rule, *([] if step is None else [discover.find("step", step)]))
    kept = None if path is None else Checkpoint(path, force, modules)
    with nullcontext() if path is None else locked(path):
        return _pooled(job, sequences, rounds, kept, progress or (lambda share, so_far: None))


def _written(params: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Parameters by name, as text for JSON: also Fractions and numbers of NumPy; None for none."""
    return {name: str(value) for name, value in params.items()} if params else None


def _amount(value: int, name: str, least: int) -> int:
    """The number of blocks or tokens, checked: at least `least`, and no more than a machine can run."""
    return check.integer(value, name, least, MAX_BLOCKS)


def _pooled(job: Job, sequences: range, rounds: Rounds, checkpoint: Checkpoint | None, progress: Progress) -> Trace:
    """Run shard after shard, save the checkpoint after each, and return the trace of all sequences."""
    # Continue from the checkpoint.
    done, missing = None, list(sequences)
    if checkpoint is not None and (done := continued(checkpoint, job, sequences)) is not None:
        finished = set(done.sequences.tolist())
        missing = [s for s in sequences if s not in finished]
        progress(0.0 if missing else 1.0, done)
    # Shards are smaller where trees read many rows at a time; look-ups read none.
    most = MOST if job.pair.residuals is not None else min(MOST, job.loop.together)
    todo = list(consecutive(missing, min(max(len(sequences) // 4, SHARD), most)))
    with ThreadPoolExecutor(job.threads) as pool:
        for i, part in enumerate(todo):
            # The share of all shards, from the share of this one.
            def report(share: float, i: int = i, done: Trace | None = done) -> None:
                progress((i + share) / len(todo), done)

            new = shard(job, part, rounds, report, pool)
            done = new if done is None else merge_traces(done, new)
            if checkpoint is not None:
                store(done, checkpoint)
            progress((i + 1) / len(todo), done)
    # What the settings cannot hold is said.
    if checkpoint is not None and (unknown_part := source.unknown_of(checkpoint.modules)):
        warn(f"checkpoint {checkpoint.path}: {unknown_part}")
    assert done is not None
    return done
