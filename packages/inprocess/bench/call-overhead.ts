// What a call in this process costs over calling the function itself: 1,000 float64, medians. npx tsx --conditions=source bench/call-overhead.ts
import { z } from "zod";
import { array, defineTesseract, differentiable, fromTesseractApi } from "../src/index.js";

const vector = () => differentiable(array("float64", [null]));
const scale = (x: Float64Array): Float64Array => x.map((value) => value * 2);
const tesseract = await fromTesseractApi(
  defineTesseract({
    name: "scale",
    inputs: z.object({ x: vector() }),
    outputs: z.object({ y: vector() }),
    apply: ({ x }) => ({ y: scale(x.data) }),
    vectorJacobianProduct: ({ cotangents }) => ({ x: scale(cotangents.y.data) }),
  }),
);
const x = new Float64Array(1_000).map((_, index) => index);

async function median(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 5_000; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return (times.slice(1_000).sort((a, b) => a - b)[2_000] ?? Number.NaN) * 1_000;
}

const direct = await median(() => scale(x));
const apply = await median(() => tesseract.apply({ x }));
const vjp = await median(() => tesseract.vectorJacobianProduct({ x }, ["x"], ["y"], { y: x }));
const micro = (time: number): string => `${time.toFixed(1)} µs`;
console.log(
  `the function itself ${micro(direct)}; apply ${micro(apply)}, ${micro(apply - direct)} more; vjp ${micro(vjp)}`,
);
await tesseract.close();
