"""aisimulate and its predecessor aiconfigurator: simulators of serving, which take a draft length and its acceptance.

aiconfigurator (`cli default`, as of 0.12): `--nextn N --nextn-accepted X`, X the mean number of accepted drafts.

aisimulate (`predict` and `recommend`, as of 0.13): YAML. For MTP `engine.nextn` and `engine.nextn_accepted`, the same
two numbers. For n-gram look-up on vLLM `engine.speculation`, with `acceptance_rates` that are conditional, entry i the
probability that draft i + 1 is accepted if all before it were, one for each of `num_speculative_tokens`. It takes a
draft to be found in every step. It has no other drafter.
"""

from __future__ import annotations

from specsim.commands.plan.engines.handover import Handover, rounded

# The most drafts of a block that both model.
MOST = 5


def nextn(plan: Handover) -> str:
    """Return aiconfigurator's options of the command line."""
    _check_length(plan, "aiconfigurator")
    return f"--nextn {plan.gamma} --nextn-accepted {plan.accepted:.6g}"


def config(plan: Handover) -> str:
    """Return aisimulate's YAML, the block `engine` of its configuration."""
    _check_length(plan, "aisimulate")
    if plan.method == "mtp":
        return "\n".join(["engine:", f"  nextn: {plan.gamma}", f"  nextn_accepted: {plan.accepted:.6f}"])
    if plan.method != "ngram":
        raise ValueError(
            f"aisimulate simulates MTP and n-gram look-up, and no drafter {plan.method}: nothing is emitted"
        )
    # A rate always has its point: YAML reads 1e-06 as text.
    rates = ", ".join(f"{rounded(rate):.6f}" for rate in plan.acceptance.hazards(plan.gamma))
    return "\n".join(
        [
            "engine:",
            "  speculation:",
            "    kind: ngram",
            f"    num_speculative_tokens: {plan.gamma}",
            f"    acceptance_rates: [{rates}]",
        ]
    )


def notes(plan: Handover) -> list[str]:
    """Return what it does not take into account."""
    if plan.method != "ngram":
        return []
    return [
        "it takes a draft to be found in every step: steps without one count as first drafts that are rejected, and "
        "cost a whole block",
        "it simulates n-gram look-up with backend vllm alone",
    ]


def _check_length(plan: Handover, name: str) -> None:
    """Raise ValueError for a block that is longer than any that the simulator has."""
    if plan.gamma > MOST:
        raise ValueError(
            f"the plan is to draft {plan.gamma}; {name} models {MOST} drafts: plan with --max-gamma {MOST}"
        )
