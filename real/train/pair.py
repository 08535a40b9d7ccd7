"""Train a small language model and a smaller one that drafts for it, on one processor core.

Four stages, each a function of the recipe and of the step's number alone, so that a run that was
stopped goes on to the weights it would have had: the draft learns the text, the target learns the
text, the target writes, and the draft learns the target's distributions, on the corpus and on what
the target wrote, since a draft model is used on text that its target writes.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor
from transformers import AutoModelForCausalLM

from real.options import positive
from real.train import corpus as text_corpus
from real.train.checkpoint import STAGES, Run, deferred_interrupt, fingerprint, load, save
from real.train.corpus import Corpus
from real.train.evaluate import evaluate, write
from real.train.loop import Schedule, descend
from real.train.muon import in_bfloat16
from real.train.recipe import PROMPT, Recipe
from real.train.step import batch_at, build, cross_entropy, divergence, on_threads, optimizers
from specsim.base import limits

# Windows that the target writes in one step of the stage "write".
_WRITTEN_AT_ONCE = 32


def _plan(recipe: Recipe, stage: str) -> tuple[int, float]:
    """Return the number of steps and the highest learning rate of a stage."""
    if stage == "write":
        return math.ceil(recipe.written / _WRITTEN_AT_ONCE), 0.0
    return getattr(recipe, f"{stage}_steps"), getattr(recipe, f"{stage}_rate")


def _loss(recipe: Recipe, run: Run, stream: Tensor, stage: str, step: int) -> Tensor:
    """Return the loss of a step: cross-entropy, or in the last stage KL(target || draft).

    Its windows are from the corpus, in the last stage also from what the target wrote.
    """
    # Windows of the corpus. Each of the four stages has another seed, and so another order.
    num_written = round(recipe.written_share * recipe.batch) if stage == "distil" else 0
    seed = 4 * recipe.seed + STAGES.index(stage)
    ids = torch.empty(0, recipe.window, dtype=torch.long)
    if num_written < recipe.batch:
        ids = batch_at(stream, step, recipe.batch - num_written, recipe.window, seed)
    if stage != "distil":
        return cross_entropy(run.target if stage == "target" else run.draft, ids)

    # Windows that the target wrote, one after the other; after the last comes the first again.
    written = torch.cat(run.written)
    numbers = torch.arange(step * num_written, (step + 1) * num_written) % len(written)
    return divergence(run.target, run.draft, torch.cat([ids, written[numbers]]))


def _write_more(recipe: Recipe, run: Run, stream: Tensor) -> None:
    """Let the target write the windows of one step; append them, a tensor (count, window), to `run.written`.

    A window begins with a random prompt of the corpus, which the target continues.
    """
    # How many windows this step writes, and the prompts that they begin with.
    count = min(_WRITTEN_AT_ONCE, recipe.written - run.step * _WRITTEN_AT_ONCE)
    seed = [recipe.seed, STAGES.index("write"), run.step]
    starts = np.random.default_rng(seed).integers(len(stream) - PROMPT + 1, size=count)
    prompts = torch.stack([stream[start : start + PROMPT] for start in starts])

    # Tokens are drawn with a seed of this step, so that a resumed run draws the same.
    (sampling_seed,) = np.random.SeedSequence(seed).generate_state(1).tolist()
    with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16()):
        run.written.append(write(run.target, prompts, recipe.window, seed=sampling_seed))


def _steps(recipe: Recipe, run: Run, stream: Tensor) -> Iterator[float]:
    """Carry the run on; yield the loss after each step, when `run` is whole and can be saved."""
    while run.stage < len(STAGES):
        # The model that this stage trains, and its optimizers.
        stage = STAGES[run.stage]
        steps, highest_rate = _plan(recipe, stage)
        model = run.target if stage == "target" else run.draft
        if not run.optimizers:
            run.optimizers = optimizers(model, recipe.weight_decay)
        # Writing has no loss; all other stages are steps of training.
        if stage == "write":
            while run.step < steps:
                _write_more(recipe, run, stream)
                run.step += 1
                yield math.nan
        else:
            schedule = Schedule(steps, highest_rate, recipe.warmup)
            loss = partial(_loss, recipe, run, stream, stage)
            for step, value in descend(model, run.optimizers, loss, schedule, first=run.step):
                run.step = step + 1
                yield value
        run.stage, run.step, run.optimizers = run.stage + 1, 0, []


def _windows(stream: Tensor, window: int) -> Tensor:
    """Return all whole windows (n, window) of a stream, in order; what is left at its end is dropped."""
    return stream[: len(stream) // window * window].view(-1, window)


def _check_out(out: Path) -> None:
    """Make the folder; raise ValueError if it cannot be made or written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise ValueError(f"out: cannot write to {str(out)!r} ({error})") from error


def _save_model(model: Any, tokenizer: Any, folder: Path) -> Any:
    """Save a model as bfloat16; return it as users load it: rounded, computing in float32."""
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def _export(
    out: Path,
    run: Run,
    recipe: Recipe,
    corpus: Corpus,
    tokenizer: Any,
    is_users_text: bool,
    seconds: float,
) -> dict[str, Any]:
    """Write the pair and its measurements; return the record, what recipe.json holds.

    That file is written last, so that it marks a whole pair.
    """
    # The models.
    (out / "recipe.json").unlink(missing_ok=True)
    models = (("target", run.target), ("draft", run.draft))
    target, draft = (_save_model(model, tokenizer, out / name) for name, model in models)

    # The prompts.
    source, licence = "text given by the user", ""
    if not is_users_text:
        source = f"Python {platform.python_version()} standard library"
        licence = ", under the PSF licence (PSF-2.0)"
    prompts = text_corpus.cut_prompts(tokenizer, corpus.held_out, seed=recipe.seed)
    note = {
        "note": f"Cut from held-out files of the {source}{licence}",
        "files": [name for name, _ in prompts],
        "prompts": [text for _, text in prompts],
    }
    _dump(out / "prompts.json", note)

    # The record.
    held_out = torch.from_numpy(text_corpus.token_stream(tokenizer, corpus.held_out))
    windows = _windows(held_out, recipe.window)
    packages = ("torch", "transformers", "tokenizers", "safetensors", "numpy")
    record = {
        "recipe": asdict(recipe),
        "source": source,
        "corpus_sha256": corpus.sha256,
        "held_out_files": len(corpus.held_out),
        "held_out_tokens": windows.numel(),
        "parameters": {"target": target.num_parameters(), "draft": draft.num_parameters()},
        "measured": evaluate(target, draft, windows),
        "seconds": round(seconds),
        "computed_in": "bfloat16" if in_bfloat16() else "float32",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
    }
    _dump(out / "recipe.json", record)
    return record


def _dump(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def train_pair(
    out: str | Path,
    recipe: Recipe | None = None,
    *,
    text: Sequence[str | Path] = (),
    threads: int = 1,
    progress: bool = True,
    checkpoint_every: float = 120.0,
) -> dict[str, Any]:
    """Train the pair and save it: target/, draft/, prompts.json and recipe.json in `out`.

    A checkpoint in `out` is rewritten every `checkpoint_every` seconds and at Ctrl-C; the same call
    carries it on, to the very weights that an unbroken run gives with as many threads.

    Parameters
    ----------
    out : path
        Folder to make or fill.
    recipe : Recipe, optional
        Sizes, steps and rates; by default those of the bundled pair.
    text : sequence of paths
        UTF-8 files to learn from; by default the running Python's standard library.
    threads : int
        Processor threads.
    progress : bool
        Show bars with the loss and the time left, on standard error.
    checkpoint_every : float
        Seconds.

    Returns
    -------
    dict
        What recipe.json holds: ``recipe``, ``source``, ``corpus_sha256``, ``held_out_files``,
        ``held_out_tokens``, ``parameters``, ``measured`` (see `evaluate`), ``seconds`` of training,
        ``computed_in`` (the type of its products), ``python`` and ``packages``.

    Raises
    ------
    ValueError
        If an argument cannot work, before any training, or if `out` holds the checkpoint of a run
        with other settings; if a loss is not finite, at the step.
    KeyboardInterrupt
        At Ctrl-C, after the checkpoint is written.
    """
    # Refuse what cannot work, then read the text.
    out, recipe = Path(out), recipe or Recipe()
    positive(threads, "threads", limits.MAX_THREADS)
    _check_out(out)
    paths = [Path(path) for path in text]
    documents = text_corpus.text_documents(paths) if paths else text_corpus.stdlib_documents()
    corpus = text_corpus.split(documents, recipe.held_out)
    tokenizer = text_corpus.train_tokenizer(corpus.train, recipe.vocab, recipe.window)
    stream, held_out = (
        torch.from_numpy(text_corpus.token_stream(tokenizer, documents))
        for documents in (corpus.train, corpus.held_out)
    )
    for use, tokens in (("to learn from", stream), ("held out", held_out)):
        if len(tokens) < recipe.window:
            raise ValueError(f"text: {len(tokens)} tokens {use} do not fill one window of {recipe.window}")

    # New models, or those of an unfinished run.
    size = len(tokenizer), recipe.window, recipe.seed
    run = Run(target=build(recipe.target, *size), draft=build(recipe.draft, *size))
    settings, checkpoint = fingerprint(recipe, corpus), out / "checkpoint.pt"
    before = load(checkpoint, run, recipe, settings)
    started = saved = time.monotonic()

    # Steps, each shown; a checkpoint now and then, and at Ctrl-C.
    with on_threads(threads), deferred_interrupt() as interrupted, _bars(progress) as bars:
        tasks: dict[int, Any] = {}
        for loss in _steps(recipe, run, stream):
            stage = STAGES[run.stage]
            steps, _ = _plan(recipe, stage)
            if run.stage not in tasks:
                steps_before = run.step - 1
                tasks[run.stage] = bars.add_task(stage, total=steps, completed=steps_before, loss="")
            shown = "-" if math.isnan(loss) else f"{loss:.3f}"
            bars.update(tasks[run.stage], completed=run.step, loss=shown)
            now = time.monotonic()
            if interrupted or now - saved >= checkpoint_every:
                saved, seconds = now, before + now - started
                save(checkpoint, run, settings, seconds)
                bars.console.print(f"{stage} {run.step}/{steps}: loss {shown}, {seconds:.0f} s")
            if interrupted:
                raise KeyboardInterrupt(f"the run is kept in {checkpoint}")

    # The pair, its prompts and its record.
    seconds = before + time.monotonic() - started
    with on_threads(threads):
        record = _export(out, run, recipe, corpus, tokenizer, bool(text), seconds)
    checkpoint.unlink(missing_ok=True)
    return record


def _bars(show: bool) -> Progress:
    """Return bars of the stages with the loss and the time left, on standard error; hidden unless `show`."""
    return Progress(
        TextColumn("{task.description:>7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True, quiet=not show),
        disable=not show,
    )
