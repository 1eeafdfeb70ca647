// How much of a drug is in the blood after it was swallowed: one compartment, with absorption and elimination of the first order.
//
//     dA/dt = -ka A,               A(0) = dose       in the gut, per kg of body weight
//     dc/dt = (ke / cl) ka A - ke c,   c(0) = 0      in the blood
//
// Its solution is c(t) = dose ke ka / (cl (ka - ke)) (exp(-ke t) - exp(-ka t)). The rates are positive, and so their logarithms are the
// parameters: any step of an optimizer leads to rates again.

import { array, defineTesseract, derivatives, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "absorption",
  inputs: z.object({
    parameters: differentiable(array("float64", [3])).describe(
      "Logarithms of the rates of elimination ke and of absorption ka (1/h), and of the clearance cl (l/h/kg).",
    ),
    times: array("float64", [null]).describe("Hours since the drug was swallowed."),
    dose: z.number().positive().describe("mg/kg"),
  }),
  outputs: z.object({ concentration: differentiable(array("float64", [null])).describe("mg/l, at each time.") }),

  apply: ({ parameters, times, dose }) => {
    const { ke, ka, scale } = ratesOf(parameters.data, dose);
    return { concentration: times.data.map((t) => scale * (Math.exp(-ke * t) - Math.exp(-ka * t))) };
  },

  // (times, parameters), in the only pair of paths that there is.
  jacobian: ({ inputs: { parameters, times, dose } }) => {
    const { ke, ka, scale } = ratesOf(parameters.data, dose);
    const data = new Float64Array(times.data.length * 3);
    times.data.forEach((t, i) => {
      const [eliminated, absorbed] = [Math.exp(-ke * t), Math.exp(-ka * t)];
      const c = scale * (eliminated - absorbed);
      // By the logarithms: d/d log k = k d/dk, and d log(scale)/d log ke = 1 + ke / (ka - ke) = ka / (ka - ke).
      data[3 * i] = (c * ka) / (ka - ke) - scale * ke * t * eliminated;
      data[3 * i + 1] = (-c * ke) / (ka - ke) + scale * ka * t * absorbed;
      data[3 * i + 2] = -c;
    });
    return { concentration: { parameters: { dtype: "float64", shape: [times.data.length, 3], data } } };
  },
  jacobianVectorProduct: derivatives.fromJacobian(),
  vectorJacobianProduct: derivatives.fromJacobian(),

  abstractEval: ({ times }) => ({ concentration: { shape: times.shape, dtype: "float64" } }),
});

function ratesOf(parameters: Float64Array, dose: number) {
  const [ke = 0, ka = 0, cl = 0] = parameters.map(Math.exp);
  if (ke === ka) throw new RangeError("The rates of elimination and of absorption must differ.");
  return { ke, ka, scale: (dose * ke * ka) / (cl * (ka - ke)) };
}
