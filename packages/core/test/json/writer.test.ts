import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonReader } from "../../src/json/reader.js";
import { isTextSource, JsonBody } from "../../src/json/writer.js";
import type { TextSource } from "../../src/transport.js";
import { failureOf, tesseractError, utf8 } from "../support.js";

async function textOf(body: JsonBody): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for await (const chunk of body.chunks()) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

const written = (tree: unknown): Promise<string> => textOf(JsonBody.of(tree));

const source = (chunks: readonly string[], options: Partial<TextSource> = {}): TextSource => ({
  as: "string",
  byteLength: utf8(chunks.join("")).length,
  chunks: () => chunks.map(utf8),
  ...options,
});

async function* asynchronously(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await undefined;
    yield utf8(chunk);
  }
}

describe("a body", () => {
  test("is JSON that parses back to the tree", async () => {
    const trees = fc.jsonValue({ stringUnit: "binary", maxDepth: 5 });
    await fc.assert(
      fc.asyncProperty(trees, async (tree) => {
        const body = JsonBody.of(tree);
        const text = await textOf(body);
        expect(JSON.parse(text)).toEqual(tree);
        expect(body.byteLength).toBe(utf8(text).length);
        expect(new TextDecoder().decode(body.bytes)).toBe(text);
      }),
    );
  });

  test("is what JSON.stringify writes, without spaces", async () => {
    const tree = { a: [1, -2.5e-7, 1e21, true, null], 'é\n"': { b: "\ud83d\u0000/" }, c: {}, d: [] };
    expect(await written(tree)).toBe(JSON.stringify(tree));
  });

  test("keeps every double", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })), async (numbers) => {
        expect(JSON.parse(await written(numbers))).toEqual(numbers);
      }),
    );
  });

  test("keeps the sign of zero, which a reader would lose from an integer", async () => {
    expect(await written([0, -0])).toBe("[0,-0.0]");
  });

  test("has bigints as whole numbers with all their digits", async () => {
    const text = await written({ a: 2n ** 64n - 1n, b: -(2n ** 63n), c: 7n });
    expect(text).toBe('{"a":18446744073709551615,"b":-9223372036854775808,"c":7}');
    const reader = new JsonReader();
    reader.write(utf8(text));
    expect(reader.end()).toEqual({ a: 2n ** 64n - 1n, b: -(2n ** 63n), c: 7 });
  });

  test("leaves undefined members out, wherever they stand", async () => {
    expect(await written({ a: undefined, b: 1, c: undefined, d: { e: undefined }, f: 2, g: undefined })).toBe(
      '{"b":1,"d":{},"f":2}',
    );
  });

  test("has an own member that is named __proto__", async () => {
    const tree: unknown = JSON.parse('{"__proto__":{"x":1},"a":2}');
    expect(await written(tree)).toBe('{"__proto__":{"x":1},"a":2}');
  });

  test.each([
    ["NaN", { a: Number.NaN }],
    ["infinity", [Number.NEGATIVE_INFINITY]],
    ["a function", { a: () => 1 }],
    ["a symbol", [Symbol("x")]],
    ["undefined in a list", [1, undefined]],
    ["undefined alone", undefined],
  ])("never has %s", async (_, tree) => {
    expect(await failureOf(() => JsonBody.of(tree))).toEqual(tesseractError("INVALID_TREE"));
  });
});

describe("a source of text", () => {
  test("stands between quotes as a string, and as it is as JSON", async () => {
    const tree = { s: source(["ab", "", "c"]), j: source(["[1,", "2]"], { as: "json" }), e: source([]) };
    const body = JsonBody.of(tree);
    expect(await textOf(body)).toBe('{"s":"abc","j":[1,2],"e":""}');
    expect(body.byteLength).toBe(28);
    expect(body.bytes).toEqual(utf8('{"s":"abc","j":[1,2],"e":""}'));
  });

  test("may be asynchronous, and is then only asked while the body is sent", async () => {
    let asked = 0;
    const chunks = (): AsyncIterable<Uint8Array> => {
      asked++;
      return asynchronously(["ab", "cd"]);
    };
    const body = JsonBody.of([source(["abcd"], { chunks })]);
    expect(body.bytes).toBeUndefined();
    expect(body.byteLength).toBe(8);
    expect(await textOf(body)).toBe('["abcd"]');
    expect(asked).toBeGreaterThan(0);
  });

  test("gives its chunks again where the body is sent again", async () => {
    const body = JsonBody.of({ a: source(["x"], { chunks: () => asynchronously(["x"]) }), b: source(["y"]) });
    expect(await textOf(body)).toBe('{"a":"x","b":"y"}');
    expect(await textOf(body)).toBe('{"a":"x","b":"y"}');
  });

  test("of unknown length leaves the body's length unknown", async () => {
    const body = JsonBody.of({ a: source(["x"]), b: { as: "json", chunks: () => [utf8("[1]")] } satisfies TextSource });
    expect(body.byteLength).toBeUndefined();
    expect(body.bytes).toBeUndefined();
    expect(await textOf(body)).toBe('{"a":"x","b":[1]}');
  });

  test("that is large is never joined to one piece", async () => {
    const chunk = "x".repeat(1 << 16);
    const body = JsonBody.of([source(new Array<string>(8).fill(chunk))]);
    expect(body.byteLength).toBe(4 + 8 * chunk.length);
    expect(body.bytes).toBeUndefined();
    let largest = 0;
    for await (const piece of body.chunks()) largest = Math.max(largest, piece.length);
    expect(largest).toBe(chunk.length);
  });

  test.each([3, 5])("that announces %i bytes of 4 is never taken for a whole body", async (byteLength) => {
    const body = JsonBody.of([source(["ab", "cd"], { byteLength })]);
    expect(body.bytes).toBeUndefined();
    expect(body.byteLength).toBe(byteLength + 4);
  });

  test("that has its whole text gives it where it is short, and the body is one string", async () => {
    const texts: string[] = [];
    const whole = (text: string): TextSource =>
      source([text], {
        text: () => {
          texts.push(text);
          return text;
        },
      });
    const body = JsonBody.of({ é: whole("ab"), list: [whole("c"), 1] });
    const expected = '{"é":"ab","list":["c",1]}';
    expect([body.text, body.byteLength, body.bytes]).toEqual([expected, utf8(expected).length, utf8(expected)]);
    expect(await textOf(body)).toBe(expected);
    const long = JsonBody.of([whole("x".repeat(1 << 16))]);
    expect([long.text, long.byteLength]).toEqual([undefined, (1 << 16) + 4]);
    expect(texts).toEqual(["ab", "c"]);
    const broken = source(["x"], {
      text: () => {
        throw new Error("no text");
      },
    });
    expect(await failureOf(() => JsonBody.of([broken]))).toEqual(tesseractError("TRANSPORT_UNUSABLE"));
  });

  test("is told from a plain object by its method", () => {
    expect(isTextSource(source([]))).toBe(true);
    expect(isTextSource({ as: "string", chunks: 3 })).toBe(false);
    expect(isTextSource({ chunks: () => [] })).toBe(false);
    expect(isTextSource(null)).toBe(false);
    expect(isTextSource("chunks")).toBe(false);
  });
});
