"""The command `specsim`. Bad input ends with status 2 and one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from specsim import discover
from specsim.base.files import write_bytes
from specsim.report import tables
from specsim.report.markers import refresh

PARAM = "name=value of one of the rule's own parameters; may be given several times."

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Exact theory of speculative decoding.")


@app.command()
def rules(
    write: Annotated[Path | None, typer.Option(help="Refresh the table between the markers of this file.")] = None,
) -> None:
    """Print the table of shipped rules, or refresh it in a document."""
    if write is None:
        typer.echo(tables.rules_table())
        return
    try:
        write_bytes(write, refresh(write.read_text(encoding="utf-8"), "rules", tables.rules_table()).encode())
    except (OSError, ValueError) as error:
        _fail(str(error))


@app.command()
def check(
    rule: Annotated[str, typer.Argument(help="Name of a shipped rule, or the path of a rule file.")],
    family: Annotated[str, typer.Option(help="step, chain, tree or draft.")] = "step",
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None,
) -> None:
    """Run every conformance check on a rule; status 1 if one fails. What is skipped says why."""
    from specsim.testing import conform

    try:
        module = discover.own_rule(rule) or discover.find(family, rule)
        findings = conform(module, family, params=discover.parsed_params(module, param or []))
    except (OSError, ValueError) as error:
        _fail(str(error))
    for finding in findings:
        typer.echo(f"{finding.outcome}  {finding.check}  {finding.detail}".rstrip())
    if any(finding.failed for finding in findings):
        raise typer.Exit(1)


@app.command()
def plan(
    kept: Annotated[float | None, typer.Argument(metavar="ALPHA", help="The same as --alpha.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Acceptance of one draft, the same at every position.")] = None,
    ranks: Annotated[
        str | None, typer.Option(help="Of siblings by rank, as 0.7,0.12,0.05: trees are planned, too.")
    ] = None,
    hazards: Annotated[
        Path | None, typer.Option(help="CSV: position, hazard; or position, tried, kept, counted in a log.")
    ] = None,
    histogram: Annotated[
        Path | None, typer.Option(help='JSON: "drafted", g, and "counts" of the blocks that kept 0, ..., g.')
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="safetensors: p, q (n, V) along texts of the target; tokens, lengths if known.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="A model of the table, or a config.json.")] = None,
    draft: Annotated[str | None, typer.Option(help="The same.")] = None,
    hardware: Annotated[str | None, typer.Option(help="A device of the table.")] = None,
    tp: Annotated[int, typer.Option(help="Devices that share the target.")] = 1,
    draft_tp: Annotated[int, typer.Option(help="Devices that share the draft.")] = 1,
    dtype: Annotated[str, typer.Option(help="bf16, fp16, fp8, int8 or fp4: of weights and products.")] = "bf16",
    cost_ratio: Annotated[
        float | None, typer.Option(help="Instead of models and hardware: draft step over target step.")
    ] = None,
    verify_cost: Annotated[
        str | None, typer.Option(help="With --cost-ratio: passes over 1, 2, ... tokens in target steps, as 1,1.02,1.1.")
    ] = None,
    overhead: Annotated[float, typer.Option(help="Everything else per cycle: ms, or target steps.")] = 0.0,
    batch: Annotated[str, typer.Option(help="Sequences decoded together, as 1,8,64.")] = "1",
    context: Annotated[str, typer.Option(help="Tokens before the block, as 1k,32k (k is 1024).")] = "1k",
    max_gamma: int = 16,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    emit: Annotated[str | None, typer.Option(help="vllm, llamacpp or aiconfigurator: print its options.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a PNG: by gamma and draft cost, batch and context.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Will speculation help, with how many drafts, by how much? A prediction, with what it rests on."""
    from specsim.commands.plan import command

    try:
        if kept is not None and alpha is not None:
            raise ValueError(f"alpha is given twice: {kept:g} and {alpha:g}")
        said, notes = command.run(
            alpha=kept if alpha is None else alpha, ranks=ranks, hazards=hazards, histogram=histogram, rows=rows,
            target=target, draft=draft, device=hardware, tp=tp, draft_tp=draft_tp, dtype=dtype, cost_ratio=cost_ratio,
            verify_cost=verify_cost, overhead=overhead, batch=batch, context=context, max_gamma=max_gamma, level=level,
            engine=emit, plot=plot,
            as_json=as_json,
        )  # fmt: skip
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))
    typer.echo(said)
    if notes:
        typer.echo(notes, err=True)


@app.command()
def validate(
    file: Annotated[Path | None, typer.Argument(help="CSV of published rows; by default those shipped.")] = None,
    fit: Annotated[str, typer.Option(help="row_ids, as a,b,c: one overhead a machine is fitted on these only.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score the predictor on published speedups: per source, and every row that cannot be or needs an explanation."""
    from specsim.claims import rows as published
    from specsim.claims import score as validation

    try:
        rows = published.shipped() if file is None else published.read(file)
        found = validation.validate(rows, fit=[name.strip() for name in fit.split(",") if name.strip()])
    except ValueError as error:
        _fail(str(error))
    if as_json:
        shown = {"sources": validation.summary(found), "rows": [score._asdict() for score in found.scores]}
        typer.echo(json.dumps(shown, allow_nan=False))
    else:
        typer.echo(validation.report(found))


@app.command()
def plots(folder: Annotated[Path, typer.Argument(help="Where plan.png, validation.png and lengths.png go.")]) -> None:
    """Draw the plots of the README anew. Needs the extra `plot`."""
    from specsim.report import plots

    try:
        for path in plots.write_all(folder):
            typer.echo(path)
    except (OSError, ValueError, ImportError) as error:
        _fail(str(error))


@app.command()
def simulate(
    target: Annotated[
        str,
        typer.Option(
            help="law:1/2,.3,.2  or  markov:FILE.npy  or  text:FILE:ORDER  or  mixture:WEIGHTS.npy:LAWS.npy  or  "
            "recorded:ROWS.npy (see specsim.markov, ngram, mixture, recorded)."
        ),
    ],
    draft: Annotated[str, typer.Option(help="The same.")],
    rule: Annotated[str, typer.Option(help="Name of a rule (see `specsim rules`), or its file.")] = "tokenwise",
    gamma: Annotated[int | None, typer.Option(help="Drafted positions per block.")] = None,
    tree: Annotated[
        str | None, typer.Option(help="Instead of gamma: children per level, as 2,2,1; paths or a beam, as 2x3.")
    ] = None,
    num_drafts: Annotated[int, typer.Option(help="Candidates per position of a step rule.")] = 1,
    scheme: Annotated[str | None, typer.Option(help="How candidates, or a tree's children, are drawn.")] = None,
    step: Annotated[str | None, typer.Option(help="The step rule of a tokenwise or lifted tree.")] = None,
    param: Annotated[list[str] | None, typer.Option(help=PARAM)] = None,
    blocks: Annotated[float | None, typer.Option(help="Target calls in all; 1e5 if no tokens are given.")] = None,
    tokens: Annotated[float | None, typer.Option(help="Instead of blocks: tokens emitted in all.")] = None,
    burn_in: Annotated[int, typer.Option(help="First blocks of every text that are not counted.")] = 0,
    sequences: Annotated[int, typer.Option(help="Texts among which they are shared out.")] = 1024,
    seed: int = 0,
    backend: Annotated[str, typer.Option(help="numpy or jax.")] = "numpy",
    checkpoint: Annotated[Path | None, typer.Option(help="A .npz file to continue and to write.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Decode with a rule on toy models whose laws are known: tokens per block beside the exact value, hazards."""
    from specsim.commands import simulation as command

    try:
        blocks = 1e5 if blocks is None and tokens is None else blocks
        much = {"blocks": blocks, "tokens": tokens}
        for name, n in much.items():
            if n is not None and not n.is_integer():
                raise ValueError(f"{name} must be a whole number, got {n}")
        shown, finished = command.run(
            target, draft, rule=rule, gamma=gamma, parents=command.shape(tree, scheme), num_drafts=num_drafts,
            scheme=scheme, step=step, param=param or [], burn_in=burn_in, sequences=sequences, seed=seed,
            backend=backend, checkpoint=checkpoint, as_json=as_json,
            **{name: None if n is None else int(n) for name, n in much.items()},
        )  # fmt: skip
    except (ValueError, TypeError, ImportError) as error:
        _fail(str(error))
    typer.echo(shown)
    if not finished:
        raise typer.Exit(130)


def _fail(message: str) -> None:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    app()
