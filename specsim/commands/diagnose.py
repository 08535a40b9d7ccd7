"""`specsim diagnose`: speculation is on and decoding is slower; why, and will it ever help?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from specsim.base.results import as_plain
from specsim.commands.diagnose_options import Diagnose
from specsim.commands.json_form import interval, json_answer
from specsim.commands.options import form_of, takes

if TYPE_CHECKING:
    from specsim.report.forms import Cell, Form, Table
    from specsim.speed.diagnosis import Diagnosis
    from specsim.speed.parts import Part
    from specsim.speed.prediction import Estimate
    from specsim.speed.remedies import Mend


@takes(Diagnose)
def diagnose(options: Diagnose) -> None:
    """Explain from an engine's logs why speculation is slower or no faster, and what would help."""
    from specsim.commands import two_runs
    from specsim.logs.read import read_log
    from specsim.speed import diagnosis

    # Runs with speculation and without, of all logs.
    form = form_of(options)
    files = [options.off, *(options.on or [])]
    runs = [run for path in files for run in read_log(path, by_batch=True)]
    off = [run for run in runs if not run.speculating]
    on = [run for run in runs if run.speculating]
    if len(files) == 1 and not (off and on):
        state = "on" if on else "off"
        raise ValueError(
            f"{options.off.name} holds runs with speculation {state} only; expected a log of the other, too"
        )
    if not on:
        raise ValueError(f"{files[-1].name} does not speculate; expected a log with speculation on")
    if options.gamma is not None:
        from specsim.base import check, limits

        check.integer(options.gamma, "gamma", 1, limits.MAX_GAMMA)

    # Two runs with speculation are compared with each other; else speculation with plain decoding.
    if not off:
        typer.echo(two_runs.compared(files, on, options, form))
        return
    result = diagnosis.diagnose(off, on, length=options.gamma, noise=options.noise, level=options.level)
    if form == "json":
        typer.echo(json_answer("specsim/diagnose", _json(result), indent=None))
    else:
        typer.echo(text(result, form))


VERDICTS = {"slower": "Slower", "faster": "Faster", "neither": "Neither slower nor faster for sure"}


def sentence(diagnosis: Diagnosis) -> str:
    """Return the answer: how fast, what a cycle is made of, and whether acceptance is the cause."""
    from specsim.logs.record import shown

    # Of several batches the smallest, the first, is explained.
    at_batch = ""
    if len(diagnosis.by_batch) > 1:
        smallest_batch, _ = diagnosis.by_batch[0]
        at_batch = f" at batch {shown(smallest_batch)}"
    if diagnosis.doubts:
        return f"Not plausible ({_times(diagnosis.speedup)} as measured{at_batch}): {'; '.join(diagnosis.doubts)}."
    opening = f"{VERDICTS[diagnosis.verdict]} ({_times(diagnosis.speedup)} as measured{at_batch})"
    if diagnosis.cycle is None or diagnosis.tau is None or diagnosis.certain is None:
        return f"{opening}; why is not in these logs: they do not say {' nor '.join(diagnosis.missing)}."
    # The cycle, and whether acceptance is the cause.
    parts = ", ".join(_part(part, diagnosis) for part in diagnosis.parts)
    why = "because" if diagnosis.verdict == "slower" else "while"
    costs = f"a cycle costs {diagnosis.cycle.value:.2f} plain steps and emits {diagnosis.tau.value:.2f} tokens"
    return f"{opening} {why} {costs}: {parts}; {_acceptance(diagnosis)}."


def _acceptance(diagnosis: Diagnosis) -> str:
    """Return whether acceptance is the cause, with the speedup that acceptance 1 would give."""
    assert diagnosis.certain is not None
    assert diagnosis.cycle is not None
    if not diagnosis.length:
        return "nothing was drafted, so acceptance is not the cause"
    # The speedup if every draft were accepted: at most 1 means that acceptance cannot be the cause.
    then = f"with 100 % it would be {_times(diagnosis.certain)}"
    if diagnosis.certain.value <= 1:
        return f"acceptance is not the cause: {then}"
    if diagnosis.cause == "acceptance":
        return f"acceptance is the main cause: {then}, and it pays from {diagnosis.cycle.value:.2f} tokens a cycle on"
    return f"acceptance is not the main cause: {then}"


def _part(part: Part, diagnosis: Diagnosis) -> str:
    """Return a part of the cycle in words, with its time in plain steps, such as "drafting 0.40".

    A part has several names if the logs do not tell these apart: "drafting and verifying 5 tokens 1.52 together".
    """
    from specsim.logs.record import shown
    from specsim.speed.parts import joined_names

    # The names of the part; fixed work has its time in ms as well.
    tokens = "1 token" if diagnosis.verified == 1 else f"{shown(diagnosis.verified or 0.0)} tokens"
    words = [f"verifying {tokens}" if name == "verifying" else name for name in part.names]
    if part.names == ("fixed work",):
        # Fixed work is what the other parts leave of the cycle: noise may make it negative.
        if part.steps.value <= 0:
            return "no fixed work"
        words = [f"{1e3 * part.steps.value * diagnosis.step:.3g} ms of fixed work"]
    together = " together" if len(words) > 1 else ""
    return f"{joined_names(words)} {part.steps.value:.2f}{together}"


def _times(estimate: Estimate) -> str:
    """Return a speedup as text."""
    return f"{estimate.value:.2f}x"


def text(diagnosis: Diagnosis, form: Form = "text") -> str:
    """Return the answer as text: sentence, cycle, remedies, batches, logs, what to measure, notes, assumptions."""
    from specsim.logs.record import shown
    from specsim.report.forms import Number, page, spanned
    from specsim.speed.parts import joined_names

    # The sentence, and tables of parts, remedies, batches and logs.
    lines: list[str | Table] = [sentence(diagnosis), ""]
    rows: list[list[Cell]]
    if diagnosis.parts:
        rows = [["part of a cycle", "plain steps"]]
        rows += [[" + ".join(part.names), spanned(*part.steps, 2)] for part in diagnosis.parts]
        lines += [rows, ""]
    if diagnosis.mends and not diagnosis.doubts:
        rows = [["what would mend it", "speedup", "how it is known"], *(_mend_row(mend) for mend in diagnosis.mends)]
        lines += [rows, ""]
    if len(diagnosis.by_batch) > 1:
        rows = [["batch", "speedup"]]
        rows += [[Number(shown(batch), batch), spanned(*speed, 2)] for batch, speed in diagnosis.by_batch]
        lines += [rows, *_switch_off_lines(diagnosis), ""]
    if _has_more_logs(diagnosis):
        lines += [_log_rows(diagnosis), ""]
    if diagnosis.parts:
        lines += [
            f"these logs do not tell {joined_names(part.names)} apart; to measure: {' and '.join(diagnosis.missing)}"
            for part in diagnosis.parts
            if len(part.names) > 1
        ]
    # Notes and assumptions.
    lines += [f"note: {note}" for note in diagnosis.notes]
    lines.append(
        "taken for granted: each further token of a pass, and each draft step, costs as much as the one before"
    )
    return page(lines, form)


def _switch_off_lines(diagnosis: Diagnosis) -> list[str]:
    """Return the line that advises from which batch on to switch speculation off; [] without such a batch.

    It is the first batch at which every log is certainly slower, if every log at each larger batch is so, too.
    """
    from specsim.logs.record import shown
    from specsim.speed.runs import verdict_of

    # Whether every log is slower, by batch, smallest first.
    all_slower: dict[float, bool] = {}
    for log in sorted(diagnosis.by_log, key=lambda log: log.batch):
        is_slower = verdict_of(log.speedup) == "slower"
        all_slower[log.batch] = all_slower.get(log.batch, True) and is_slower

    # The first such batch, and whether all larger ones are slower, too.
    first = next((batch for batch, is_slower in all_slower.items() if is_slower), None)
    if first is None or not all(all_slower[batch] for batch in all_slower if batch >= first):
        return []
    return [f"switch it off from batch {shown(first)} on: it is slower there in every log"]


def _has_more_logs(diagnosis: Diagnosis) -> bool:
    """Return whether some log is in no other table, so that logs need a table of their own.

    The table of batches holds the first log of each batch. The remedies hold other draft lengths at the batch that is
    explained, which is that of the first log.
    """
    first_lengths: dict[float, float | None] = {}
    for log in diagnosis.by_log:
        is_explained_batch = log.batch == diagnosis.by_log[0].batch
        is_later_log = log.batch in first_lengths
        is_remedy = is_explained_batch and log.length != first_lengths.get(log.batch)
        if is_later_log and not is_remedy:
            return True
        first_lengths.setdefault(log.batch, log.length)
    return False


def _log_rows(diagnosis: Diagnosis) -> list[list[Cell]]:
    """Return the table of logs: source, batch, drafts a block and speedup of each."""
    from specsim.logs.record import shown
    from specsim.report.forms import Number, spanned

    rows: list[list[Cell]] = [["log", "batch", "drafts a block", "speedup"]]
    for log in diagnosis.by_log:
        drafts = Number("not known" if log.length is None else shown(log.length), log.length)
        rows.append([log.source, Number(shown(log.batch), log.batch), drafts, spanned(*log.speedup, 2)])
    return rows


def _mend_row(mend: Mend) -> list[Cell]:
    """Return a remedy as a row: the change, its speedup, and how that is known."""
    from specsim.report.forms import Number

    # Without a value the logs only bound the speedup.
    if mend.value is None:
        words, basis = f"{mend.low:.2f} to {mend.high:.2f}", "as far as these logs tell"
    else:
        words, basis = f"{mend.value:.2f} [{mend.low:.2f}, {mend.high:.2f}]", mend.basis
    return [mend.what, Number(words, mend.value, mend.low, mend.high), basis]


def _json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the fields of a diagnosis; each remedy has its speedup with the interval."""
    mends = [
        {"what": mend.what, "speedup": interval(mend.value, mend.low, mend.high), "basis": mend.basis}
        for mend in diagnosis.mends
    ]
    return {"sentence": sentence(diagnosis), **as_plain(diagnosis), "mends": mends}
