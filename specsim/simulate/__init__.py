"""Monte-Carlo decode loops of every rule on toy models with exact laws, and the exact numbers beside them."""

from specsim.simulate.conditional import Estimate, conditional_tau
from specsim.simulate.exact import BlockChain, block_chain, stationary_tau
from specsim.simulate.long_run import stationary
from specsim.simulate.models import Automaton, context_free, markov, mixture
from specsim.simulate.run import simulate
from specsim.simulate.texts import ngram, recorded
from specsim.simulate.trace import Trace, merge_traces

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
