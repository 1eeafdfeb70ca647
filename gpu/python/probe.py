"""Says as JSON what this Python can do for the suite: for each part its version, or after "!" why it is of no use."""

import json
import os
import platform

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def version_of(look):
    try:
        return look()
    except (Exception, SystemExit) as error:  # noqa: BLE001  a library that can't be loaded may raise anything
        return f"!{type(error).__name__}: {error}".splitlines()[0][:200]


def numpy():
    import numpy

    return numpy.__version__


def runtime():
    from importlib.metadata import version

    import tesseract_core.runtime.serve  # noqa: F401

    return version("tesseract-core")


def cudart():
    from tesseract_core.runtime.cuda import api

    return f"device {api.get_device()}"


def cupy():
    import cupy

    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("CuPy sees no GPU")
    cupy.arange(4).sum().item()  # a kernel runs
    return cupy.__version__


def torch():
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("this PyTorch sees no GPU")
    torch.arange(4, device="cuda").sum().item()
    return torch.__version__


def jax():
    import jax

    jax.devices("gpu")
    jax.numpy.arange(4).sum().item()
    return jax.__version__


print(
    json.dumps(
        {
            "python": platform.python_version(),
            **{look.__name__: version_of(look) for look in (numpy, runtime, cudart, cupy, torch, jax)},
        }
    )
)
