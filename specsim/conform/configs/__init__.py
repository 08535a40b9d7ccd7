"""Is what an engine is told lossless? Speculative configurations of vLLM, SGLang, TensorRT-LLM and speculators.

One file an engine: it knows the engine's fields, which of them change the law of the output, and
which rule of specsim is what they switch on.
"""

from __future__ import annotations

from pathlib import Path

from specsim.conform.configs import sglang, speculators, tensorrt_llm, vllm
from specsim.conform.configs.reading import Content, read
from specsim.conform.configs.record import Config
from specsim.conform.configs.unread import unread_fields

# In the order in which a file is offered to them: the most telling names first.
ENGINES = (speculators, sglang, tensorrt_llm, vllm)
MANY_ENGINES = "{place} has fields of {names}; give one engine's configuration a file"
NO_ENGINE = (
    "{place} is no speculative configuration that is read: neither vLLM's (speculative_config, or its JSON alone), "
    "SGLang's arguments (--speculative-algorithm ...), TensorRT-LLM's (speculative_config with decoding_type), nor a "
    "config.json of speculators (speculators_config)"
)

# Files of engines and simulators that say nothing about verification here, by a field of each, and the way on.
OTHERS = {
    "candidate_steps": "is SGLang's file of --speculative-adaptive-config, which has lengths alone; give the server's "
    "arguments",
    "spec_type": "has options of llama.cpp, whose verification is not known here; judge its code (specsim conform)",
    "spec_synth_rates": "has options of llama.cpp that force acceptance: for benchmarks only, and not read here",
    "nextn": "is for a simulator (aisimulate, aiconfigurator), which writes no text: there is nothing to verify",
    "acceptance_rates": "is for a simulator (aisimulate), which writes no text: there is nothing to verify",
}


def read_config(path: Path) -> Config:
    """Return what a file of an engine switches on; ValueError if it is of none that is read, or of several."""
    content = read(path)
    return of_content(content, path.name)


def of_content(content: Content, place: str) -> Config:
    """Return what fields that were read switch on; errors name the `place` that they are from."""
    asked = [engine for engine in ENGINES if engine.is_written_for(content)]
    if len(asked) > 1:
        raise ValueError(MANY_ENGINES.format(place=place, names=" and ".join(engine.NAME for engine in asked)))
    if not asked:
        names = _all_names(content)
        ways_on = [f"{place} {way_on}" for name, way_on in OTHERS.items() if name in names]
        raise ValueError(ways_on[0] if ways_on else NO_ENGINE.format(place=place))
    (engine,) = asked
    config: Config = engine.judged(content, place)
    unread = unread_fields(content, engine.names_read(content), engine.NAME)
    return config._replace(fields=(*config.fields, *unread))


def _all_names(content: Content) -> set[str]:
    """Return the names of fields, and of fields of fields."""
    names = set(content)
    for value in content.values():
        if isinstance(value, dict):
            names |= _all_names(value)
    return names
