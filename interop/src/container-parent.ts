/** Starts a Tesseract from an image and waits to be killed: says what it is at, a line each. Its arguments are JSON. */
import { type FromImageOptions, fromImage } from "@tesseract-ts/serve";

const { image, options } = JSON.parse(process.argv[2] ?? "{}") as {
  readonly image: string;
  readonly options: FromImageOptions;
};
const tesseract = await fromImage(image, { ...options, onProgress: ({ step }) => console.log(step) });
console.log("ready");
await tesseract.ended;
