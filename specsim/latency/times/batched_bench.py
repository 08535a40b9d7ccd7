"""Times of passes by llama.cpp's llama-batched-bench, as its table or `--output-format jsonl` prints them.

A row decodes B prompts of PP tokens, all of them together (T_PP), then TG tokens one by one for B sequences (T_TG). So
T_TG / TG is a plain step of B sequences, and T_PP of a short prompt that fits one micro-batch is a pass over PP tokens
of each. Seen in llama.cpp of 2024 to 2026 (tools/batched-bench).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from specsim.base.reading import parsed_json
from specsim.latency.times.llama_bench import LAST_TOKEN
from specsim.latency.times.record import MOST_TOKENS, PassTimes, Place

_HEAD = re.compile(r"^\|\s*PP\s*\|\s*TG\s*\|\s*B\s*\|\s*N_KV\s*\|\s*T_PP s\s*\|\s*S_PP t/s\s*\|\s*T_TG s\s*\|", re.M)
_ROW = re.compile(r"^\|((?:\s*[\d.]+\s*\|){10})\s*$")
SETTINGS = ("n_ubatch", "n_batch", "is_pp_shared", "is_tg_separate", "flash_attn", "n_gpu_layers", "n_threads")
_SETTING = re.compile(rf"\b({'|'.join(SETTINGS)}) = (-?\d+)")
FIELDS = ("pp", "tg", "pl", "n_kv", "t_pp", "t_tg")
REMEDY = "as llama-batched-bench -npp 2,3,5,9 -ntg 32 -npl 1,8 --output-format jsonl does"
# Seconds to which the table prints times, and the share of a time that this may be without a note.
RESOLUTION, NOTICED = 1e-3, 0.01


class Row(NamedTuple):
    """One row: prompt and generated tokens, sequences, seconds of both, and the settings that were printed."""

    prompt: int
    generated: int
    sequences: int
    cache: int
    prompt_s: float
    generated_s: float
    settings: dict[str, int]


def knows(text: str) -> bool:
    """Return whether a text is of llama-batched-bench."""
    return _HEAD.search(text) is not None or ('"t_tg"' in text and '"n_kv"' in text)


def parse(text: str, source: str) -> PassTimes:
    """Return the passes in the output of llama-batched-bench; ValueError for what is not understood."""
    in_lines = _HEAD.search(text) is None
    rows = _json_rows(text, source) if in_lines else _table_rows(text, source)
    if not rows:
        raise ValueError(f"{source} has no rows; expected the table of llama-batched-bench")
    if len({tuple(sorted(row.settings.items())) for row in rows}) > 1:
        raise ValueError(f"{source} has rows of several settings; split it: one setting a file")

    # All times of each (tokens, batch, context), prompts that were not used, and the largest
    # relative error of a time that is printed to 1 ms.
    seconds: dict[Place, tuple[float, ...]] = {}
    prompts: set[int] = set()
    alone: dict[int, tuple[float, ...]] = {}
    coarse = 0.0
    for number, row in enumerate(rows, 1):
        is_shared = _is_shared(row, f"{source}, row {number}")
        # Plain steps, behind the prompt; a prompt as short as a block counts as none.
        is_short = row.prompt <= MOST_TOKENS
        place = 1, row.sequences, 0 if is_short else row.prompt
        if row.generated:
            seconds[place] = (*seconds.get(place, ()), row.generated_s / row.generated)
        # A short prompt is a pass that verifies, if one micro-batch held the prompts of all
        # sequences.
        tokens = row.prompt * row.sequences
        fits = tokens <= min(row.settings.get("n_ubatch", 0), row.settings.get("n_batch", tokens))
        if 1 < row.prompt <= MOST_TOKENS and fits and not (is_shared and row.sequences > 1):
            place = row.prompt, row.sequences, 0
            seconds[place] = (*seconds.get(place, ()), row.prompt_s)
            coarse = max(coarse, RESOLUTION / 2 / row.prompt_s)
        elif row.prompt:
            prompts.add(row.prompt)
        # The prompt of one sequence is one that a load reads.
        if row.prompt > MOST_TOKENS and row.sequences == 1:
            alone[row.prompt] = (*alone.get(row.prompt, ()), row.prompt_s)
    notes = _notes(seconds, prompts, 0.0 if in_lines else coarse)
    sized = tuple(sorted(alone.items()))
    return PassTimes(source, seconds, notes=tuple(f"{source}: {note}" for note in notes), remedy=REMEDY, prompts=sized)


def _notes(seconds: dict[Place, tuple[float, ...]], prompts: set[int], coarse: float) -> list[str]:
    """Return sentences on what the times leave out."""
    # On steps, on passes over several tokens, on prompts, and on how times are printed.
    notes = ["plain steps are means over the TG tokens behind their prompt, without sampling"]
    if any(tokens > 1 for tokens, _, _ in seconds):
        notes.append(
            f"{LAST_TOKEN}; they stand at context 0, and so do plain steps behind {MOST_TOKENS} tokens or fewer"
        )
    if prompts:
        listed = ", ".join(map(str, sorted(prompts)))
        notes.append(
            f"T_PP of prompts of {listed} tokens is not used in a plan of batches: a pass that verifies has 2 to "
            f"{MOST_TOKENS} tokens of each sequence, in one micro-batch that is printed (n_ubatch), with prompts not "
            "shared"
        )
    if coarse > NOTICED:
        notes.append(
            f"times are printed to 1 ms, which is up to {coarse:.0%} of a pass and in no interval; "
            "--output-format jsonl prints microseconds"
        )
    return notes


def _table_rows(text: str, source: str) -> list[Row]:
    """Return the rows of the table, each with the settings printed last before it."""
    rows = []
    settings: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if "n_kv_max" in line:
            settings = {name: int(value) for name, value in _SETTING.findall(line)}
        match = _ROW.match(line.strip())
        if match is None:
            continue
        # PP, TG, B, N_KV, T_PP, S_PP, T_TG, and speeds behind them, which the times say, too.
        cells = [cell.strip() for cell in match[1].split("|")[:-1]]
        pp, tg, pl, n_kv, t_pp, _, t_tg = cells[:7]
        rows.append(_row((pp, tg, pl, n_kv, t_pp, t_tg), settings, f"{source}, line {number}"))
    return rows


def _json_rows(text: str, source: str) -> list[Row]:
    """Return the rows of JSON lines, among which the program prints lines of its own."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("{"):
            continue
        place = f"{source}, line {number}"
        fields = parsed_json(line, place)
        missing = [name for name in FIELDS if name not in fields]
        if missing:
            raise ValueError(f"{place} has no {missing[0]}; expected a row of llama-batched-bench")
        settings = {name: int(fields[name]) for name in SETTINGS if name in fields}
        rows.append(_row(tuple(str(fields[name]) for name in FIELDS), settings, place))
    return rows


def _row(cells: tuple[str, ...], settings: dict[str, int], place: str) -> Row:
    """Return a row of its printed numbers; ValueError with its place for what no run can have."""
    # The numbers, in the order of FIELDS.
    try:
        prompt, generated, sequences, cache = (int(cell) for cell in cells[:4])
        prompt_s, generated_s = (float(cell) for cell in cells[4:])
    except ValueError:
        raise ValueError(f"{place} is {', '.join(cells)[:60]}; expected {', '.join(FIELDS)} as numbers") from None

    # Refuse what no run of the program can print, or what is not a time of a batch.
    for name, tokens, time in (("T_PP", prompt, prompt_s), ("T_TG", generated, generated_s)):
        if tokens and not 0 < time < float("inf"):
            raise ValueError(
                f"{place}: {name} is {time:g} s, less than the table prints; --output-format jsonl prints microseconds"
            )
    if sequences < 1 or prompt < 0 or generated < 0:
        raise ValueError(
            f"{place}: PP {prompt}, TG {generated}, B {sequences}; expected counts, and one sequence or more"
        )
    if settings.get("is_tg_separate"):
        raise ValueError(
            f"{place} is of a run with is_tg_separate = 1 (-tgs), which decodes one sequence after another: its times "
            "are of no batch; leave -tgs out"
        )
    return Row(prompt, generated, sequences, cache, prompt_s, generated_s, settings)


def _is_shared(row: Row, place: str) -> bool:
    """Return whether all sequences share one prompt, by the size of the cache; ValueError if it contradicts both."""
    apart = row.sequences * (row.prompt + row.generated)
    shared = row.prompt + row.sequences * row.generated
    declared = row.settings.get("is_pp_shared")
    fitting = [is_shared for is_shared, cache in ((False, apart), (True, shared)) if cache == row.cache]
    if not fitting or (declared is not None and bool(declared) not in fitting):
        raise ValueError(
            f"{place}: N_KV is {row.cache}, and PP {row.prompt}, TG {row.generated}, B {row.sequences} need {apart}, "
            f"or {shared} with a shared prompt; they differ"
        )
    return fitting[0] if declared is None else bool(declared)
