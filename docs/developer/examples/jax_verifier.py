"""A verifier in JAX, judged by: specsim conform jax_verifier.py."""

import jax
import jax.numpy as jnp

from specsim.conform import Subject


@jax.jit
def verify(p, q, drafts, key):
    """Return the number of kept drafts and the next token; p (gamma+1, V), q (gamma, V), drafts (gamma,)."""
    accept_key, token_key = jax.random.split(key)  # each key serves once

    # The first draft that is refused ends the block.
    places = jnp.arange(len(drafts))
    uniforms = jax.random.uniform(accept_key, drafts.shape)
    accepted = uniforms * q[places, drafts] < p[places, drafts]
    kept = jnp.cumprod(accepted.astype(jnp.int32)).sum()

    # A correction after it, or a bonus: past the last draft nothing is taken off the target.
    proposed = jnp.concatenate([q, jnp.zeros_like(q[:1])])
    residual = jnp.maximum(p[kept] - proposed[kept], 0)
    return kept, jax.random.categorical(token_key, jnp.log(residual))


@jax.jit
def verify_batch(p, q, drafts, key):
    """Return the same for N rows, each with a key of its own."""
    return jax.vmap(verify)(p, q, drafts, jax.random.split(key, len(p)))


def subject():
    """Return what `specsim conform` judges."""
    return Subject("jax_verifier", "chain", verify, arrays="jax", sizes=(1, 2), batch=verify_batch)
