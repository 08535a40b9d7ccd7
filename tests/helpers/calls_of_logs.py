"""Good calls of functions that read logs and answer questions on them, and calls with vocabularies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

import specsim

# A log in our own format, without drafts and with them.
LOG = Path(__file__).with_name("runs.csv")
# Pass times of a target: tokens, batch, context and ms.
PASSES = Path(__file__).with_name("passes.csv")
# Drafts tried and accepted, at two contexts.
HAZARDS = Path(__file__).with_name("hazards.csv")
# Pass times of a draft.
DRAFT = "tokens,batch,context,ms\n" + "".join(f"1,{batch},1024,{ms}\n" for batch in (1, 8) for ms in (1.0, 1.1, 1.2))


def calls_of_logs() -> dict[str, dict[str, Any]]:
    """Return good arguments of each function, by its name."""
    # Records that several calls take.
    off, *on = specsim.read_log(LOG)
    requests = tuple(specsim.request_of_blocks([n, 1, 0], 2) for n in (0, 1, 2))
    shared = specsim.shared_tokens("abc", "cxa")
    writer = specsim.TokenModel(specsim.small_tokenizer(["a", "b", "ab"]), lambda ids: [0.5, 0.25, 0.25])
    return {
        "across_tokenizers": {"target": writer, "draft": writer, "method": "intersection", "drafts": 1, "tokens": 2},
        "compare_records": {
            "first": specsim.AcceptanceRecord(requests),
            "second": specsim.AcceptanceRecord(requests[:2]),
            "differences": [0.02],
        },
        "concave_curve": {"gammas": [1, 2, 3], "taus": [1.8, 2.5, 2.3], "errors": [0.1, 0.1, 0.2]},
        "curve_faults": {
            "gammas": [1, 2, 3],
            "taus": [1.8, 2.5, 2.3],
            "errors": [0.1, 0.1, 0.2],
            "overlaps": [0.9] * 3,
        },
        "drift_bounds": {"errors": [[0.1, 0.2], [0.0, 0.1]], "divergences": [[0.02, 0.1], [0.0, 0.02]]},
        "diagnose": {"off": [off], "on": on},
        "engine_tree": {"ranks": [0.6, 0.2], "steps": 2, "top_k": 2, "tokens": 5},
        "from_pass_times": {"target": specsim.read_pass_times(PASSES), "draft": 0.1},
        "log_acceptance": {"run": on[0]},
        "log_costs": {"off": [off], "on": on[:1]},
        "penalize": {"logits": [2.0, 1.0, 0.0], "counts": [0, 1, 2], "presence_penalty": 0.5},
        "read_hazards": {"path": str(HAZARDS)},
        "read_log": {"path": str(LOG)},
        "read_pass_times": {"path": str(PASSES)},
        "request_estimates": {"record": specsim.AcceptanceRecord(requests), "cycle": 1.5},
        "request_mixture": {"record": specsim.AcceptanceRecord(requests), "kinds": 2},
        "request_of_blocks": {"accepted": [0, 1, 2], "drafted": [2, 2, 2]},
        "shared_tokens": {"target": ["a", "b", "c"], "draft": ["c", "x", "a"]},
        "shorter_tau": {"survival": [0.8, 0.64, 0.512], "length": 2},
        "small_tokenizer": {"tokens": ["a", "b", "ab"], "merges": [("a", "b")]},
        "text_drift": {
            "target": lambda ids: [0.5, 0.5],
            "draft": lambda ids: [0.9, 0.1],
            "rule": "lenience",
            "length": 2,
        },
        "translated_draft": {"q": [0.1, 0.3, 0.6], "shared": shared, "vocab": 3},
        "lossy_optimum": {"p": [0.5, 0.3, 0.2], "q": [0.1, 0.3, 0.6], "limit": 0.1},
        "nearest_output": {"p": [0.5, 0.3, 0.2], "q": [0.1, 0.3, 0.6], "acceptance": 0.9},
        "vocabulary_bound": {"p": [0.5, 0.3, 0.2], "shared": shared},
    }


def files_of_examples(folder: Path) -> None:
    """Write the files that the commands' own examples name: logs, and rows under a mask."""
    rows = {"p": np.eye(3), "q": np.eye(3), "mask": np.eye(3, dtype=bool)}
    save_file(rows, folder / "masked.safetensors")
    samples = Path(__file__).parents[1] / "logs" / "samples"
    copies = {"runs.csv": LOG, "passes.csv": PASSES, "metrics.txt": samples / "vllm_metrics.txt"}
    for name, path in copies.items():
        shutil.copy(path, folder / name)
    (folder / "draft.csv").write_text(DRAFT)
    (folder / "speculative.json").write_text('{"method": "eagle3", "num_speculative_tokens": 5}')
    (folder / "off.log").write_text("eval time = 900.0 ms / 50 tokens\n")
    # Of on.log every block has four drafts, as a plan from it needs: 49 tokens behind the first in 19 blocks.
    for name, accepted, drafted in (("on.log", 30, 76), ("on_with_4.log", 32, 80), ("on_with_1.log", 18, 20)):
        share = f"draft acceptance = {accepted / drafted} ( {accepted} accepted / {drafted} generated)"
        (folder / name).write_text(f"eval time = 1000.0 ms / 50 tokens\n{share}\n")
