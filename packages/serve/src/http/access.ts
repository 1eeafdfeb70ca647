/**
 * Who may call a server. One that listens on loopback trusts this machine's programs, not the web pages that its browsers
 * show: a page reaches it by a name that it has made to mean 127.0.0.1 (DNS rebinding), which its `Host` gives away, or
 * directly, which its `Origin` does.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isLoopback, type Settings } from "../settings.js";
import { Refusal } from "./refusal.js";

const localNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

const exposed = "tesseract-exports, tesseract-ended, tesseract-peer";

export class Access {
  private readonly local: boolean;
  private readonly hosts: ReadonlySet<string>;
  /** Most requests name the same. */
  private lastAllowed: string | undefined;

  constructor(private readonly settings: Pick<Settings, "host" | "allowedHosts" | "cors">) {
    const { host, allowedHosts } = settings;
    this.local = isLoopback(host);
    this.hosts = new Set([...localNames, host, ...allowedHosts].map((name) => name.toLowerCase()));
  }

  /** @throws Refusal 403 */
  check({ host = "", origin }: IncomingHttpHeaders): void {
    if (!this.local) return;
    if (host !== this.lastAllowed) {
      const name = nameOf(host);
      if (!this.hosts.has(name) && !name.endsWith(".localhost")) {
        throw new Refusal(403, `This server isn't to be reached as ${JSON.stringify(host)}`, {}, true);
      }
      this.lastAllowed = host;
    }
    if (origin === undefined || this.allows(origin) || origin === `http://${host}`) return;
    throw new Refusal(403, `Web pages of ${JSON.stringify(origin)} may not call this server`, {}, true);
  }

  /** What an answer tells a browser. */
  headers({ origin }: IncomingHttpHeaders): Record<string, string> {
    const { cors } = this.settings;
    if (cors.length === 0) return {};
    const varies = cors === "*" ? {} : { vary: "origin" };
    if (origin === undefined || !this.allows(origin)) return varies;
    return {
      ...varies,
      "access-control-allow-origin": cors === "*" ? "*" : origin,
      "access-control-expose-headers": exposed,
    };
  }

  /** The answer to a browser's question of whether a page may call; undefined where none may. */
  preflight(headers: IncomingHttpHeaders): Record<string, string> | undefined {
    const { origin } = headers;
    if (origin === undefined || !this.allows(origin)) return undefined;
    return {
      ...this.headers(headers),
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": headers["access-control-request-headers"] ?? "content-type",
      "access-control-max-age": "600",
    };
  }

  private allows(origin: string): boolean {
    const { cors } = this.settings;
    return cors === "*" || cors.includes(origin);
  }
}

/** A `Host` without its port. */
const nameOf = (host: string): string => host.toLowerCase().replace(/:\d*$/, "");
