// Writes the programs of pages as a user would have them, and runs them all in one process.

import { fork } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { repositoryRoot } from "../python.js";
import { type Blocks, type Program, slugOf } from "./pages.js";

export interface Outcome {
  readonly id: string;
  /** What it gave to `console.log`, as Node prints it. */
  readonly printed: readonly string[];
  /** Warnings, and what it gave to `console.error`. */
  readonly complaints: readonly string[];
  readonly failure?: string;
}

/** A folder of its own for each page, within the repository, so that packages are found as a user's programs find them. */
export class Workspace implements AsyncDisposable {
  private constructor(private readonly root: string) {}

  static async make(): Promise<Workspace> {
    return new Workspace(await mkdtemp(join(repositoryRoot, "interop/.documentation-")));
  }

  folderOf(page: string): string {
    return join(this.root, slugOf(page.replaceAll(/\W+/g, "-")));
  }

  /** The path of a program's source. */
  sourceOf({ page, name, file }: Program): string {
    return join(this.folderOf(page), file ?? `program-${name.split(":").at(-1)}.ts`);
  }

  /** Writes the sources as they are printed: for the compiler, and for what loads a Tesseract by its path. */
  async write({ programs, files }: Blocks): Promise<void> {
    for (const program of programs) {
      await mkdir(this.folderOf(program.page), { recursive: true });
      await writeFile(this.sourceOf(program), `${program.source}\nexport {};\n`);
    }
    for (const { page, file, source } of files) {
      await mkdir(this.folderOf(page), { recursive: true });
      await writeFile(join(this.folderOf(page), file), source);
    }
  }

  /**
   * Runs programs in their order, in one process.
   *
   * @param adapt what is different here from what is printed, such as addresses
   * @returns what came of each, as soon as it is known
   */
  async run(
    programs: readonly Program[],
    adapt: (source: string) => string,
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<Running> {
    const written = await Promise.all(programs.map((program) => this.writeAdapted(program, adapt)));
    return new Running(written, env);
  }

  /** In JavaScript for every Node that is supported: `await using` is newer than some. */
  private async writeAdapted(program: Program, adapt: (source: string) => string): Promise<Written> {
    const { code } = await transform(shown(adapt(program.source)), { loader: "ts", format: "esm", target: "node20" });
    const file = this.sourceOf(program).replace(/\.ts$/, ".js");
    await writeFile(file, code);
    return { id: program.name, folder: this.folderOf(program.page), file };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}

interface Written {
  readonly id: string;
  readonly folder: string;
  readonly file: string;
}

export class Running {
  private readonly outcomes: ReadonlyMap<string, PromiseWithResolvers>;
  private readonly child;

  constructor(programs: readonly Written[], env: NodeJS.ProcessEnv) {
    this.outcomes = new Map(programs.map(({ id }) => [id, withResolvers()]));
    const runner = fileURLToPath(new URL("run-programs.mjs", import.meta.url));
    this.child = fork(runner, { env, stdio: ["ignore", "pipe", "pipe", "ipc"], execArgv: [] });
    let output = "";
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    this.child.on("message", (message) => {
      const outcome = message as Outcome;
      this.outcomes.get(outcome.id)?.resolve(outcome);
    });
    this.child.on("exit", (code, signal) => {
      const error = new Error(`The process ended with ${signal ?? code} before this program was through:\n${output}`);
      for (const { reject } of this.outcomes.values()) reject(error);
    });
    this.child.send(programs);
  }

  outcome({ name }: Program): Promise<Outcome> {
    const found = this.outcomes.get(name);
    if (found === undefined) throw new Error(`${name} isn't run`);
    return found.promise;
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

interface PromiseWithResolvers {
  readonly promise: Promise<Outcome>;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** `Promise.withResolvers` is missing from Node 20. */
function withResolvers(): PromiseWithResolvers {
  let resolvers: Omit<PromiseWithResolvers, "promise"> | undefined;
  const promise = new Promise<Outcome>((resolve, reject) => {
    resolvers = { resolve, reject };
  });
  // Which of them is awaited is the tests' business.
  promise.catch(() => {});
  if (resolvers === undefined) throw new Error("A promise calls its executor at once");
  return { promise, ...resolvers };
}

/** A line such as `y.shape; // [3]`: what it shows is printed. */
const SHOWN = /^( *)([a-z][\w.?[\]]*(?:\([^;]*\))?); \/\/ (.+)$/gm;
const PRINTED = /^ *console\.log\(.*\); \/\/ (.+)$/gm;

/** Whether a comment is a value rather than prose: one word, or something that doesn't begin as a sentence here does. */
const isValue = (comment: string): boolean => !comment.includes(" ") || /^[^a-z]/.test(comment);

const shown = (source: string): string =>
  source.replaceAll(SHOWN, (line, indent: string, expression: string, comment: string) =>
    isValue(comment) && !expression.startsWith("console.")
      ? `${indent}console.log(${expression}); // ${comment}`
      : line,
  );

/** What a program says that it prints: one entry for each `console.log` with a comment behind it. */
export const expectedOf = ({ source }: Program): readonly string[] =>
  [...shown(source).matchAll(PRINTED)].map(([, comment = ""]) => comment);

/** Whether what was printed is the value that the comment behind it has; spaces and the kind of quotes don't matter. */
export function isAsSaid(printed: string, said: string): boolean {
  if (!isValue(said)) return true;
  const [found, wanted] = [plain(printed), plain(said)];
  // `y.data; // Float64Array` says no more than the class.
  return found === wanted || (/^[A-Z]\w+Array$/.test(said) && found.startsWith(`${wanted}(`));
}

const plain = (text: string): string => text.replaceAll(/\s+/g, "").replaceAll('"', "'");
