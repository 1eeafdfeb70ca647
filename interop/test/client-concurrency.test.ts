// Many calls at once, and connections that come and go between calls.

import { setTimeout as sleep } from "node:timers/promises";
import { bytesOf, type HostArray, hostArray, TesseractError } from "@tesseract-ts/core";
import { expect, test } from "vitest";
import { scatteredArray, written } from "../src/array-values.js";
import { connect, sharedClient } from "../src/connect.js";
import type { Faults, Identity } from "../src/fixture-types.js";
import { startRuntime } from "../src/runtime.js";
import { startTcpProxy } from "../src/tcp-proxy.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";

const encodings = [
  { outputFormat: "json", compression: "none" },
  { outputFormat: "json+base64", compression: "none" },
  { outputFormat: "json+base64", compression: "lz4" },
  { outputFormat: "json+binref", compression: "none" },
  { outputFormat: "json+binref", compression: "lz4" },
] as const;

/** Arrays that tell which call they belong to. */
const arraysOf = (call: number): HostArray[] => [
  hostArray(call),
  hostArray(Int32Array.from({ length: 100 * call }, (_, index) => index * call)),
  scatteredArray("uint8", [call + 1, 64]),
];

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "no error",
    (error: unknown) => (error instanceof TesseractError ? error.code : error),
  );

const runtimes = sharedRuntimes({ identity: { fixture: "identity" }, faults: { fixture: "faults" } });

describeWithRuntime("1.15", "calls at the same time", () => {
  const runtime = runtimes.identity;
  const client = sharedClient<Identity>(runtime);
  const calls = Array.from({ length: 32 }, (_, call) => call);

  const expectOwn = async (call: number, encoding: (typeof encodings)[number] | undefined): Promise<void> => {
    const view = encoding === undefined ? client() : client().withEncoding(encoding);
    const sent = arraysOf(call);
    const { arrays } = await view.apply({ arrays: sent }, { runId: `run-${call}` });
    expect(arrays.map(written)).toEqual(sent.map(written));
  };

  test.each(encodings)("get their own answers in $outputFormat, $compression", async (encoding) => {
    await Promise.all(calls.map((call) => expectOwn(call, encoding)));
  });

  test("get their own answers when each has an encoding of its own", async () => {
    await Promise.all(calls.map((call) => expectOwn(call, encodings[call % encodings.length])));
  });

  test("may share one signal, and Node doesn't warn of too many listeners", async () => {
    const warnings: Error[] = [];
    const listener = (warning: Error): void => void warnings.push(warning);
    process.on("warning", listener);
    await using fresh = await connect<Identity>(runtime());
    const { signal } = new AbortController();
    await Promise.all(calls.map((call) => fresh.apply({ arrays: arraysOf(call) }, { signal })));
    // Warnings are emitted in a later turn.
    await sleep(0);
    process.off("warning", listener);
    expect(warnings).toEqual([]);
  });

  test("may share one run, and one array", async () => {
    const sent = [scatteredArray("float32", [1000])];
    const binref = client().withEncoding({ outputFormat: "json+binref" });
    const answers = await Promise.all(calls.map(() => binref.apply({ arrays: sent }, { runId: "shared" })));
    for (const { arrays } of answers) expect(arrays.map(written)).toEqual(sent.map(written));
  });

  test("get their own answers when others among them are aborted", async () => {
    const outcomes = await Promise.all(
      calls.map(async (call) => {
        if (call % 4 !== 1) {
          await expectOwn(call, encodings[call % encodings.length]);
          return "answered";
        }
        const controller = new AbortController();
        const aborted = codeOf(client().apply({ arrays: arraysOf(call) }, { signal: controller.signal }));
        await sleep(call);
        controller.abort();
        return aborted;
      }),
    );
    const aborted = outcomes.filter((outcome) => outcome !== "answered");
    expect(aborted).toHaveLength(8);
    // One or the other may have been answered before its end.
    expect(new Set(aborted)).toContain("ABORTED");
    expect(aborted.filter((outcome) => outcome !== "ABORTED" && outcome !== "no error")).toEqual([]);
    await expectOwn(3, undefined);
  });

  test("wait for each other when there are fewer connections", async () => {
    await using narrow = await connect<Identity>(runtime(), { connections: 2 });
    const answers = await Promise.all(calls.map((call) => narrow.apply({ arrays: arraysOf(call) })));
    for (const [call, { arrays }] of answers.entries()) {
      expect(arrays.map(written)).toEqual(arraysOf(call).map(written));
    }
  });

  test("may be calls of several clients", async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => connect<Identity>(runtime())));
    const answers = await Promise.all(
      calls.map((call) => clients[call % clients.length]?.apply({ arrays: arraysOf(call) })),
    );
    for (const [call, answer] of answers.entries()) {
      expect(answer?.arrays.map(written)).toEqual(arraysOf(call).map(written));
    }
    await Promise.all(clients.map((each) => each.close()));
  });
});

describeWithRuntime("1.15", "calls of several endpoints at the same time", () => {
  const client = sharedClient<Faults>(runtimes.faults);

  test("get their own answers", async () => {
    const round = async (_: unknown, call: number): Promise<void> => {
      const x = Float64Array.of(call, -call);
      const size = call + 1;
      const [applied, jacobian, jvp, vjp, health] = await Promise.all([
        client().apply({ x }),
        client().jacobian({ x: new Float64Array(size) }, ["x"], ["y"]),
        client().jacobianVectorProduct({ x }, ["x"], ["y"], { x }),
        client().vectorJacobianProduct({ x }, ["x"], ["y"], { y: x }),
        client().health(),
      ]);
      expect(applied.y).toEqual(hostArray(x));
      expect(jacobian.y?.x?.shape).toEqual([size, size]);
      expect(jvp).toEqual({ y: hostArray(x) });
      expect(vjp).toEqual({ x: hostArray(x) });
      expect(health).toEqual({ status: "ok" });
    };
    await Promise.all(Array.from({ length: 8 }, round));
  });
});

describeWithRuntime("1.15", "between two calls", () => {
  const runtime = runtimes.faults;

  test("the server may start anew at the same address", { timeout: START_TIMEOUT }, async () => {
    const first = await startRuntime({ fixture: "faults" });
    await using client = await connect<Faults>(first);
    expect((await client.apply({ x: [1] })).calls).toBe(1);
    await first.stop();
    expect(await codeOf(client.apply({ x: [1] }))).toBe("CONNECTION_FAILED");
    await using second = await startRuntime({ fixture: "faults", port: first.port });
    const answers = await Promise.all(Array.from({ length: 4 }, (_, i) => client.apply({ x: [i] })));
    expect(answers.map(({ y }) => y.data[0])).toEqual([0, 1, 2, 3]);
    expect(await second.calls()).toHaveLength(4);
  });

  test("the server may have ended the idle connection", async () => {
    await using proxy = await startTcpProxy(runtime().url, { idle: 400 });
    await using client = await connect<Faults>({ ...runtime(), url: proxy.url });
    for (let call = 0; call < 3; call++) {
      const before = proxy.connections();
      await sleep(500);
      expect((await client.apply({ x: [call] })).y.data).toEqual(Float64Array.of(call));
      expect(proxy.connections()).toBe(before + 1);
    }
  });

  test("the client may have ended the idle connection", async () => {
    await using client = await connect<Faults>(runtime());
    const { calls } = await client.apply({ x: [1] });
    await sleep(4_500);
    expect((await client.apply({ x: [2] })).calls).toBe(calls + 1);
  });

  test("a connection that breaks while a request is being sent is replaced, and the call runs once", async () => {
    await using proxy = await startTcpProxy(runtime().url, { breakAfter: 100_000 });
    await using client = await connect<Faults>({ ...runtime(), url: proxy.url });
    const { calls } = await client.apply({ x: [1] });
    const before = proxy.connections();
    const x = new Float64Array(500_000).fill(1.5);
    const answer = await client.apply({ x });
    expect(Buffer.compare(bytesOf(answer.y), bytesOf(hostArray(x)))).toBe(0);
    expect(answer.calls).toBe(calls + 1);
    expect(proxy.connections()).toBe(before + 1);
  });
});
