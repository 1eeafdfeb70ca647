/** Serves the identity until its standard input ends, and prints where. */
import { serve } from "@tesseract-ts/serve";
import identity from "./tesseract.js";

const [outputPath = "."] = process.argv.slice(2);
const served = await serve(identity, { port: 0, outputPath, inputPath: outputPath });
console.log(served.url);
process.stdin.resume().on("end", () => void served.close().then(() => process.exit(0)));
