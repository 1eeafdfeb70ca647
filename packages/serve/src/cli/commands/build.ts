/** `tesseract-ts build`: makes a container image of a Tesseract in TypeScript. */
import { extname, resolve } from "node:path";
import { command } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { kindOf, variableOf } from "../target.js";
import { printable, styleFor } from "../terminal/style.js";

export const build = command({
  name: "build",
  summary: "Make a container image of a Tesseract, with docker or podman.",
  arguments: [{ name: "FILE", help: "the file whose default export it is (.ts, .mts, .js, .mjs)" }],
  options: {
    tag: {
      kind: "text",
      value: "NAME",
      short: "t",
      help: "what the image is called, such as heat or heat:1.2; needed",
    },
    base: { kind: "text", value: "IMAGE", help: "any Linux with Node 20.18.1 or newer (Node's own, node:22-slim)" },
    include: {
      kind: "list",
      value: "PATH",
      help: "a file or folder that the Tesseract reads, relative to its own folder",
    },
    package: { kind: "list", value: "NAME", help: "a package that it needs without importing it by name" },
    env: { kind: "list", value: "NAME=VALUE", help: "a variable that the image sets" },
    keep: {
      kind: "text",
      value: "DIR",
      help: "keep the Containerfile and all that it copies there, to build from again",
    },
    engine: { kind: "text", value: "NAME", help: "docker or podman; the one that is there if left out" },
    verbose: { kind: "flag", short: "v", help: "all that the engine prints, on standard error" },
  },
  about: [
    "The image serves the Tesseract by itself, with its packages as they are installed here; not as root, and with a check of its health. The reference's Tesseract.from_image starts it as well. A Tesseract in Python is built by `tesseract build`.",
  ],
  examples: [
    { command: "tesseract-ts build tesseract.ts --tag heat", what: "an image" },
    { command: "docker run --rm --publish 8000:8000 heat", what: "which serves it by itself" },
    { command: "tesseract-ts call heat apply @inputs.json", what: "or is started for a call" },
  ],
  async run({ options, given: [file = ""], terminal, progress, json }) {
    const { tag, base, keep, engine } = options;
    if (tag === undefined)
      throw new UsageError("build needs --tag", `Such as: tesseract-ts build ${file} --tag my-tesseract`);
    const { kind, name } = kindOf(file, terminal.directory);
    if (kind !== "file") throw new UsageError(`"${file}" is no file`, "build takes the file that defines a Tesseract.");
    if (extname(name) === ".py")
      throw new UsageError(`"${file}" is in Python`, "The reference's `tesseract build` makes its image.");
    const dim = styleFor(terminal.err, terminal);
    // Loaded where it is needed, since all commands would wait for it.
    const { buildImage } = await import("../../images/build-image.js");
    const built = await buildImage(name, {
      tag,
      include: options.include,
      packages: options.package,
      environment: Object.fromEntries(options.env.map(variableOf)),
      ...(base === undefined ? {} : { base }),
      ...(keep === undefined ? {} : { keep: resolve(terminal.directory, keep) }),
      ...(engine === undefined ? {} : { engine }),
      signal: terminal.signal,
      onProgress: ({ message }) => progress.step(message),
      onLog: (line) => {
        if (options.verbose) progress.line(dim("dim", `| ${printable(line)}`));
      },
    });
    progress.end();
    const style = styleFor(terminal.out, terminal);
    if (json) terminal.out.write(`${JSON.stringify(built)}\n`);
    else {
      terminal.out.write(`${style("green", "built")} ${built.tag} (${built.name} ${built.version})\n`);
      terminal.err.write(`${dim("dim", `tesseract-ts call ${built.tag} health tries it out.`)}\n`);
    }
    return EXIT.ok;
  },
});
