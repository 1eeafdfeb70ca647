/** Prints what a call in this process costs over calling the function itself: the medians of both, in milliseconds. */
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { figures } from "./statistics.js";
import identity from "./tesseract.js";

const [size = "1000"] = process.argv.slice(2);
const CALLS = 5_000;

const x = Float64Array.from({ length: Number(size) }, () => Math.random());
await using tess = await fromTesseractApi(identity);

async function median(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  // The first ones warm up.
  return figures(times.slice(CALLS / 5)).median;
}

// The identity's result shares memory with its input, and is copied to be the caller's own.
const itself = await median(() => x.slice());
console.log(JSON.stringify({ itself, call: await median(() => tess.apply({ x })) }));
