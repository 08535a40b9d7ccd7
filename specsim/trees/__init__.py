"""Token trees: their shapes, how to draft them, and which shape is best."""

from specsim.trees.beam import beam_tree, beam_uniforms, beams
from specsim.trees.beam_law import enumerate_beams
from specsim.trees.best_shape import optimal_tree, sequoia_tree, tree_value
from specsim.trees.drawn import Drafted, draw_tree, uniforms
from specsim.trees.drawn_law import enumerate_trees
from specsim.trees.gumbel import gumbel_top_k
from specsim.trees.likeliest import Grown, eagle2_tree, heap_tree
from specsim.trees.likelihood import probability
from specsim.trees.limits import deterministic_tokens, entropy_bound, light_rate, speed_of_light
from specsim.trees.topology import chain, children, depths, k_ary, leaves, mask, paths, ranks
from specsim.trees.validity import check

__all__ = [
    "Drafted",
    "Grown",
    "beam_tree",
    "beam_uniforms",
    "beams",
    "chain",
    "check",
    "children",
    "depths",
    "deterministic_tokens",
    "draw_tree",
    "eagle2_tree",
    "entropy_bound",
    "enumerate_beams",
    "enumerate_trees",
    "gumbel_top_k",
    "heap_tree",
    "k_ary",
    "leaves",
    "light_rate",
    "mask",
    "optimal_tree",
    "paths",
    "probability",
    "ranks",
    "sequoia_tree",
    "speed_of_light",
    "tree_value",
    "uniforms",
]
