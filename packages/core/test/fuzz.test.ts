/** Real answers of the reference, damaged: whatever comes, a call gives a result or a TesseractError. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { host } from "../../transport-host/src/index.js";
import { isHostArray } from "../src/arrays/host-array.js";
import { TesseractError } from "../src/errors.js";
import { fromUrl } from "../src/from-url.js";
import { Answer } from "../src/message/answer.js";
import { decodeMessage } from "../src/message/decode-message.js";
import { TransportSet } from "../src/transport-set.js";
import { openapi, serveBytes } from "./http/servers.js";
import { mutated, pieces, randomNumbers, utf8 } from "./support.js";

interface Recorded {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const golden = new URL("../../../interop/golden/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, golden), "utf8");

function recordedAnswers(version: string): Recorded[] {
  const answers: { status: number; headers: Record<string, string>; body: string }[] = JSON.parse(
    read(`answers/${version}.json`),
  );
  return answers.map(({ status, headers, body }) => ({ status, type: headers["content-type"] ?? "", body }));
}

/** Some arrays of each encoding, as one answer; the lists' text is kept to the digit. */
function recordedArrays(encoding: string, format: string): Recorded[] {
  const lines = read(`vectors/${encoding}.json`)
    .split("\n")
    .filter((line) => line.startsWith("{") && line.length < 1500)
    .map((line) => line.slice(line.indexOf(',"encoded":') + 11).replace(/\},?$/, ""));
  return Array.from({ length: 12 }, (_, first) => {
    const some = lines.filter((_, index) => index % 12 === first).slice(0, 5);
    return { status: 200, type: `application/${format}`, body: `{"y":[${some.join(",")}],"n":{"x":1.5}}` };
  });
}

const answers: readonly Recorded[] = [
  ...["1.15", "1.13", "1.12"].flatMap(recordedAnswers),
  ...recordedArrays("json", "json"),
  ...recordedArrays("base64", "json+base64"),
  ...recordedArrays("base64-lz4", "json+base64"),
  ...recordedArrays("binref", "json+binref"),
  ...recordedArrays("binref-lz4", "json+binref"),
];
const answerAt = (index: number): Recorded => {
  const answer = answers[index % answers.length];
  if (answer === undefined) throw new Error("There are no answers");
  return answer;
};

const transports = new TransportSet([host({ outputPath: fileURLToPath(new URL("vectors/", golden)) })]);
const { signal } = new AbortController();

async function decode({ status, type }: Recorded, chunks: readonly Uint8Array[]): Promise<unknown> {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const headers: Readonly<Record<string, string>> = { "content-type": type, "content-length": `${length}` };
  const answer = new Answer({
    what: "it",
    maxBytes: 1 << 24,
    openBuffer: (format) => transports.bufferSinkFor(format),
  });
  const sink = answer.begin({ status, header: (name) => headers[name] });
  for (const chunk of chunks) sink.write(chunk);
  return decodeMessage(await answer.end(), transports.list, { signal });
}

/** Counts what became of the cases, by the error's code; anything but a TesseractError ends the test. */
class Outcomes {
  readonly counts = new Map<string, number>();

  async add(work: () => Promise<unknown>, describe: () => string): Promise<void> {
    let outcome = "a result";
    try {
      await work();
    } catch (error) {
      if (!(error instanceof TesseractError)) throw new Error(`not a TesseractError: ${describe()}`, { cause: error });
      outcome = error.code;
    }
    this.counts.set(outcome, (this.counts.get(outcome) ?? 0) + 1);
  }

  of(...outcomes: readonly string[]): number {
    return outcomes.reduce((sum, outcome) => sum + (this.counts.get(outcome) ?? 0), 0);
  }
}

describe("answers of the reference", () => {
  test("are read as they are", async () => {
    const outcomes = new Outcomes();
    for (const answer of answers)
      await outcomes.add(
        () => decode(answer, [utf8(answer.body)]),
        () => answer.body,
      );
    expect(outcomes.of("a result")).toBe(answers.filter(({ status }) => status === 200).length);
    expect(outcomes.of("MALFORMED_RESPONSE", "DECODE_FAILED", "UNSUPPORTED_DTYPE")).toBe(0);
  });

  test("with changed bytes give a result or a TesseractError", async () => {
    const next = randomNumbers(1);
    const outcomes = new Outcomes();
    for (let i = 0; i < 3000; i++) {
      const answer = answerAt(i);
      const bytes = mutated(utf8(answer.body), next);
      const chunks = pieces(bytes, 1 + Math.floor(next() * bytes.length + 1), next);
      await outcomes.add(
        () => decode(answer, chunks),
        () => new TextDecoder().decode(bytes),
      );
    }
    expect(outcomes.of("a result")).toBeGreaterThan(100);
    expect(outcomes.of("MALFORMED_RESPONSE")).toBeGreaterThan(800);
    expect(outcomes.of("DECODE_FAILED")).toBeGreaterThan(100);
  });

  test("with changed values give a result or a TesseractError", async () => {
    const next = randomNumbers(2);
    const odd = [
      "null",
      "true",
      "-1",
      "0",
      "1.5",
      "3",
      "1e308",
      "1000000000000",
      "9007199254740993",
      '""',
      '"x"',
      '"AAAA"',
      "[]",
      "[[]]",
      "[null]",
      "{}",
      '{"toString":1}',
      '{"length":1}',
      '{"constructor":{}}',
      `"${"A".repeat(600)}"`,
      "[1,2,3]",
      "NaN",
      '"float64"',
      '"lz4"',
      '"json"',
      '"base64"',
      '"binref"',
      '"raw"',
      '"array"',
      '"run_golden/binref.bin:0"',
      '"../x:0"',
      `${"[".repeat(200)}${"]".repeat(200)}`,
      '"1+2j"',
      `"${"1".repeat(70_000)}"`,
    ];
    // Scalars, lists without lists, and names of members.
    const values = /"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|\btrue\b|\bfalse\b|\bnull\b|\[[^[\]{}]*\]/g;
    const outcomes = new Outcomes();
    for (let i = 0; i < 2000; i++) {
      const answer = answerAt(i);
      let body = answer.body;
      for (let changes = 1 + Math.floor(next() * 3); changes > 0; changes--) {
        const places = [...body.matchAll(values)];
        const place = places[Math.floor(next() * places.length)];
        if (place === undefined) break;
        const value = odd[Math.floor(next() * odd.length)] ?? "null";
        body = body.slice(0, place.index) + value + body.slice(place.index + place[0].length);
      }
      await outcomes.add(
        () => decode(answer, pieces(utf8(body), 1 << 16)),
        () => body,
      );
    }
    expect(outcomes.of("a result")).toBeGreaterThan(100);
    expect(outcomes.of("DECODE_FAILED")).toBeGreaterThan(100);
    expect(outcomes.of("UNSUPPORTED_DTYPE", "TRANSPORT_MISSING", "PATH_ESCAPE")).toBeGreaterThan(20);
  });
});

test("answers whose HTTP is changed too give a result or a TesseractError, and no call hangs", async () => {
  const next = randomNumbers(3);
  let changed = Buffer.alloc(0);
  const schema = JSON.stringify(openapi());
  const head = ({ status, type }: Omit<Recorded, "body">, length: number): string =>
    `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`;
  await using server = await serveBytes((socket, text) => {
    if (text.startsWith("GET /openapi.json")) {
      socket.end(head({ status: 200, type: "application/json" }, schema.length) + schema);
    } else if (text.includes("\r\n\r\n{")) {
      socket.end(changed);
    }
  });
  await using tess = await fromUrl(server.origin, { transports: transports.list, timeout: 10_000 });
  const outcomes = new Outcomes();
  for (let i = 0; i < 400; i++) {
    const answer = answerAt(i * 7);
    const body = utf8(answer.body);
    const full = Buffer.concat([Buffer.from(head(answer, body.length)), body]);
    // Half of them in the head alone, which is the smaller part.
    const headLength = full.indexOf("\r\n\r\n") + 4;
    changed =
      i % 2 === 0
        ? Buffer.concat([mutated(full.subarray(0, headLength), next), full.subarray(headLength)])
        : Buffer.from(mutated(full, next));
    await outcomes.add(
      async () => {
        const result = await tess.apply({ x: 1 });
        if (isHostArray(result)) throw new Error("An answer is a tree");
      },
      () => changed.toString("latin1"),
    );
  }
  expect(outcomes.of("TIMEOUT")).toBe(0);
  expect(outcomes.of("a result")).toBeGreaterThan(10);
  expect(outcomes.counts.size).toBeGreaterThan(4);
});
