/** A host transport that leases memory: what an answer leases at the server lives until its client has read it, and no longer. */
import {
  bytesOf,
  type EncodedArray,
  fromUrl,
  type HostTransport,
  makeHostArray,
  type Tesseract,
  TesseractError,
  type Transports,
  viewAs,
} from "@tesseract-ts/core";
import { base64, host, json } from "@tesseract-ts/transport-host";
import { beforeEach, describe, expect, test } from "vitest";
import type { ServeOptions } from "../src/index.js";
import { type Answer, apply, atTheEnd, failureOf, request, serving, tesseractError, until } from "./support.js";
import definition from "./tesseracts/work.js";

/** What is on loan: by each side, since one process has both here. */
const lent = { client: new Map<string, Uint8Array>(), server: new Map<string, Uint8Array>() };
beforeEach(() => {
  lent.client.clear();
  lent.server.clear();
});

interface LoanOptions {
  /** Resolves when arrays may be read. */
  readonly reading?: () => Promise<void>;
  /** Characters that each array is sent with. */
  readonly padding?: number;
}

let loans = 0;

/** Arrays stay where they are, in a table of their sender's; what is sent is their number. */
function loan(side: keyof typeof lent, { reading, padding = 0 }: LoanOptions = {}): HostTransport {
  return {
    name: "loan",
    carries: "host",
    reach: "host",
    probe: async () => ({ ok: true }),
    async encode(arrays) {
      const numbers: string[] = [];
      const encoded = arrays.map((array): EncodedArray => {
        loans += 1;
        const number = `${side} ${loans}`;
        numbers.push(number);
        lent[side].set(number, bytesOf(array).slice());
        const buffer = { number, padding: "x".repeat(padding) };
        return { object_type: "array", shape: array.shape, dtype: array.dtype, data: { encoding: "loan", buffer } };
      });
      const release = async (): Promise<void> => {
        for (const number of numbers) lent[side].delete(number);
      };
      return { arrays: encoded, lease: { release } };
    },
    async decode(encoded) {
      await reading?.();
      return encoded.map(({ dtype, shape, data: { buffer }, path }) => {
        const { number } = buffer as { readonly number: string };
        const bytes = lent.client.get(number) ?? lent.server.get(number);
        if (bytes === undefined)
          throw new TesseractError("DECODE_FAILED", `${path}: "${number}" isn't on loan any more`);
        return makeHostArray(dtype, shape, viewAs(dtype, bytes.slice().buffer));
      });
    },
  };
}

const serve = (transports: Transports, options: ServeOptions = {}) => serving(definition, { transports, ...options });

async function client({ url }: { readonly url: string }, options: LoanOptions = {}): Promise<Tesseract> {
  const tess = await fromUrl(url, { transports: [loan("client", options), host()] });
  atTheEnd(() => tess.close());
  expect(tess.currentEncoding.outputFormat).toBe("json+loan");
  return tess;
}

const x = new Float64Array([1, 2, 3]);
const values = async (answer: Promise<unknown>): Promise<unknown> =>
  ((await answer) as { readonly y: { readonly data: unknown } }).y.data;

/** A client that speaks HTTP itself. */
const call = async (served: { readonly url: string }, headers: Record<string, string> = {}): Promise<Answer> => {
  const answer = await apply(served, { x: [1, 2] }, { headers: { accept: "application/json+loan", ...headers } });
  expect(answer.status).toBe(200);
  return answer;
};

describe.each<[string, () => Transports]>([
  ["beside files", () => [loan("server"), host()]],
  ["beside others that keep nothing", () => [loan("server"), base64(), json()]],
])("a server that has such a transport %s", (_, transports) => {
  test("gets its memory back with the client's next request, and the last with its closing", async () => {
    const served = await serve(transports());
    const tess = await client(served);
    for (let count = 0; count < 3; count++) {
      expect(await values(tess.apply({ x }))).toEqual(x);
      expect([lent.client.size, lent.server.size]).toEqual([0, 1]);
    }
    await tess.health();
    expect(lent.server.size).toBe(0);
    await tess.apply({ x });
    await tess.close();
    expect(lent.server.size).toBe(0);
  });

  test("keeps it while a client reads, whatever else is called", async () => {
    const served = await serve(transports());
    let read: () => void = () => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    const slow = await client(served, { reading: () => reading });
    const first = values(slow.apply({ x }));
    await until(() => lent.server.size === 1);
    const other = await client(served);
    for (let count = 0; count < 3; count++) expect(await values(other.apply({ x }))).toEqual(x);
    await call(served);
    await call(served);
    read();
    expect(await first).toEqual(x);
  });

  test("gets it back where the answer can't be read", async () => {
    const served = await serve(transports());
    const tess = await client(served, { reading: () => Promise.reject(new TesseractError("FILE_ERROR", "no room")) });
    expect(await failureOf(() => tess.apply({ x }))).toEqual(tesseractError("FILE_ERROR"));
    await tess.close();
    expect(lent.server.size).toBe(0);
  });

  test("gets it back with the next call, from clients that name nothing", async () => {
    const served = await serve(transports());
    const kept = await call(served, { "tesseract-exports-done": "" });
    await call(served);
    await call(served);
    expect(lent.server.size).toBe(2);
    const done = { "tesseract-exports-done": `${kept.headers.get("tesseract-exports")}` };
    await request(`${served.url}/health`, { headers: done });
    expect(lent.server.size).toBe(1);
  });
});

describe("a call that was given up", () => {
  test("keeps what the client has leased to it until the server reads it no more", async () => {
    let isRead = false;
    let read: () => void = () => {};
    const reading = (): Promise<void> => {
      isRead = true;
      return new Promise((resolve) => {
        read = resolve;
      });
    };
    const served = await serve([loan("server", { reading }), host()]);
    const tess = await client(served);
    const ending = new AbortController();
    const givenUp = failureOf(() => tess.apply({ x }, { signal: ending.signal }));
    await until(() => isRead);
    ending.abort();
    expect((await givenUp).code).toBe("ABORTED");
    for (let count = 0; count < 3; count++) await tess.health();
    expect(lent.client.size).toBe(1);
    read();
    await until(async () => {
      await tess.health();
      return lent.client.size === 0;
    });
    expect(lent.server.size).toBe(0);
  });

  test("gives back what its answer has leased, though its client never saw that", async () => {
    const served = await serve([loan("server"), host()]);
    await call(served, { "tesseract-exports-done": "", "tesseract-peer": "me", "tesseract-call": "one" });
    expect(lent.server.size).toBe(1);
    const { headers } = await request(`${served.url}/health`, {
      headers: { "tesseract-peer": "me", "tesseract-given-up": "one,two" },
    });
    expect(headers.get("tesseract-ended")).toBe("one,two");
    expect(lent.server.size).toBe(0);
  });

  test("in the middle of its answer gives back what that has leased", async () => {
    const served = await serve([loan("server", { padding: 1 << 26 }), host()]);
    const tess = await client(served);
    const ending = new AbortController();
    const givenUp = failureOf(() => tess.apply({ x }, { signal: ending.signal }));
    await until(() => lent.server.size === 1);
    ending.abort();
    await givenUp;
    await tess.close();
    expect([lent.client.size, lent.server.size]).toEqual([0, 0]);
  });

  test("is told of when the client closes, so that nothing of it is left", async () => {
    const served = await serve([loan("server"), host()]);
    const tess = await client(served);
    await tess.apply({ x });
    const ending = new AbortController();
    const givenUp = failureOf(() => tess.apply({ x, action: "wait", milliseconds: 60_000 }, { signal: ending.signal }));
    await until(() => lent.client.size === 1 && lent.server.size === 0);
    ending.abort();
    await givenUp;
    await tess.close();
    expect([lent.client.size, lent.server.size]).toEqual([0, 0]);
  });
});
