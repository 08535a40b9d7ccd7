"""speculators: the `speculators_config` of a drafter's config.json.

Fields are those of src/speculators/config.py and proposals/greedy.py at c05b95b.
"""

from __future__ import annotations

from typing import Any

from specsim.conform.configs.reading import Content, nested
from specsim.conform.configs.record import Config, Field, Law, number, unknown_fields, whole

NAME = "speculators"
_KNOWN = "algorithm proposal_methods default_proposal_method verifier"
KNOWN = frozenset(_KNOWN.split())
_KNOWN_OF_A_PROPOSAL = "proposal_type speculative_tokens verifier_accept_k accept_tolerance"
KNOWN_OF_A_PROPOSAL = frozenset(_KNOWN_OF_A_PROPOSAL.split())


def is_written_for(content: Content) -> bool:
    """True for a config.json with a speculators_config, or for that part alone."""
    return "speculators_config" in content or "proposal_methods" in content


def names_read(content: Content) -> set[str]:
    """Return the names that are read at the top, and those that only name the drafter; all of a part alone."""
    if "speculators_config" not in content:
        return set(content)
    return {"speculators_config", "speculators_model_type", "speculators_version"}


def judged(content: Content, place: str) -> Config:
    """Return what the proposal that is used by default switches on."""
    section = nested(content.get("speculators_config", content), f"{place}: speculators_config")
    fields = unknown_fields(section, KNOWN, NAME)
    proposal = _proposal(section, place)
    fields += unknown_fields(proposal, KNOWN_OF_A_PROPOSAL, NAME)
    whole(proposal, "speculative_tokens", 1, place, 1)
    if proposal.get("proposal_type") != "greedy":
        reason = "how its tokens are accepted is not known here; known: greedy"
        fields.append(Field("proposal_type", proposal.get("proposal_type"), "unknown", reason))
        return Config(NAME, tuple(fields))
    k, tolerance = whole(proposal, "verifier_accept_k", 1, place, 1), number(proposal, "accept_tolerance", 0.0, place)
    if k <= 1 or tolerance <= 0:
        name, value = ("verifier_accept_k", k) if k <= 1 else ("accept_tolerance", tolerance)
        idle = k > 1 or tolerance > 0
        note = Field(name, value, "note", "the verifier's own token alone passes: verification is strict")
        return Config(NAME, (*fields, note) if idle else tuple(fields))
    reason = (
        f"a draft passes among the {k:g} likeliest tokens, within {tolerance:g} in log-likelihood of the best (T50); "
        "vLLM at 052316a does not read it, and is strict"
    )
    fields.append(Field("verifier_accept_k", k, "lossy", reason))
    params = {"verifier_accept_k": k, "accept_tolerance": tolerance}
    return Config(NAME, tuple(fields), Law("accept_k", params, "greedy", "greedy"))


def _proposal(section: Content, place: str) -> Content:
    """Return the proposal that default_proposal_method names, or the only one."""
    methods: Any = section.get("proposal_methods")
    if not isinstance(methods, list) or not methods or not all(isinstance(each, dict) for each in methods):
        raise ValueError(f"{place}: proposal_methods must be a list of objects, got {methods!r:.60}")
    name = section.get("default_proposal_method", methods[0].get("proposal_type"))
    chosen: list[Content] = [each for each in methods if each.get("proposal_type") == name]
    if len(chosen) != 1:
        raise ValueError(f"{place}: {len(chosen)} of proposal_methods have the proposal_type {name!r}, which is used")
    return chosen[0]
