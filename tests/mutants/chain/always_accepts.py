"""Keeps every draft (one platform did: vllm-project/vllm-ascend#13766): more than any lossless rule can."""

from array_api_compat import array_namespace

from specsim.verify.chain.tokenwise import *

KILLED_BY = "below_full_information"


def transition(plan, drafts):
    xp = array_namespace(plan.p)
    return xp.concat([0 * plan.p[..., :-1, :], plan.p[..., -1:, :]], axis=-2)
