/** Two sides that exchange messages for one case, and what every step must keep to. */
import type { HostArray, Transport } from "@tesseract-ts/core";
import { firstDifference } from "../arrays.js";
import { ConformanceError, demand, type Rule } from "../failure.js";
import type { Sides } from "./options.js";
import { rules } from "./rules.js";
import { localSide } from "./sides/local-side.js";
import type {
  About,
  Decoded,
  DecodeOptions,
  Encoded,
  EncodeOptions,
  Failure,
  Message,
  Outcome,
  Side,
} from "./sides/side.js";

/** How long a descriptor may take to be closed by a thread of libuv's, in milliseconds. */
const CLOSING_MS = 2_000;

export class Exchange {
  private constructor(
    readonly sides: Sides,
    readonly sender: Side,
    readonly receiver: Side,
    readonly about: About,
    private before: readonly string[],
  ) {}

  static async begin(sides: Sides): Promise<Exchange> {
    const sender = sideOf(sides.sender);
    const receiver = sides.receiver === undefined ? sideOf(sides.sender) : sideOf(sides.receiver);
    await sender.open();
    await receiver.open();
    const exchange = new Exchange(sides, sender, receiver, await sender.about(), []);
    exchange.before = await exchange.allLeftovers();
    return exchange;
  }

  /** Encodes; what comes back must be well formed. */
  async encode(arrays: readonly HostArray[], options?: EncodeOptions, side: Side = this.sender): Promise<Encoded> {
    const encoded = this.expectDone(await side.encode(arrays, options), "Encoding a message", rules.message);
    this.checkEncoded(encoded);
    return encoded;
  }

  checkEncoded({ problems }: Encoded): void {
    const [first] = problems;
    if (first === undefined) return;
    throw new ConformanceError(
      `A message isn't well formed: ${first}`,
      first.includes("text source") ? rules.text : rules.message,
    );
  }

  async decode(message: Message, options?: DecodeOptions, rule: Rule = rules.exact): Promise<Decoded> {
    return this.expectDone(await this.receiver.decode(message, options), "Decoding a message", rule);
  }

  /** Sends arrays from one side to the other, and compares what came. */
  async roundTrip(
    arrays: readonly HostArray[],
    { rule = rules.exact, pieces, ...options }: EncodeOptions & DecodeOptions & { readonly rule?: Rule } = {},
  ): Promise<void> {
    const message = await this.encode(arrays, options);
    const decoded = await this.decode(message, pieces === undefined ? {} : { pieces }, rule);
    this.compare(decoded.arrays, arrays, rule);
    await this.over(message, decoded);
  }

  compare(found: readonly unknown[], expected: readonly HostArray[], rule: Rule, when = ""): void {
    const difference = firstDifference(found, expected);
    if (difference !== undefined)
      throw new ConformanceError(`What came isn't what was sent${when}: ${difference}`, rule);
  }

  /** A message is over: the receiver disposes of the arrays, and the sender's lease ends. */
  async over(message: Encoded, decoded?: Decoded): Promise<void> {
    if (decoded !== undefined) await this.receiver.dispose(decoded.id);
    await this.answer();
    await this.release(message);
  }

  async release(message: Encoded, how: "release" | "abandon" = "release"): Promise<void> {
    this.expectDone(await this.sender.endLease(message.id, how), `${how}() of a lease`, rules.leaseOnce);
  }

  /** A call that must succeed. */
  expectDone<T>(outcome: Outcome<T>, what: string, rule: Rule): T {
    if (outcome.ok) return outcome.value;
    throw new ConformanceError(`${what} failed: ${described(outcome.failure)}`, rule);
  }

  /** A call that may fail, but only with a TesseractError. */
  expectTyped<T>(outcome: Outcome<T>, what: string, rule: Rule): void {
    if (outcome.ok || outcome.failure.kind === "typed") return;
    throw new ConformanceError(`${what} failed with what is no TesseractError: ${described(outcome.failure)}`, rule);
  }

  /** Ends what both sides have kept, as a client and a server do. */
  async finish(): Promise<void> {
    await this.sender.finish();
    await this.receiver.finish();
  }

  /** The sender takes leave of the receiver, as a client does of a server: with a last message and its answer. */
  async takeLeave(): Promise<void> {
    await this.sender.takeLeave();
    await this.receiver.hear(await this.sender.headers());
    await this.answer();
  }

  /** What the receiver's session has to say reaches the sender with the answer to a message. */
  private async answer(): Promise<void> {
    this.expectDone(await this.sender.hear(await this.receiver.headers()), "receive() of a session", rules.session);
  }

  /** What is there now that wasn't when the case began. */
  async leftovers(): Promise<readonly string[]> {
    const until = Date.now() + CLOSING_MS;
    for (;;) {
      const found = await this.newLeftovers();
      const onlyOpen = found.length > 0 && found.every((each) => each.includes("open file "));
      if (!onlyOpen || Date.now() > until) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async expectNothingLeft(when: string, rule: Rule): Promise<void> {
    const found = await this.leftovers();
    demand(found.length === 0, `${when}, this is left: ${found.slice(0, 5).join("; ")}`, rule);
  }

  private async newLeftovers(): Promise<readonly string[]> {
    const counts = new Map<string, number>();
    for (const each of this.before) counts.set(each, (counts.get(each) ?? 0) + 1);
    return (await this.allLeftovers()).filter((each) => {
      const count = counts.get(each) ?? 0;
      counts.set(each, count - 1);
      return count <= 0;
    });
  }

  private async allLeftovers(): Promise<readonly string[]> {
    const both = this.sender === this.receiver ? [this.sender] : [this.sender, this.receiver];
    const own = await Promise.all(both.map((side) => side.leftovers()));
    const named = own.flatMap((list, index) => list.map((each) => `${index === 0 ? "sender" : "receiver"}: ${each}`));
    return [...named, ...((await this.sides.leftovers?.()) ?? [])];
  }
}

/** Waits for all, so that nothing is still going on when one has failed. */
export async function all<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(work);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

const sideOf = (given: Transport | Side): Side => ("about" in given ? given : localSide(given));

export const described = (failure: Failure): string => {
  switch (failure.kind) {
    case "typed":
      return `${failure.code}: ${failure.message}`;
    case "aborted":
      return "the signal's reason";
    case "other":
      return failure.message;
  }
};
