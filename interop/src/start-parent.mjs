// Starts a Tesseract, calls it, stops it, and begins again, until it is killed: start-parent.mjs SOURCE [PYTHON]
import { fromSource } from "@tesseract-ts/serve";

const [source, pythonExecutable] = process.argv.slice(2);

while (true) {
  console.log("starting");
  const tess = await fromSource(source, {
    startTimeout: 300_000,
    ...(pythonExecutable === undefined ? {} : { pythonExecutable }),
  });
  console.log("started");
  for (let call = 0; call < 3; call++) {
    console.log("calling");
    const x = new Float64Array([1, 2]);
    await tess
      .withEncoding({ outputFormat: "json+binref" })
      .apply(pythonExecutable === undefined ? { x } : { source: x });
    console.log("called");
  }
  console.log("stopping");
  await tess.close();
}
