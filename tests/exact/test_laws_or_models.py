"""Functions of models take two laws as well, of each context alike."""

import pytest

import specsim
from specsim import trees


def test_laws_or_models() -> None:
    p, q = [1 / 3, 2 / 3], [2 / 3, 1 / 3]
    models = (lambda text: p), (lambda text: q)
    for law, model in (
        (specsim.expected_tokens(p, q, gamma=2), specsim.expected_tokens(*models, gamma=2)),
        (
            specsim.expected_kept(p, q, rule="traversal", parents=[-1, 0]),
            specsim.expected_kept(*models, rule="traversal", parents=[-1, 0]),
        ),
        (trees.speed_of_light(p, nodes=3), trees.speed_of_light(models[0], nodes=3)),
    ):
        assert float(law) == pytest.approx(float(model))
    for function, more in (
        (specsim.expected_tokens, {"gamma": 1}),
        (specsim.expected_kept, {"rule": "traversal", "parents": [-1]}),
        (specsim.path_optimum, {"num_paths": 1, "gamma": 1}),
    ):
        with pytest.raises(TypeError, match=r"^target and draft must both be models"):
            function(p, models[1], **more)
