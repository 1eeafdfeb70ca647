// Programs beside JAX with the tesseract-jax that is installed, which runs them now, on the same served Tesseract.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fromUrl } from "@tesseract-ts/core";
import type { VmapMethod } from "@tesseract-ts/jax-bridge";
import { host } from "@tesseract-ts/transport-host";
import { expect, test } from "vitest";
import { startRecorder } from "../src/jax-recorder.js";
import { repositoryRoot, runProgram } from "../src/python.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";
import type { GoldenProgram } from "./jax/golden.js";
import { programArrays, programFunctions, type Tesseracts, transformations } from "./jax/programs.js";
import { expectClose, plain } from "./jax/values.js";

/** An interpreter with tesseract-jax, as requirements/jax.txt has it. */
const python = process.env.TESSERACT_JAX_PYTHON ?? join(repositoryRoot, ".venv-jax/bin/python");
const missing = existsSync(python) ? undefined : `No tesseract-jax: ${python} doesn't exist.`;
const script = fileURLToPath(new URL("../src/jax-live.py", import.meta.url));

interface LivePrograms {
  readonly versions: Readonly<Record<string, string>>;
  readonly programs: Readonly<Record<string, GoldenProgram>>;
}

const batches = Object.keys(transformations).filter((name) => name.includes("vmap"));
const methods: readonly VmapMethod[] = ["expand_dims", "broadcast_all", "auto_experimental"];
const names = [
  ...Object.keys(transformations).map((transformation) => `sequential/${transformation}/skip`),
  ...methods.flatMap((method) =>
    ["single", "mixed"].flatMap((name) => batches.map((transformation) => `${method}/${transformation}/${name}`)),
  ),
];

const { elementwise } = sharedRuntimes({ elementwise: { fixture: "jax-elementwise" } });

describeWithRuntime("1.15", "with each method for batches, and under each transformation", () => {
  test("programs give what JAX gives at this moment, and ask no more than it does", {
    timeout: 420_000,
  }, async (context) => {
    if (missing !== undefined) {
      if (process.env.CI) throw new Error(missing);
      context.skip(missing);
    }
    const { url } = elementwise();
    const args = [script, `elementwise=${url}`, ...names];
    const printed = await runProgram(python, args, { env: { JAX_PLATFORMS: "cpu" }, timeout: 400_000 });
    const { programs, versions } = JSON.parse(printed) as LivePrograms;
    expect(versions["tesseract-jax"]).toMatch(/^0\.[45]\./);
    expect(Object.keys(programs)).toEqual(names);
    await using recorder = await startRecorder({ elementwise: url });
    for (const [name, { value = null, requests, ...failure }] of Object.entries(programs)) {
      expect({ name, ...failure }).toEqual({ name });
      const [vmapMethod = "", transformation = "", functionName = ""] = name.split("/");
      const client = recorder.client();
      const options = {
        transports: [host()],
        outputFormat: "json+base64",
        basePath: client.basePath("elementwise"),
      } as const;
      await using tesseract = await fromUrl(client.url, options);
      const functions = programFunctions({ elementwise: tesseract } as unknown as Tesseracts, {
        vmapMethod: vmapMethod as VmapMethod,
      });
      const f = functions[functionName];
      const program = f === undefined ? undefined : transformations[transformation]?.(f);
      if (program === undefined) throw new Error(`There is no program "${name}" in TypeScript`);
      expectClose(await plain(await program(await programArrays("float64"))), value, 1e-12, name);
      program.dispose?.();
      const asked = client.takeRequests();
      expect(asked.length, `${name}: ${asked.join(", ")} for ${requests.join(", ")}`).toBeLessThanOrEqual(
        requests.length,
      );
    }
  });
});
