# SPDX-License-Identifier: Apache-2.0
"""PyTorch's autograd through `apply_tesseract` on the Tesseract `waves`, beside the same function in plain PyTorch.

    drive-torch.py URL

Prints how far the two are apart, by what is computed.
"""

import json
import sys

import torch
from tesseract_core import Tesseract
from tesseract_torch import apply_tesseract
from torch.autograd import forward_ad

tess = Tesseract.from_url(sys.argv[1])
generator = torch.Generator().manual_seed(0)
a, b, t, u = torch.randn(4, 5, dtype=torch.float64, generator=generator)


def plain(a, b):
    return a**2 * b + torch.sin(a * b)


def served(a, b):
    return apply_tesseract(tess, {"a": a, "b": b})["y"]


def leaves(value):
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (tuple, list)) else [value]


results = {}


def compare(name, transform):
    """The same computation with both functions."""
    ours, theirs = leaves(transform(served)), leaves(transform(plain))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert one.shape == other.shape and one.dtype == other.dtype, (one.shape, other.shape, one.dtype, other.dtype)
    results[name] = max(float((one - other).abs().max()) for one, other in zip(ours, theirs))


def fresh():
    return a.clone().requires_grad_(), b.clone().requires_grad_()


def backward(loss):
    def gradients(f):
        x, y = fresh()
        loss(f, x, y).backward()
        return x.grad, y.grad

    return gradients


def forward(f):
    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(a, t), forward_ad.make_dual(b, u))
        return tuple(forward_ad.unpack_dual(y))


compare("call", lambda f: f(a, b))
compare("backward of a sum", backward(lambda f, x, y: f(x, y).sum()))
compare("backward of squares", backward(lambda f, x, y: (f(x, y) ** 2).sum()))
compare("backward of a chain", backward(lambda f, x, y: torch.mean(f(f(x, y) + x, y))))
compare("autograd.grad of one input", lambda f: torch.autograd.grad(f(*(inputs := fresh())).sum(), inputs[0]))
compare("vjp", lambda f: torch.autograd.functional.vjp(f, (a, b), t))
compare("jacobian", lambda f: torch.autograd.functional.jacobian(f, (a, b)))
compare("forward mode", forward)

steps = []
for f in (served, plain):
    weight = torch.ones(5, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        f(weight, b).square().mean().backward()
        optimizer.step()
    steps.append(weight.detach())
results["five steps of SGD"] = float((steps[0] - steps[1]).abs().max())
assert torch.autograd.gradcheck(served, fresh()), "gradcheck"

print(json.dumps(results))
