// Adam (Kingma & Ba, https://arxiv.org/abs/1412.6980), as one program of jax-js.

import { numpy as np } from "@jax-js/jax";
import { jit } from "@tesseract-ts/jax-bridge";

export interface AdamState {
  readonly parameters: np.Array;
  /** Running means of the gradient and of its square. */
  readonly mean: np.Array;
  readonly square: np.Array;
}

export interface AdamOptions {
  readonly rate: number;
  readonly decayOfMean?: number;
  readonly decayOfSquare?: number;
}

export const adamState = (parameters: np.Array): AdamState => ({
  parameters,
  mean: np.zeros(parameters.shape, { dtype: parameters.dtype }),
  square: np.zeros(parameters.shape, { dtype: parameters.dtype }),
});

/** Consumes the state and the gradient; the new state is the caller's. */
export interface AdamStep {
  (state: AdamState, gradient: np.Array, step: number): Promise<AdamState>;
  dispose(): void;
}

export function adam({ rate, decayOfMean = 0.9, decayOfSquare = 0.999 }: AdamOptions): AdamStep {
  const update = jit(({ parameters, mean, square }: AdamState, gradient: np.Array, corrections: np.Array) => {
    const [first, second] = corrections as unknown as [np.Array, np.Array];
    const newMean = mean.mul(decayOfMean).add(gradient.ref.mul(1 - decayOfMean));
    const newSquare = square.mul(decayOfSquare).add(np.square(gradient).mul(1 - decayOfSquare));
    const change = newMean.ref.mul(first).div(np.sqrt(newSquare.ref.mul(second)).add(1e-12));
    return { parameters: parameters.sub(change.mul(rate)), mean: newMean, square: newSquare };
  });
  const next = async (state: AdamState, gradient: np.Array, step: number): Promise<AdamState> => {
    // The means begin at 0, and are made up for it.
    const corrections = Float64Array.of(1 / (1 - decayOfMean ** step), 1 / (1 - decayOfSquare ** step));
    return (await update(state, gradient, corrections)) as AdamState;
  };
  return Object.assign(next, { dispose: () => update.dispose() });
}
