// Counts tests over all steps, with the reason of each that was skipped.

import { bold, dim, red, yellow } from "../setup/progress.mjs";

/** How many names are listed with a reason. */
const NAMES_SHOWN = 3;

export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {Map<string, string[]>} names of skipped tests, by where and why */
  #skips = new Map();
  /** @type {string[]} */
  #failures = [];

  pass(count = 1) {
    this.passed += count;
  }

  fail(name) {
    this.failed += 1;
    this.#failures.push(name);
  }

  skip(name, reason) {
    this.skipped += 1;
    this.#skips.set(reason, [...(this.#skips.get(reason) ?? []), name]);
  }

  print() {
    console.log();
    for (const [reason, names] of this.#skips) {
      const more = names.length > NAMES_SHOWN ? `, and ${names.length - NAMES_SHOWN} more` : "";
      const list = names.slice(0, NAMES_SHOWN).join(", ") + more;
      console.log(`${yellow("skipped")} ${names.length}: ${reason} ${dim(`(${list})`)}`);
    }
    for (const name of this.#failures) console.log(`${red("failed")}  ${name}`);
    console.log(bold(`${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`));
  }
}
