"""The function inside jit and vmap."""

import axpy_xla
import jax
import jax.numpy as jnp

axpy_xla.register("./libaxpy.so")
x = jnp.arange(12.0).reshape(3, 4)
y = jnp.ones(4)

scaled = jax.jit(lambda x, y: axpy_xla.axpy(2 * x, y, a=3.0) + 1)
assert jnp.array_equal(scaled(x, y), 6 * x + y + 1)
assert jnp.array_equal(jax.vmap(scaled, in_axes=(0, None))(x, y), 6 * x + y + 1)
print("ok")
