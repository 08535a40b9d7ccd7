"""A good call of every public function and one of every command: what the sweep of bad arguments starts from.

The table is complete by a test (tests/house/test_fuzz.py): a new public function without a call here fails.
"""

from __future__ import annotations

import importlib
import inspect
import shlex
from collections.abc import Callable, Mapping
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np

import specsim
from helpers import good_judgements, good_loads, good_one_pass
from helpers.calls_of_logs import LOG, calls_of_logs
from specsim import latency, trees
from specsim.control import row_signals
from specsim.verify.step import importance

PACKAGES = (
    "specsim",
    "specsim.checks",
    "specsim.conform",
    "specsim.continuous",
    "specsim.control",
    "specsim.objective",
    "specsim.trees",
    "specsim.testing",
    "specsim.verify.coupled",
    "real.decode.capture",
)
P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
COIN, BIASED = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
# Their good calls take seconds: in the whole sweep only.
SLOW = ("specsim.acceptance_curves", "specsim.optimal_coupling", "specsim.path_optimum")
# A run that lasts as long as it is told to: in-range numbers among the bad arguments are not tried.
LONG = {
    "specsim.simulate": ("gamma", "blocks", "tokens", "burn_in", "sequences"),
    "specsim.conditional_tau": ("blocks", "sequences"),
    "specsim.request_law": ("tokens",),
    "specsim.testing.assert_lossless_batch": ("budget",),
    **good_loads.LONG,
}
WHOLE = {"specsim.testing.assert_lossless_batch": "properties=None"}  # of all properties: it takes its budget
# The commands with good words.
COMMANDS = {
    "check": ["iid", "--family", "draft"],
    "conform": ["first_ratio_only", "--property", "marginal", "--budget", "20"],
    "diagnose": [str(LOG)],
    "log": [str(LOG)],
    "plan": ["0.8", "--cost-ratio", "0.05", "--max-gamma", "4"],
    "report": ["--out", "page.html"],
    "simulate": shlex.split("--target law:1/3,2/3 --draft law:2/3,1/3 --gamma 2 --blocks 100 --sequences 8"),
    "sweep": [str(Path(__file__).with_name("study.toml")), "--workers", "1"],
    **dict[str, list[str]].fromkeys(("claims", "rules", "validate"), []),
}
# Those of `specsim-real`, small; a command may stand here with several sets of words.
REAL = {
    "compare": "compare tiny --widen 0 --count 1 --max-tokens 8 --gamma 2",
    "compare --tree": "compare tiny --widen 0 --count 1 --max-tokens 8 --tree 2,1",
    "drafts": "drafts --count 1 --max-tokens 8",
    "forced": "forced tiny tiny --batch 1 --context 16 --gamma 1 --calibrate 1 --turns 1",
    "rows": "rows --count 1 --max-tokens 8",
    "table": f"table '{Path(__file__).parents[2] / 'real' / 'results' / 'bundled.json'}'",
    "systems": "systems mdsd --pair tiny --share 0.01",
    "taxonomy": "taxonomy",
    "train-drafters": "train-drafters heads",
    "train-images": "train-images raster_draft",
    "train-pair": f"train-pair --out pair --text '{__file__}'",
    "trees": "trees --count 1 --recorded 1 --max-tokens 8",
}
LONG_OPTIONS = ("--blocks", "--tokens", "--burn-in", "--sequences", "--gamma", "--tree")
IN_RANGE = ("4096", "10000", "2**16", "10**9")


def law_of_three(text: tuple[int, ...]) -> Any:
    """Return the law of a model over three tokens, the same after every text."""
    return np.array([0.5, 0.3, 0.2])


def law_of_coin(text: tuple[int, ...]) -> Any:
    """Return the law of a model over two tokens, the same after every text."""
    return np.array([0.5, 0.5])


def target_draws(p: Any, q: Any, drafts: Any, ends: Any, bonus: Any) -> Any:
    """A flat batch: each block is the target's own draws for as long as they are its drafts."""
    import torch

    out, start = torch.full((len(ends), 3), -1), 0
    for n, end in enumerate(ends.tolist()):
        row: list[int] = []
        while start + len(row) < end and row == drafts[start : start + len(row)].tolist():
            row.append(int(torch.multinomial(p[start + len(row)], 1)))
        row += [int(bonus[n])] if row == drafts[start:end].tolist() else []
        out[n, : len(row)], start = torch.tensor(row), end
    return out


def first_or_other(p: Any, q: Any, drafts: Any, u: Any) -> int:
    """A verifier of one draft."""
    x = drafts[0]
    first, second = u[:2] if len(u) > 1 else (0, 0)
    return int(x) if first * q[x] < p[x] else int(second >= p[0])


def calls() -> dict[str, dict[str, Any]]:
    """Keyword arguments of a good call, by the public name behind its package."""
    time = latency.constant(0.1)
    drawn = trees.draw_tree(law_of_coin, trees.k_ary((2, 1)), np.array([0.5, 0.5, 0.95, 0.5])).tree
    models = {"target": COIN, "draft": BIASED}
    length_and_costs = {"alpha": 0.8, "gamma": 3, "cost_ratio": 0.1}
    shape = {"parents": [-1, -1, 0]}
    step = specsim.gaussian_step([0.0, 0.0], [0.6, 0.8], 1.0)
    drafted: dict[str, Any] = {"step": step, "x": [0.5, 0.5], "u": 0.5}
    root: dict[str, dict[str, Any]] = {
        **good_loads.calls(),
        **good_one_pass.calls(),
        "acceptance_curves": {"p": [P], "q": [Q], "num_drafts": [2], "samples": 2},
        "acceptance_rate": {"p": P, "q": Q},
        "accepted_length_law": {"alpha": [0.5, 0.5]},
        **calls_of_logs(),
        "algorithms": {},
        "batch_schedule": {"latency": time, "acceptance": 0.7, "max_batch": 4, "max_gamma": 4},
        "batch_tokens": {"length_law": [0.5, 0.3, 0.2], "batch": 4},
        "beam_tree": {"model": law_of_three, "u": np.full(9, 0.5), "width": 2, "depth": 2},
        "best_draft_temperature": {"rows": ([0.4, 0.3, 0.3], [0.8, 0.1, 0.1]), "num_drafts": 2, "scheme": "iid"},
        "block_chain": {**models, "rule": "tokenwise", "gamma": 2},
        "block_efficiency": {"alpha": 0.8, "gamma": 3},
        "break_even_alpha": {"latency": time, "gamma": 2},
        "cache_hits": {"p": P, "q": Q, "fan_out": 1},
        "cached_drafts": {"latency": time, "acceptance": 0.7, "hits": 0.9},
        "check_claim": {"speedup": 4.2, "gamma": 3, "cost_ratio": 0.05},
        "conditional_tau": {
            **models,
            "rule": "traversal",
            "parents": [-1, -1, 0, 1],
            "scheme": "paths",
            "blocks": 64,
            "sequences": 4,
        },
        "context_boundary": {"latency": time, "acceptance": 0.7, "batch": 2, "max_context": 64, "max_gamma": 4},
        "context_free": {"law": [0.25, 0.75]},
        "replanner": {"latency": time, "ranks": [0.7, 0.12]},
        "convert_acceptance": {"value": 0.8, "kind": "alpha", "to": "draft_rate", "gamma": 3},
        "dense_law": {"law": specsim.top_k_law([0, 3], [0.75, 0.25], 5)},
        "draft_then_verify": {"alpha": [0.9, 0.5], "cost_ratio": 0.1},
        "draw_tree": {"model": law_of_three, "parents": [-1, -1, 0], "u": np.array([0.6, 0.9, 0.1])},
        "dsi": length_and_costs,
        "eagle2_tree": {"model": law_of_three, "top_k": 2, "depth": 2, "nodes": 4},
        "early_exit": {"alpha": 0.7, "gamma": 3, "shared": 0.1},
        "estimate_hazards": {"accepted": [0, 1, 2, 1], "drafted": [2, 2, 2, 1]},
        "expected_experts": {"tokens": 8, "experts": 64, "per_token": 8},
        "expected_kept": {"target": law_of_three, "draft": law_of_three, "rule": "tokenwise", "parents": [-1, -1, 0]},
        "expected_tokens": {**models, "gamma": 2},
        "fastest_shapes": {"latency": time, "acceptance": [0.7, 0.12], "nodes": 4, "depth": 3},
        "fill": {"target": law_of_coin, "process": "jacobi", "length": 2, "params": {"window": 1}},
        "from_measurements": {"target": {1: [10.0, 10.2], 4: [10.6, 10.4]}, "draft": {None: 1.0}},
        "gaussian_overlap": {"step": step},
        "gaussian_step": {"mean_p": [0.0, 0.0], "mean_q": [0.6, 0.8], "sd_p": 1.0},
        "guarantee": {"rule": "recursive", "num_drafts": 2},
        "heap_tree": {"model": law_of_three, "nodes": 4},
        "hit_posterior": {"p": P, "q": Q, "rule": "recursive", "num_drafts": 2},
        "inter_token_law": {"length_law": [0.5, 0.5], "cycle_s": 0.03},
        "keyed_uniforms": {"seed": 0, "sequence": 5, "position": 17, "count": 3},
        "markov": {"table": [[0.5, 0.5], [1.0, 0.0]]},
        "masked_acceptance": {"p": P, "q": Q, "mask": [True, False, True]},
        "masked_law": {"law": P, "mask": [True, False, True]},
        "memory_bound": {"target_weights": 1.0, "draft_weights": 0.02},
        "merge_traces": {
            name: specsim.simulate(COIN, BIASED, rule="block", gamma=2, blocks=100, sequences=sequences)
            for name, sequences in (("a", range(4)), ("b", range(4, 8)))
        },
        "mixture": {"weights": [[0.5, 0.5], [0.0, 1.0]], "components": [[0.5, 0.5], [1.0, 0.0]]},
        "mixture_length_law": {"alpha": [0.5, 1.0], "weights": [0.5, 0.5], "gamma": 2},
        "multi_token_heads": {"acceptance": [[0.7, 0.1], [0.5, 0.1]], **shape, "head_cost": 0.05},
        "ngram": {"text": "abracadabra", "order": 1},
        "normalize": {"weights": [2, 1, 1]},
        "one_hot_law": {"ids": 2, "vocab": 50},
        "operations_factor": {"alpha": 0.8, "gamma": 5},
        "optimal_acceptance": {"p": P, "q": Q, "num_drafts": 2},
        "optimal_coupling": {"p": P, "q": Q, "num_drafts": 2},
        "optimal_gamma": {"alpha": 0.8, "cost_ratio": 0.05},
        "optimal_stopping": {"table": [[0.0, 0.5], [0.5, 0.0]], "max_gamma": 6, "cost_ratio": 0.25},
        "optimal_tree": {"acceptance": [0.6, 0.2], "draft_s": 0.05, "verify_s": {1: 1, 4: 1, 8: 1.1}},
        "optimum": {"p": P, "q": Q, "num_drafts": 2},
        "output_law": {"p": P, "q": Q, "rule": "rejection"},
        "path_bound": {**models, "num_paths": 2, "gamma": 2},
        "path_optimum": {**models, "num_paths": 2, "gamma": 1},
        "pearl": length_and_costs,
        "plan": {"latency": time, "acceptance": 0.7, "max_gamma": 4},
        "pool_texts": {"kept": [[9, 5], [7, 2]], "tried": [[10, 9], [10, 7]]},
        "predict": {"latency": time, "acceptance": 0.7, "gamma": 4},
        "recorded": {"p_rows": [[1.0, 0.0], [0.5, 0.5]], "q_rows": [[0.5, 0.5], [0.5, 0.5]]},
        "relative_costs": {"latency": time},
        "renewal": {"survival": np.full((4, 1), 0.5)},
        "request_law": {"length_law": [0.2, 0.16, 0.64], "tokens": 16, "cycle_s": 0.02},
        "residual": {"p": P, "q": Q},
        "roofline": {"target": "llama-3.1-8b", "draft": "llama-3.2-1b", "device": "h200-sxm"},
        "sequoia_tree": {"acceptance": [0.6, 0.2, 0.1], "nodes": 5},
        "simulate": {**models, "rule": "block", "gamma": 2, "blocks": 100, "sequences": 8},
        "speed_of_light": {"target": law_of_three, "nodes": 3},
        "speedup": {"alpha": 0.8, "gamma": 5, "cost_ratio": 0.05},
        "ssd": {**length_and_costs, "hits": 0.9},
        "stationary": {"model": specsim.markov([[0.5, 0.5], [1.0, 0.0]])},
        "stationary_tau": {**models, "rule": "tokenwise", "gamma": 2},
        "survival_hazards": {"survival": [0.8, 0.4, 0.1]},
        "sweep": {"latency": time, "alpha": [0.5, 0.8], "gammas": [0, 1, 4]},
        "text_law": {"target": law_of_coin, "length": 2},
        "top_k_law": {"ids": [7, 9], "probs": [0.75, 0.25], "vocab": 50},
        "total_variation": {"p": P, "q": Q},
        "tree_posterior": {"p": [[0.5, 0.5]] * 2, "q": [[0.9, 0.1]] * 2, "y": [1, 1], "parents": [-1, 0]},
        "tree_survival": {**shape, "tokens": [[1, 2, 1], [0, 1, 0]], "text": [1, 1]},
        "tree_value": {**shape, "acceptance": [0.5, 0.2]},
        "verify_chain": {"p": [COIN] * 3, "q": [BIASED] * 2, "drafts": [0, 0], "u": [0.1, 0.7, 0.0]},
        "verify_step": {"p": COIN, "q": BIASED, "drafts": [0], "u": [0.7, 0.0]},
        "verify_tree": {"p": [COIN] * 5, "q": [BIASED] * 5, "tree": drawn, "u": [0.3, 0.5, 0.0, 0.8, 0.0, 0.2]},
        "warp": {"logits": [2.0, 1.0, 0.0], "temperature": 0.7},
    }
    of_continuous: dict[str, dict[str, Any]] = {
        "emit": {**drafted, "rng": np.random.default_rng(0)},
        "keeps": drafted,
        "log_density_ratio": {"step": step, "x": [0.5, 0.5]},
        "reflection": {"step": step, "x": [0.5, 0.5]},
        "residual_on_the_line": drafted,
        "residual_quantile": {"gap": 1.0, "u": 0.5},
    }
    of_control: dict[str, dict[str, Any]] = {
        "block_lengths": {"controller": "threshold", "recorded": row_signals([P, Q], [0, 1], [1, 2])},
        "row_signals": {"rows": P, "tokens": 1},
    }
    of_trees: dict[str, dict[str, Any]] = {
        "beam_uniforms": {"width": 2, "depth": 2, "vocab": 3},
        "beams": {"model": law_of_three, "u": np.full((2, 9), 0.5), "width": 2, "depth": 2},
        "chain": {"gamma": 3},
        "check": {"tree": drawn, "vocab": 8},
        "children": shape,
        "depths": shape,
        "deterministic_tokens": {"model": law_of_three, "tree": trees.heap_tree(law_of_three, nodes=2).tree},
        "entropy_bound": {"entropy": 0.6, "vocab": 2, "nodes": 2},
        "enumerate_beams": {"model": law_of_coin, "width": 1, "depth": 1},
        "enumerate_trees": {"model": law_of_coin, **shape},
        "gumbel_top_k": {"q": np.array(P), "u": np.array([0.5, 0.5, 0.9]), "num_drafts": 2},
        "k_ary": {"branching": (2, 1)},
        "leaves": shape,
        "light_rate": {"law": COIN},
        "mask": shape,
        "paths": {"num_paths": 2, "gamma": 3},
        "probability": {"model": law_of_coin, "tree": drawn},
        "ranks": shape,
        "uniforms": {**shape, "scheme": "without_replacement"},
    }
    of_testing: dict[str, dict[str, Any]] = {
        "assert_law": {"samples": [0, 1] * 500, "law": [0.5, 0.5]},
        "assert_lossless_batch": {"verify": target_draws, "layout": "flat", "budget": 40, "sizes": (1,)},
        "drafted_tuples": {"q": [0.5, 0.0, 0.5], "num_drafts": 2},
        "edge_uniforms": {"count": 2},
        "float_laws": {"vocab": 4},
        "grid": {"vocab": 2, "denominator": 2},
        "law_test": {"counts": [520, 480], "law": [0.5, 0.5]},
        "lossless_suite": {"kind": "chain", "budget": 1.0},
        "rational_laws": {"vocab": 3},
        "sampler_law": {"verify": first_or_other, "p": [F(1, 3), F(2, 3)], "q": [F(2, 3), F(1, 3)]},
        "tables": {"vocab": 2, "depth": 2},
    }
    of_checks = {"family_checks": {"family": "draft"}, "check_rule": {"module": importance, "family": "draft"}}
    coupled = {"rule": "race", "p": P, "q": Q}
    named: Mapping[str, Mapping[str, dict[str, Any]]] = {
        "specsim": root, "specsim.continuous": of_continuous, "specsim.trees": of_trees, "specsim.testing": of_testing,
        "specsim.checks": of_checks, "real.decode.capture": {
            key: {"function": lambda *w: None, "make_arguments": tuple} for key in ("check_capture", "count_kernels")},
        "specsim.verify.coupled": {
            "emit": {**coupled, "u": P}, "acceptance": coupled, "coupled_rule": {"rule": "race", "num_drafts": 1}},
        "specsim.control": of_control, "specsim.conform": good_judgements.CALLS,
        "specsim.objective": {"loss": {"objective": "tvd", "p": P, "log_q": np.log(Q)}},
    }  # fmt: skip
    return {f"{package}.{name}": call for package, table in named.items() for name, call in table.items()}


def functions() -> dict[str, Callable[..., Any]]:
    """Return every public function by its full name, under the first package that has it."""
    by_name: dict[str, Callable[..., Any]] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            symbol = getattr(module, name)
            if inspect.isfunction(symbol) and symbol not in by_name.values():
                by_name[f"{package}.{name}"] = symbol
    return by_name


def asked_to_last(name: str, case: str) -> bool:
    """Whether a call does a great number of steps because it was told to."""
    parameter, _, written = case.partition("=")
    return case == WHOLE.get(name) or (parameter in LONG.get(name, ()) and written in IN_RANGE)
