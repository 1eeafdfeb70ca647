# SPDX-License-Identifier: Apache-2.0
"""Programs of JAX that call Tesseracts: functions by name, and transformations of them by name.

interop/test/jax/programs.ts has the same programs in TypeScript. Arithmetic only: jax-js computes sin, exp and the like with
the precision of float32 on its Wasm backend.
"""

import jax
import jax.numpy as jnp
from tesseract_jax import apply_tesseract

SEQUENTIAL = {"vmap_method": "sequential"}
CONSTANT = [0.75, -1.25, 2.0]


def functions(tesseracts, defaults=SEQUENTIAL):
    """Each takes x and w, vectors of 3 elements, and gives a tree of arrays; `float32` in that dtype, the others float64.

    `defaults` are the options of its calls.
    """

    def single_call(x, w, **options):
        return apply_tesseract(tesseracts["elementwise"], {"x": x, "w": w}, **{**defaults, **options})

    def vectors(x, matrix, shift, terms=(), weights=None):
        inputs = {"x": x, "affine": {"matrix": matrix, "shift": shift}, "terms": list(terms), "weights": weights or {}}
        return apply_tesseract(tesseracts["vectors"], inputs, **defaults)

    def y(x, w):
        return single_call(x, w)["y"]

    def single(x, w):
        return y(x, w)

    def chain(x, w):
        return y(y(x, w), w)

    def chain_of_three(x, w):
        return y(y(y(x, w) * 0.5, w) + x, w)

    def skip(x, w):
        return y(y(x, w) + x, w)

    def diamond(x, w):
        return y(y(x, w), y(w, x))

    def diamond_joined(x, w):
        return y(x * w, w) + y(x + w, w)

    def shared(x, w):
        return y(x, x) * w

    def outputs(x, w):
        out = single_call(x, w)
        return {"y": out["y"], "total": out["total"]}

    def one_output(x, w):
        return single_call(x, w)["total"]

    def output_twice(x, w):
        out = single_call(x, w)["y"]
        return [out * w, out + x]

    def static(x, w):
        inputs = {"x": x, "w": w, "exponent": 3, "mode": "cubic"}
        return apply_tesseract(tesseracts["elementwise"], inputs, **defaults)["y"]

    def stopped(x, w):
        return y(x, jax.lax.stop_gradient(w)) * w

    def stopped_output(x, w):
        return jax.lax.stop_gradient(y(x, w)) * x

    def unused(x, w):
        y(x, w)
        return x * w

    def repeated(x, w):
        return y(x, w) + y(x, w)

    def untouched(x, w):
        return {"y": y(x, w), "x": x}

    def constant(x, w):
        return y(x, jnp.array(CONSTANT)) * w

    def mixed(x, w):
        out = single_call(x * w + 1, w)
        return out["y"] * x + out["total"]

    def masked(x, w):
        inputs = {"x": x, "w": w, "mask": jnp.array(CONSTANT)}
        return apply_tesseract(tesseracts["elementwise"], inputs, **defaults)["y"]

    def nested(x, w):
        out = vectors(x, x[:, None] * w[None, :], w, [x * w, w])
        return {"y": out["y"], "norm": out["stats"]["norm2"], "products": out["products"]}

    def nested_part(x, w):
        return vectors(x, x[:, None] * w[None, :], w, [x, w])["products"][1]

    def dictionary(x, w):
        constants = jnp.array(CONSTANT, dtype="float32")
        out = vectors(x, w[:, None] * w[None, :], w, [], {"a b": constants, "c": 2 * constants})
        return {"one": out["scaled"]["a b"], "other": out["scaled"]["c"]}

    def two_tesseracts(x, w):
        out = vectors(y(x, w), x[:, None] * w[None, :], w)
        return y(out["y"], w)

    def float32(x, w):
        out = apply_tesseract(tesseracts["elementwise32"], {"x": x, "w": w}, **defaults)["y"]
        return apply_tesseract(tesseracts["elementwise32"], {"x": out, "w": x}, **defaults)["y"]

    return {name: value for name, value in locals().items() if name not in ("tesseracts", "defaults", "single_call", "vectors", "y")}


def scalar(f):
    """The sum of the squares of all elements."""
    return lambda x, w: sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(f(x, w)))


X = [0.5, 1.25, -0.75]
W = [1.5, -0.5, 2.0]
DX = [1.0, -2.0, 0.5]
DW = [0.25, 0.5, -1.0]
XS = [[0.5, 1.25, -0.75], [1.0, -1.5, 0.25]]
WS = [[1.5, -0.5, 2.0], [0.5, 0.75, -1.25]]


def transformations(dtype):
    x, w, dx, dw, xs, ws = (jnp.array(each, dtype=dtype) for each in (X, W, DX, DW, XS, WS))

    def pull(f):
        value, pullback = jax.vjp(f, x, w)
        return pullback(jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.5), value))

    def push_twice(f):
        _, pushforward = jax.linearize(f, x, w)
        return [pushforward(dx, dw), pushforward(dw, dx)]

    return {
        "value": lambda f: f(x, w),
        "jit": lambda f: jax.jit(f)(x, w),
        "grad": lambda f: jax.grad(scalar(f))(x, w),
        "jit grad": lambda f: jax.jit(jax.grad(scalar(f)))(x, w),
        "grad jit": lambda f: jax.grad(jax.jit(scalar(f)))(x, w),
        "grad by w": lambda f: jax.grad(scalar(f), argnums=1)(x, w),
        "value and grad by both": lambda f: jax.jit(jax.value_and_grad(scalar(f), argnums=(0, 1)))(x, w),
        "jvp": lambda f: jax.jvp(f, (x, w), (dx, dw)),
        "jvp by x": lambda f: jax.jit(lambda x, w: jax.jvp(lambda x: f(x, w), (x,), (dx,)))(x, w),
        "vjp": pull,
        "linearize": push_twice,
        "jacrev": lambda f: jax.jacrev(f)(x, w),
        "jacfwd": lambda f: jax.jacfwd(f)(x, w),
        "jit jacrev by both": lambda f: jax.jit(jax.jacrev(f, argnums=(0, 1)))(x, w),
        "vmap": lambda f: jax.vmap(f)(xs, ws),
        "vmap over x": lambda f: jax.vmap(f, in_axes=(0, None))(xs, w),
        "jit vmap": lambda f: jax.jit(jax.vmap(f))(xs, ws),
        "vmap grad": lambda f: jax.vmap(jax.grad(scalar(f)))(xs, ws),
        "jit vmap grad": lambda f: jax.jit(jax.vmap(jax.grad(scalar(f)), in_axes=(0, None)))(xs, w),
        "grad vmap": lambda f: jax.grad(lambda xs, w: jnp.sum(jax.vmap(scalar(f), in_axes=(0, None))(xs, w)), argnums=1)(xs, w),
        "vmap jvp": lambda f: jax.vmap(lambda x, dx: jax.jvp(lambda x: f(x, w), (x,), (dx,))[1])(xs, ws),
        "jvp vmap": lambda f: jax.jvp(jax.vmap(f), (xs, ws), (ws, xs))[1],
    }
