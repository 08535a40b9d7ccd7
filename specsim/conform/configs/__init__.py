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
        raise ValueError(NO_ENGINE.format(place=place))
    (engine,) = asked
    config: Config = engine.judged(content, place)
    unread = unread_fields(content, engine.names_read(content), engine.NAME)
    return config._replace(fields=(*config.fields, *unread))
