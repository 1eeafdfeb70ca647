# SPDX-License-Identifier: Apache-2.0
"""Fits a Tesseract's parameters to measurements. That it is written in TypeScript doesn't show.

    fit.py URL [FILE]    writes the results to FILE, as JSON
"""

import importlib.util
import json
import sys

try:
    import numpy as np
    from tesseract_core import Tesseract
except ImportError as error:
    sys.exit(f"{sys.executable} lacks the reference client ({error}): pip install 'tesseract-core[runtime]'")

# Theophylline in the serum of one person, who took 4.02 mg/kg (R. Upton; in A. J. Boeckmann, L. B. Sheiner, S. L. Beal: NONMEM Users
# Guide, Part V, 1994; the first of twelve, and `Theoph` in R).
DOSE = 4.02
TIMES = np.array([0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37])  # hours
MEASURED = np.array([0.74, 2.84, 6.57, 10.5, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28])  # mg/l

START = np.array([-2.5, 0.5, -3.0])  # log ke, log ka, log cl
MOST_STEPS = 50


def main(url, file=None):
    absorption = Tesseract.from_url(url)
    print(f"  endpoints    {', '.join(absorption.available_endpoints)}")

    def inputs(parameters):
        return {"parameters": parameters, "times": TIMES, "dose": DOSE}

    def residuals(parameters):
        return MEASURED - absorption.apply(inputs(parameters))["concentration"]

    # Gauss-Newton: each step asks for the concentrations and for their Jacobian, (times, parameters).
    parameters, steps = START, []
    for step in range(MOST_STEPS):
        difference = residuals(parameters)
        steps.append({"parameters": parameters.tolist(), "loss": float(difference @ difference)})
        print(f"  step {step:<7} loss {steps[-1]['loss']:.6f}")
        answer = absorption.jacobian(inputs(parameters), jac_inputs=["parameters"], jac_outputs=["concentration"])
        jacobian = answer["concentration"]["parameters"]
        change = np.linalg.lstsq(jacobian, difference, rcond=None)[0]
        parameters = parameters + change
        if np.max(np.abs(change)) < 1e-5:
            break
    else:
        sys.exit(f"  no convergence in {MOST_STEPS} steps")

    error = np.sqrt(steps[-1]["loss"] / (len(TIMES) - len(parameters)))
    ke, ka, cl = np.exp(parameters)
    print(f"  fitted       log ke {parameters[0]:.4f}, log ka {parameters[1]:.4f}, log cl {parameters[2]:.4f}")
    print(f"               half-life {np.log(2) / ke:.2f} h, absorbed by half in {60 * np.log(2) / ka:.0f} min")
    print(f"               residual standard error {error:.3f} mg/l")

    # The gradient of the loss where the fit began, by the product with a cotangent.
    difference = residuals(START)
    gradient = absorption.vector_jacobian_product(
        inputs(START),
        vjp_inputs=["parameters"],
        vjp_outputs=["concentration"],
        cotangent_vector={"concentration": -2 * difference},
    )["parameters"]
    print(f"  gradient     {numbers(gradient)} by vector_jacobian_product")
    by_jax = gradient_by_jax(absorption) if importlib.util.find_spec("tesseract_jax") else None
    if by_jax is None:
        print("  jax.grad     left out: this Python has no tesseract-jax")
    else:
        print(f"               {numbers(by_jax)} by jax.grad through apply_tesseract")
        if not np.allclose(gradient, by_jax, rtol=1e-12, atol=0):
            sys.exit("  they differ")

    if file is not None:
        fine = np.linspace(0, 25, 126)
        curves = {
            name: absorption.apply({"parameters": values, "times": fine, "dose": DOSE})["concentration"].tolist()
            for name, values in {"start": START, "fitted": parameters}.items()
        }
        points = {"times": TIMES.tolist(), "measured": MEASURED.tolist(), "fine": fine.tolist()}
        with open(file, "w") as results:
            json.dump({**points, **curves, "parameters": parameters.tolist(), "steps": steps}, results)


def gradient_by_jax(absorption):
    """The same gradient: JAX asks the Tesseract for it, in the middle of a function of its own."""
    import jax
    import jax.numpy as jnp
    from tesseract_jax import apply_tesseract

    jax.config.update("jax_enable_x64", True)

    def loss(parameters):
        answer = apply_tesseract(absorption, {"parameters": parameters, "times": TIMES, "dose": DOSE})
        return jnp.sum((MEASURED - answer["concentration"]) ** 2)

    return np.asarray(jax.grad(loss)(jnp.asarray(START)))


def numbers(values):
    return "[" + ", ".join(f"{value:.6f}" for value in values) + "]"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
