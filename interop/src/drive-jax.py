# SPDX-License-Identifier: Apache-2.0
"""JAX's transformations of `apply_tesseract` on the Tesseract `waves`, beside the same function in plain JAX.

    drive-jax.py URL

Prints how far the two are apart, by transformation.
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from tesseract_core import Tesseract
from tesseract_jax import apply_tesseract

jax.config.update("jax_enable_x64", True)

tess = Tesseract.from_url(sys.argv[1])


def plain(a, b):
    return a**2 * b + jnp.sin(a * b)


def served(a, b, **options):
    return apply_tesseract(tess, {"a": a, "b": b}, **options)["y"]


def distance(ours, theirs):
    ours, theirs = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, other.shape, one.dtype, other.dtype)
    return max(float(np.max(np.abs(np.asarray(one) - np.asarray(other)), initial=0)) for one, other in zip(ours, theirs))


key = jax.random.PRNGKey(0)
a, b, t, u = jax.random.normal(key, (4, 5))
batch_a, batch_b = jax.random.normal(jax.random.PRNGKey(1), (2, 3, 5))

results = {}


def compare(name, transform):
    """The same transformation of both functions."""
    results[name] = distance(transform(served), transform(plain))


compare("call", lambda f: f(a, b))
compare("jit", lambda f: jax.jit(f)(a, b))
compare("grad", lambda f: jax.grad(lambda a, b: jnp.sum(f(a, b) ** 2), argnums=(0, 1))(a, b))
compare("jit of grad", lambda f: jax.jit(jax.grad(lambda a: f(a, b).sum()))(a))
compare("value_and_grad of a chain", lambda f: jax.value_and_grad(lambda a: jnp.mean(f(f(a, b) + a, b)))(a))
compare("jvp", lambda f: jax.jvp(f, (a, b), (t, u)))
compare("vjp", lambda f: jax.vjp(f, a, b)[1](t))
compare("linearize", lambda f: jax.linearize(lambda a: f(a, b), a)[1](t))
compare("jacobian", lambda f: jax.jacobian(f, argnums=(0, 1))(a, b))
compare("jacrev", lambda f: jax.jacrev(f)(a, b))
compare("jacfwd", lambda f: jax.jacfwd(f, argnums=1)(a, b))
compare("jit of jacobian", lambda f: jax.jit(jax.jacobian(f))(a, b))

for method in ("sequential", "expand_dims", "broadcast_all", "auto_experimental"):

    def with_method(f):
        if f is plain:
            return plain
        return lambda a, b: served(a, b, vmap_method=method)

    def compare_with(name, transform):
        results[f"{name}, {method}"] = distance(transform(with_method(served)), transform(with_method(plain)))

    compare_with("vmap", lambda f: jax.vmap(f)(batch_a, batch_b))
    compare_with("vmap of one", lambda f: jax.vmap(f, in_axes=(0, None))(batch_a, b))
    compare_with("vmap of the other", lambda f: jax.vmap(f, in_axes=(None, 0))(a, batch_b))
    compare_with("vmap of columns", lambda f: jax.vmap(f, in_axes=(1, 1), out_axes=1)(batch_a, batch_b))
    compare_with("jit of vmap", lambda f: jax.jit(jax.vmap(f))(batch_a, batch_b))
    compare_with("vmap of grad", lambda f: jax.vmap(jax.grad(lambda a, b: f(a, b).sum()), in_axes=(0, None))(batch_a, b))
    compare_with("grad of vmap", lambda f: jax.grad(lambda a: jnp.sum(jax.vmap(f)(a, batch_b) ** 2))(batch_a))
    compare_with("vmap of jvp", lambda f: jax.vmap(lambda a, b: jax.jvp(f, (a, b), (t, u)))(batch_a, batch_b))
    compare_with("vmap of vjp", lambda f: jax.vmap(lambda a, b: jax.vjp(f, a, b)[1](t))(batch_a, batch_b))

json.dump(results, sys.stdout)
