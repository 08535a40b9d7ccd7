"""SGLang: the lines `Decode batch` of its log, and the arguments that it prints when it starts.

Seen in 0.4.5 (sgl-project/sglang#5274), 0.5.3 (#11948) and 0.5.10 (#22331). `accept len` counts the token of the
target, too: it is tau. `accept rate` is divided by three things in as many versions (steps, steps + 1, tokens - 1): the
length comes from the arguments, and the rate must fit it by one of the three. A line is printed after as many passes as
the one before, so it counts as many blocks as requests run; how many passes is not printed, and the spread over lines
is the error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.base.intervals import ratio_error
from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, number, steady_groups

NAME = "SGLang"
EXPECTS = "lines 'Decode batch, #running-req: ..., gen throughput (token/s): ...'"
_LINE = re.compile(r"Decode batch[.,] #running-req: (\d+).*?gen throughput \(token/s\): ([\d.]+)(?=[,\s])")
_TAU = re.compile(r"accept len: ([\d.]+)")
_ACCEPT_RATE = re.compile(r"accept rate: ([\d.]+)")
# Of several engines that share the requests, each prints lines of its own.
_RANK = re.compile(r"\b(DP\d+)\b")
_ARGUMENT = r"{0}(?:=|['\"]?: |[ =])['\"]?([\w./:-]+)"


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return "Decode batch" in text and "gen throughput (token/s)" in text


class Line(NamedTuple):
    """One decode line; rate: None behind a prompt, where its interval began before.

    tau, accepted: accept len and accept rate, None if not printed.
    """

    running: float
    rate: float | None
    tau: float | None
    accepted: float | None = None


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a log: one, or one for each number of running requests."""
    # Read the lines; refuse what would be read wrongly.
    lines = _decode_lines(text, source)
    if not any(line.rate for line in lines):
        raise ValueError(f"{source} has no decode line but those right behind a prompt; expected two or more in a row")
    _check_one_server(text, source)
    algorithm = _algorithm(text)
    if algorithm and all(line.tau is None for line in lines):
        raise ValueError(
            f"{source} speculates (speculative_algorithm {algorithm}), but no decode line has 'accept len: ...'; "
            "expected it in each"
        )
    if all(line.tau is None for line in lines) and (word := _OTHER_WORDS.search(text)) is not None:
        raise ValueError(f"{source} speculates (it has {word[0]!r}), but no decode line has 'accept len: ...'")
    _check_words(text, lines, source)
    # Batches of their own, if there are several.
    sizes = [line.running if line.rate is not None else 0.0 for line in lines]
    groups, left = steady_groups(sizes) if by_batch else ([], ())
    if len(groups) < 2:
        return (_summary(lines, text, source),)
    runs = []
    for group in groups:
        run = _summary([lines[i] for i in group], text, source)
        # Speculation was switched off at this batch.
        if not run.speculating and any(line.tau is not None for line in lines):
            run = run._replace(speculating=True, length=0.0)
        runs.append(run._replace(batch=float(round(run.batch or 0.0)), notes=(*run.notes, *left)))
    return tuple(runs)


# What other lines say of a server that speculates: counts of an answer, and the draft's weights.
_OTHER_WORDS = re.compile(
    r"\bspec_(?:verify_ct|accept\w*|num_\w+)\W{1,4}[1-9]"
    r"|\bspeculative[-_]draft[-_]model[-_]path(?:=|['\"]?: |[ =])['\"]?(?!None|null)[\w./-]+"
)
# Words of a decode line that only a server with speculation prints.
_WORDS = re.compile(r"\b(?:accept|spec|draft)\w*(?: \w+)?", re.IGNORECASE)


def _check_words(text: str, lines: Sequence[Line], source: str) -> None:
    """ValueError if decode lines speak of speculation, and busy ones have no accept len."""
    decoded = [line for line in text.splitlines(keepends=True) if _LINE.search(line)]
    for line, values in zip(decoded, lines, strict=True):
        word = _WORDS.search(line.partition("Decode batch")[2])
        if word is not None and values.running and values.tau is None:
            raise ValueError(
                f"{source} speculates (a decode line has {word[0]!r}), but the line has no 'accept len: ...'; "
                "expected it in each"
            )


def _algorithm(text: str) -> str:
    """The algorithm that the arguments name, "" without one."""
    argument = re.search(_ARGUMENT.format(r"speculative[-_]algo(?:rithm)?"), text)
    return "" if argument is None or argument[1] in ("None", "null") else argument[1]


def _check_one_server(text: str, source: str) -> None:
    """ValueError if a file holds servers that speculate in several ways."""
    starts = re.findall(r"ServerArgs\((.*)", text)
    ways = {
        tuple(re.findall(r"speculative_(?:algorithm|num_steps|eagle_topk|num_draft_tokens)=[^,)]*", arguments)): None
        for arguments in starts
    }
    if len(ways) > 1:
        both = " and ".join(", ".join(way) or "no speculation" for way in list(ways)[:2])
        raise ValueError(f"{source} holds servers of several kinds ({both}); split it: one server a file")


def _decode_lines(text: str, source: str) -> list[Line]:
    """Read the decode lines of all ranks, in order."""
    lines = []
    # The ranks whose last interval began with the passes over prompts, which their next line counts, too.
    steady: set[str] = set()
    for line_number, line in enumerate(text.splitlines(keepends=True), 1):
        place = f"{source}, line {line_number}"
        rank = printed[1] if (printed := _RANK.search(line)) else ""
        if "Prefill batch" in line:
            steady.discard(rank)
        if (decode := _LINE.search(line)) is None:
            continue
        # An idle engine prints an accept len of 0.
        running = number(decode[1], f"{place}: #running-req")
        rate = number(decode[2], f"{place}: gen throughput")
        tau = accepted = None
        if running and (printed := _TAU.search(line)) is not None:
            tau = number(printed[1], f"{place}: accept len")
            if tau < 1:
                raise ValueError(f"{place}: accept len is {tau:g}; expected 1 or more, the target's token")
            part = _ACCEPT_RATE.search(line)
            accepted = None if part is None else number(part[1], f"{place}: accept rate")
        lines.append(Line(running, rate if rank in steady and running else None, tau, accepted))
        steady.add(rank)
    return lines


def _summary(lines: Sequence[Line], text: str, source: str) -> EngineLog:
    """Condense decode lines into a run, with the arguments that the server printed."""
    # tau of all lines; times of those whose interval is known.
    printed = [(line.running, line.tau) for line in lines if line.tau is not None]
    taus = [tau for _, tau in printed]
    timed = [(line.running, line.rate) for line in lines if line.rate is not None]
    sizes, rates = [size for size, _ in timed], [rate for _, rate in timed]
    if not sum(rates):
        raise ValueError(f"{source}: no token a second with {sizes[0]:g} running requests; expected more")
    # The arguments, and what to note of them.
    steps, top, tokens = (_option(text, name) for name in ("num[-_]steps", "eagle[-_]topk", "num[-_]draft[-_]tokens"))
    length = _length(text, steps, top, tokens)
    notes = []
    if untimed := len(lines) - len(timed):
        notes.append(
            f"{untimed} of {len(lines)} decode lines count for no times, as the first of the log or behind a prompt: "
            "the interval of such a line began before"
        )
    if taus and top is not None and top > 1:
        notes.append(f"a tree: {steps or 0:g} steps, top-k {top:g}, {tokens or 0:g} tokens verified")
    if taus and length is None and _ADAPTIVE.search(text):
        notes.append("lengths of blocks adapt to what is accepted, so that of a block is not known")
    of_time = ratio_error(np.array(sizes), np.array(rates)) if len(rates) > 1 else None
    model = re.search(_ARGUMENT.format(r"(?:--)?model(?:[-_]path)?"), text)
    return check_counts(
        EngineLog(
            NAME,
            source,
            bool(taus),
            model=model[1] if model else "",
            batch=sum(sizes) / len(sizes),
            length=length if taus else None,
            verified=tokens if taus else None,
            tau=_mean_tau(printed),
            token=Timing(sum(sizes) / sum(rates), of_time),
            notes=tuple(notes),
            fitting_lengths=None if _ADAPTIVE.search(text) or (top or 1) > 1 else _fitting_lengths(lines),
        )
    )


# Half a unit of the last digit of accept len and accept rate, and a little; the most drafts that are tried.
ROUNDING, MOST_DRAFTS = 0.0051, 64


def _fitting_lengths(lines: Sequence[Line]) -> tuple[int, ...] | None:
    """Return the drafts of a block with which every line's rate is that of its tokens, by one version's definition.

    With g drafts a rate is tokens over g + 1, their accepted drafts over g, or over g + 1. None without a rate.
    """
    printed = [(line.tau, line.accepted) for line in lines if line.tau is not None and line.accepted is not None]
    if not printed:
        return None
    fitting = []
    for drafts in range(1, MOST_DRAFTS + 1):
        for target, over in ((0, drafts + 1), (1, drafts), (1, drafts + 1)):
            if all(abs((tau - target) / over - rate) <= ROUNDING * (1 + 1 / over) for tau, rate in printed):
                fitting.append(drafts)
                break
    return tuple(fitting)


_ADAPTIVE = re.compile(r"speculative[-_]adaptive(?:=True|['\"]?: ?[Tt]rue|(?= |$))", re.MULTILINE)


def _length(text: str, steps: float | None, top: float | None, tokens: float | None) -> float | None:
    """Drafts of a block: in a chain all verified tokens but the first, in a tree its depth; None where it varies."""
    if _ADAPTIVE.search(text):
        return None
    chain = (top is None or top == 1) and _algorithm(text).upper() not in ("NGRAM", "LOOKAHEAD")
    return tokens - 1 if chain and tokens is not None and tokens > 1 else steps


def _mean_tau(printed: Sequence[tuple[float, float]]) -> Timing | None:
    """Tokens over blocks of all lines, and its error; a line stands for as many blocks as requests ran."""
    if not printed:
        return None
    running, taus = np.array(printed).T
    # One value, or equal ones: the error is unknown.
    if len(printed) == 1 or len(set(taus)) == 1:
        return Timing(float(taus[0]), None)
    return Timing(float(running @ taus / running.sum()), ratio_error(running * taus, running))


def _option(text: str, name: str) -> float | None:
    """A number among the printed arguments; None without it."""
    argument = re.search(_ARGUMENT.format(rf"speculative[-_]{name}"), text)
    short = argument is not None and argument[1].isdecimal() and len(argument[1]) <= 6
    return float(argument[1]) if argument is not None and short else None
