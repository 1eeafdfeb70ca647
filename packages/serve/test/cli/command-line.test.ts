// What a person types: what is understood, what is refused, and how it is said.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nearest } from "../../src/cli/parse.js";
import { commands } from "../../src/cli/program.js";
import { cli } from "./support.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("help", () => {
  test("is there for the whole, on standard output", async () => {
    const { code, out, err } = await cli(["--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const { name, summary } of commands) expect(out).toContain(`${name.padEnd(7)}  ${summary}`);
    expect(out).toContain("Exit codes");
  });

  test("without a command goes to standard error, with the exit code of wrong usage", async () => {
    const { code, out, err } = await cli([]);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("tesseract-ts COMMAND");
  });

  test.each(commands.map((each) => [each.name, each] as const))(
    "of %s has its arguments, options and an example",
    async (name, command) => {
      const { code, out } = await cli([name, "--help"]);
      expect(code).toBe(0);
      for (const each of command.arguments) expect(out).toContain(each.name);
      for (const option of Object.keys(command.options)) expect(out).toContain(`--${option}`);
      for (const { command: example } of command.examples) expect(out).toContain(example);
      expect(await cli(["help", name])).toEqual(await cli([name, "-h"]));
      expect(out.split("\n").filter((line) => line.length > 140)).toEqual([]);
    },
  );

  test("every example is understood", () => {
    const examples = commands.flatMap((each) => each.examples.map(({ command }) => command));
    expect(examples.filter((example) => !/^(tesseract-ts (\w+)|docker run) /.test(example))).toEqual([]);
  });

  test("has colours on a terminal, and none with NO_COLOR or in a file", async () => {
    expect((await cli(["--help"], { isTerminal: true })).out).toContain("\u001b[");
    expect((await cli(["--help"], { isTerminal: true, env: { NO_COLOR: "1" } })).out).not.toContain("\u001b[");
    expect((await cli(["--help"], { isTerminal: true, env: { TERM: "dumb" } })).out).not.toContain("\u001b[");
    expect((await cli(["--help"])).out).not.toContain("\u001b[");
    expect((await cli(["--help"], { env: { FORCE_COLOR: "1" } })).out).toContain("\u001b[");
  });
});

test("the version is the package's", async () => {
  expect((await cli(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

/** Everything that is wrong with a command line: exit code 2, one line, a hint, nothing on standard output. */
const wrong: readonly (readonly [what: string, args: readonly string[], message: RegExp, hint: RegExp])[] = [
  ["a command that isn't there", ["srve"], /no command "srve"/, /Did you mean "serve"\?/],
  ["an option instead of a command", ["--port"], /no option "--port"/, /--help/],
  ["an option that isn't there", ["serve", "a.ts", "--prot", "1"], /no option --prot/, /Did you mean --port\?/],
  ["an option without its value", ["serve", "a.ts", "--port"], /argument missing/, /serve --help/],
  ["a value for a flag", ["call", "a.ts", "apply", "--json=1"], /does not take an argument/, /call --help/],
  [
    "a number that is none",
    ["serve", "a.ts", "--port", "http"],
    /--port is "http"; it must be a whole number/,
    /--help/,
  ],
  ["a port that is none", ["serve", "a.ts", "--port", "70000"], /70000 is no port/, /65535/],
  ["a number that is too small", ["serve", "a.ts", "--workers", "0"], /at least 1/, /--help/],
  [
    "a value that isn't among the choices",
    ["call", "a.ts", "apply", "--format", "xml"],
    /--format is "xml"; it can be json/,
    /--help/,
  ],
  ["a missing argument", ["call", "a.ts"], /call needs ENDPOINT/, /call --help/],
  ["an argument too many", ["openapi", "a.ts", "b.ts"], /"b\.ts" too/, /quotes/],
  ["JSON in pieces, for want of quotes", ["call", "a.ts", "apply", '{"x":', "1}"], /"1}" too/, /quotes/],
  ["JSON that doesn't parse", ["call", "a.ts", "apply", '{"x": [1, 2'], /isn't JSON: The text ends too early/, /arrow/],
  ["JSON with a mistake", ["call", "a.ts", "apply", "{'x': 1}"], /isn't JSON: .*name is missing/, /\{→'x'/],
  ["JSON that is no object", ["call", "a.ts", "apply", "[1, 2]"], /is no JSON object/, /Such as/],
  [
    "a file of JSON that isn't there",
    ["call", "a.ts", "apply", "@nowhere.json"],
    /nowhere\.json can't be read: there is no such file/,
    /looked for/,
  ],
  ["a folder instead of a file of JSON", ["call", "a.ts", "apply", "@."], /it is a folder/, /looked for/],
  ["an endpoint that isn't there", ["call", "a.ts", "aply"], /no endpoint "aply"/, /Did you mean apply\?/],
  ["health with JSON", ["call", "a.ts", "health", "{}"], /takes no JSON/, /./],
  ["a derivative's option for apply", ["call", "a.ts", "apply", "{}", "--wrt", "x"], /for derivatives/, /./],
  ["a URL to serve", ["serve", "http://localhost:8000"], /is being served already/, /file/],
  ["a URL without a port that is a URL", ["call", "http://", "health"], /no URL/, /http:\/\/localhost/],
  [
    "a header without a colon",
    ["call", "http://127.0.0.1:9", "health", "--header", "secret"],
    /has no colon/,
    /Such as/,
  ],
  ["a variable without a value", ["call", "a.ts", "health", "--env", "LEVEL"], /has no "="/, /LEVEL=3/],
  [
    "an option of images for a URL",
    ["call", "http://127.0.0.1:9", "health", "--gpus", "all"],
    /--gpus is for an image/,
    /./,
  ],
  ["sizes that are none", ["bench", "a.ts", "--sizes", "1e3,huge"], /"huge"/, /1e3/],
  ["a name for a type that is none", ["types", "a.ts", "--name", "1x"], /no name for a type/, /Heat/],
  ["build without a tag", ["build", "a.ts"], /needs --tag/, /--tag my-tesseract/],
  ["a Tesseract in Python to build", ["build", "tesseract_api.py", "--tag", "x"], /is in Python/, /tesseract build/],
  ["an engine that is none", ["build", "a.ts", "--tag", "UPPER CASE"], /no name for an image/, /lower-case/],
  ["cases that aren't there", ["test", "a.ts", "--cases", "nowhere"], /no cases at .*nowhere/, /./],
  ["a name of a project that is none", ["init", "x", "--name", "Not A Name"], /no name for a package/, /my-tesseract/],
];

test.each(wrong)("%s is said in a line, with what to do", async (_, args, message, hint) => {
  const { code, out, err } = await cli(args, { directory: folder });
  const [line = "", ...rest] = err.trimEnd().split("\n");
  expect(line).toMatch(/^tesseract-ts: /);
  expect(line).toMatch(message);
  expect(rest.join("\n")).toMatch(/^Hint: /);
  expect(rest.join("\n")).toMatch(hint);
  expect(err).not.toMatch(/\n\s+at /);
  expect(out).toBe("");
  // Whether a URL can be one is known before anything is asked for, but it is the target's fault.
  expect(code).toBe(args.includes("http://") ? 3 : 2);
});

test("--json gives a failure as data as well", async () => {
  const { code, out, err } = await cli(["call", "nowhere.ts", "health", "--json"], { directory: folder });
  expect(code).toBe(3);
  expect(JSON.parse(out)).toEqual({
    error: expect.objectContaining({ code: "LOAD_FAILED", message: expect.stringContaining("nowhere.ts") }),
  });
  expect(err).toContain("no such file");
});

test("--debug shows where an error comes from, and nothing else does", async () => {
  const args = ["call", "nowhere.ts", "health"];
  expect((await cli(args, { directory: folder })).err).not.toMatch(/\n\s+at /);
  expect((await cli([...args, "--debug"], { directory: folder })).err).toMatch(/\n\s+at /);
});

test("a folder without a Tesseract names the files that were looked for", async () => {
  const { code, err } = await cli(["openapi", "."], { directory: folder });
  expect(code).toBe(2);
  expect(err).toContain("tesseract_api.py");
});

test("text from elsewhere can't move the cursor", async () => {
  await writeFile(join(folder, "bad.json"), '{"x": "\u001b[2J');
  const { err } = await cli(["call", "a.ts", "apply", "@bad.json"], { directory: folder });
  expect(err).not.toContain("\u001b");
});

test("what is asked for after Ctrl-C isn't begun", async () => {
  const interrupted = AbortSignal.abort("SIGINT");
  expect(await cli(["call", "http://127.0.0.1:9", "health"], { signal: interrupted })).toEqual({
    code: 130,
    out: "",
    err: "",
  });
  expect((await cli(["openapi", "http://127.0.0.1:9"], { signal: AbortSignal.abort("SIGTERM") })).code).toBe(143);
});

test("the nearest name is one that could have been meant", () => {
  expect(nearest("prot", ["port", "host"])).toBe("port");
  expect(nearest("x", ["port", "host"])).toBeUndefined();
  expect(nearest("aplly", ["apply"])).toBe("apply");
});
