import { test } from "vitest";
import { numpy as np } from "@jax-js/jax";
import { applyTesseract, grad, jaxArray, jit, jvp, vmap, vjp } from "../src/index.js";
import { square } from "./fake-tesseract.js";
test("dbg", async () => {
  const fake = square();
  const y = (x: np.Array, w: np.Array) => (applyTesseract(fake.tesseract, { x, w }, { vmapMethod: "sequential" }) as any).y as np.Array;
  const w = await jaxArray([1, 2]);
  const xs = await jaxArray([[1, 2], [3, 4]]);
  const x = await jaxArray([1, 2]);
  const show = async (n: string, f: () => Promise<unknown>) => { const a = w.refCount; for (let i = 0; i < 3; i++) { await f(); } console.log(n, w.refCount - a, x.refCount, xs.refCount); };
  await show("warm closure", () => grad((x: np.Array) => np.sum(y(x, w.ref)))(x.ref));
  await show("closure mul", () => grad((x: np.Array) => np.sum(y(x.mul(w.ref), x)))(x.ref).catch(() => 0));
  await show("jvp closure", () => jvp((x: np.Array) => y(x, w.ref), [x.ref], [x.ref]) as Promise<unknown>);
  await show("vmap closure", () => vmap((x: np.Array) => y(x, w.ref))(xs.ref));
  await show("nested jvp, jit", async () => { const p = jit((x: np.Array) => jvp((x: np.Array) => y(x, w.ref), [x.ref], [x])[1]); await p(x.ref); p.dispose(); });
  await show("nested jvp, grad", () => grad((x: np.Array) => np.sum(jvp((z: np.Array) => y(z, w.ref), [np.ones([2], { dtype: np.float64 })], [x])[1]))(x.ref));
  await show("nested jvp, vmap", () => vmap((x: np.Array) => jvp((x: np.Array) => y(x, w.ref), [x.ref], [x])[1])(xs.ref));
});
