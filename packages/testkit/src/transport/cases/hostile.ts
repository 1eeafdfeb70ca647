/** Cases: messages that can't be right. */
import { type HostArray, hostArray } from "@tesseract-ts/core";
import { differenceOf, malformation } from "../../arrays.js";
import { demand, type Rule } from "../../failure.js";
import { randomNumbers } from "../../random.js";
import type { ConformanceCase } from "../../suite.js";
import { type CaseContext, caseMaker } from "../case.js";
import type { Exchange } from "../exchange.js";
import { rules } from "../rules.js";
import type { Encoded } from "../sides/side.js";
import { textOfTree, treeOf } from "../text.js";

type Json = Readonly<Record<string, unknown>>;

/** What a message of a few hundred bytes may cost, whatever it announces: less than is announced below, by far. */
const FAIR_BYTES = 1 << 26;
const MUTATIONS = 60;

/** Plain numbers, which no transport hands on to another. */
const sample = (seed: number): HostArray =>
  hostArray(Float64Array.from({ length: 64 }, (_, index) => seed + index / 2));

export function hostileCases(context: CaseContext): readonly ConformanceCase[] {
  const make = caseMaker(context);
  const { carries = "host", hostile } = context.options;
  return [
    make("wrong-buffers", "a buffer that is none is refused", (exchange) =>
      allRefused(exchange, ({ data, ...array }) =>
        [
          null,
          true,
          5,
          -1,
          1e300,
          "",
          "garbage",
          "\u0000",
          "💥",
          "a".repeat(20_000),
          {},
          [],
          [[]],
          [null],
          { toString: 1 },
        ].map((buffer): [string, Json] => [
          `the buffer ${excerpt(buffer)}`,
          { ...array, data: { ...(data as Json), buffer } },
        ]),
      ),
    ),
    make(
      "cut-buffers",
      "a buffer that is cut short is refused, unless what it names is there all the same",
      (exchange) =>
        tryAll(
          exchange,
          ({ data, ...array }) =>
            shortened((data as Json).buffer).map((buffer): [string, Json] => [
              `the buffer ${excerpt(buffer)}`,
              { ...array, data: { ...(data as Json), buffer } },
            ]),
          rules.hostile,
          (what, _, found) => {
            const difference = differenceOf(found, sample(2));
            demand(difference === undefined, `${what} was accepted, but ${difference}`, rules.hostile);
          },
        ),
    ),
    make("missing-fields", "an array without one of its fields is refused", (exchange) =>
      allRefused(exchange, (array) => [
        ...["shape", "dtype", "data"].map((name): [string, Json] => [`no ${name}`, { ...array, [name]: undefined }]),
        ...["encoding", "buffer"].map((name): [string, Json] => [
          `data without ${name}`,
          { ...array, data: { ...(array.data as Json), [name]: undefined } },
        ]),
      ]),
    ),
    make("unknown-names", "unknown encodings, dtypes and compressions are refused", (exchange) =>
      allRefused(exchange, (array) => [
        ["an unknown encoding", { ...array, data: { ...(array.data as Json), encoding: "no-such-encoding" } }],
        ["an unknown compression", { ...array, data: { ...(array.data as Json), compression: "zip" } }],
        ["an unknown dtype", { ...array, dtype: "bfloat16" }],
        ["a dtype of a prototype", { ...array, dtype: "constructor" }],
      ]),
    ),
    make("wrong-shapes", "a shape that isn't one is refused, and so is one that is far too large", (exchange) =>
      allRefused(exchange, (array) =>
        [
          [-64],
          [0.5],
          ["64"],
          [null],
          "64",
          64,
          {},
          [2 ** 60],
          [2 ** 30, 2 ** 30],
          [2 ** 27],
          [64, 2 ** 20],
          [2 ** 45],
        ].map((shape): [string, Json] => [`the shape ${JSON.stringify(shape)}`, { ...array, shape }]),
      ),
    ),
    make(
      "off-by-one",
      "a shape or dtype that nearly fits is refused, or gives an array of that shape and dtype",
      (exchange) =>
        allTyped(exchange, (array) => [
          ...[[65], [63], [], [0], [8, 8], [64, 1], [1, 64]].map((shape): [string, Json] => [
            `the shape ${JSON.stringify(shape)}`,
            { ...array, shape },
          ]),
          ...dtypesFor(carries).map((dtype): [string, Json] => [dtype, { ...array, dtype }]),
          ["compressed", { ...array, data: { ...(array.data as Json), compression: "lz4" } }],
        ]),
    ),
    make("huge", "a message that announces much and brings little costs little", async (exchange) => {
      await allRefused(
        exchange,
        (array) =>
          [2 ** 26, 2 ** 27, 2 ** 28].map((size): [string, Json] => [
            `the shape [${size}]`,
            { ...array, shape: [size] },
          ]),
        rules.proportion,
      );
    }),
    make("paths", "a buffer that names files elsewhere is refused", (exchange) =>
      allRefused(exchange, ({ data, ...array }) =>
        pathsIn((data as Json).buffer).map((buffer): [string, Json] => [
          `the buffer ${excerpt(buffer)}`,
          { ...array, data: { ...(data as Json), buffer } },
        ]),
      ),
    ),
    make(
      "mutations",
      `${MUTATIONS} damaged messages are refused, or give arrays of the announced shape and dtype`,
      (exchange) =>
        allTyped(exchange, ({ data, ...array }) => {
          const next = randomNumbers(20);
          const { buffer } = data as Json;
          return Array.from({ length: MUTATIONS }, (_, index): [string, Json] => [
            `damage ${index}`,
            { ...array, data: { ...(data as Json), buffer: damaged(buffer, next) } },
          ]);
        }),
    ),
    make("announced", "what is announced before a buffer arrives isn't believed", async (exchange) => {
      const { name } = exchange.about;
      for (const [shape, dtype] of [
        ["[-1]", '"float64"'],
        ["[1e300]", '"float64"'],
        ['"x"', "7"],
        ["[[]]", '"__proto__"'],
        ["null", "null"],
        [`[${2 ** 27}]`, '"float64"'],
        ["[2]", '"uint8"'],
      ]) {
        const head = `[{"object_type":"array","shape":${shape},"dtype":${dtype}`;
        const text = `${head},"data":{"encoding":${JSON.stringify(name)},"buffer":"${"AAAA".repeat(20_000)}"}}]`;
        const outcome = await exchange.receiver.decode({ text: new TextEncoder().encode(text), headers: {} });
        const what = `An array that is announced with the shape ${shape} and the dtype ${dtype}`;
        demand(!outcome.ok, `${what} was accepted`, rules.hostile);
        exchange.expectTyped(outcome, what, rules.hostile);
        demand(outcome.taken < FAIR_BYTES, `${what} cost ${outcome.taken} bytes`, rules.proportion);
      }
    }),
    ...(hostile === undefined
      ? []
      : [
          make("own-hostile", "what its author knows to be wrong is refused", (exchange) =>
            allRefused(exchange, (array) => Object.entries(hostile(array as never)) as [string, Json][]),
          ),
        ]),
  ];
}

/** Whether the bytes on a device are booleans can't be seen without copying them. */
const dtypesFor = (carries: string): readonly string[] => [
  ...["float32", "complex128", "int64", "uint8"],
  ...(carries === "host" ? ["bool"] : []),
];

type Variants = (array: Json) => readonly (readonly [what: string, array: Json])[];

/** None of the variants of a right array may be accepted. */
async function allRefused(exchange: Exchange, variants: Variants, rule: Rule = rules.hostile): Promise<void> {
  await tryAll(exchange, variants, rule, (what) => demand(false, `${what} was accepted`, rule));
}

/** Each variant is refused, or gives an array of its shape and dtype. */
async function allTyped(exchange: Exchange, variants: Variants): Promise<void> {
  await tryAll(exchange, variants, rules.hostile, (what, variant, found) => {
    const wrong = malformation(found, variant as never);
    demand(wrong === undefined, `${what} was accepted, but ${wrong}`, rules.hostile);
  });
}

/** Each variant in turn, between right arrays, so that what was begun with those has to be undone. */
async function tryAll(
  exchange: Exchange,
  variants: Variants,
  rule: Rule,
  accepted: (what: string, variant: Json, found: unknown) => void,
): Promise<void> {
  const count = variants(await rightArray(exchange)).length;
  let message: Encoded | undefined;
  for (let index = 0; index < count; index++) {
    message ??= await exchange.encode([sample(1), sample(2), sample(3)]);
    const [before, right, after] = treeOf(message.text, 1 << 20) as readonly Json[];
    const [what, variant] = variants(right as Json)[index] as readonly [string, Json];
    const text = await textOfTree([before, variant, after]);
    const outcome = await exchange.receiver.decode({ text, headers: message.headers });
    const named = `An array with ${what}`;
    exchange.expectTyped(outcome, named, rules.hostile);
    const taken = outcome.ok ? outcome.value.taken : outcome.taken;
    demand(taken < FAIR_BYTES, `${named} cost ${taken} bytes of memory`, rules.proportion);
    if (outcome.ok) {
      accepted(named, variant, outcome.value.arrays[1]);
      // A message is read once.
      await exchange.over(message, outcome.value);
      message = undefined;
    }
  }
  if (message !== undefined) await exchange.release(message);
  await exchange.roundTrip([sample(4)], { rule });
}

async function rightArray(exchange: Exchange): Promise<Json> {
  const message = await exchange.encode([sample(1)]);
  const [right] = treeOf(message.text, 1 << 20) as readonly Json[];
  await exchange.release(message);
  return right as Json;
}

function shortened(buffer: unknown): unknown[] {
  if (typeof buffer === "string") {
    return [1, 2, Math.floor(buffer.length / 2), buffer.length - 3].map((length) => buffer.slice(0, length));
  }
  if (Array.isArray(buffer)) return [buffer.slice(0, -1), buffer.slice(1), buffer.slice(0, 1)];
  if (typeof buffer === "object" && buffer !== null) {
    return Object.keys(buffer).map((name) => ({ ...buffer, [name]: undefined }));
  }
  return [];
}

const elsewhere = [
  "/etc/passwd",
  "../../../../../../../../etc/passwd",
  "../../../../../../../../etc/passwd:0",
  "file:///etc/passwd:0",
  "http://localhost/a:0",
  "/proc/self/environ:0",
  ".",
  "..:0",
  "a\u0000b:0",
];

function pathsIn(buffer: unknown): unknown[] {
  if (typeof buffer === "string") {
    // In each place of the buffer where a name or a number stands.
    const spliced = [...buffer.slice(0, 400).matchAll(/[\w+/=.-]+/g)].flatMap(({ 0: part, index }) =>
      ["../../../../../../../../etc/passwd", `../${part}`, `/dev/shm/../../etc/passwd`].map(
        (path) => buffer.slice(0, index) + path + buffer.slice(index + part.length),
      ),
    );
    return [...elsewhere, ...spliced.slice(0, 30)];
  }
  if (typeof buffer === "object" && buffer !== null && !Array.isArray(buffer)) {
    return Object.entries(buffer).flatMap(([name, value]) =>
      typeof value === "string" ? elsewhere.map((path) => ({ ...buffer, [name]: path })) : [],
    );
  }
  return [...elsewhere];
}

function damaged(value: unknown, next: () => number): unknown {
  const pick = (length: number): number => Math.floor(next() * length);
  if (typeof value === "string") {
    const characters = [...value];
    for (let changes = 1 + pick(3); changes > 0; changes--) {
      const at = pick(characters.length);
      const kind = next();
      const strange = '"\\{}[]:,0-e./ \u0000é9A='[pick(20)] ?? "~";
      if (kind < 0.4) characters[at] = strange;
      else if (kind < 0.6) characters.splice(at, 1 + pick(6));
      else if (kind < 0.8) characters.splice(at, 0, strange);
      else if (kind < 0.9) characters.length = at;
      else characters.push(...characters.slice(at, at + 8));
    }
    return characters.join("");
  }
  if (typeof value === "number") return next() < 0.5 ? -value : [2 ** 53, 0.5, 1e300, 0][pick(4)];
  if (Array.isArray(value)) {
    const list = [...(value as unknown[])];
    const at = pick(list.length + 1);
    if (next() < 0.3 || list.length === 0) list.splice(at, 1, [null, "x", {}, [], true, 2 ** 70][pick(6)]);
    else if (next() < 0.5) list.splice(at, 1);
    else list[at % list.length] = damaged(list[at % list.length], next);
    return list;
  }
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value);
    const name = names[pick(names.length)] ?? "x";
    return { ...value, [name]: next() < 0.2 ? undefined : damaged((value as Json)[name], next) };
  }
  return [null, 0, "x"][pick(3)];
}

function excerpt(value: unknown): string {
  const text =
    JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each)) ?? "undefined";
  return text.length > 60 ? `${text.slice(0, 60)}… (${text.length} characters)` : text;
}
