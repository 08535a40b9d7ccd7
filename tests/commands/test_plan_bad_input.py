"""Bad input of `specsim plan` ends with one line that names it, before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.planning import PAIR, SMALL, run, texts
from safetensors.numpy import save_file

LOOKED_UP = "0.8 --target llama-3.1-8b --draft ngram --drafted-share 0.3 --hardware h100-sxm"
BAD: list[tuple[str, str]] = [
    ("--target lama-3.1-70b --draft llama-3.2-1b --hardware h100-sxm 0.8",
     "model 'lama-3.1-70b' is unknown; near names: Llama-3.1-70B"),
    ("--target llama-3.1-70b --draft llama-3.2-1b --hardware h100-sxn 0.8", "'h100-sxn' is unknown; near"),
    ("--target llama-3.1-70b --draft llama-3.2-1b --hardware h100 0.8", "hardware 'h100' could be H100-SXM5"),
    ("--target llama-3.1-70b 0.8", "--draft and --hardware missing; give all three, or --cost-ratio alone"),
    (f"{SMALL} 0.8 --cost-ratio 0.1", "--cost-ratio stands instead of --target"),
    (f"{SMALL} 0.8 --tp 0", "tensor_parallel must be at least 1, got 0"),
    (f"{SMALL} 0.8 --overhead -1", "overhead is -1.0; it must lie in [0, inf)"),
    (f"{SMALL} 0.8 --batch 1,x", "batch has 'x', which is no whole number; write 1,8,64 or 1-8 or 1k,32k"),
    (f"{SMALL} 0.8 --batch 0", "batch must be at least 1, got 0"),
    (f"{SMALL} 0.8 --context 1.5k", "context has '1.5k', which is no whole number"),
    (f"{SMALL} 0.8 --max-gamma 0", "max_gamma must be at least 1, got 0"),
    (f"{SMALL} 0.8 --level 1", "level is 1.0; it must lie in (0, 1)"),
    (f"{SMALL} 0.8 --emit tgi", "--emit 'tgi' is unknown; known: vllm, sglang, tensorrt-llm, llamacpp, aisim"),
    (f"{SMALL} 0.8 --plot /dev/null/p.png", "output /dev/null/p.png cannot be written: Not a directory"),
    (f"{SMALL} 0.8 --plot notes.txt", "output notes.txt must end in .png"),
    (f"{SMALL} 1.2", "alpha is 1.2; it must lie in [0, 1]"),
    (f"{SMALL} nan", "alpha is nan; it must lie in [0, 1]"),
    (SMALL, "give one of alpha, --ranks, --hazards, --histogram, --rows, --tau; got none"),
    (f"{SMALL} 0.8 --hazards f.csv", "got alpha, hazards"),
    (f"{SMALL} --hazards gone.csv", "gone.csv cannot be read: No such file or directory"),
    (f"{SMALL} --histogram gone.json", "error: gone.json cannot be read: No such file or directory"),
    (f"{SMALL} --rows gone.safetensors", "gone.safetensors cannot be read"),
    ("--target gone/config.json --draft llama-3.2-1b --hardware h100-sxm 0.8",
     "config gone/config.json cannot be read: No such file or directory"),
    (f"{PAIR} 0.8 --emit vllm", "vLLM shares a draft model among the devices of its target: plan with --dr"),
    (f"{SMALL} 0.8 --dtype fp3", "dtype 'fp3' is not in the table for H100-SXM5-80GB; it has bf16, fp16"),
    ("--ranks 0.7,x", "ranks[1] is 'x', not a number"),
    ("--ranks 0.7,nan", "ranks[1] is nan; it must lie in [0, 1]"),
    ("--ranks 0.7,-0.1", "ranks[1] is -0.1; it must lie in [0, 1]"),
    ("--ranks 0.7,0.4", "ranks sum to 1.1; one sibling at most is kept"),
    ("--ranks 0.7 0.7", "got alpha, ranks"),
    (f"{SMALL} 0.8 --draft-tp 0", "draft_tensor_parallel must be at least 1, got 0"),
    ("0.05 --cost-ratio 0.5 --emit vllm", "the plan is not to speculate: there is nothing to emit"),
    ("0.8 --cost-ratio 0.05 --emit aiconfigurator", "aiconfigurator models 5 drafts: plan with --max-gamma 5"),
    ("0.8", "give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)"),
    ("0.8 --cost-ratio 0.1 --tp 4", "--tp: it says nothing of a --cost-ratio"),
    ("0.8 --cost-ratio 0.1 --dtype fp8", "--dtype: it says nothing of a --cost-ratio"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1,x", "verify_cost[1] is 'x', not a number"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1.1,1.2", "verify_cost[0] is 1.1; t(1) is one target step, 1"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1,-1", "verify_cost[1] is -1.0; it must lie in (0, inf)"),
    ("0.8 --cost-ratio 0.1 --verify-cost 1", "verify_cost has 1 entry; t(1), t(2), ... of one draft or more"),
    (f"{SMALL} 0.8 --verify-cost 1,1.1", "--verify-cost goes with --cost-ratio; models and hardware have"),
    ("0.8 --cost-ratio 0.05 --max-gamma 100000000", "max_gamma is 100000000; it must be at most 1000"),
    ("0.8 --cost-ratio 0.05 --nodes 100000000", "nodes is 100000000; it must be at most 1024"),
    (f"{SMALL} 0.8 --batch 100000000", "batch is 100000000; it must be at most 16384"),
    (f"{SMALL} 0.8 --context 999999999k", "context is 999999999k; it must be at most 1073741824"),
    (f"{SMALL} 0.8 --batch {'9' * 400}", "batch is 99999999999999999999; it must be at most 16384"),
    (f"{SMALL} 0.8 --tp {'9' * 30}", "it must be at most 65536"),
    (f"{SMALL} 0.8 --batch 16384 --max-gamma 1000 --emit vllm", "16384 points of 1000 lengths are too many"),
    ("--target foo/bar --draft mtp --hardware h100-sxm 0.8", "nothing is fetched from a hub; give the fold"),
    ("0.8 --cost-ratio 0.05 --nodes 10", "--nodes is the size of a tree; trees are planned with --ranks"),
    (f"{LOOKED_UP} --draft-tp 3", "--draft-tp is of a draft model, and --draft ngram has none"),
    (f"{LOOKED_UP} --draft-weights q8_0", "--draft-weights is of a draft model, and --draft ngram has none"),
    (f"{LOOKED_UP} --draft-vocab 100", "--draft-vocab is of a draft model, and --draft ngram has none"),
    ("0.8 --cost-ratio -1", "cost_ratio is -1.0; it must lie in [0, inf)"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_ends_with_one_line(words: str, message: str) -> None:
    said = run(words, code=2)
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1


FILES: list[tuple[str, str, str]] = [
    (
        "hazards",
        "position,p\n1,0.5\n",
        "f.csv has columns position, p; it needs position and hazard, or position and r",
    ),
    ("hazards", "position,tried\n1,5\n", "or position and count, or position, tried and kept"),
    ("hazards", "position,rate\n1,0.5\n2,0.6\n", "f.csv, row 2: rate is 0.6, above the 0.5 before it; of all blocks"),
    (
        "hazards",
        "position,hazard,Hazard\n1,0.5,0.5\n",
        "f.csv has two columns hazard; leave out what is not to be read",
    ),
    ("hazards", "position,rate,hazard\n1,0.5,0.5\n", "f.csv has hazard beside rate; leave out"),
    ("hazards", "position,rate\n1,1.5\n", "f.csv, row 1: rate is 1.5; it must lie in [0, 1]"),
    ("hazards", "position,count\n1,5\n", "f.csv, row 1: position is '1'; rows must count up from 0"),
    ("hazards", "position,count\n0,5\n", "f.csv has position 0 alone; it needs 1 and more"),
    ("hazards", "position,count\n0,5\n1,6\n", "f.csv, row 2: count is 6, above the 5 before it"),
    ("hazards", "position,count\n0,5\n1,2.5\n", "f.csv, row 2: count 5 and count 2.5 must be whole numbers"),
    ("hazards", "position,count\n0,0\n1,0\n", "f.csv, row 1: count is 0, so nothing was counted"),
    (
        "histogram",
        '{"drafted": 100000000, "accepted": [1], "counts": [1]}',
        "drafted is 100000000; blocks have at most 4096 drafts",
    ),
    ("hazards", "", "f.csv has columns none; "),
    ("hazards", "position,hazard\n", "f.csv has no rows"),
    ("hazards", "position,hazard,tried,kept\n1,0.1,10,8\n", "f.csv has hazard beside tried and kept; leave out"),
    ("hazards", "position,hazard\n1,0.5\n3,0.5\n", "f.csv, row 2: position is '3'; rows must count up from 1"),
    ("hazards", "position,hazard\n1,0.5\n2,1.2\n", "f.csv, row 2: hazard is 1.2; it must lie in [0, 1]"),
    ("hazards", "position,hazard\n1,nan\n", "f.csv, row 1: hazard is nan; "),
    ("hazards", "position,hazard\n1,-0.1\n", "f.csv, row 1: hazard is -0.1; "),
    ("hazards", "position,hazard\n1,\n", "f.csv, row 1: hazard is '', not a number"),
    ("hazards", "position,hazard\n1\n", "f.csv, row 1 has another number of fields than the head, 2"),
    ("hazards", "position,hazard\n1,0.5,0.4\n", "f.csv, row 1 has another number of fields than the head, 2"),
    ("hazards", "position,hazard,blocks\n1,0.5,9\n", "f.csv: column 'blocks' is unknown; known: position, hazard, "),
    ("hazards", "position,tried,kept,count\n1,5,2,5\n", "f.csv has count beside tried and kept; leave out"),
    ("hazards", "position,hazard,tried\n1,0.5,9\n", "f.csv: column 'tried' is unknown; known: position, hazard"),
    ("hazards", "position,rate,coverage\n1,0.5,0.1\n", "f.csv: column 'coverage' is unknown; known: position, rate"),
    ("hazards", "position,hazard,drafted_share\n1,0.5,nan\n", "f.csv: drafted_share is 'nan'; expected a finite"),
    ("hazards", "position,hazard,drafted_share\n1,0.5,7\n", "f.csv: drafted_share is 7; expected a share, at most 1"),
    ("hazards", "position,hazard,drafted_share\n1,0.5,0\n", "f.csv: drafted_share is 0; expected more"),
    ("hazards", "position,hazard,drafted_share\n1,0.5,1\n2,0.5,0.2\n", "f.csv: drafted_share is 0.2 and 1; expected"),
    ("hazards", "position,tried,kept\n1,5,6\n", "f.csv, row 1: kept is 6, more than the 5 blocks that tried"),
    ("hazards", "position,tried,kept\n1,5,2\n2,3,1\n", "f.csv, row 2: tried is 3, more than the 2 that came so far"),
    ("hazards", "position,tried,kept\n1,-5,-6\n", "f.csv, row 1: tried is -5.0; it must lie in [0, inf)"),
    ("hazards", "position,tried,kept\n1,5.5,2\n", "f.csv, row 1: tried 5.5 and kept 2 must be whole numbers of blocks"),
    ("hazards", "position,tried,kept\n1,0,0\n", "f.csv, row 1: tried is 0, so nothing was counted"),
    ("histogram", "{", "f.json is no JSON: "),
    ("histogram", '{"drafted": 1, "counts": [1, 3], "drafted_share": 0.2}', "f.json: field 'drafted_share' is unknown"),
    ("histogram", '{"drafted": 1, "counts": [1, 3], "acepted": [0, 1]}', "did you mean 'accepted'?"),
    (
        "histogram",
        '{"drafted": 1, "counts": [1, 3], "blocks": 5}',
        "f.json: field 'blocks' is unknown; known: drafted,",
    ),
    ("histogram", "[1]", 'f.json holds list; it needs "drafted" and "counts"'),
    ("histogram", '{"drafted": 2}', 'f.json holds drafted; it needs "drafted" and "counts"'),
    (
        "histogram",
        '{"drafted": 1, "counts": [1, 2, 3]}',
        "f.json: 3 counts; blocks of 1 drafts keep 0, ..., 1",
    ),
    (
        "histogram",
        '{"drafted": 1, "accepted": [2], "counts": [3]}',
        "f.json: accepted[0] is 2, more than the 1 drafts of that block",
    ),
    ("histogram", '{"drafted": 2, "counts": [1, -2, 3]}', "f.json: counts[1] is -2; give"),
    ("histogram", '{"drafted": 2, "counts": [1, NaN, 3]}', "f.json: counts[1] is NaN; give"),
    ("histogram", '{"drafted": 2, "counts": 7}', "f.json: counts is 7, not a list"),
    ("histogram", '{"drafted": 1, "counts": [true, 2]}', "f.json: counts[0] is true; give a whole number"),
    ("histogram", '{"drafted": 1, "counts": [1, false]}', "f.json: counts[1] is false; give"),
    ("histogram", '{"drafted": [true, 1], "counts": [1, 2], "accepted": [0, 1]}', "f.json: drafted[0] is true; give"),
    ("histogram", '{"drafted": 1, "counts": [1, 2], "accepted": [false, 1]}', "f.json: accepted[0] is false; give"),
    ("histogram", '{"drafted": 1, "counts": ["1", 2]}', 'f.json: counts[0] is "1"; give'),
    ("histogram", '{"drafted": 1, "counts": [NaN, 2]}', "f.json: counts[0] is NaN; give"),
    ("histogram", '{"drafted": 1, "counts": [1, Infinity]}', "f.json: counts[1] is Infinity; give"),
    ("histogram", '{"drafted": 1, "counts": [-1, 2]}', "f.json: counts[0] is -1; give"),
    ("histogram", '{"drafted": 1, "counts": [null, 2]}', "f.json: counts[0] is null; give"),
    ("histogram", '{"drafted": 1, "counts": [[1], [2]]}', "f.json: counts[0] is [1]; give"),
    ("histogram", '{"drafted": 1, "counts": [0.5, 2]}', "f.json: counts[0] is 0.5; give"),
    ("histogram", '{"drafted": 1, "counts": [{}, 2]}', "f.json: counts[0] is {}; give"),
    ("histogram", '{"drafted": -1, "counts": []}', "f.json: drafted is -1; give"),
    ("histogram", '{"drafted": 1, "counts": [1, 1e300]}', "f.json: counts sums to 1e+300; more than"),
    ("histogram", '{"drafted": 1, "counts": [1, 2], "accepted": "01"}', 'f.json: accepted is "01"; give'),
    ("histogram", '{"drafted": "1", "counts": [1, 2]}', 'f.json: drafted is "1", not a whole number or a list'),
    ("histogram", '{"drafted": 4, "counts": [1, 2]}', "f.json: 2 counts; blocks of 4 drafts keep 0, ..., 4"),
    ("histogram", '{"drafted": 0, "counts": [9]}', "f.json: no block drafted a token"),
    ("histogram", '{"drafted": 1, "counts": [1e30, 1]}', "f.json: counts sums to 1e+30; more than 2^53 are not"),
    ("rows", "no tensors", "cannot be read: "),
]


@pytest.mark.parametrize(("option", "text", "message"), FILES, ids=[m for _, _, m in FILES])
def test_bad_files(option: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / {"hazards": "f.csv", "histogram": "f.json", "rows": "f.safetensors"}[option]
    path.write_text(text)
    said = run(f"{SMALL} --{option} {path}", code=2)
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["share", "coverage"])
@pytest.mark.parametrize("option", ["hazards", "histogram"])
def test_names_that_hold_a_share_lead_to_the_option(option: str, name: str, tmp_path: Path) -> None:
    """A file may say in how many steps there was a draft, in a column or a field that is not read."""
    rows = f"position,hazard,{name}\n1,0.5,0.2\n"
    path = tmp_path / "f.csv"
    path.write_text(rows if option == "hazards" else f'{{"drafted": 1, "counts": [1, 3], "{name}": 0.2}}')
    said = run(f"--cost-ratio 0.05 --{option} {path}", code=2)
    assert f"'{name}' is unknown; " in said
    assert said.endswith("; the share of the steps that had a draft is given by --drafted-share\n")


ROWS: list[tuple[Callable[[dict[str, np.ndarray]], Any], str]] = [
    (lambda held: held.pop("q"), "has no tensor q; it has lengths, p, tokens"),
    (lambda held: held.update(q=held["q"][:, :3] / held["q"][:, :3].sum(axis=1, keepdims=True)), "vocabularies differ"),
    (lambda held: held.update(q=held["q"][:5]), "both must be (n, V)"),
    (lambda held: held.update(p=2 * held["p"]), "r.safetensors: p[0] sums to 2"),
    (lambda held: held.update(p=held["p"] * np.nan), "r.safetensors: p[0][0] is nan"),
    (lambda held: held.update(tokens=held["tokens"] + 9), "r.safetensors: tokens[0] is token "),
    (lambda held: held.update(p=held["p"][:0], q=held["q"][:0]), "both must be (n, V), with n at least 1"),
    (lambda held: held.update(lengths=np.array([8.0, 12.0])), "lengths has type float64; give whole numbers of tokens"),
    (lambda held: held.update(lengths=np.array([3, 4])), "20 rows, 20 tokens, lengths that sum to 7; they differ"),
    (lambda held: held.update(p=np.eye(4)[(held["tokens"] + 1) % 4]), "token 0 has probability 0 under the target"),
]


@pytest.mark.parametrize(("spoil", "message"), ROWS, ids=[m for _, m in ROWS])
def test_bad_rows(spoil: Callable[[dict[str, np.ndarray]], Any], message: str, tmp_path: Path) -> None:
    held = texts(np.random.default_rng(0), [8, 12])
    spoil(held)
    save_file({name: np.ascontiguousarray(value) for name, value in held.items()}, tmp_path / "r.safetensors")
    said = run(f"{SMALL} --rows {tmp_path / 'r.safetensors'}", code=2)
    assert message in said
    assert said.count("\n") == 1
