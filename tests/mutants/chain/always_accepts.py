"""Keeps every draft (one platform did: vllm-project/vllm-ascend#13766): more than any lossless rule can."""

from helpers.exhibits import names_of_chain

from specsim.verify.chain import tokenwise

KILLED_BY = "below_full_information"
globals().update(names_of_chain("always_accepts", like=tokenwise))
