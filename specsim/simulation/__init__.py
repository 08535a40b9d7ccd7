"""Monte-Carlo decode loops of every rule on toy models with exact laws, and the exact numbers beside them."""

from specsim.simulation.chain_of_blocks import BlockChain, block_chain, stationary_tau
from specsim.simulation.conditional import Estimate, conditional_tau
from specsim.simulation.run import simulate
from specsim.simulation.toys.long_run import stationary
from specsim.simulation.toys.models import Automaton, context_free, markov, mixture
from specsim.simulation.toys.texts import ngram, recorded
from specsim.simulation.trace import Trace, merge_traces

__all__ = [
    "Automaton",
    "BlockChain",
    "Estimate",
    "Trace",
    "block_chain",
    "conditional_tau",
    "context_free",
    "markov",
    "merge_traces",
    "mixture",
    "ngram",
    "recorded",
    "simulate",
    "stationary",
    "stationary_tau",
]
