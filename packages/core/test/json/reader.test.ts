import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonReader, type JsonReaderOptions } from "../../src/json/reader.js";
import { JsonSyntaxError } from "../../src/json/syntax-error.js";
import { hasWrittenFloat, isWrittenFloat } from "../../src/json/written-floats.js";
import type { AnnouncedArray } from "../../src/transport.js";
import { mutated, pieces, randomNumbers, utf8 } from "../support.js";

function read(chunks: Iterable<Uint8Array>, options?: JsonReaderOptions): unknown {
  const reader = new JsonReader(options);
  for (const chunk of chunks) {
    reader.write(chunk);
    // Who wrote the chunk uses its memory again.
    chunk.fill(0x78);
  }
  return reader.end();
}

const readText = (text: string): unknown => read([utf8(text)]);

/** The same bytes whole, byte by byte, and cut at random. */
function* cuttings(bytes: Uint8Array, seed = 1): Generator<Uint8Array[]> {
  yield [bytes.slice()];
  yield pieces(bytes, 1);
  yield pieces(bytes, 7, randomNumbers(seed));
}

/** What is thrown for these bytes, which must not depend on how they are cut. */
function failure(bytes: Uint8Array): JsonSyntaxError {
  const failures = [...cuttings(bytes)].map((chunks) => {
    try {
      read(chunks);
    } catch (error) {
      if (error instanceof JsonSyntaxError) return error;
      throw error;
    }
    throw new Error("Nothing was thrown");
  });
  const [first] = failures;
  if (first === undefined) throw new Error("Nothing was tried");
  for (const { message } of failures) expect(message).toBe(first.message);
  expect(first.message).toContain(`at byte ${first.offset}`);
  return first;
}

/** Where JSON.parse gives the nearest double of a whole number, the reader gives all of its digits. */
function withDoubles(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(withDoubles);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withDoubles(member)]));
}

/** JSON with white space wherever it is allowed, and characters that are escaped although they needn't be. */
function freely(value: unknown, next: () => number): string {
  const space = (): string => [" ", "\n", "\t", "\r\n", "", "", "", ""][Math.floor(next() * 8)] ?? "";
  const string = (text: string): string =>
    text.replace(/[\s\S]/g, (unit) => {
      const escaped = JSON.stringify(unit).slice(1, -1);
      if (next() < 0.8) return escaped.length === 1 && /[\ud800-\udfff]/.test(unit) ? unit : escaped;
      const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
      return unit === "/" ? "\\/" : `\\u${next() < 0.5 ? hex : hex.toUpperCase()}`;
    });
  const write = (item: unknown): string => {
    if (typeof item === "string") return `"${string(item)}"`;
    if (Array.isArray(item)) return `[${item.map((one) => space() + write(one) + space()).join(",") || space()}]`;
    if (typeof item !== "object" || item === null) return Object.is(item, -0) ? "-0" : JSON.stringify(item);
    const members = Object.entries(item).map(
      ([key, member]) => `${space()}"${string(key)}"${space()}:${space()}${write(member)}${space()}`,
    );
    return `{${members.join(",") || space()}}`;
  };
  return space() + write(value) + space();
}

/** Surrogates that were left as they are but lost their partner to an escape can't stand in UTF-8. */
const isWellFormed = (text: string): boolean => new TextDecoder().decode(utf8(text)) === text;

const refusedKeys = /__proto__|constructor/;
const jsonValues = fc
  .jsonValue({ stringUnit: "binary", maxDepth: 5 })
  .filter((value) => !refusedKeys.test(JSON.stringify(value)));

describe("a text", () => {
  test("is read as JSON.parse reads it, however it is cut", () => {
    fc.assert(
      fc.property(jsonValues, fc.constantFrom(undefined, 2, "\t"), fc.integer(), (value, space, seed) => {
        const text = JSON.stringify(value, null, space);
        for (const chunks of cuttings(utf8(text), seed)) expect(withDoubles(read(chunks))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("may have escapes and white space anywhere", () => {
    fc.assert(
      fc.property(jsonValues, fc.integer(), (value, seed) => {
        const text = freely(value, randomNumbers(seed));
        fc.pre(isWellFormed(text));
        for (const chunks of cuttings(utf8(text), seed)) expect(withDoubles(read(chunks))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("may be a single value", () => {
    for (const text of ["0", "-1.5e-7", "true", "false", "null", '""', '"a"', "[]", "{}", " 7 ", "\n[ ]\t"]) {
      for (const chunks of cuttings(utf8(text))) expect(read(chunks)).toEqual(JSON.parse(text));
    }
  });

  test("may come in empty pieces", () => {
    const none = new Uint8Array(0);
    expect(read([none, utf8('{"a":1'), none, utf8("2,"), none, utf8('"b":"x'), none, utf8('"}'), none])).toEqual({
      a: 12,
      b: "x",
    });
  });

  test("has the last of several members of one name, and the others in their order", () => {
    const text = '{"b":1,"a":{"x":1},"b":2,"1":0}';
    expect(Object.entries(Object(readText(text)))).toEqual(Object.entries(JSON.parse(text)));
  });

  test("may have members that are named as Object's own", () => {
    const text = '{"constructor":1,"toString":null,"hasOwnProperty":[],"prototype":{},"__defineGetter__":"x"}';
    expect(readText(text)).toEqual(JSON.parse(text));
    expect(readText('{"constructor":{"name":"x"}}')).toEqual({ constructor: { name: "x" } });
  });
});

describe("a number", () => {
  const notations = (value: number, digits: number): string[] => [
    String(value),
    value.toExponential(),
    value.toExponential(digits).toUpperCase(),
    value.toPrecision(digits + 1),
    // Beyond 10^21, toFixed gives an exponent.
    value.toFixed(digits),
    value.toExponential(digits).replace(/e([+-])/, "e$1000"),
  ];
  const exactly = (text: string): number | bigint =>
    /^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)) ? BigInt(text) : Number(text);

  test("is the double nearest to it, in any notation", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.double({ noNaN: true, min: -1e6, max: 1e6 }),
          fc.float({ noNaN: true, noDefaultInfinity: true }),
          fc.integer(),
          fc
            .tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: -22, max: 8 }))
            .map(([a, b]) => a * 10 ** b),
        ),
        fc.integer({ min: 0, max: 20 }),
        fc.integer(),
        (value, digits, seed) => {
          const texts = notations(value, digits);
          const expected = texts.map(exactly);
          for (const chunks of cuttings(utf8(`[${texts.join(",")}]`), seed)) expect(read(chunks)).toEqual(expected);
          for (const text of texts) expect(readText(text)).toBe(exactly(text));
        },
      ),
      { numRuns: 200 },
    );
  });

  test("of up to 15 digits is exact with a point anywhere", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 17n - 1n }), fc.integer({ min: 0, max: 17 }), (digits, point) => {
        const text = digits.toString().padStart(point + 1, "0");
        const decimal = point === 0 ? text : `${text.slice(0, -point)}.${text.slice(-point)}`;
        expect(readText(`[${decimal},-${decimal}]`)).toEqual([exactly(decimal), exactly(`-${decimal}`)]);
      }),
      { numRuns: 1000 },
    );
  });

  test("keeps the sign of zero", () => {
    for (const text of ["-0", "-0.0", "-0e5", "-0.000E-7"]) {
      expect(readText(text)).toBe(-0);
      expect(readText(`[${text}]`)).toEqual([-0]);
    }
  });

  test("that is too large or too small for a double becomes infinite or zero, as in JSON.parse", () => {
    expect(readText("[1e400,-1e400,1e-400,-1e-400,4.9e-324,2.4e-324]")).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      0,
      -0,
      5e-324,
      0,
    ]);
  });

  test("that is whole and beyond 2^53 becomes a bigint", () => {
    expect(readText("[9007199254740991,9007199254740992,-9007199254740993,18446744073709551615]")).toEqual([
      9007199254740991,
      9007199254740992n,
      -9007199254740993n,
      18446744073709551615n,
    ]);
    expect(readText("9007199254740993.0")).toBe(9007199254740992);
    expect(readText("1e300")).toBe(1e300);
  });

  test("may be NaN or infinite, as Python writes it", () => {
    for (const chunks of cuttings(utf8('{"a":[NaN,Infinity,-Infinity],"b":NaN}'))) {
      expect(read(chunks)).toEqual({
        a: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
        b: Number.NaN,
      });
    }
  });

  test.each([
    "01",
    "-01",
    "+1",
    "1.",
    ".5",
    "-",
    "-.5",
    "1e",
    "1e+",
    "1.e5",
    "0x10",
    "1n",
    "--1",
    "1-1",
    "1.2.3",
    "1e5.0",
    "nan",
    "inf",
    "-NaN",
    "+Infinity",
    "Infinit",
    "True",
    "None",
    "nul",
    "nulll",
    "undefined",
    "toString",
  ])("%s is none", (text) => {
    expect(failure(utf8(text)).offset).toBe(0);
    expect(failure(utf8(`[0, ${text}]`)).offset).toBe(4);
  });

  test("of thousands of digits is refused", () => {
    expect(readText("9".repeat(4000))).toBe(BigInt("9".repeat(4000)));
    expect(failure(utf8(`[${"9".repeat(5000)}]`)).message).toBe("A number has too many digits at byte 1");
  });
});

describe("a string", () => {
  test("may have any character, however its bytes are cut", () => {
    const text = "aé€😀\u007f\u2028\ufeff\uffff\u{10ffff}/";
    for (const chunks of cuttings(utf8(JSON.stringify([text, { [text]: text }])))) {
      expect(read(chunks)).toEqual([text, { [text]: text }]);
    }
  });

  test("may have halves of surrogate pairs as escapes, as in JSON.parse", () => {
    for (const text of ['"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00\\ud83d"', '"\\ud83dx\\ude00é"', '"é\\uD83D"']) {
      for (const chunks of cuttings(utf8(text))) expect(read(chunks)).toBe(JSON.parse(text));
    }
  });

  test("keeps a byte order mark within it", () => {
    expect(readText('["\ufeffx","\ufeff"]')).toEqual(["\ufeffx", "\ufeff"]);
  });

  test("may be long", () => {
    const text = `${"x".repeat(70_000)}é\n${"y".repeat(70_000)}`;
    expect(readText(JSON.stringify([text]))).toEqual([text]);
    expect(read(pieces(utf8(JSON.stringify([text])), 1000))).toEqual([text]);
  });

  test.each([
    ["a byte that begins nothing", [0xff]],
    ["a continuation without a beginning", [0x80]],
    ["a sequence that is cut short", [0xe2, 0x82]],
    ["a sequence that is interrupted", [0xe2, 0x82, 0x41]],
    ["an overlong form", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a code point beyond the last", [0xf4, 0x90, 0x80, 0x80]],
  ])("isn't UTF-8 with %s", (_, bytes) => {
    for (const before of ['["', '["ok', `["${"é".repeat(40)}`, '{"k":"', '{"']) {
      for (const after of ['"]', 'é"]', '\\n"]']) {
        const text = Uint8Array.from([...utf8(before), ...bytes, ...utf8(after)]);
        // Where the string begins: at which of its bytes it is noticed depends on the pieces.
        expect(failure(text)).toMatchObject({ offset: before.lastIndexOf('"') + 1 });
      }
    }
  });

  test.each(["\u0000", "\n", "\t", "\u001f"])("has no raw control character %j", (character) => {
    expect(failure(utf8(`["a","b${character}c"]`))).toMatchObject({ offset: 6 });
    expect(failure(utf8(`{"${character}":1}`))).toMatchObject({ offset: 2 });
    expect(() => JSON.parse(`"${character}"`)).toThrow(SyntaxError);
  });

  test.each(["\\x", "\\'", "\\u12G4", "\\u 123", '\\u12"', "\\U0041", "\\0", "\\\u0000"])(
    "has no escape %j",
    (sequence) => {
      const error = failure(utf8(`["ab${sequence}xxxx"]`));
      expect(error.message).toContain("Unexpected escape");
      // Just behind what can't be an escape.
      expect(error.offset).toBe(sequence.startsWith("\\u") ? 10 : 6);
    },
  );
});

describe("malformed text", () => {
  const sample = '{"a": [1, -2.5e3, true, null, "x\\u00e9\\n"], "b": {"c": []}}';

  test("is one that ends early, at whichever byte", () => {
    for (let length = 0; length < sample.length; length++) {
      const error = failure(utf8(sample.slice(0, length)));
      // A number or a word that is cut short is reported where it begins.
      expect(error.offset).toBeLessThanOrEqual(length);
      if (error.message.startsWith("The text ends too early")) expect(error.offset).toBe(length);
    }
    expect(failure(utf8("[1, tru"))).toMatchObject({ offset: 4 });
  });

  test("is one that goes on after its end, or between its pieces", () => {
    for (const [text, offset] of [
      ["1 2", 2],
      ["{}{}", 2],
      ["[] ,", 3],
      ["null\u0000", 4],
      ['"a" "b"', 4],
      ["{}]", 2],
      ["[1 2]", 3],
      ['{"a":1 "b":2}', 7],
      ['{"a" 1}', 5],
      ['{"a"}', 4],
      ["{1:2}", 1],
      ["{a:1}", 1],
      ["{,}", 1],
      ['{"a":1,}', 7],
      ['{"a":}', 5],
      ["[1,]", 3],
      ["[,1]", 1],
      ["[1,,2]", 3],
      ["[}", 1],
      ["{]", 1],
      ["[1}", 2],
      ['{"a":1]', 6],
      ["]", 0],
      ["'a'", 0],
      ["/* */ 1", 0],
      ["[1] // x", 4],
      ["\ufeff1", 0],
      ["\u00a01", 0],
      ["[1\u000b]", 2],
    ] as const) {
      expect([text, failure(utf8(text)).offset]).toEqual([text, offset]);
      expect(() => JSON.parse(text)).toThrow(SyntaxError);
    }
  });

  test("reaches no prototype", () => {
    for (const [text, offset] of [
      ['{"__proto__":{"x":1}}', 2],
      ['[{"a":1,"__proto__":null}]', 9],
      ['{"\\u005f_proto__":1}', 2],
      ['{"constructor":{"prototype":{"x":1}}}', 35],
    ] as const) {
      expect(failure(utf8(text)).offset).toBe(offset);
    }
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });

  test("is nested more than 256 levels deep", () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(readText(nested(256))).toEqual(JSON.parse(nested(256)));
    expect(failure(utf8(nested(257)))).toMatchObject({ offset: 256 });
    expect(failure(utf8('{"a":'.repeat(300)))).toMatchObject({ offset: 256 * 5 });
    expect(failure(utf8("[".repeat(10_000))).message).toContain("256 levels");
  });
});

describe("the buffer of an array", () => {
  /** Keeps what it gets. */
  function recorder(options: Partial<JsonReaderOptions> = {}) {
    const opened: (AnnouncedArray & { atMost: number | undefined })[] = [];
    const openBuffer: JsonReaderOptions["openBuffer"] = (array, atMost) => {
      opened.push({ ...array, atMost });
      const decoder = new TextDecoder();
      let text = "";
      return {
        write: (bytes) => {
          text += decoder.decode(bytes, { stream: true });
        },
        end: () => ({ sunk: text + decoder.decode() }),
      };
    };
    return { opened, options: { ...options, openBuffer } };
  }
  const long = "0123456789abcdef".repeat(20);
  const message = (buffer: string): string =>
    `{"x":{"object_type":"array","shape":[240],"dtype":"uint8","data":{"buffer":"${buffer}","encoding":"base64"}}}`;

  test("goes to a sink, in pieces, and what the sink makes of it stands in the tree", () => {
    for (const chunks of cuttings(utf8(message(long)))) {
      const { opened, options } = recorder();
      expect(read(chunks, options)).toMatchObject({ x: { data: { buffer: { sunk: long }, encoding: "base64" } } });
      expect(opened).toEqual([{ path: "x", shape: [240], dtype: "uint8", atMost: undefined }]);
    }
  });

  test("is announced with the place of its array", () => {
    const array = `{"shape":[1],"dtype":"int8","data":{"buffer":"${long}"}}`;
    for (const chunks of cuttings(utf8(`{"a":{"b.c":[1,[${array},${array}]]},"d":[${array}]}`))) {
      const { opened, options } = recorder();
      read(chunks, options);
      expect(opened.map(({ path }) => path)).toEqual(["a.b.c.[1].[0]", "a.b.c.[1].[1]", "d.[0]"]);
    }
  });

  test("is announced with the most that can follow, where the text's length is known", () => {
    const bytes = utf8(message(long));
    for (const chunks of cuttings(bytes)) {
      const { opened, options } = recorder({ byteLength: bytes.length });
      read(chunks, options);
      expect(opened[0]?.atMost).toBe(bytes.length - message("").indexOf('""') - 1);
    }
  });

  test("stays a string where it is short, however it is cut", () => {
    const short = "x".repeat(255);
    for (const chunks of cuttings(utf8(message(short)))) {
      const { opened, options } = recorder();
      expect(read(chunks, options)).toMatchObject({ x: { data: { buffer: short } } });
      expect(opened).toEqual([]);
    }
  });

  test("comes unescaped, and in UTF-8", () => {
    const text = `${long}\n"\\/é😀${long}\ud83d!\u0000`;
    const escaped = JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/").replace("😀", "\\ud83d\\ude00");
    for (const chunks of cuttings(utf8(message(escaped)))) {
      // A half of a pair has no UTF-8.
      expect(read(chunks, recorder().options)).toMatchObject({
        x: { data: { buffer: { sunk: text.replace("\ud83d!", "\ufffd!") } } },
      });
    }
  });

  test.each([
    ["its shape comes later", `{"dtype":"uint8","data":{"buffer":"${long}"},"shape":[240]}`],
    ["its dtype comes later", `{"shape":[240],"data":{"buffer":"${long}"},"dtype":"uint8"}`],
    ["it isn't within `data`", `{"shape":[240],"dtype":"uint8","other":{"buffer":"${long}"}}`],
    ["it has another name", `{"shape":[240],"dtype":"uint8","data":{"bytes":"${long}"}}`],
    ["it is in a list", `{"shape":[240],"dtype":"uint8","data":{"buffer":["${long}"]}}`],
    ["it is in a list of data", `{"shape":[240],"dtype":"uint8","data":[{"buffer":"${long}"}]}`],
    ["it is a member's name", `{"shape":[240],"dtype":"uint8","data":{"buffer":{"${long}":1}}}`],
    ["it is the whole text", `"${long}"`],
  ])("stays a string where %s", (_, text) => {
    for (const chunks of cuttings(utf8(text))) {
      const { opened, options } = recorder();
      expect(read(chunks, options)).toEqual(JSON.parse(text));
      expect(opened).toEqual([]);
    }
  });

  test("stays a string where no sink wants it", () => {
    for (const chunks of cuttings(utf8(message(long)))) {
      expect(read(chunks, { openBuffer: () => undefined })).toEqual(JSON.parse(message(long)));
    }
  });

  test("passes on what a sink throws", () => {
    const thrown = new RangeError("no room");
    const openBuffer: JsonReaderOptions["openBuffer"] = () => ({
      write: () => {
        throw thrown;
      },
      end: () => undefined,
    });
    for (const chunks of cuttings(utf8(message(long)))) expect(() => read(chunks, { openBuffer })).toThrow(thrown);
  });
});

test("changed bytes are read as JSON.parse reads them, or refused with a JsonSyntaxError", () => {
  const next = randomNumbers(20_250_101);
  const samples = [
    '{"y":{"object_type":"array","shape":[3],"dtype":"float64","data":{"buffer":[11.0,22.5,-3.25e1],"encoding":"json"}}}',
    '[true,false,null,"\\u00e9\\ud83d\\ude00\\n","é😀",{"a":{"b":[[],{}]}},0,-0,1e5,123456789012,0.1]',
    JSON.stringify({ detail: [{ loc: ["body", 0], msg: "x", input: { a: [1.5, null] } }] }, null, 2),
  ].map(utf8);
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const parsed = (bytes: Uint8Array): { value: unknown } | undefined => {
    try {
      return { value: JSON.parse(strict.decode(bytes)) };
    } catch {
      return undefined;
    }
  };
  const outcomes = { read: 0, refused: 0 };
  for (let i = 0; i < 4000; i++) {
    const bytes = mutated(samples[i % samples.length] ?? new Uint8Array(0), next);
    const expected = parsed(bytes);
    let value: unknown;
    try {
      value = read(pieces(bytes, 1 + Math.floor(next() * 40), next));
    } catch (error) {
      if (!(error instanceof JsonSyntaxError) || error.offset < 0 || error.offset > bytes.length) throw error;
      if (expected !== undefined) throw new Error(`refused: ${strict.decode(bytes)}`, { cause: error });
      outcomes.refused++;
      continue;
    }
    outcomes.read++;
    if (expected === undefined) throw new Error(`read, but it is no JSON: ${strict.decode(bytes)}`);
    expect(withDoubles(value)).toEqual(expected.value);
  }
  expect(outcomes.refused).toBeGreaterThan(2000);
  expect(outcomes.read).toBeGreaterThan(300);
});

test("numbers that were written as floats are noted, if that is asked for", () => {
  const text = '{"a":1.0,"b":1,"c":1e2,"d":[1,2],"e":[[1,2],[3,4.0,5]],"f":[1E0],"g":{"a":-0.0},"h":["1.0",true]}';
  for (const chunks of cuttings(utf8(text))) {
    const tree = read(chunks, { notesFloats: true }) as Record<string, never[]> & { g: object };
    const members = Object.keys(tree).filter((name) => isWrittenFloat(tree, name));
    expect(members).toEqual(["a", "c"]);
    expect(
      [tree.d, tree.e, tree.e?.[0], tree.e?.[1], tree.f, tree.h].map((list) => hasWrittenFloat(list ?? [])),
    ).toEqual([false, false, false, true, true, false]);
    expect(isWrittenFloat(tree.g, "a")).toBe(true);
  }
  const unasked = readText(text) as Record<string, never[]>;
  expect(isWrittenFloat(unasked, "a")).toBe(false);
  expect(hasWrittenFloat(unasked.f ?? [])).toBe(false);
});
