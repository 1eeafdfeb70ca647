/** The files of a starter project. */
import { version } from "../version.js";

export interface Starter {
  /** Of the package, and of the Tesseract. */
  readonly name: string;
}

/** By path below the project's folder. */
export const starterFiles = ({ name }: Starter): Readonly<Record<string, string>> => ({
  "package.json": `${JSON.stringify(
    {
      name,
      version: "0.1.0",
      private: true,
      type: "module",
      engines: { node: ">=20.18.1" },
      scripts: {
        start: "tesseract-ts serve tesseract.ts",
        check: "tesseract-ts check tesseract.ts",
        test: "tesseract-ts test tesseract.ts",
        types: "tsc",
        client: "tsx client.ts",
      },
      dependencies: {
        "@tesseract-ts/core": version(),
        "@tesseract-ts/inprocess": version(),
        "@tesseract-ts/serve": version(),
        "@tesseract-ts/transport-host": version(),
        tsx: "^4.20.0",
        zod: "^4.6.0",
      },
      devDependencies: { "@types/node": "^20.19.0", typescript: "^5.9.0" },
    },
    undefined,
    2,
  )}\n`,
  "tsconfig.json": `${JSON.stringify(
    {
      compilerOptions: {
        target: "ES2022",
        lib: ["ES2022", "ESNext.Disposable", "DOM"],
        module: "NodeNext",
        moduleResolution: "NodeNext",
        strict: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: true,
        noEmit: true,
        types: ["node"],
      },
      include: ["*.ts"],
    },
    undefined,
    2,
  )}\n`,
  ".gitignore": "node_modules/\nrun_*/\n",
  "tesseract.ts": `import { array, defineTesseract, derivatives, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";

/** y = factor * x², element by element. */
export default defineTesseract({
  name: ${JSON.stringify(name)},
  inputs: z.object({
    x: differentiable(array("float64", [null])),
    factor: z.number().default(1),
  }),
  outputs: z.object({
    y: differentiable(array("float64", [null])),
  }),
  apply: ({ x, factor }) => ({ y: x.data.map((value) => factor * value ** 2) }),
  // How much each element of x counts, given how much each element of y does: 2 * factor * x * cotangent.
  vectorJacobianProduct: ({ inputs: { x, factor }, cotangents: { y } }) => ({
    x: x.data.map((value, index) => 2 * factor * value * (y?.data[index] ?? 0)),
  }),
  // The others need not be written. \`tesseract-ts check tesseract.ts\` compares them all with finite differences.
  jacobian: derivatives.fromVectorJacobianProduct(),
  jacobianVectorProduct: derivatives.fromVectorJacobianProduct(),
});
`,
  "client.ts": `// Calls the Tesseract, which \`npm start\` serves.
import { fromUrl } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";

await using tesseract = await fromUrl(process.argv[2] ?? "http://localhost:8000", { transports: [host()] });
const x = new Float64Array([1, 2, 3]);

const { y } = await tesseract.apply({ x, factor: 2 });
console.log("y", y?.data);

const gradient = await tesseract.vectorJacobianProduct({ x, factor: 2 }, ["x"], ["y"], { y: new Float64Array([1, 1, 1]) });
console.log("d sum(y) / d x", gradient["x"]?.data);
`,
  "cases/squares.json": `${JSON.stringify(
    {
      endpoint: "apply",
      payload: { inputs: { x: [1, 2, 3], factor: 2 } },
      expected_outputs: {
        y: { object_type: "array", shape: [3], dtype: "float64", data: { encoding: "json", buffer: [2, 8, 18] } },
      },
    },
    undefined,
    2,
  )}\n`,
  "README.md": `# ${name}

A Tesseract in TypeScript: \`tesseract.ts\` says what goes in, what comes out, and how it is computed.

\`\`\`sh
npm install
npm run check     # are its derivatives right?
npm test          # do the cases in cases/ still come out as they did?
npm start         # serves it at http://127.0.0.1:8000
\`\`\`

While it is being served, in another terminal:

\`\`\`sh
npm run client
npx tesseract-ts call http://localhost:8000 apply '{"x": [1, 2, 3]}'
\`\`\`

or from Python:

\`\`\`python
from tesseract_core import Tesseract

with Tesseract.from_url("http://localhost:8000") as tesseract:
    print(tesseract.apply({"x": [1.0, 2.0, 3.0]}))
\`\`\`

\`npx tesseract-ts --help\` tells what else there is.
`,
});
