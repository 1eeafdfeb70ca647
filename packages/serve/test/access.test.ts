/** Who may call a server. */
import { request as httpRequest } from "node:http";
import { describe, expect, test } from "vitest";
import { request, serving } from "./support.js";
import definition from "./tesseracts/work.js";

/** `fetch` decides on `Host` and `Origin` itself. */
function statusOf(port: number, headers: Record<string, string>, method = "GET", path = "/health") {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }>((resolve, reject) => {
    httpRequest({ port, host: "127.0.0.1", path, method, headers }, (response) => {
      response.resume().on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    })
      .on("error", reject)
      .end();
  });
}

describe("on loopback", () => {
  test("only this machine's own names are known, so that no web page reaches it by a name of its own", async () => {
    const { port } = await serving(definition);
    for (const host of ["localhost", `127.0.0.1:${port}`, "[::1]:80", "LOCALHOST:1", "tess.localhost"]) {
      expect((await statusOf(port, { host })).status).toBe(200);
    }
    for (const host of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.0.0.1"]) {
      expect((await statusOf(port, { host })).status).toBe(403);
    }
  });

  test("another name can be allowed", async () => {
    const { port } = await serving(definition, { allowedHosts: ["heat.internal"] });
    expect((await statusOf(port, { host: "heat.internal:8000" })).status).toBe(200);
    expect((await statusOf(port, { host: "cold.internal" })).status).toBe(403);
  });

  test("web pages of elsewhere may not call, not even without reading the answer", async () => {
    const { port } = await serving(definition);
    const host = `localhost:${port}`;
    expect((await statusOf(port, { host, origin: `http://${host}` })).status).toBe(200);
    for (const origin of ["https://evil.example", "null", `http://localhost:${port + 1}`]) {
      expect((await statusOf(port, { host, origin }, "POST", "/apply")).status).toBe(403);
    }
  });
});

describe("CORS", () => {
  const preflight = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,accept",
  };

  test("nothing is allowed unless it is asked for", async () => {
    const { url, port } = await serving(definition);
    expect((await request(`${url}/health`)).headers.get("access-control-allow-origin")).toBeNull();
    const answer = await statusOf(port, { origin: "https://a.example", ...preflight }, "OPTIONS", "/apply");
    expect(answer.status).toBe(403);
  });

  test("a page that is named may call, and no other", async () => {
    const { port } = await serving(definition, { cors: ["https://a.example"] });
    const allowed = await statusOf(port, { origin: "https://a.example", ...preflight }, "OPTIONS", "/apply");
    expect([allowed.status, allowed.headers]).toMatchObject([
      204,
      {
        "access-control-allow-origin": "https://a.example",
        "access-control-allow-headers": "content-type,accept",
        vary: "origin",
      },
    ]);
    const called = await statusOf(port, { origin: "https://a.example" });
    expect(called.headers["access-control-allow-origin"]).toBe("https://a.example");
    expect((await statusOf(port, { origin: "https://b.example" })).status).toBe(403);
  });

  test("every page may, if that is what is wanted", async () => {
    const { port } = await serving(definition, { cors: "*" });
    const { status, headers } = await statusOf(port, { origin: "https://b.example" });
    expect([status, headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  });
});
